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


def order_in_time(index: TurnIndex, rows: Rows, spans: Sequence[TimeSpan]) -> Rows:
    """Return these rows in the order in which a time is told: as they were said; if there are many, first what says
    most in each part of it; around a day, the nearest first. What the mind said follows what it was said to."""
    said_at, own = index.marks["said_at"], index.marks["own"]
    ordered = [rows[:0]]
    for is_own in (False, True):
        chosen = rows[own[rows] == is_own]
        for span in spans:
            inside = chosen[(said_at[chosen] >= span.start) & (said_at[chosen] < span.end)]
            ordered.append(_order_span(index, inside, span))
    joined = np.concatenate(ordered)
    first_places = np.unique(joined, return_index=True)[1]
    return joined[np.sort(first_places)]


def _order_span(index: TurnIndex, rows: Rows, span: TimeSpan) -> Rows:
    said_at, position = index.marks["said_at"], index.marks["position"]
    by_time = rows[np.lexsort((position[rows], said_at[rows]))]
    times = said_at[by_time]
    if span.middle is not None:
        noon = span.middle + 43_200.0
        return by_time[np.argsort(np.rint(np.abs(times - noon) / 86_400.0), kind="stable")]
    if len(rows) <= _SEGMENTS:
        return by_time
    length = max(1.0, float(times[-1] - times[0]) / _SEGMENTS)
    segments = np.minimum(_SEGMENTS - 1, ((times - times[0]) / length).astype(np.int64))
    surface = index.surface
    # A question or a greeting tells less of what was than a long statement.
    tells_less = surface["asks"][by_time].astype(bool) | surface["greets"][by_time].astype(bool)
    ranked = np.lexsort((-surface["log_length"][by_time], tells_less, segments))
    ranked_segments = segments[ranked]
    places = np.arange(len(ranked)) - np.searchsorted(ranked_segments, ranked_segments)
    return by_time[ranked[np.lexsort((ranked_segments, places))]]


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
    order = order_in_time(index, rows[inside], cue.spans)
    if any(any(map(str.isdigit, span.text)) for span in cue.spans):
        outside = np.flatnonzero(~inside & (coverage >= MENTIONING))
        mentions = rows[outside[np.argsort(-scores[outside], kind="stable")]][:_MENTIONS]
        order = np.concatenate((order[:_BEFORE_MENTIONS], mentions, order[_BEFORE_MENTIONS:]))
    ranks = np.zeros(index.size)
    ranks[order] = np.arange(len(order), 0, -1)
    wanted = ranks[rows]
    lifts: Floats = np.where(wanted > 0, float(scores.max()) + _STEP * wanted - scores, 0.0).astype(np.float32)
    return lifts
