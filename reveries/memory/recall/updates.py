"""What holds now: of two turns that say nearly the same, one later than the other, the later one is the news.

Only for a cue that asks what holds now (`Cue.wants_value_now`), and only among the best few: everywhere else "later is
better" does harm (RECALL section 4). The later turn is put right before the earlier one, which stays where it is: both
are seen, the newer first. Pure.
"""

import numpy as np

from reveries.index.word_scores import Floats, Rows
from reveries.memory.recall.cues import Cue
from reveries.memory.recall.turn_index import TurnIndex

_COMPARED = 6
_LIKE_FROM = 0.3
"""Below this cosine two turns are about different things."""
BOTH_NUMBERS, SAYS_CHANGE = 3.0, 6.0
"""How far (log odds) a turn that is all alike may lie behind the one it renews: when both hold a number, and when it
speaks of a change; added up. Chosen with 50 updates in sight, with weights that are gone: of those 82 % came out right
instead of 54 %. What it comes to with the weights that ship: docs/benchmarks/recall.md."""
LEAST_COVERAGE = 0.3
"""Of the cue's words the later turn holds at least this share of what the earlier one does."""
_AHEAD = 0.01


def news_of(index: TurnIndex, cue: Cue, scores: Floats, coverage: Floats, rows: Rows) -> Floats:
    """How much each of `rows` is to be lifted; `scores` are theirs, `coverage` how much of the cue's words they hold.

    Only the one who said something renews it, in a talk: what the mind itself repeats is no news, and a document that
    came later does not renew another.
    """
    lifts = np.zeros(len(rows), dtype=np.float32)
    if not cue.wants_value_now:
        return lifts
    best = np.argsort(-scores, kind="stable")[:_COMPARED]
    best = best[~index.marks["own"][rows[best]] & ~_is_alone(index, rows[best])]
    if len(best) < 2:
        return lifts
    chosen = rows[best]
    alike = np.clip((index.vectors[chosen] @ index.vectors[chosen].T - _LIKE_FROM) / (1.0 - _LIKE_FROM), 0.0, 1.0)
    number, change = index.surface["number"][chosen], index.surface["change"][chosen]
    reach = alike * (BOTH_NUMBERS * (number[:, None] & number[None, :]) + SAYS_CHANGE * change[:, None])
    behind = scores[best][None, :] - scores[best][:, None]
    answers = coverage[best][:, None] >= LEAST_COVERAGE * coverage[best][None, :]
    speaker = index.marks["speaker"][chosen]
    answers &= speaker[:, None] == speaker[None, :]
    renews = _later(index, chosen) & (behind >= 0.0) & (reach >= behind) & answers
    lifts[best] = np.where(renews, behind + _AHEAD, 0.0).max(axis=1)
    return lifts


def _is_alone(index: TurnIndex, rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    near = index.neighbours
    alone: np.ndarray[tuple[int], np.dtype[np.bool_]] = (near.previous[rows] >= index.size) & (
        near.next[rows] >= index.size
    )
    return alone


def _later(index: TurnIndex, rows: Rows) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Whether one row (down) was said after another (across)."""
    said_at = index.marks["said_at"][rows]
    same = (said_at[:, None] == said_at[None, :]) & (rows[:, None] > rows[None, :])
    later: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = (said_at[:, None] > said_at[None, :]) | same
    return later
