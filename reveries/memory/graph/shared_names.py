"""Names that occur in several episodes: association by people, places, things and dates. Pure.

A name that few episodes contain links them; a frequent one links none, so that no name creates a hub.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from reveries.memory.changes import ChangeSet
from reveries.memory.model import Episode, Link, LinkType
from reveries.memory.text.entities import entity_key

MAX_HOLDERS = 6
"""A name that occurs in more episodes than this links none of them."""
MAX_NAMED = 3
"""Links over shared names from one new episode, in each direction."""
_STRENGTH = 0.12
_STRONGEST = 0.3


class NameIndex:
    """The live episodes that contain a name, by its key, as long as they are few."""

    def __init__(self) -> None:
        self._holders: dict[str, tuple[str, ...]] = {}

    def apply(self, changes: ChangeSet) -> None:
        """Add the episodes of `changes`. Never waits, cannot fail. Removed episodes stay; readers skip them."""
        for episode in changes.episodes:
            if episode.merged_into is None:
                self.add_episode(episode)

    def add_episode(self, episode: Episode) -> None:
        self._add_keys(episode.id, _entity_keys(episode.entities))

    def add_many(self, named: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Add many episodes (id, entities) at once. Each spelling is normalised once: most names repeat."""
        keys_by_spelling: dict[str, str] = {}
        for episode_id, entities in named:
            for entity in entities:
                if entity not in keys_by_spelling:
                    keys_by_spelling[entity] = entity_key(entity)
            self._add_keys(episode_id, {key for entity in entities if len(key := keys_by_spelling[entity]) > 1})

    def _add_keys(self, episode_id: str, keys: Iterable[str]) -> None:
        for key in keys:
            holders = self._holders.get(key, ())
            if len(holders) <= MAX_HOLDERS and episode_id not in holders:
                self._holders[key] = (*holders, episode_id)

    def __contains__(self, key: object) -> bool:
        return key in self._holders

    def holders(self, key: str) -> tuple[str, ...]:
        """Return the ids of the episodes that contain a name; () if too many do."""
        episode_ids = self._holders.get(key, ())
        return episode_ids if len(episode_ids) <= MAX_HOLDERS else ()


class KnownNames:
    """The names that any of several indices contains."""

    def __init__(self, *indices: NameIndex) -> None:
        self._indices = indices

    def __contains__(self, key: object) -> bool:
        return any(key in index for index in self._indices)


def keys_of(episode: Episode) -> frozenset[str]:
    """Return the keys of the entities of `episode`."""
    return _entity_keys(episode.entities)


def shared_name_links(
    episode: Episode, others: Mapping[str, Episode], holders: Mapping[str, Iterable[str]], episode_count: int
) -> tuple[Link, ...]:
    """Return one-way thematic links from `episode` to the few episodes that share its rarest names.

    `holders` maps each key to the ids of the episodes that contain it; ids not in `others` are skipped. The strength is
    the sum of 0.12 x rarity over the shared names, 0.3 at most; rarity is log(n / holders) / log(n) over n episodes.
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


def _entity_keys(entities: Iterable[str]) -> frozenset[str]:
    return frozenset(key for entity in entities if len(key := entity_key(entity)) > 1)
