"""A reference implementation of the graph and of spreading activation in plain dictionaries, one step at a time.

The graph in `reveries.memory` must give the same results, after any changes and in any of its implementations.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reveries.config import RecallSettings
from reveries.memory.changes import ChangeSet, Fading, Touch
from reveries.memory.graph.activation import Seed, energy_factors, seed_energy
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Episode, Link, LinkType, RecallContext

Edge = tuple[str, LinkType]


class PlainGraph:
    """Episodes by id, links by source."""

    def __init__(self) -> None:
        self.episodes: dict[str, Episode] = {}
        self.vectors: dict[str, np.ndarray] = {}
        self.links: dict[str, dict[Edge, float]] = {}

    def apply(self, changes: ChangeSet) -> None:
        for episode in changes.episodes:
            if episode.merged_into is None:
                self.episodes[episode.id] = episode
                self.links.setdefault(episode.id, {})
        for name, vector in changes.vectors:
            if name in self.episodes:
                self.vectors[name] = vector
        for link in changes.links:
            source, target = link.source_id, link.target_id
            if source in self.episodes and target in self.episodes and source != target:
                strength = np.float32(min(1.0, max(0.0, link.strength)))
                self.links[source][(target, link.type)] = float(str(strength))
        for touch in changes.touches:
            self._alter(touch)
        for fading in changes.fadings:
            self._alter(fading)
        for retirement in changes.retired:
            self._retire(retirement.episode_id)

    def links_of(self, name: str) -> set[Link]:
        return {Link(name, to, kind, strength) for (to, kind), strength in self.links[name].items()}

    def links_into(self, name: str) -> set[Link]:
        return {link for source in self.links for link in self.links_of(source) if link.target_id == name}

    def nearest(self, vector: np.ndarray, count: int) -> list[tuple[str, float]]:
        """Return the nearest episodes, best first, ties by id, only cosines above 0 (R-119, R-128)."""
        cosines = {
            name: float(np.float32(row.astype(float) @ vector.astype(float))) for name, row in self.vectors.items()
        }
        ordered = sorted(cosines.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(name, cosine) for name, cosine in ordered if cosine > 0.0][:count]

    def _alter(self, change: Touch | Fading) -> None:
        old = self.episodes.get(change.episode_id)
        if old is None:
            return
        new = replace(old, salience=change.salience, accessibility=change.accessibility)
        if isinstance(change, Touch):
            new = replace(new, access_count=change.access_count, last_accessed_at=change.last_accessed_at)
        else:
            new = replace(new, last_decayed_at=change.last_decayed_at)
        self.episodes[change.episode_id] = new

    def _retire(self, name: str) -> None:
        if self.episodes.pop(name, None) is None:
            return
        self.vectors.pop(name, None)
        del self.links[name]
        for source, links in self.links.items():
            self.links[source] = {edge: strength for edge, strength in links.items() if edge[0] != name}


@dataclass(frozen=True, slots=True)
class Spread:
    """Energy by index, and the number of edges followed."""

    energies: dict[int, float]
    edges_touched: int


def spread_energies(graph: MemoryGraph, energies: Mapping[int, float], hops: int, decay: float) -> Spread:
    """Spread over the array-based graph like a recall, and reset the energies."""
    field = graph.field
    try:
        edges_touched = field.spread(energies, graph.size, hops, decay)
        return Spread(field.energies(), edges_touched)
    finally:
        field.clear()


def plain_spread(
    graph: PlainGraph, energies: Mapping[str, float], hops: int, decay: float
) -> tuple[dict[str, float], dict[str, float], int]:
    """Spread as in R-121: return energies, the strength of the best path to each node, and how many links were
    followed."""
    active = dict(energies)
    strongest = dict(energies)
    followed = 0
    for _ in range(hops):
        sent: dict[str, float] = {}
        ways = dict(strongest)
        for node, energy in active.items():
            for (target, _), strength in graph.links[node].items():
                followed += 1
                share = strength * decay * graph.episodes[target].accessibility
                sent[target] = sent.get(target, 0.0) + energy * share
                ways[target] = max(ways.get(target, 0.0), strongest[node] * share)
        for target, amount in sent.items():
            if amount > 0.0:
                active[target] = active.get(target, 0.0) + amount
        strongest = {node: way for node, way in ways.items() if node in active}
    return active, strongest, followed


def plain_activate(
    graph: PlainGraph, seeds: Sequence[tuple[str, Seed]], context: RecallContext, settings: RecallSettings, share: float
) -> dict[str, float]:
    """Return what surfaces and the energy it ranks by (R-120..R-123 without the limit)."""
    start = {name: e for name, seed in seeds if (e := seed_energy(seed, graph.episodes[name], context.now)) > 0.0}
    energies, _, _ = plain_spread(graph, start, settings.max_hops, settings.decay_per_hop)
    surfaced: dict[str, float] = {}
    for name, whole in energies.items():
        factors = energy_factors(graph.episodes[name], context)
        scale = factors.recency * factors.resonance * factors.temporal * factors.accessibility
        if whole * scale > settings.activation_threshold:
            direct = start.get(name, 0.0)
            surfaced[name] = (direct + share * (whole - direct)) * scale
    return surfaced


def energy_along(graph: PlainGraph, path: Sequence[str], energy: float, decay: float) -> float:
    """Return what is left of `energy` at the end of `path`; 0 if the path does not follow links."""
    for source, target in itertools.pairwise(path):
        strongest = max((s for (to, _), s in graph.links[source].items() if to == target), default=0.0)
        energy *= strongest * decay * graph.episodes[target].accessibility
    return energy
