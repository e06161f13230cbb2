"""The energy field of one recall: energy is sent from entry points along links, gathered, read, and cleared. Pure; one
recall at a time.

Three implementations with the same results: a compiled loop over the active nodes; a compiled sweep over all nodes, for
when much of the graph is active; and whole-array operations when nothing is compiled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from reveries.index.arrays import Int64
from reveries.memory.graph.arena import LinkArena
from reveries.memory.graph.facts import NodeFacts, RecallMoment
from reveries.memory.graph.spread_loops import LEAST_TIME, MOST_TIME, SAME_TIME, year_day

SWEEP_SHARE = 1 / 8
"""A pass sweeps the whole graph when this share of its nodes is active. An estimate: the break-even was not
measured."""
_FEWEST_TO_SWEEP = 64
_DAY_SECONDS = 86_400.0
_HOUR_SECONDS = 3600.0
_WEEK_HOURS = 168
_RECENCY_DAYS = 30.0
_ANNIVERSARY_DAYS = 300


@dataclass(frozen=True, slots=True)
class SpreadBounds:
    """The conditions under which nodes surface (R-122, R-123)."""

    moment: RecallMoment
    mood: float
    threshold: float
    share_of_spread: float
    """The share of the energy from links that counts in the ranking."""
    limit: int


class EnergyField:
    """The energy of every node, 0 between recalls."""

    def __init__(self, arena: LinkArena, facts: NodeFacts, nodes: int) -> None:
        self._arena = arena
        self._facts = facts
        self._count = 0
        self.sweep_share = SWEEP_SHARE
        self._allocate(nodes)

    def grow(self, nodes: int) -> None:
        """Make room for node indices below `nodes`."""
        self._allocate(nodes)

    def spread(self, start: Mapping[int, float], size: int, hops: int, decay: float) -> int:
        """Spread the energies in `start`, all above 0, over the first `size` nodes (R-121). Return how many links were
        followed.

        The result stays in the field: read it with `energies` and `select_surfaced`, then reset with `clear`.
        """
        for place, (node, energy) in enumerate(start.items()):
            self._energy[node, 0] = energy
            self._active[place] = node
        self._count = len(start)
        if not self._arena.kernels.are_compiled:
            return self._spread_in_arrays(size, hops, decay)
        self._count, followed = self._arena.kernels.spread_energy(
            self._arena.nodes,
            self._arena.targets,
            self._arena.strengths,
            self._facts.accessibility,
            self._energy,
            self._active,
            self._reached,
            size,
            self._count,
            decay,
            hops,
            max(_FEWEST_TO_SWEEP, int(self.sweep_share * size)),
        )
        return followed

    def energies(self) -> dict[int, float]:
        """Return the energy of every active node."""
        nodes = self._active[: self._count]
        return dict(zip(nodes.tolist(), self._energy[nodes, 0].tolist(), strict=True))

    def select_surfaced(self, start: Mapping[int, float], bounds: SpreadBounds) -> tuple[list[int], list[float]]:
        """Return the nodes that surface and the energies they rank by, unordered; possibly more than `limit` nodes."""
        for node, energy in start.items():
            self._energy[node, 1] = energy
        if not self._arena.kernels.are_compiled:
            return self._select_in_arrays(bounds)
        facts = self._facts
        nodes, ranks = self._arena.kernels.select_surfaced(
            self._energy,
            self._active,
            self._count,
            facts.accessibility,
            facts.valence,
            facts.last_accessed_at,
            facts.created_at,
            bounds.moment.now,
            bounds.moment.week_hour,
            bounds.moment.year_day,
            bounds.mood,
            bounds.threshold,
            bounds.share_of_spread,
            bounds.limit,
        )
        return nodes.tolist(), ranks.tolist()

    def find_paths(
        self, start: Mapping[int, float], wanted: Sequence[int], hops: int, decay: float
    ) -> list[tuple[int, ...]]:
        """Return for each wanted node the strongest single path from an entry point to it, both included."""
        arena = self._arena
        paths = arena.kernels.find_strongest_paths(
            arena.nodes,
            arena.targets,
            arena.strengths,
            self._facts.accessibility,
            self._latest,
            np.fromiter(start.keys(), dtype=np.int32, count=len(start)),
            np.fromiter(start.values(), dtype=np.float64, count=len(start)),
            decay,
            hops,
            np.array(wanted, dtype=np.int32),
        )
        return [tuple(node for node in reversed(path) if node >= 0) for path in paths.tolist()]

    def clear(self) -> None:
        """Reset all energies to 0."""
        if self._arena.kernels.are_compiled:
            self._arena.kernels.clear_energy(self._energy, self._active, self._count)
        else:
            self._energy[self._active[: self._count]] = 0.0
        self._count = 0

    def _allocate(self, nodes: int) -> None:
        self._energy = np.zeros((nodes, 2), dtype=np.float64)
        self._active = np.zeros(nodes, dtype=np.int32)
        self._reached = np.zeros(nodes, dtype=np.int32)
        self._latest = np.full(nodes, -1, dtype=np.int32)

    def _spread_in_arrays(self, size: int, hops: int, decay: float) -> int:
        followed = 0
        whole = self._energy[:size, 0]
        for _ in range(hops):
            nodes = np.flatnonzero(whole)
            slots, lengths = self._arena.slots_from(nodes)
            followed += len(slots)
            sent = np.repeat(whole[nodes], lengths) * self._arena.strengths[slots]
            gathered = np.bincount(self._arena.targets[slots], weights=sent, minlength=size)
            whole += gathered * decay * self._facts.accessibility[:size]
        nodes = np.flatnonzero(whole)
        self._count = len(nodes)
        self._active[: self._count] = nodes
        return followed

    def _select_in_arrays(self, bounds: SpreadBounds) -> tuple[list[int], list[float]]:
        nodes, facts, moment = self._active[: self._count], self._facts, bounds.moment
        whole, direct = self._energy[nodes, 0], self._energy[nodes, 1]
        days = np.maximum(0.0, moment.now - facts.last_accessed_at[nodes]) / _DAY_SECONDS
        scale = 1.0 + 0.5 * np.exp(-days / _RECENCY_DAYS)
        created = np.clip(facts.created_at[nodes], LEAST_TIME, MOST_TIME)
        hours = np.floor(created / _HOUR_SECONDS).astype(np.int64)
        since = np.abs(np.floor((moment.now - created) / _DAY_SECONDS))
        is_anniversary = (_year_days(hours // 24) == moment.year_day) & (since >= _ANNIVERSARY_DAYS)
        scale *= np.where(is_anniversary | (hours % _WEEK_HOURS == moment.week_hour), SAME_TIME, 1.0)
        scale *= facts.accessibility[nodes] * (1.0 + 0.25 * bounds.mood * facts.valence[nodes])
        ranks = (direct + bounds.share_of_spread * (whole - direct)) * scale
        kept = whole * scale > bounds.threshold
        if int(kept.sum()) > bounds.limit:
            bar = np.partition(ranks[kept], -bounds.limit)[-bounds.limit]
            kept &= ranks >= bar
        return nodes[kept].tolist(), ranks[kept].tolist()


def _year_days(days: Int64) -> Int64:
    return cast("Int64", cast("Callable[[Int64], object]", year_day)(days))  # The arithmetic works on arrays as well.
