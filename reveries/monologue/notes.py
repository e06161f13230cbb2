"""Notes to the owner at the end of a thought: what may become one, and how often. Pure.

Quiet by default: a note interrupts no one, there are few of them, and each dismissed note makes the next rarer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reveries.gates import may_act
from reveries.monologue.quiescence import has_same_conclusion
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
    """An earlier note, to limit the rate and to avoid repetition."""

    written_at: float
    text: str
    is_dismissed: bool


def extract_note(thought: FinishedThought) -> str:
    """Return the note to the owner in `thought`; empty if there is none.

    A thought that did not end by itself gives no note, and neither does one that read untrusted text, so that such text
    cannot reach the owner this way (F1).
    """
    is_tainted = thought.is_tainted or any(memory.tainted for memory in thought.memories)
    if not may_act(is_tainted=is_tainted) or thought.why_ended not in _WHOLE:
        return ""
    notes = _NOTE.findall(thought.text.replace("\u2019", "'"))
    text = one_line(_ENOUGH.sub("", notes[-1]), NOTE_CHARS).strip() if notes else ""
    return text if len(text) >= _SHORTEST_CHARS else ""


def next_note_at(per_day: float, notes: Sequence[PastNote]) -> float | None:
    """Return when (unix seconds) the next note may be written after `notes`, oldest first; None: never.

    `per_day` is spread over the day; each of the latest notes in a row that were dismissed doubles the interval.
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


def is_repeated_note(text: str, notes: Sequence[PastNote]) -> bool:
    """Whether an earlier note says the same."""
    return any(has_same_conclusion(text, note.text) for note in notes)
