"""A random mind of any size, for `bench/hydrate.py` and others.

Vectors: 384 dimensions, 2,000 topics of very unequal size (Zipf), one latent direction each, noise. Links: about 12
stored ones per episode, in both directions, 70 % to neighbours in time, 30 % to a few hubs. Times and saliences are
random. Real embeddings differ from this: ratios of times carry over, recall rates do not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reveries.llm.base import Vector, Vectors
from reveries.memory.graph.arena import PackedLinks, lay_out_links
from reveries.memory.graph.facts import PackedFacts
from reveries.memory.graph.memory_graph import LINK_TYPES, PackedGraph, pack_episode
from reveries.memory.model import Episode, Link, Origin

DIMENSIONS = 384
NOW = 1_790_000_000.0
_DAY_SECONDS = 86_400.0
_TOPICS = 2_000
_LATENT = 96
_PAIRS_A_NODE = 5.95
_LOCAL_SHARE = 0.7
_NEIGHBOURHOOD = 40
HUBS, HUB_DEGREE = 10, 20_000


class Made:
    """Episodes that are created on access."""

    def __call__(self, place: int) -> Episode:
        return episode_at(place)

    def raw(self, place: int) -> bytes:
        """Packed."""
        return pack_episode(episode_at(place))


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A graph and its sources."""

    packed: PackedGraph
    topics: Vectors


def make_mind(episodes: int, *, hubs: bool, room: int = 4096, seed: int = 1) -> Synthetic:
    """A mind of so many episodes; with `hubs`, ten of them are linked to 20,000 others (a fifth of a small mind)."""
    numbers = np.random.default_rng(seed)
    vectors, topics = _vectors(numbers, episodes, room)
    return Synthetic(
        PackedGraph(
            ids=[episode_id(place) for place in range(episodes)],
            lazy_episodes=Made(),
            vectors=vectors,
            links=_links(numbers, episodes, hubs=hubs),
            facts=_facts(episodes),
        ),
        topics,
    )


def cues(mind: Synthetic, count: int, seed: int = 2) -> Iterator[Vector]:
    """Return vectors near remembered ones."""
    numbers = np.random.default_rng(seed)
    for _ in range(count):
        near = mind.packed.vectors[int(numbers.integers(len(mind.packed.ids)))]
        yield _unit(near + 0.02 * numbers.standard_normal(DIMENSIONS).astype(np.float32))


def episode_id(place: int) -> str:
    """The id of the episode at a place: 16 hexadecimal digits, as the daemon gives them."""
    return f"{(place * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF:016x}"


def episode_at(place: int) -> Episode:
    """The episode at a place; its text is plain filler."""
    return Episode(
        id=episode_id(place),
        created_at=_created(place),
        ended_at=_created(place) + 600.0,
        last_accessed_at=_accessed(place),
        access_count=place % 7,
        summary=f"You spoke about matter {place % 977} and about what came of plan {place % 131} in the end.",
        exemplars=(),
        salience=_salience(place),
        confidence=1.0,
        valence=_valence(place),
        topics=(f"matter {place % 977}", f"plan {place % 131}"),
        entities=(f"name {place % 503}",),
        origin=Origin.OWNER,
        tainted=False,
        conversation_id=None,
        depth="light",
        experience_ids=(),
        accessibility=_fresh(place),
        last_decayed_at=NOW,
    )


def new_links(place: int, count: int, others: int) -> tuple[Link, ...]:
    """Links both ways between the episode at `place` and `count` of the first `others`."""
    numbers = np.random.default_rng(place)
    ends = numbers.choice(others, count, replace=False).tolist()
    kinds = [LINK_TYPES[kind] for kind in numbers.integers(0, len(LINK_TYPES), count)]
    strengths = numbers.beta(1.2, 2.5, count).tolist()
    one = episode_id(place)
    return tuple(
        link
        for end, kind, strength in zip(ends, kinds, strengths, strict=True)
        for link in (Link(one, episode_id(end), kind, strength), Link(episode_id(end), one, kind, strength))
    )


def _vectors(numbers: np.random.Generator, episodes: int, room: int) -> tuple[Vectors, Vectors]:
    latent = numbers.standard_normal((_LATENT, DIMENSIONS)).astype(np.float32)
    topics = numbers.standard_normal((_TOPICS, _LATENT)).astype(np.float32) @ latent
    shares = 1.0 / np.arange(1, _TOPICS + 1)
    of = numbers.choice(_TOPICS, episodes, p=shares / shares.sum())
    vectors = np.zeros((episodes + room, DIMENSIONS), dtype=np.float32)
    for first in range(0, episodes, 20_000):
        last = min(episodes, first + 20_000)
        own = numbers.standard_normal((last - first, _LATENT)).astype(np.float32) @ latent
        noise = numbers.standard_normal((last - first, DIMENSIONS)).astype(np.float32) * 3.0
        rows = topics[of[first:last]] + 0.6 * own + noise
        vectors[first:last] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return vectors, topics


def _links(numbers: np.random.Generator, nodes: int, *, hubs: bool) -> PackedLinks:
    pairs = int(_PAIRS_A_NODE * nodes)
    sources = numbers.integers(0, nodes, pairs)
    near = sources + numbers.integers(1, _NEIGHBOURHOOD, pairs)
    far = (nodes * numbers.random(pairs) ** 3).astype(np.int64)
    targets = np.where(numbers.random(pairs) < _LOCAL_SHARE, near % nodes, far)
    if hubs:
        degree = min(HUB_DEGREE, nodes // 5)
        sources = np.concatenate([sources, np.repeat(numbers.choice(nodes, HUBS, replace=False), degree)])
        targets = np.concatenate([targets, numbers.integers(0, nodes, HUBS * degree)])
    kept = sources != targets
    low, high = np.minimum(sources, targets)[kept], np.maximum(sources, targets)[kept]
    unique = np.unique(low * nodes + high)
    low, high = unique // nodes, unique % nodes
    kinds = numbers.integers(0, len(LINK_TYPES), len(low)).astype(np.uint8)
    strengths = numbers.beta(1.2, 2.5, len(low)).astype(np.float32)
    start, end = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.argsort(start, kind="stable")
    return lay_out_links(
        np.bincount(start, minlength=nodes).astype(np.int32),
        end[order].astype(np.int32),
        np.tile(kinds, 2)[order],
        np.tile(strengths, 2)[order],
    )


def _facts(episodes: int) -> PackedFacts:
    places = range(episodes)
    return PackedFacts(
        accessibility=np.array([_fresh(place) for place in places]),
        valence=np.array([_valence(place) for place in places]),
        salience=np.array([_salience(place) for place in places]),
        last_accessed_at=np.array([_accessed(place) for place in places]),
        created_at=np.array([_created(place) for place in places]),
        ended_at=np.array([_created(place) + 600.0 for place in places]),
        conversation=np.full(episodes, -1, dtype=np.int32),
        conversations=[],
    )


def _salience(place: int) -> float:
    return 0.2 + 0.8 * ((place * 37) % 101) / 101


def _created(place: int) -> float:
    return NOW - (place * 7919) % 63_000_000


def _accessed(place: int) -> float:
    return min(NOW, _created(place) + (place * 104_729) % 8_000_000)


def _valence(place: int) -> float:
    return ((place * 53) % 201 - 100) / 100


def _fresh(place: int) -> float:
    return 1.0 if place % 5 else 0.1 + 0.9 * ((place * 29) % 97) / 97


def _unit(vector: Vector) -> Vector:
    unit: Vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return unit
