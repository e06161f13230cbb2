"""Which episodes a new one is linked to, and how strongly (R-80, RA-19). Pure.

Thematic: the nearest few by cosine. Temporal: what came just before. Emotional: near in meaning and felt alike. All in
both directions. Causal: what deep sleep says of the few that it was shown, from the cause to the effect alone.
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
"""Measured on five long conversations: one pair of a conversation's episodes in twenty is this near (median 0.37)."""
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


Near = Sequence[tuple[Episode, float]]
"""Other episodes with their cosines to the one in question, nearest first."""


def thematic_links(episode: Episode, near: Near) -> tuple[Link, ...]:
    """Links to the nearest few in meaning, both ways, as strong as the cosine."""
    return both_ways(
        Link(episode.id, other.id, LinkType.THEMATIC, round(cosine, 4))
        for other, cosine in [pair for pair in near if pair[1] >= THEMATIC_COSINE][:MAX_THEMATIC]
    )


def emotional_links(episode: Episode, near: Near) -> tuple[Link, ...]:
    """Links to what felt alike and is not far in meaning, both ways."""
    alike = [
        Link(episode.id, other.id, LinkType.EMOTIONAL, round(cosine * min(abs(other.valence), abs(episode.valence)), 4))
        for other, cosine in near
        if cosine >= EMOTIONAL_COSINE
        and other.valence * episode.valence > 0
        and min(abs(other.valence), abs(episode.valence)) >= _EMOTIONAL_VALENCE
    ]
    return both_ways(alike[:_MAX_EMOTIONAL])


def temporal_links(earlier: Episode, later: Episode) -> tuple[Link, ...]:
    """Links between two that follow each other, both ways: weaker the longer the time between."""
    days = max(0.0, later.created_at - earlier.ended_at) / _DAY_SECONDS
    strength = round(max(_TEMPORAL_LEAST, _TEMPORAL_STRENGTH * math.exp(-days)), 4)
    return both_ways([Link(earlier.id, later.id, LinkType.TEMPORAL, strength)])


def chain_episodes(earlier: Episode, later: Episode) -> tuple[Episode, Episode]:
    """Both with `before` and `after` kept up on both sides (R-74)."""
    return (
        replace(earlier, after=_with(earlier.after, later.id)),
        replace(later, before=_with(later.before, earlier.id)),
    )


def predecessor(graph: MemoryGraph, episode: Episode) -> Episode | None:
    """What came just before `episode`: the latest that began no later, of its own conversation if there is one."""
    return graph.latest_before(episode.created_at, episode.conversation_id, without=episode.id)


def nearest_episodes(
    graph: MemoryGraph, vector: Vector, count: int, least: float, without: AbstractSet[str] = frozenset()
) -> list[tuple[Episode, float]]:
    """The `count` nearest episodes of at least cosine `least` with their cosines, nearest first; ties by id."""
    rows, cosines = graph.nearest(vector, count + len(without))
    near = [(graph.at(row), min(1.0, cosine)) for row, cosine in zip(rows, cosines, strict=True) if cosine >= least]
    found = [pair for pair in near if pair[0].id not in without]
    return sorted(found, key=lambda pair: (-pair[1], pair[0].id))[:count]


def possible_causes(graph: MemoryGraph, episode: Episode) -> tuple[Episode, ...]:
    """The few earlier episodes that may have led to one: what came just before it, and the nearest in meaning. Nothing
    tainted beside what is not."""
    found = [*episode.before]
    found += [
        other.id for other, _ in nearest_episodes(graph, graph.vector_of(episode.id), 6, CAUSE_COSINE, {episode.id})
    ]
    earlier = [
        other
        for name in dict.fromkeys(found)
        if (other := graph.get(name)) is not None
        and other.ended_at <= episode.created_at
        and (episode.tainted or not other.tainted or not gates.stands(gates.Gate.CAUSE))
    ]
    return tuple(earlier[:_MAX_CAUSES])


def causal_link(graph: MemoryGraph, cause_id: str, effect_id: str) -> tuple[Link, ...]:
    """The link from a cause to its effect, in that direction alone (RA-19); () when either is not there, or the other
    way round is already believed."""
    is_known = cause_id in graph and effect_id in graph and cause_id != effect_id
    if not is_known or graph.strength_of(effect_id, cause_id, LinkType.CAUSAL) is not None:
        return ()
    there = graph.strength_of(cause_id, effect_id, LinkType.CAUSAL) or 0.0
    return (Link(cause_id, effect_id, LinkType.CAUSAL, _CAUSAL_STRENGTH),) if there < _CAUSAL_STRENGTH else ()


def both_ways(links: Iterable[Link]) -> tuple[Link, ...]:
    """Each link and its way back."""
    return tuple(
        way for link in links for way in (link, replace(link, source_id=link.target_id, target_id=link.source_id))
    )


def strongest_each(links: Iterable[Link]) -> tuple[Link, ...]:
    """Of links between the same two, of one type and way, the strongest."""
    best: dict[tuple[str, str, LinkType], Link] = {}
    for link in links:
        key = (link.source_id, link.target_id, link.type)
        if key not in best or link.strength > best[key].strength:
            best[key] = link
    return tuple(best.values())


def _with(ids: tuple[str, ...], new_id: str) -> tuple[str, ...]:
    return ids if new_id in ids else (*ids, new_id)
