"""Asks a mind for all that its digest is made of."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from reveries import protocol
from reveries.client.digest_page import Digest

DIGEST_SINCE = "1d"
_MOST = 1000
_NOTES = 100
_CHANGES = 200
_Answer = TypeVar("_Answer")


class Asks(Protocol):
    """Asks for one thing, and gives the answer of that kind. Raises ReveriesError."""

    def __call__(self, make: Callable[[int], protocol.Request], answer: type[_Answer], /) -> Awaitable[_Answer]: ...


async def gathered(ask: Asks, since: float) -> Digest:
    """What happened in the mind since then (unix seconds)."""
    thoughts = await ask(lambda new_id: protocol.AskThoughts(new_id, since, _MOST), protocol.Thoughts)
    notes = await ask(lambda new_id: protocol.AskNotes(new_id, _NOTES), protocol.Notes)
    passes = await ask(lambda new_id: protocol.AskSleepLog(new_id, _MOST), protocol.SleepLog)
    changes = await ask(lambda new_id: protocol.AskSelfHistory(new_id, _CHANGES), protocol.SelfHistory)
    doubts = await ask(protocol.AskContradictions, protocol.Contradictions)
    return Digest(
        since=since,
        thoughts=[thought for thought in thoughts.thoughts if thought.text.strip()],
        notes=[note for note in notes.notes if note.written_at >= since],
        sleep=[run for run in passes.runs if run.began_at >= since],
        learned=[change for change in changes.entries if change.at >= since],
        contradictions=doubts.contradictions,
    )
