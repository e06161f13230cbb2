"""A thought that ends as a note to the owner: what may become one, and how often. Pure.

Quiet by default: a note interrupts nobody, there are few of them, and each that is dismissed makes the next rarer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reveries.gates import may_act
from reveries.monologue.quiescence import comes_to_the_same
from reveries.monologue.thought import FinishedThought
from reveries.safe_text import one_line

NOTE_CHARS = 280
_SHORTEST_CHARS = 12
_DAY_SECONDS = 86400.0
_MOST_DOUBLINGS = 6
_NOTE: Final = re.compile(
    r"(?:^|[.!?…][\"')”’]?[ \t]+)\W*note to [^:\n]{1,80}:[ \t]*(.+)$", re.IGNORECASE | re.MULTILINE
)
_ENOUGH: Final = re.compile(r"\s*that(?:'s| is) (?:all|enough) for now\W*$", re.IGNORECASE)
_WHOLE: Final = ("settled", "finished", "going_round", "assessed")


@dataclass(frozen=True, slots=True)
class PastNote:
    """A note that was written, for the rate and so that nothing is told twice."""

    written_at: float
    text: str
    is_dismissed: bool


def note_in(thought: FinishedThought) -> str:
    """What `thought` wants the owner to know; empty for nothing.

    Nothing of a thought that did not come to its own end, and nothing of one that had something before it that did not
    come from the owner and the mind alone: foreign text finds no way to the owner's eye through here (F1).
    """
    is_tainted = thought.is_tainted or any(memory.tainted for memory in thought.memories)
    if not may_act(is_tainted=is_tainted) or thought.why_ended not in _WHOLE:
        return ""
    found = _NOTE.findall(thought.text.replace("\u2019", "'"))
    text = one_line(_ENOUGH.sub("", found[-1]), NOTE_CHARS).strip() if found else ""
    return text if len(text) >= _SHORTEST_CHARS else ""


def next_note_at(per_day: float, notes: Sequence[PastNote]) -> float | None:
    """From when on (unix seconds) another note may be written, after `notes`, oldest first. None: never.

    `per_day` is spread over the day; every one of the latest in a row that were dismissed doubles the distance.
    """
    if per_day <= 0:
        return None
    if not notes:
        return 0.0
    dismissed = 0
    for note in reversed(notes):
        if not note.is_dismissed:
            break
        dismissed += 1
    return notes[-1].written_at + _DAY_SECONDS / per_day * 2.0 ** min(dismissed, _MOST_DOUBLINGS)


def was_told(text: str, notes: Sequence[PastNote]) -> bool:
    """Whether an earlier note says the same."""
    return any(comes_to_the_same(text, note.text) for note in notes)
