"""Who and what is named in several episodes: the association over people, places, things and dates. Pure.

A name that few episodes hold ties them; one that many hold ties nothing, so that no name makes a hub. Which names two
episodes share is not stored with their link: it can be read from them at any time (`shared_names`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from reveries.memory.changes import ChangeSet
from reveries.memory.model import Episode, Link, LinkType
from reveries.memory.text.entities import entity_key

MAX_HOLDERS = 6
"""A name that more episodes hold than this ties none of them."""
MAX_NAMED = 3
"""From one new episode over shared names, each way."""
_STRENGTH = 0.12
_STRONGEST = 0.3


class NameIndex:
    """Which live episodes hold a name, by its key, as far as they are few."""

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, ...]] = {}

    def apply(self, changes: ChangeSet) -> None:
        """Take `changes` over. Never waits, cannot fail. What leaves the graph is passed over when it is asked for."""
        for episode in changes.episodes:
            if episode.merged_into is None:
                self.put(episode)

    def put(self, episode: Episode) -> None:
        """Know that `episode` holds its names."""
        self.add_holder(episode.id, episode.entities)

    def add_holder(self, episode_id: str, entities: Iterable[str]) -> None:
        """Know that an episode holds these names."""
        self._hold_keys(episode_id, _keys(entities))

    def fill(self, named: Iterable[tuple[str, Sequence[str]]]) -> None:
        """`hold` for many at once. Each spelling is read once: most names come again and again."""
        known: dict[str, str] = {}
        for episode_id, entities in named:
            for entity in entities:
                if entity not in known:
                    known[entity] = entity_key(entity)
            self._hold_keys(episode_id, {key for entity in entities if len(key := known[entity]) > 1})

    def _hold_keys(self, episode_id: str, keys: Iterable[str]) -> None:
        for key in keys:
            holders = self._holders.get(key, ())
            if len(holders) <= MAX_HOLDERS and episode_id not in holders:
                self._holders[key] = (*holders, episode_id)

    def __contains__(self, key: object) -> bool:
        return key in self._holders

    def holders(self, key: str) -> tuple[str, ...]:
        """Ids of the episodes that were told to hold it; () for a name that too many hold."""
        found = self._holders.get(key, ())
        return found if len(found) <= MAX_HOLDERS else ()


class KnownNames:
    """Whether one of these indices holds a name."""

    def __init__(self, *indices: NameIndex) -> None:
        self._indices = indices

    def __contains__(self, key: object) -> bool:
        return any(key in index for index in self._indices)


def keys_of(episode: Episode) -> frozenset[str]:
    """The keys of what `episode` names."""
    return _keys(episode.entities)


def shared_names(one: Episode, other: Episode) -> tuple[str, ...]:
    """What both name, in the order and spelling of the first: what a way from one to the other is explained with."""
    theirs = keys_of(other)
    return tuple(entity for entity in one.entities if entity_key(entity) in theirs)


def named_links(
    episode: Episode, others: Mapping[str, Episode], holders: Mapping[str, Iterable[str]], episode_count: int
) -> tuple[Link, ...]:
    """Links of type thematic to the few episodes that share the rarest names with `episode`, one way.

    `holders` has for each of its keys the ids of those who hold it; who is not in `others` is passed over. The strength
    is the sum of 0.12 x rarity over what is shared, 0.3 at most; rarity is log(n / holders) / log(n) over n episodes.
    """
    log_count = math.log(max(3, episode_count))
    strengths: dict[str, float] = {}
    for key in sorted(keys_of(episode)):
        named = [name for name in holders.get(key, ()) if name != episode.id and name in others]
        rarity = 1.0 - math.log(len(named) + 1) / log_count
        for name in named:
            strengths[name] = strengths.get(name, 0.0) + _STRENGTH * max(0.0, rarity)
    best = sorted(strengths, key=lambda name: (-strengths[name], -others[name].created_at, name))[:MAX_NAMED]
    return tuple(
        Link(episode.id, name, LinkType.THEMATIC, round(min(_STRONGEST, strengths[name]), 4))
        for name in best
        if strengths[name] > 0.0
    )


def _keys(entities: Iterable[str]) -> frozenset[str]:
    return frozenset(key for entity in entities if len(key := entity_key(entity)) > 1)
