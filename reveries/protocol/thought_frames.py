"""What the daemon tells of thinking and sleep."""

import msgspec

from reveries.protocol.message import Message


class ThoughtBegan(Message, frozen=True):
    request_id: int
    thought_id: str
    reason: str
    so_far: str


class ThoughtToken(Message, frozen=True):
    """The next piece. `skipped` counts pieces that this observer was too slow for."""

    request_id: int
    text: str
    skipped: int


class ThoughtEnded(Message, frozen=True):
    request_id: int
    thought_id: str
    reason: str
    explanation: str
    tokens: int


class ThoughtEntry(msgspec.Struct, frozen=True):
    """A line of the monologue's log, which retention never touches (RA-5)."""

    thought_id: str
    began_at: float
    ended_at: float
    why_began: str
    why_ended: str
    text: str
    tokens: int
    recalled: list[str]
    # The ids of the memories; beside each, further below, its summary, empty for one that has left memory.
    explanation: str = ""
    occasion: str = ""
    """What it began with: the owner's nudge, the event, the memory that surfaced."""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0
    recalled_summaries: list[str] = []
    is_tainted: bool = False
    is_pinned: bool = False
    is_dropped: bool = False


class Thoughts(Message, frozen=True):
    request_id: int
    thoughts: list[ThoughtEntry]


class ThinkingControlled(Message, frozen=True):
    """What came of the owner's word to the monologue: what it does now, and whether the owner holds it back."""

    request_id: int
    state: str
    detail: str
    is_paused: bool


class ThinkingReleased(Message, frozen=True):
    """Whether it rested after a trip of the breaker, and what the breaker had said. The rest is over now."""

    request_id: int
    was_resting: bool
    because: str


class ThoughtMarked(Message, frozen=True):
    """A thought was pinned or dropped."""

    request_id: int
    thought_id: str
    mark: str


class Note(msgspec.Struct, frozen=True):
    """What a thought wanted the owner to know. `shown_at` and `dismissed_at` are 0 for not yet."""

    note_id: str
    thought_id: str
    written_at: float
    text: str
    reason: str
    shown_at: float
    dismissed_at: float


class Notes(Message, frozen=True):
    """Notes, oldest first; `per_day` is the most that the settings allow."""

    request_id: int
    notes: list[Note]
    per_day: float


class Consolidated(Message, frozen=True):
    """What a pass did. `log` has one line for each experience; `question` is what it asks before it does more."""

    request_id: int
    run_id: str
    processed: int
    created: int
    merged: int
    fallbacks: int
    left: int
    seconds: float
    was_interrupted: bool
    log: list[str]
    question: str = ""
