"""The live graph: every episode that can be recalled, its vector and its links, in memory. No I/O, no waiting.

The plain form: a growable float32 array of vectors beside lists of episodes and adjacency maps. An index is given once
and never used again, so that whoever holds one is never shown another episode under it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import Before, ChangeSet, Fading, Touch
from reveries.memory.model import Episode, Link, LinkType

Edge = tuple[int, LinkType]
"""Where a link leads (an index) and of which type it is: one strength for each."""

_FIRST_CAPACITY = 64


class MemoryGraph:
    """Episodes by id and by index; links in their stored direction (R-81, RA-32)."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._vectors: Vectors = np.zeros((_FIRST_CAPACITY, dimensions), dtype=np.float32)
        self._episodes: list[Episode | None] = []
        self._index: dict[str, int] = {}
        self._links: list[dict[Edge, float]] = []
        self._backlinks: list[set[int]] = []

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, episode_id: str) -> bool:
        return episode_id in self._index

    @property
    def size(self) -> int:
        """Indices run below this; some of them stand for nothing any more."""
        return len(self._episodes)

    @property
    def vectors(self) -> Vectors:
        """One row an index, shape (size, dimensions); zeros where nothing stands."""
        return self._vectors[: self.size]

    def index_of(self, episode_id: str) -> int | None:
        return self._index.get(episode_id)

    def at(self, index: int) -> Episode:
        """The episode at an index that is in use. Raises KeyError for one that is not."""
        episode = self._episodes[index]
        if episode is None:
            raise KeyError(index)
        return episode

    def get(self, episode_id: str) -> Episode | None:
        index = self._index.get(episode_id)
        return None if index is None else self._episodes[index]

    def vector_of(self, episode_id: str) -> Vector:
        """Raises KeyError when there is no such episode."""
        vector: Vector = self._vectors[self._index[episode_id]]
        return vector

    def episodes(self) -> Iterator[Episode]:
        """All of them, in the order in which they came."""
        return (episode for episode in self._episodes if episode is not None)

    def edges(self, index: int) -> Mapping[Edge, float]:
        """Where the links of the episode at `index` lead, with their strengths."""
        return self._links[index]

    def links_of(self, episode_id: str) -> tuple[Link, ...]:
        """The links that go out from an episode, strongest first."""
        index = self._index.get(episode_id)
        if index is None:
            return ()
        found = [
            Link(episode_id, self.at(to).id, kind, strength) for (to, kind), strength in self._links[index].items()
        ]
        return tuple(sorted(found, key=lambda link: (-link.strength, link.target_id, link.type)))

    def links_into(self, episode_id: str) -> tuple[Link, ...]:
        """The links that come in to an episode."""
        index = self._index.get(episode_id)
        if index is None:
            return ()
        return tuple(
            Link(self.at(source).id, episode_id, kind, strength)
            for source in sorted(self._backlinks[index])
            for (to, kind), strength in self._links[source].items()
            if to == index
        )

    def strength_of(self, source_id: str, target_id: str, kind: LinkType) -> float | None:
        """How strong a link is; None when there is none."""
        source, target = self._index.get(source_id), self._index.get(target_id)
        if source is None or target is None:
            return None
        return self._links[source].get((target, kind))

    def before(self, changes: ChangeSet) -> Before:
        """What stands now where `changes` would put something."""
        put = {episode.id for episode in changes.episodes}
        named = put | {entry.episode_id for entry in changes.retired}
        named |= {entry.episode_id for entry in changes.fadings} | {entry.episode_id for entry in changes.touches}
        old_links = [
            replace(link, strength=strength)
            for link in changes.links
            if (strength := self.strength_of(link.source_id, link.target_id, link.type)) is not None
        ]
        known = {(link.source_id, link.target_id, link.type) for link in old_links}
        return Before(
            episodes=tuple(episode for name in sorted(named) if (episode := self.get(name)) is not None),
            links=tuple(old_links),
            new_episode_ids=tuple(sorted(put - self._index.keys())),
            new_links=tuple(link for link in changes.links if (link.source_id, link.target_id, link.type) not in known),
        )

    def apply(self, changes: ChangeSet) -> None:
        """Take `changes` over. What names an episode that is not here is passed over."""
        for episode_id in changes.removed_ids:
            self._drop(episode_id)
        for episode in changes.episodes:
            self._put(episode)
        for episode_id, vector in changes.vectors:
            if (index := self._index.get(episode_id)) is not None:
                self._vectors[index] = vector
        for link in changes.links:
            self._put_link(link)
        for touch in changes.touches:
            self._alter(touch)
        for fading in changes.fadings:
            self._alter(fading)
        for retirement in changes.retired:
            self._drop(retirement.episode_id)

    def arranged(self, dimensions: int, vectors: Mapping[str, Vector]) -> Vectors:
        """`vectors`, by episode id, as the rows of this graph; zeros where there is none. Changes nothing."""
        rows: Vectors = np.zeros((len(self._vectors), dimensions), dtype=np.float32)
        for episode_id, index in self._index.items():
            if (vector := vectors.get(episode_id)) is not None:
                rows[index] = vector
        return rows

    def replace_vectors(self, dimensions: int, rows: Vectors) -> None:
        """Put `rows`, which `arranged` made of this very graph, in the place of its vectors."""
        self.dimensions = dimensions
        self._vectors = rows

    def _put(self, episode: Episode) -> None:
        if episode.merged_into is not None:
            return
        index = self._index.get(episode.id)
        if index is None:
            self._index[episode.id] = len(self._episodes)
            self._episodes.append(episode)
            self._links.append({})
            self._backlinks.append(set())
            self._grow()
        else:
            self._episodes[index] = episode

    def _grow(self) -> None:
        if len(self._episodes) > len(self._vectors):
            wider = np.zeros((2 * len(self._vectors), self.dimensions), dtype=np.float32)
            wider[: len(self._vectors)] = self._vectors
            self._vectors = wider

    def _put_link(self, link: Link) -> None:
        source, target = self._index.get(link.source_id), self._index.get(link.target_id)
        if source is not None and target is not None and source != target:
            self._links[source][(target, link.type)] = min(1.0, max(0.0, link.strength))
            self._backlinks[target].add(source)

    def _alter(self, change: Touch | Fading) -> None:
        index = self._index.get(change.episode_id)
        if index is None:
            return
        episode = replace(self.at(index), salience=change.salience, accessibility=change.accessibility)
        match change:
            case Touch():
                episode = replace(episode, access_count=change.access_count, last_accessed_at=change.last_accessed_at)
            case Fading():
                episode = replace(episode, last_decayed_at=change.last_decayed_at)
        self._episodes[index] = episode

    def _drop(self, episode_id: str) -> None:
        index = self._index.pop(episode_id, None)
        if index is None:
            return
        for source in self._backlinks[index]:
            self._links[source] = {edge: s for edge, s in self._links[source].items() if edge[0] != index}
        for target, _ in self._links[index]:
            self._backlinks[target].discard(index)
        self._episodes[index] = None
        self._links[index] = {}
        self._backlinks[index] = set()
        self._vectors[index] = 0.0
