"""Memories that surface by themselves (R-61, RA-13): short random walks over the links. Pure.

A walk starts at something unresolved or salient and follows links in proportion to their strength. A node that many
walks visit and that has not surfaced lately may surface. Randomness is an argument: `draw` returns numbers in [0, 1).
"""

import itertools
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

WALKS = 64
STEPS = 4
BACK_HOME_SHARE = 0.15
"""The chance that a step returns to the walk's start, so that nodes near it count more."""
LEAST_SHARE = 0.02
"""A node with a smaller share of all visits does not surface: it is noise."""

LinkReader = Callable[[int], tuple[NDArray[np.int32], NDArray[np.float32]]]
"""Returns the targets and strengths of a node's links."""


def walk_links(
    starts: Mapping[int, float],
    neighbours: LinkReader,
    draw: Callable[[], float],
    *,
    walks: int = WALKS,
    steps: int = STEPS,
) -> Counter[int]:
    """Return how often `walks` random walks of `steps` steps visited each node. `starts` maps nodes to weights, 0 or
    more.

    A walk without a link to follow stays where it is; its start counts as one visit.
    """
    visits: Counter[int] = Counter()
    nodes, sums = list(starts), list(itertools.accumulate(starts.values()))
    if not nodes or sums[-1] <= 0.0:
        return visits
    for _ in range(walks):
        home = here = nodes[_index_by_weight(sums, draw())]
        visits[home] += 1
        for _ in range(steps):
            if draw() < BACK_HOME_SHARE:
                here = home
                continue
            targets, strengths = neighbours(here)
            target = _draw_target(targets, strengths, draw())
            if target is not None:
                here = target
                visits[here] += 1
    return visits


def draw_starts(
    nodes: NDArray[np.int64], weights: NDArray[np.float32], draw: Callable[[], float], most: int
) -> list[tuple[int, float]]:
    """Draw at most `most` of `nodes` in proportion to their weights; return each with its weight."""
    if len(nodes) <= most:
        return list(zip(nodes.tolist(), weights.tolist(), strict=True))
    sums = np.cumsum(weights, dtype=np.float64)
    if sums[-1] <= 0.0:
        return []
    drawn = np.searchsorted(sums, [draw() * sums[-1] for _ in range(most)], side="right")
    places = np.unique(np.minimum(drawn, np.searchsorted(sums, sums[-1], side="left")))
    return list(zip(nodes[places].tolist(), weights[places].tolist(), strict=True))


def draw_surfacing(
    visits: Mapping[int, int], weight_of: Callable[[int], float], is_fresh: Callable[[int], bool], drawn: float
) -> int | None:
    """Draw the node that surfaces, or None. Visits are weighted by `weight_of` (0 or more: salience and accessibility);
    `is_fresh` says whether a node has not surfaced lately; `drawn` is a random number in [0, 1)."""
    total = sum(visits.values())
    ready = [(node, count * weight_of(node)) for node, count in visits.items()
             if count >= LEAST_SHARE * total and is_fresh(node)]  # fmt: skip
    sums = list(itertools.accumulate(weight for _, weight in ready))
    if not ready or sums[-1] <= 0.0:
        return None
    return ready[_index_by_weight(sums, drawn)][0]


def wait_intervals(surfaced_since_news: int) -> int:
    """Return the wait for the next surfacing in intervals: it doubles while nothing new happens, up to 8 (once a day if
    an interval is three hours)."""
    return min(8, 1 << max(0, surfaced_since_news - 1))


def _draw_target(targets: NDArray[np.int32], strengths: NDArray[np.float32], drawn: float) -> int | None:
    sums = np.cumsum(strengths, dtype=np.float64)
    if not len(sums) or sums[-1] <= 0.0:
        return None
    target: int = targets[_index_by_weight(sums.tolist(), drawn)].item()
    return target


def _index_by_weight(sums: Sequence[float], drawn: float) -> int:
    """Return the index that `drawn` (0 to 1) selects from cumulative weights; never one with weight 0."""
    return min(bisect_right(sums, drawn * sums[-1]), bisect_left(sums, sums[-1]))
