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


class Thoughts(Message, frozen=True):
    request_id: int
    thoughts: list[ThoughtEntry]


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
