"""Spreading activation (R-118..R-128), with the energies of the specification's literal form: each pass works on a
snapshot of the whole map (RA-32). Pure: the graph, the cue's vector, the time and the mood are arguments, and a query
changes nothing. The loops are in `spreading`; only what surfaced is explained.

Seeds: `nearest_seeds` alone is R-119 to the letter and the test oracle; `recall` (live.py) adds seeds found by words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reveries.config import RecallSettings
from reveries.llm.base import Vector
from reveries.memory.graph.facts import recall_moment
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.graph.spreading import SpreadBounds
from reveries.memory.model import Episode, Factors, RecallContext, RecalledEpisode

_DAY_SECONDS = 86_400.0
_ANNIVERSARY_MIN_DAYS = 300


@dataclass(frozen=True, slots=True)
class Seed:
    """An entry point. `match` (0 to 1) takes the place of R-120's cosine; for R-119's own seeds it is the cosine."""

    index: int
    cosine: float
    match: float
    words: float = 0.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """What surfaced, most energy first, ties by id: pairs of index and energy. `start` holds the seeds' energies."""

    seeds: tuple[Seed, ...]
    start: dict[int, float]
    order: tuple[tuple[int, float], ...]
    edges_touched: int


def nearest_seeds(graph: MemoryGraph, vector: Vector, count: int) -> list[Seed]:
    """Return the `count` episodes nearest to the cue by cosine, ties by id (R-119), without negative cosines
    (R-128)."""
    rows, cosines = graph.nearest(vector, count)
    ordered = sorted(zip(rows, cosines, strict=True), key=lambda pair: (-pair[1], graph.id_at(pair[0])))
    return [Seed(row, min(1.0, cosine), min(1.0, cosine)) for row, cosine in ordered[:count]]


def recency_boost(last_accessed_at: float, now: float) -> float:
    """1 + 0.5 e^(-days/30) (RA-33); days since the last access, never less than 0."""
    days = max(0.0, now - last_accessed_at) / _DAY_SECONDS
    return 1.0 + 0.5 * math.exp(-days / 30.0)


def emotional_resonance(mood: float, valence: float) -> float:
    """1 + 0.25 (mood x valence), both -1 to 1 (RA-33)."""
    return 1.0 + 0.25 * mood * valence


def temporal_relevance(now: float, happened_at: float) -> float:
    """1.2 at the same hour of the same weekday, or on the same day of another year; else 1 (RA-33).

    Hour and weekday are compared together, so that UTC gives the same answer as local time.
    """
    today, then = datetime.fromtimestamp(now, UTC), datetime.fromtimestamp(happened_at, UTC)
    same_hour = today.hour == then.hour and today.weekday() == then.weekday()
    is_anniversary = (today.month, today.day) == (then.month, then.day) and abs(
        (today - then).days
    ) >= _ANNIVERSARY_MIN_DAYS
    return 1.2 if same_hour or is_anniversary else 1.0


def seed_energy(seed: Seed, episode: Episode, now: float) -> float:
    """R-120: match x salience x recency; a negative match counts as 0."""
    return max(0.0, seed.match) * episode.salience * recency_boost(episode.last_accessed_at, now)


def activate_episodes(
    graph: MemoryGraph,
    seeds: Sequence[Seed],
    context: RecallContext,
    settings: RecallSettings,
    share_of_spread: float = 1.0,
) -> tuple[tuple[RecalledEpisode, ...], int]:
    """Return what surfaces from `seeds` (R-120..R-123), most energy first, ties by id; and how many edges were touched.

    `share_of_spread` is the share of the energy from links that counts in the ranking: 1 is the specification's form;
    less ranks what is only associated below direct hits. Whether an episode surfaces depends on its whole energy.
    """
    ranking = rank_episodes(graph, seeds, context, settings, share_of_spread)
    return explain_episodes(graph, ranking, ranking.order, context, settings), ranking.edges_touched


def rank_episodes(
    graph: MemoryGraph,
    seeds: Sequence[Seed],
    context: RecallContext,
    settings: RecallSettings,
    share_of_spread: float = 1.0,
) -> Ranking:
    """Rank what surfaces without explaining it, which is cheap however much surfaces."""
    start = {s.index: e for s in seeds if (e := seed_energy(s, graph.at(s.index), context.now)) > 0.0}
    bounds = SpreadBounds(
        recall_moment(context.now), context.mood, settings.activation_threshold, share_of_spread, context.limit
    )
    field = graph.field
    try:
        edges_touched = field.spread(start, graph.size, settings.max_hops, settings.decay_per_hop)
        surfaced = zip(*field.select_surfaced(start, bounds), strict=True)
    finally:
        field.clear()
    best = sorted(surfaced, key=lambda pair: (-pair[1], graph.id_at(pair[0])))[: context.limit]
    return Ranking(tuple(seeds), start, tuple(best), edges_touched)


def explain_episodes(
    graph: MemoryGraph,
    ranking: Ranking,
    chosen: Sequence[tuple[int, float]],
    context: RecallContext,
    settings: RecallSettings,
) -> tuple[RecalledEpisode, ...]:
    """Explain `chosen`, a part of the ranking's order: the strongest path to each and the factors of its energy."""
    by_index = {seed.index: seed for seed in ranking.seeds}
    indices = [index for index, _ in chosen]
    paths = graph.field.find_paths(ranking.start, indices, settings.max_hops, settings.decay_per_hop)
    return tuple(
        _explain_episode(graph, index, energy, path, by_index.get(index), context)
        for (index, energy), path in zip(chosen, paths, strict=True)
    )


def energy_factors(episode: Episode, context: RecallContext) -> Factors:
    """Return R-122's factors, with accessibility (RA-29)."""
    return Factors(
        recency=recency_boost(episode.last_accessed_at, context.now),
        resonance=emotional_resonance(context.mood, episode.valence),
        temporal=temporal_relevance(context.now, episode.created_at),
        accessibility=episode.accessibility,
    )


def _explain_episode(
    graph: MemoryGraph, index: int, energy: float, path: tuple[int, ...], seed: Seed | None, context: RecallContext
) -> RecalledEpisode:
    episode = graph.at(index)
    return RecalledEpisode(
        episode=episode,
        energy=energy,
        seed_cosine=seed.cosine if seed else 0.0,
        path=tuple(graph.id_at(step) for step in path),
        factors=energy_factors(episode, context),
        seed_words=seed.words if seed else 0.0,
    )
