"""Which source turns answer a cue: meaning and words, fused by scores (RECALL section 2). Pure.

How much meaning counts against words is for the cue to decide: the better one single turn meets the cue's words, the
more the words count. Windows (2 before, 1 after) let an answer be found by what it answers.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from reveries.llm.base import Vector
from reveries.memory.model import RankedTurn
from reveries.memory.turn_index import TurnIndex
from reveries.memory.words import Floats, Neighbours, terms_of

_MEANING_LEAST, _MEANING_MOST = 0.4, 0.85
_WINDOW_SHARE_WORDS, _WINDOW_SHARE_MEANING = 0.3, 0.5
_FROM_PREVIOUS, _FROM_NEXT = 0.2, 0.05
_UNRELATED_COSINE = 0.15


@dataclass(frozen=True, slots=True)
class TurnScores:
    """One value a row of the index. `fused` is what turns are ranked by: -inf where a row is not to be shown."""

    fused: Floats = field(repr=False)
    cosines: Floats = field(repr=False)
    coverage: Floats = field(repr=False)
    meaning_weight: float

    def best_rows(self, count: int) -> list[int]:
        """Rows, best first; ties go to the row that came first."""
        if len(self.fused) > count:
            worst = np.partition(self.fused, -count)[-count]
            rows = np.flatnonzero(self.fused >= worst)
        else:
            rows = np.arange(len(self.fused))
        ordered = rows[np.argsort(-self.fused[rows], kind="stable")]
        return [int(row) for row in ordered[:count] if np.isfinite(self.fused[row])]


def score_turns(index: TurnIndex, cue: str, vector: Vector, exclude: AbstractSet[str] = frozenset()) -> TurnScores:
    """Score every turn in the index against a cue and its vector; `exclude` holds ids of turns not to be shown."""
    live = index.live
    if not live.any():
        empty = np.zeros(index.size, dtype=np.float32)
        return TurnScores(np.full(index.size, -np.inf, dtype=np.float32), empty, empty, _MEANING_MOST)
    near = index.neighbours
    words = index.words.score(terms_of(cue), live, near)
    cosines: Floats = index.vectors @ vector
    meaning = (1 - _WINDOW_SHARE_MEANING) * _z(cosines, live) + _WINDOW_SHARE_MEANING * _z(
        _window_cosines(index, cosines, near), live
    )
    spoken = (1 - _WINDOW_SHARE_WORDS) * _z(words.turn, live) + _WINDOW_SHARE_WORDS * _z(words.window, live)
    weight = _MEANING_MOST - (_MEANING_MOST - _MEANING_LEAST) * float(words.coverage.max()) if vector.any() else 0.0
    fused = np.where(live, weight * meaning + (1.0 - weight) * spoken, np.float32(0.0)).astype(np.float32)
    fused = fused + _from_neighbours(fused, near)
    hidden = ~live | ((words.turn <= 0.0) & (words.window <= 0.0) & (cosines < _UNRELATED_COSINE))
    for turn_id in exclude:
        if (row := index.row_of(turn_id)) is not None:
            hidden[row] = True
    return TurnScores(np.where(hidden, np.float32(-np.inf), fused), cosines, words.coverage, weight)


def ranked_turns(index: TurnIndex, scores: TurnScores, count: int) -> tuple[RankedTurn, ...]:
    """The best turns with their episodes."""
    return tuple(_ranked(index, scores, row) for row in scores.best_rows(count))


def ranked_turns_of(index: TurnIndex, scores: TurnScores, episode_id: str, count: int) -> tuple[RankedTurn, ...]:
    """The best turns of one episode."""
    rows = [row for row in index.rows_of(episode_id) if np.isfinite(scores.fused[row])]
    rows.sort(key=lambda row: (-float(scores.fused[row]), row))
    return tuple(_ranked(index, scores, row) for row in rows[:count])


def _ranked(index: TurnIndex, scores: TurnScores, row: int) -> RankedTurn:
    return RankedTurn(index.turn(row), index.episode_id(row), float(scores.fused[row]))


def _window_cosines(index: TurnIndex, cosines: Floats, near: Neighbours) -> Floats:
    """Cosine of the cue with the mean of a turn's window: the mean's product is the products' mean."""
    padded = np.append(cosines, np.float32(0.0))
    before = np.append(near.previous, index.size)
    products = cosines + padded[near.previous] + padded[before[near.previous]] + padded[near.next]
    wide: Floats = products / index.window_lengths
    return wide


def _from_neighbours(fused: Floats, near: Neighbours) -> Floats:
    padded = np.append(fused, np.float32(0.0))
    share: Floats = np.float32(_FROM_PREVIOUS) * padded[near.previous] + np.float32(_FROM_NEXT) * padded[near.next]
    return share


def _z(values: Floats, live: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Floats:
    """How many standard deviations above the mean of the live rows."""
    spread = float(values[live].std())
    scaled: Floats = (values - values[live].mean()) / np.float32(spread if spread > 1e-9 else 1.0)
    return scaled
