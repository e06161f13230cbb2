"""Links of a new episode to others, and their strengths (R-80, RA-19). Pure.

Thematic: to the nearest few by cosine. Temporal: to the one just before. Emotional: to those near in meaning with a
similar valence. All of these in both directions. Causal: what deep sleep says about the few episodes it was shown, only
from cause to effect.
"""

import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from reveries import gates
from reveries.llm.base import Vector
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.model import Episode, Link, LinkType

THEMATIC_COSINE = 0.70
"""Measured on five long conversations: one in twenty pairs of a conversation's episodes is this near (median 0.37)."""
MAX_THEMATIC = 4
EMOTIONAL_COSINE = 0.5
_EMOTIONAL_VALENCE = 0.3
_MAX_EMOTIONAL = 2
_TEMPORAL_STRENGTH = 0.5
_TEMPORAL_LEAST = 0.1
_CAUSAL_STRENGTH = 0.6
CAUSE_COSINE = 0.4
_MAX_CAUSES = 3
_DAY_SECONDS = 86_400.0


NearEpisodes = Sequence[tuple[Episode, float]]
"""Other episodes with their cosines to a given one, nearest first."""


def thematic_links(episode: Episode, near: NearEpisodes) -> tuple[Link, ...]:
    """Return links in both directions to the nearest few in meaning, as strong as the cosine."""
    return both_ways(
        Link(episode.id, other.id, LinkType.THEMATIC, round(cosine, 4))
        for other, cosine in [pair for pair in near if pair[1] >= THEMATIC_COSINE][:MAX_THEMATIC]
    )


def emotional_links(episode: Episode, near: NearEpisodes) -> tuple[Link, ...]:
    """Return links in both directions to episodes with a similar valence that are not far in meaning."""
    alike = [
        Link(episode.id, other.id, LinkType.EMOTIONAL, round(cosine * min(abs(other.valence), abs(episode.valence)), 4))
        for other, cosine in near
        if cosine >= EMOTIONAL_COSINE
        and other.valence * episode.valence > 0
        and min(abs(other.valence), abs(episode.valence)) >= _EMOTIONAL_VALENCE
    ]
    return both_ways(alike[:_MAX_EMOTIONAL])


def temporal_links(earlier: Episode, later: Episode) -> tuple[Link, ...]:
    """Return links in both directions between consecutive episodes, weaker the longer the time between them."""
    days = max(0.0, later.created_at - earlier.ended_at) / _DAY_SECONDS
    strength = round(max(_TEMPORAL_LEAST, _TEMPORAL_STRENGTH * math.exp(-days)), 4)
    return both_ways([Link(earlier.id, later.id, LinkType.TEMPORAL, strength)])


def chain_episodes(earlier: Episode, later: Episode) -> tuple[Episode, Episode]:
    """Return both with `before` and `after` updated (R-74)."""
    return (
        replace(earlier, after=_append_id(earlier.after, later.id)),
        replace(later, before=_append_id(later.before, earlier.id)),
    )


def find_predecessor(graph: MemoryGraph, episode: Episode) -> Episode | None:
    """Return the latest episode that began no later than `episode`, from its own conversation if possible."""
    return graph.latest_before(episode.created_at, episode.conversation_id, without=episode.id)


def nearest_episodes(
    graph: MemoryGraph, vector: Vector, count: int, least: float, without: AbstractSet[str] = frozenset()
) -> list[tuple[Episode, float]]:
    """Return the `count` nearest episodes with a cosine of at least `least`, nearest first, ties by id."""
    rows, cosines = graph.nearest(vector, count + len(without))
    near = [(graph.at(row), min(1.0, cosine)) for row, cosine in zip(rows, cosines, strict=True) if cosine >= least]
    others = [pair for pair in near if pair[0].id not in without]
    return sorted(others, key=lambda pair: (-pair[1], pair[0].id))[:count]


def possible_causes(graph: MemoryGraph, episode: Episode) -> tuple[Episode, ...]:
    """Return the few earlier episodes that may have caused one: those just before it, and the nearest in meaning. A
    tainted episode is no possible cause of an untainted one."""
    near = nearest_episodes(graph, graph.vector_of(episode.id), 6, CAUSE_COSINE, {episode.id})
    candidates = [*episode.before, *(other.id for other, _ in near)]
    earlier = [
        other
        for name in dict.fromkeys(candidates)
        if (other := graph.get(name)) is not None
        and other.ended_at <= episode.created_at
        and (episode.tainted or not other.tainted or not gates.is_enforced(gates.Gate.CAUSE))
    ]
    return tuple(earlier[:_MAX_CAUSES])


def causal_link(graph: MemoryGraph, cause_id: str, effect_id: str) -> tuple[Link, ...]:
    """Return the link from a cause to its effect (RA-19); () if either is missing or the reverse link exists."""
    is_known = cause_id in graph and effect_id in graph and cause_id != effect_id
    if not is_known or graph.strength_of(effect_id, cause_id, LinkType.CAUSAL) is not None:
        return ()
    strength = graph.strength_of(cause_id, effect_id, LinkType.CAUSAL) or 0.0
    return (Link(cause_id, effect_id, LinkType.CAUSAL, _CAUSAL_STRENGTH),) if strength < _CAUSAL_STRENGTH else ()


def both_ways(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return each link followed by its reverse."""
    return tuple(
        directed
        for link in links
        for directed in (link, replace(link, source_id=link.target_id, target_id=link.source_id))
    )


def keep_strongest(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return the strongest of the links with the same source, target and type."""
    best: dict[tuple[str, str, LinkType], Link] = {}
    for link in links:
        key = (link.source_id, link.target_id, link.type)
        if key not in best or link.strength > best[key].strength:
            best[key] = link
    return tuple(best.values())


def _append_id(ids: tuple[str, ...], new_id: str) -> tuple[str, ...]:
    return ids if new_id in ids else (*ids, new_id)
