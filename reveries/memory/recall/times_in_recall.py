"""A time in the cue as a way to memories of its own, beside words and meaning: what was said then is ranked although it
shares no word with the cue. Pure."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reveries.index.word_scores import Floats, Rows
from reveries.memory.recall.cues import Cue
from reveries.memory.recall.time_expressions import TimeSpan
from reveries.memory.recall.turn_index import TurnIndex

_SEGMENTS = 12
"""A time with more turns than this is told in that many parts of equal length, each with what it says most about."""
_LAST = 1e6
"""Added to the rank of what comes after everything else of its part."""
_MOST_BY_TIME = 6.0
"""The most that a time adds to the score (log odds) of a turn if the cue names a subject, too."""
_STEP = 0.01
_BEFORE_MENTIONS = 3
"""So many turns of a time come before one of another time that mentions it."""
_MENTIONS = 2
MENTIONING = 0.8
"""The share of the cue's words from which a turn mentions its date."""


def rows_in_time(index: TurnIndex, cue: Cue) -> NDArray[np.bool_]:
    """Return which rows were said at a time that the cue names, if the time is a way to them: in a question, or in a
    cue that names nothing else."""
    inside = np.zeros(index.size, dtype=np.bool_)
    if cue.asks or not cue.has_subject:
        said_at = index.marks["said_at"]
        for span in cue.spans:
            inside |= (said_at >= span.start) & (said_at < span.end)
    return inside & index.live


def order_in_time(index: TurnIndex, rows: Rows, spans: Sequence[TimeSpan], most: int) -> Rows:
    """Return these rows, the first `most` of them, in the order in which a time is told: as they were said; if there
    are many, first what says most in each part of it; around a day, the nearest first. What the mind said follows what
    it was said to."""
    said_at, own = index.marks["said_at"], index.marks["own"]
    told = rows[:0]
    for is_own in (False, True):
        if len(np.unique(told)) >= most:  # Spans may overlap.
            break
        chosen = rows[own[rows] == is_own]
        for span in spans:
            inside = chosen[(said_at[chosen] >= span.start) & (said_at[chosen] < span.end)]
            told = np.concatenate((told, _order_span(index, inside, span, most)))
    first_places = np.unique(told, return_index=True)[1]
    return told[np.sort(first_places)][:most]


def _order_span(index: TurnIndex, rows: Rows, span: TimeSpan, most: int) -> Rows:
    """Return the first `most` rows of a span in order."""
    said_at, position = index.marks["said_at"], index.marks["position"]
    if span.middle is None and len(rows) > _SEGMENTS:
        return _order_segments(index, rows, most)
    by_time = rows[np.lexsort((position[rows], said_at[rows]))]
    if span.middle is not None:
        noon = span.middle + 43_200.0
        by_time = by_time[np.argsort(np.rint(np.abs(said_at[by_time] - noon) / 86_400.0), kind="stable")]
    return by_time[:most]


def _order_segments(index: TurnIndex, rows: Rows, most: int) -> Rows:
    """Return the first `most` of many rows: what says most in each part of their time, then what says most next."""
    said_at, surface = index.marks["said_at"][rows], index.surface
    begins = float(said_at.min())
    length = max(1.0, (float(said_at.max()) - begins) / _SEGMENTS)
    segments = np.minimum(_SEGMENTS - 1, ((said_at - begins) / length).astype(np.int64))
    # A question or a greeting tells less of what was than a long statement.
    tells_less = surface["asks"][rows].astype(bool) | surface["greets"][rows].astype(bool)
    rank = np.where(tells_less, _LAST, 0.0) - surface["log_length"][rows]
    kept = np.flatnonzero(_best_of_segments(rank, segments, most))
    rank, segments, rows = rank[kept], segments[kept], rows[kept]
    ranked = np.lexsort((index.marks["position"][rows], said_at[kept], rank, segments))
    ranked_segments = segments[ranked]
    places = np.arange(len(ranked)) - np.searchsorted(ranked_segments, ranked_segments)
    return rows[ranked[np.lexsort((ranked_segments, places))]][:most]


def _best_of_segments(rank: Floats, segments: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Return which rows are among the `most` of the lowest rank in their segment, so that only those are sorted."""
    limits = np.full(_SEGMENTS, np.inf)
    for segment in range(_SEGMENTS):
        ranks = rank[segments == segment]
        if len(ranks) > most:
            limits[segment] = np.partition(ranks, most - 1)[most - 1]
    kept: NDArray[np.bool_] = rank <= limits[segments]
    return kept


def compute_time_lifts(index: TurnIndex, cue: Cue, scores: Floats, coverage: Floats, rows: Rows) -> Floats:
    """Return how much the score of each of `rows` is raised because it was said at a time in the cue. If the cue names
    nothing else, those rows come first, in their order; then what mentions the date may come among the first five."""
    in_time = rows_in_time(index, cue)
    inside = in_time[rows]
    if not inside.any():
        return np.zeros(len(rows), dtype=np.float32)
    if cue.has_subject:
        # The fewer turns were said then, the more it says that one of them was.
        share = (np.count_nonzero(in_time) + 1) / (np.count_nonzero(index.live) + 1)
        return np.where(inside, min(_MOST_BY_TIME, -math.log(share)), 0.0).astype(np.float32)
    order = order_in_time(index, rows[inside], cue.spans, len(rows))
    if any(any(map(str.isdigit, span.text)) for span in cue.spans):
        outside = np.flatnonzero(~inside & (coverage >= MENTIONING))
        mentions = rows[outside[np.argsort(-scores[outside], kind="stable")]][:_MENTIONS]
        order = np.concatenate((order[:_BEFORE_MENTIONS], mentions, order[_BEFORE_MENTIONS:]))
    ranks = np.zeros(index.size)
    ranks[order] = np.arange(len(order), 0, -1)
    wanted = ranks[rows]
    lifts: Floats = np.where(wanted > 0, float(scores.max()) + _STEP * wanted - scores, 0.0).astype(np.float32)
    return lifts
