"""What a thought is made of: why it began, what it was given, what came of it. Values only."""

from dataclasses import dataclass
from enum import StrEnum


class ThinkingReason(StrEnum):
    """Why thinking begins (R-57); the first four are R-57's race."""

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
"""What the owner asks for comes at once: only a conversation and the budget go before it."""


ABOUT_SOMETHING = frozenset((ThinkingReason.ASSOCIATION, ThinkingReason.NUDGE, ThinkingReason.CALENDAR))
"""What these are about is the cue; what was last said is not before the thought then."""


@dataclass(frozen=True, slots=True)
class Reactivation:
    """What woke the thinking, in a sentence that the next context carries (R-62)."""

    reason: ThinkingReason
    detail: str = ""
    episode_id: str | None = None
    """For an association: the memory that surfaced."""
    is_tainted: bool = False
    """Somebody else than the owner and the mind had a hand in `detail`."""
    event_key: str = ""
    at: float = 0.0
    """For the calendar: which event at which time, and when it came to mind."""
    tries: int = 0
    """How often it could not be thought about."""


@dataclass(frozen=True, slots=True)
class ActivatedMemory:
    """A memory that was activated for a thought, with where it comes from."""

    episode_id: str
    text: str
    when: str
    tainted: bool


@dataclass(frozen=True, slots=True)
class SaidLine:
    """A line of what was just said or happened, with its speaker."""

    line: str
    is_own: bool = False
    """The mind said it."""


@dataclass(frozen=True, slots=True)
class ThoughtInputs:
    """R-32's five, gathered for one thought. All of it is text from memory: data, never instructions."""

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
    """How long nobody has spoken; empty while somebody does."""
    calendar: tuple[str, ...] = ()
    previous: str = ""
    ambient: str = ""
    is_tainted: bool = False
    """Somebody else than the owner and the mind had a hand in something of this."""
    may_note: bool = False
    """It may end with a note to the owner."""
    way: int = 0
    """Drawn anew for each thought: which of several questions a small model is asked."""


@dataclass(frozen=True, slots=True)
class FinishedThought:
    """One cycle, ended for whatever reason (R-41, R-43)."""

    id: str
    began_at: float
    ended_at: float
    why_began: str
    why_ended: str
    explanation: str
    text: str
    tokens: int
    model: str
    memories: tuple[ActivatedMemory, ...] = ()
    occasion: str = ""
    """What it began with: the owner's nudge, the event, the memory that surfaced."""
    is_tainted: bool = False
    shown: tuple[str, ...] = ()
    """What the model had before it: what the thought repeats of that is not learned again."""
    unkept_because: str = ""
    """Why it stands in the log alone and is no experience; empty when it is one."""

    @property
    def is_partial(self) -> bool:
        return self.why_ended in ("paused", "failed", "tripped", "broken_off")


@dataclass(frozen=True, slots=True)
class ThoughtStart:
    """Told to observers; `so_far` is what a late observer missed."""

    thought_id: str
    reason: str
    so_far: str


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    text: str
    skipped: int = 0
    """How many pieces the observer was too slow for."""


@dataclass(frozen=True, slots=True)
class ThoughtEnd:
    thought_id: str
    reason: str
    explanation: str
    tokens: int


ThoughtEvent = ThoughtStart | ThoughtPiece | ThoughtEnd
