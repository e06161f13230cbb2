"""A memory that comes up by itself (R-61, RA-13): short random walks over the links, and what they come by. Pure.

A walk begins at something unresolved or salient and follows links, the stronger the likelier. What many walks come by
and what has not surfaced lately may surface. Chance is an argument: `draw` gives numbers from 0 up to 1.
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
"""How often a step leads back to the walk's beginning instead: what is near to it counts more."""
LEAST_SHARE = 0.02
"""What fewer of all visits than these came by does not surface: it is noise."""

Neighbours = Callable[[int], tuple[NDArray[np.int32], NDArray[np.float32]]]
"""Where the links of a node lead, and how strong each is."""


def wander(
    starts: Mapping[int, float],
    neighbours: Neighbours,
    draw: Callable[[], float],
    *,
    walks: int = WALKS,
    steps: int = STEPS,
) -> Counter[int]:
    """How often `walks` walks of `steps` steps came by each node. `starts` are nodes with their weights, 0 or more.

    A walk that finds no link stays where it is; its beginning counts as one visit.
    """
    visits: Counter[int] = Counter()
    nodes, sums = list(starts), list(itertools.accumulate(starts.values()))
    if not nodes or sums[-1] <= 0.0:
        return visits
    for _ in range(walks):
        home = here = nodes[_place_by_weight(sums, draw())]
        visits[home] += 1
        for _ in range(steps):
            if draw() < BACK_HOME_SHARE:
                here = home
                continue
            targets, strengths = neighbours(here)
            there = _chosen(targets, strengths, draw())
            if there is not None:
                here = there
                visits[here] += 1
    return visits


def drawn_starts(
    nodes: NDArray[np.int64], weights: NDArray[np.float32], draw: Callable[[], float], most: int
) -> list[tuple[int, float]]:
    """At most so many of `nodes`, the heavier the likelier, each with its weight."""
    if len(nodes) <= most:
        return list(zip(nodes.tolist(), weights.tolist(), strict=True))
    sums = np.cumsum(weights, dtype=np.float64)
    if sums[-1] <= 0.0:
        return []
    drawn = np.searchsorted(sums, [draw() * sums[-1] for _ in range(most)], side="right")
    places = np.unique(np.minimum(drawn, np.searchsorted(sums, sums[-1], side="left")))
    return list(zip(nodes[places].tolist(), weights[places].tolist(), strict=True))


def surfacing(
    visits: Mapping[int, int], weight_of: Callable[[int], float], is_fresh: Callable[[int], bool], drawn: float
) -> int | None:
    """The node that surfaces, or None. `weight_of` (0 or more: salience and accessibility) makes a visit count;
    `is_fresh` says whether it has not surfaced lately; `drawn` is from 0 up to 1."""
    total = sum(visits.values())
    ready = [(node, count * weight_of(node)) for node, count in visits.items()
             if count >= LEAST_SHARE * total and is_fresh(node)]  # fmt: skip
    sums = list(itertools.accumulate(weight for _, weight in ready))
    if not ready or sums[-1] <= 0.0:
        return None
    return ready[_place_by_weight(sums, drawn)][0]


def quiet_stretches(surfaced_since_news: int) -> int:
    """How many stretches long the wait for the next one is: an unchanged mind is visited less and less, once a day at
    last (where a stretch is three hours)."""
    return min(8, 1 << max(0, surfaced_since_news - 1))


def _chosen(targets: NDArray[np.int32], strengths: NDArray[np.float32], drawn: float) -> int | None:
    sums = np.cumsum(strengths, dtype=np.float64)
    if not len(sums) or sums[-1] <= 0.0:
        return None
    chosen: int = targets[_place_by_weight(sums.tolist(), drawn)].item()
    return chosen


def _place_by_weight(sums: Sequence[float], drawn: float) -> int:
    """Where `drawn`, 0 to 1, falls among weights that add up to `sums`: never on one of none, however it rounds."""
    return min(bisect_right(sums, drawn * sums[-1]), bisect_left(sums, sums[-1]))
