"""Messages about the monologue: watching it, its log, controlling it, notes."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Ok, Request, RunId
from reveries.protocol.registry import request


class ThoughtBegan(Answer, frozen=True):
    thought_id: str
    reason: str
    so_far: str


class ThoughtToken(Answer, frozen=True):
    """The next piece of the thought. `skipped` counts pieces dropped because this observer was too slow."""

    text: str
    skipped: int


class ThoughtEnded(Answer, frozen=True):
    thought_id: str
    reason: str
    explanation: str
    tokens: int


class ThoughtEntry(msgspec.Struct, frozen=True):
    """An entry of the monologue's log, which retention never touches (RA-5)."""

    thought_id: str
    began_at: float
    ended_at: float
    why_began: str
    why_ended: str
    text: str
    tokens: int
    recalled: list[str]
    # The ids of the recalled memories; `recalled_summaries` has their summaries in the same order, "" for an erased
    # one.
    explanation: str = ""
    occasion: str = ""
    """What started it: the owner's nudge, the calendar event, the memory that surfaced."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0
    recalled_summaries: list[str] = []
    is_tainted: bool = False
    is_pinned: bool = False
    is_dropped: bool = False


class Thoughts(Answer, frozen=True):
    thoughts: list[ThoughtEntry]


class ThinkingControlled(Answer, frozen=True):
    """The monologue's state after the owner's command, and whether the owner has paused it."""

    state: str
    detail: str
    is_paused: bool


class ThinkingReleased(Answer, frozen=True):
    """The rest after a trip of the breaker was ended: whether there was one, and the breaker's explanation."""

    was_resting: bool
    because: str


class ThoughtMarked(Answer, frozen=True):
    """A thought was pinned or dropped."""

    thought_id: str
    mark: str


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence that a thought wanted the owner to know. `shown_at` and `dismissed_at` are 0 for not yet.
    `is_answered`: the owner answered it before it was shown."""

    note_id: str
    thought_id: str
    written_at: float
    text: str
    reason: str
    shown_at: float
    dismissed_at: float
    is_answered: bool = False


class Notes(Answer, frozen=True):
    """Notes, oldest first; `per_day` is the limit in the settings."""

    notes: list[Note]
    per_day: float


@request(answer=Ok, before=(ThoughtBegan, ThoughtToken, ThoughtEnded), watch=True)
class Observe(Request, frozen=True):
    """Watch the monologue: `ThoughtBegan`, `ThoughtToken`, `ThoughtEnded` until cancelled. Starts with the running
    thought so far, if there is one."""


@request(answer=Thoughts, safe=True, large=True)
class AskThoughts(Request, frozen=True):
    """The log of the monologue since a time (unix seconds). Answered by `Thoughts`."""

    since: float
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


@request(answer=ThinkingControlled)
class ControlThinking(Request, frozen=True):
    """Pause thinking until it is resumed, also across restarts; resume it; or think one thought now. Answered by
    `ThinkingControlled`."""

    do: Literal["pause", "resume", "step"]


@request(answer=ThinkingReleased)
class ReleaseThinking(Request, frozen=True):
    """End the rest after a trip of the breaker. Answered by `ThinkingReleased`."""


@request(answer=ThinkingControlled)
class NudgeThinking(Request, frozen=True):
    """Suggest what to think about next. Answered by `ThinkingControlled`."""

    about: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


@request(answer=ThoughtMarked)
class MarkThought(Request, frozen=True):
    """Pin a thought, or drop it so that memory does not use it. `thought_id` may be a unique prefix. Answered by
    `ThoughtMarked`."""

    thought_id: RunId
    mark: Literal["pin", "drop"]


@request(answer=Notes, safe=True, large=True)
class AskNotes(Request, frozen=True):
    """The latest notes. Answered by `Notes`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


@request(answer=Notes)
class DismissNote(Request, frozen=True):
    """Dismiss a note that was not wanted. Answered by `Notes` with that note only."""

    note_id: RunId
