"""Data types of a thought: its reason, its inputs and its result."""

from dataclasses import dataclass
from enum import StrEnum

from reveries.memory.model import ThoughtText


class ThinkingReason(StrEnum):
    """Why thinking begins (R-57); the first four are the triggers of R-57."""

    CONVERSATION = "conversation"
    TIMER = "timer"
    CALENDAR = "calendar"
    ASSOCIATION = "association"
    WAKING = "waking"
    COMFORT = "comfort"
    FRESH_START = "fresh_start"
    NUDGE = "nudge"
    """The owner asked it to think about something."""
    STEP = "step"
    """The owner asked for one thought, about whatever it is."""


OWNERS_WORD = frozenset((ThinkingReason.NUDGE, ThinkingReason.STEP))
"""Requests of the owner, which start at once unless a conversation is open or the budget is used up."""


ABOUT_SOMETHING = frozenset((ThinkingReason.ASSOCIATION, ThinkingReason.NUDGE, ThinkingReason.CALENDAR))
"""Reasons whose detail is the cue; the last conversation is then not part of the prompt."""


@dataclass(frozen=True, slots=True)
class Reactivation:
    """What started the thinking; the next prompt says it in a sentence (R-62)."""

    reason: ThinkingReason
    detail: str = ""
    episode_id: str | None = None
    """For an association: the memory that surfaced."""
    is_tainted: bool = False
    """Untrusted text influenced `detail`."""
    event_key: str = ""
    at: float = 0.0
    """For the calendar: the event and its time (`event_key`), and when it was noticed (`at`)."""
    tries: int = 0
    """How many attempts to think about it have failed."""


@dataclass(frozen=True, slots=True)
class ActivatedMemory:
    """A memory that was activated for a thought, with its source."""

    episode_id: str
    text: str
    when: str
    tainted: bool


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A line of what was just said or happened, including its speaker."""

    line: str
    is_own: bool = False
    """The mind said it."""


@dataclass(frozen=True, slots=True)
class ThoughtInputs:
    """R-32's five inputs of one thought. All of it is text from memory: data, never instructions."""

    mind_name: str
    owner_name: str
    narrative: str
    owner_facts: tuple[str, ...]
    unresolved: tuple[str, ...]
    recent: tuple[SaidLine, ...]
    """What was just said or happened, oldest first."""
    memories: tuple[ActivatedMemory, ...]
    now_words: str
    silence_words: str
    """How long no one has spoken, in words; empty during a conversation."""
    calendar: tuple[str, ...] = ()
    previous: str = ""
    ambient: str = ""
    is_tainted: bool = False
    """Some of the inputs are untrusted."""
    may_note: bool = False
    """It may end with a note to the owner."""
    way: int = 0
    """A random number for each thought that selects one of several questions to a small model."""


@dataclass(frozen=True, slots=True)
class FinishedThought(ThoughtText):
    """One cycle of thinking, after its end (R-41, R-43)."""

    memories: tuple[ActivatedMemory, ...] = ()
    unkept_because: str = ""
    """Why it is only logged and not stored as an experience; empty if it is stored."""

    @property
    def is_partial(self) -> bool:
        return self.why_ended in ("paused", "failed", "tripped", "broken_off")
