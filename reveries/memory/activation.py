"""Spreading activation (R-118..R-128), in the literal form of the specification: a snapshot of the whole map per pass
(RA-32). Pure: the graph, the cue's vector, the time and the mood are arguments; nothing is changed by asking.

Modes: `nearest_seeds` alone is R-119 to the letter and the oracle; `recall` (live.py) adds entry points found by words.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from reveries.config import RecallSettings
from reveries.llm.base import Vector
from reveries.memory.graph import MemoryGraph
from reveries.memory.model import Episode, Factors, RecallContext, RecalledEpisode

_DAY_SECONDS = 86_400.0
_ANNIVERSARY_MIN_DAYS = 300


@dataclass(frozen=True, slots=True)
class Seed:
    """An entry point. `match` (0 to 1) stands in R-120's place of the cosine; for R-119's own seeds it is that."""

    index: int
    cosine: float
    match: float
    words: float = 0.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Energy by index, the strongest single way it came by index, and what it cost."""

    energies: dict[int, float]
    came_from: dict[int, int] = field(repr=False)
    edges_touched: int


def nearest_seeds(graph: MemoryGraph, vector: Vector, count: int) -> list[Seed]:
    """R-119: the `count` episodes nearest to the cue, by cosine; ties by id. Negative cosines are no seeds (R-128)."""
    if not len(graph) or count < 1:
        return []
    cosines = graph.vectors @ vector
    worst = np.partition(cosines, -count)[-count] if len(cosines) > count else -1.0
    candidates = np.flatnonzero((cosines >= worst) & (cosines > 0.0)).tolist()
    ordered = sorted(candidates, key=lambda index: (-float(cosines[index]), graph.at(index).id))
    return [Seed(i, min(1.0, float(cosines[i])), min(1.0, float(cosines[i]))) for i in ordered[:count]]


def recency_boost(last_accessed_at: float, now: float) -> float:
    """1 + 0.5 e^(-days/30) (RA-33); days since the last access, never less than 0."""
    days = max(0.0, now - last_accessed_at) / _DAY_SECONDS
    return 1.0 + 0.5 * math.exp(-days / 30.0)


def emotional_resonance(mood: float, valence: float) -> float:
    """1 + 0.25 (mood x valence), both -1 to 1 (RA-33)."""
    return 1.0 + 0.25 * mood * valence


def temporal_relevance(now: float, happened_at: float) -> float:
    """1.2 at the same hour of the same weekday, or on the same day of another year; else 1 (RA-33).

    Hour and weekday are asked together, so that counting in UTC gives what local time would.
    """
    here, there = datetime.fromtimestamp(now, UTC), datetime.fromtimestamp(happened_at, UTC)
    same_hour = here.hour == there.hour and here.weekday() == there.weekday()
    is_anniversary = (here.month, here.day) == (there.month, there.day) and abs(
        (here - there).days
    ) >= _ANNIVERSARY_MIN_DAYS
    return 1.2 if same_hour or is_anniversary else 1.0


def seed_energy(seed: Seed, episode: Episode, now: float) -> float:
    """R-120: match x salience x recency; a negative match counts as 0."""
    return max(0.0, seed.match) * episode.salience * recency_boost(episode.last_accessed_at, now)


def spread(graph: MemoryGraph, energies: Mapping[int, float], max_hops: int, decay_per_hop: float) -> Spread:
    """R-121: `max_hops` passes over the whole map; what meets in one node adds up, and is added after the pass.

    A faded episode takes up less than is sent to it (RA-29).
    """
    active = dict(energies)
    strongest = dict(energies)
    came_from: dict[int, int] = {}
    edges_touched = 0
    for _ in range(max_hops):
        sent: dict[int, float] = {}
        ways = dict(strongest)
        for node, energy in active.items():
            edges = graph.edges(node)
            edges_touched += len(edges)
            for (target, _kind), strength in edges.items():
                share = strength * decay_per_hop * graph.at(target).accessibility
                sent[target] = sent.get(target, 0.0) + energy * share
                way = strongest[node] * share
                if way > ways.get(target, 0.0):
                    ways[target], came_from[target] = way, node
        for target, amount in sent.items():
            active[target] = active.get(target, 0.0) + amount
            ways.setdefault(target, 0.0)
        strongest = ways
    return Spread(active, came_from, edges_touched)


def activate(
    graph: MemoryGraph,
    seeds: Sequence[Seed],
    context: RecallContext,
    settings: RecallSettings,
    share_of_spread: float = 1.0,
) -> tuple[tuple[RecalledEpisode, ...], int]:
    """R-120..R-123 from `seeds`: what surfaced, most energy first, ties by id; and how many edges were touched.

    `share_of_spread` is how much of the energy that came over links counts in the ranking: 1 is the specification's
    form; less puts what is only associated behind what was hit directly. What surfaces at all is decided by the whole.
    """
    by_index = {seed.index: seed for seed in seeds}
    start = {i: e for i, seed in by_index.items() if (e := seed_energy(seed, graph.at(i), context.now)) > 0.0}
    spreading = spread(graph, start, settings.max_hops, settings.decay_per_hop)
    surfaced: list[RecalledEpisode] = []
    for index, whole in spreading.energies.items():
        episode = graph.at(index)
        factors = factors_of(episode, context)
        scale = factors.recency * factors.resonance * factors.temporal * factors.accessibility
        if whole * scale > settings.activation_threshold:
            direct = start.get(index, 0.0)
            seed = by_index.get(index)
            surfaced.append(
                RecalledEpisode(
                    episode=episode,
                    energy=(direct + share_of_spread * (whole - direct)) * scale,
                    seed_cosine=seed.cosine if seed else 0.0,
                    path=_path(graph, spreading.came_from, index),
                    factors=factors,
                    seed_words=seed.words if seed else 0.0,
                )
            )
    surfaced.sort(key=lambda found: (-found.energy, found.episode.id))
    return tuple(surfaced[: context.limit]), spreading.edges_touched


def factors_of(episode: Episode, context: RecallContext) -> Factors:
    """R-122's factors, with accessibility (RA-29)."""
    return Factors(
        recency=recency_boost(episode.last_accessed_at, context.now),
        resonance=emotional_resonance(context.mood, episode.valence),
        temporal=temporal_relevance(context.now, episode.created_at),
        accessibility=episode.accessibility,
    )


def _path(graph: MemoryGraph, came_from: Mapping[int, int], index: int) -> tuple[str, ...]:
    path = [index]
    while path[-1] in came_from and came_from[path[-1]] not in path:
        path.append(came_from[path[-1]])
    return tuple(graph.at(step).id for step in reversed(path))
