"""Which episodes a new one is linked to, and how strongly (R-80, RA-19). Pure: it decides, nothing is changed.

Thematic: the nearest few by cosine. Temporal: what came just before. Emotional: near in meaning and felt alike. All in
both directions; causal links take a judgement and are left to deep sleep.
"""

import math
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from reveries.llm.base import Vector
from reveries.memory.graph import MemoryGraph
from reveries.memory.model import Episode, Link, LinkType

THEMATIC_COSINE = 0.70
"""Measured on five long conversations: one pair of a conversation's episodes in twenty is this near (median 0.37)."""
MAX_THEMATIC = 4
EMOTIONAL_COSINE = 0.5
_EMOTIONAL_VALENCE = 0.3
_MAX_EMOTIONAL = 2
_TEMPORAL_STRENGTH = 0.5
_TEMPORAL_LEAST = 0.1
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


def chained(earlier: Episode, later: Episode) -> tuple[Episode, Episode]:
    """Both with `before` and `after` kept up on both sides (R-74)."""
    return (
        replace(earlier, after=_with(earlier.after, later.id)),
        replace(later, before=_with(later.before, earlier.id)),
    )


def predecessor(graph: MemoryGraph, episode: Episode) -> Episode | None:
    """What came just before `episode`: the latest that began no later, of its own conversation if there is one."""
    earlier = [other for other in graph.episodes() if other.id != episode.id and other.created_at <= episode.created_at]
    own = [other for other in earlier if other.conversation_id and other.conversation_id == episode.conversation_id]
    return max(own or earlier, key=lambda other: other.created_at, default=None) if (own or earlier) else None


def nearest(
    graph: MemoryGraph, vector: Vector, count: int, least: float, without: AbstractSet[str] = frozenset()
) -> list[tuple[Episode, float]]:
    """The `count` nearest episodes of at least cosine `least` with their cosines, nearest first; ties by id."""
    if not len(graph):
        return []
    cosines = graph.vectors @ vector
    rows = np.flatnonzero(cosines >= max(least, 1e-6)).tolist()
    found = [(graph.at(row), min(1.0, float(cosines[row]))) for row in rows]
    found = [pair for pair in found if pair[0].id not in without]
    return sorted(found, key=lambda pair: (-pair[1], pair[0].id))[:count]


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
