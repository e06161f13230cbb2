"""The live graph: every episode that can be recalled, its vector and its links, in memory. No I/O, no waiting.

Arrays, not objects: vectors (`index.vectors`), links (`arena`), what energy is multiplied with (`facts`) and the energy
itself (`spreading`) stand in flat arrays by node index. An index belongs to its episode until that one leaves the
graph; then another may get it, so nobody keeps an index past the next `apply`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from reveries.index.arrays import Float64, Int64
from reveries.index.vectors import VectorTable
from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import Before, ChangeSet, Fading, Touch
from reveries.memory.graph.arena import LinkArena, PackedLinks
from reveries.memory.graph.facts import EpisodeShelf, EpisodeValues, NodeFacts, PackedFacts, UpdatedShelf
from reveries.memory.graph.kernels import Kernels, interpreted_kernels
from reveries.memory.graph.spreading import EnergyField
from reveries.memory.model import Episode, Link, LinkType

Edge = tuple[int, LinkType]
"""Where a link leads (an index) and of which type it is: one strength for each."""


LINK_TYPES: Final = tuple(LinkType)
"""A link's type by the number that stands for it in the arena."""
_NUMBERS: Final = {kind.value: number for number, kind in enumerate(LINK_TYPES)}
_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class PackedGraph:
    """A whole graph, to fill an empty one with: parallel sequences, in the order in which the episodes came."""

    ids: Sequence[str]
    shelf: EpisodeShelf
    vectors: Vectors
    """A row for each episode, and room behind them; zeros where an episode has none."""
    links: PackedLinks
    facts: PackedFacts


class MemoryGraph:
    """Episodes by id and by index; links in their stored direction (R-81, RA-32)."""

    def __init__(self, dimensions: int, kernels: Kernels | None = None) -> None:
        self.dimensions = dimensions
        self._episodes: list[Episode | None] = []
        self._shelf: EpisodeShelf | None = None
        self._ids: list[str] = []
        self._index: dict[str, int] = {}
        self._free: list[int] = []
        self._kernels = kernels or interpreted_kernels()
        self._allot(VectorTable(self._kernels, dimensions, _FIRST_CAPACITY))

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, episode_id: str) -> bool:
        return episode_id in self._index

    @property
    def size(self) -> int:
        """Indices run below this; some of them stand for nothing."""
        return len(self._episodes)

    @property
    def vectors(self) -> Vectors:
        """One row an index, shape (size, dimensions); zeros where nothing stands."""
        return self._table.rows[: self.size]

    @property
    def link_count(self) -> int:
        """How many links there are, each direction for itself."""
        return self._arena.link_count

    def links_by_type(self) -> dict[str, int]:
        """How many links there are of each type that there is."""
        nodes = np.fromiter(self._index.values(), dtype=np.int64, count=len(self._index))
        slots, _ = self._arena.slots_from(nodes)
        counts = np.bincount(self._arena.kinds[slots], minlength=len(LINK_TYPES)).tolist()
        return {kind.value: count for kind, count in zip(LINK_TYPES, counts, strict=True) if count}

    def index_of(self, episode_id: str) -> int | None:
        return self._index.get(episode_id)

    def id_at(self, index: int) -> str:
        """The id of the episode at an index that is in use."""
        return self._ids[index]

    def at(self, index: int) -> Episode:
        """The episode at an index that is in use. Raises KeyError for one that is not."""
        episode = self._episodes[index]
        if episode is None:
            if self._shelf is None or not self._ids[index]:
                raise KeyError(index)
            episode = self._episodes[index] = self._shelf(index)
        return episode

    def get(self, episode_id: str) -> Episode | None:
        index = self._index.get(episode_id)
        return None if index is None else self.at(index)

    def vector_of(self, episode_id: str) -> Vector:
        """Raises KeyError when there is no such episode."""
        vector: Vector = self._table.rows[self._index[episode_id]]
        return vector

    def nearest(self, vector: Vector, count: int) -> tuple[list[int], list[float]]:
        """The indices of the `count` episodes nearest to `vector`, ties included, in no order; and their cosines, all
        above 0."""
        return self._table.nearest(vector, count, self.size)

    def ids(self) -> Iterator[str]:
        """The ids of all of them, in the order in which they came: no episode is put together for it."""
        return iter(self._index)

    def by_time(self) -> tuple[Int64, Float64]:
        """The indices in use by when their episodes began, and when that was (unix seconds)."""
        indices = np.fromiter(self._index.values(), dtype=np.int64, count=len(self._index))
        began = self._facts.created_at[indices]
        order = np.argsort(began, kind="stable")
        return indices[order], began[order]

    def episodes(self) -> Iterator[Episode]:
        """All of them, in the order in which they came."""
        return (self.at(index) for index in self._index.values())

    def latest_before(self, time: float, conversation_id: str | None, without: str) -> Episode | None:
        """The episode that began last, no later than `time`; of that conversation, if one of it did. `without` is
        nobody."""
        facts, own = self._facts, self._index.get(without, -1)
        nodes = facts.nodes_of(conversation_id) if conversation_id else np.zeros(0, dtype=np.int64)
        for among in (nodes, facts.nodes()):
            earlier = among[(facts.created_at[among] <= time) & (among != own)]
            if (found := facts.first_of_latest(earlier, facts.created_at)) is not None:
                return self.at(found)
        return None

    def last_of(self, conversation_id: str) -> Episode | None:
        """The episode that a conversation has come to."""
        facts = self._facts
        found = facts.first_of_latest(facts.nodes_of(conversation_id), facts.ended_at, facts.created_at)
        return None if found is None else self.at(found)

    def salient(self, least: float, ended_before: float) -> tuple[Int64, NDArray[np.float32]]:
        """Indices of the episodes of at least that salience that ended before then; each with salience x
        accessibility."""
        facts, nodes = self._facts, self._facts.nodes()
        nodes = nodes[(facts.salience[nodes] >= least) & (facts.ended_at[nodes] < ended_before)]
        return nodes, (facts.salience[nodes] * facts.accessibility[nodes]).astype(np.float32)

    def neighbours(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Where the links that go out from the node at `index` lead, and how strong they are; to be read at once."""
        return self._arena.arrays_from(index)

    def pull_of(self, index: int) -> float:
        """Salience x accessibility of the episode at an index that is in use."""
        return float(self._facts.salience[index] * self._facts.accessibility[index])

    def ended_at(self, index: int) -> float:
        """When the episode at an index that is in use ended (unix seconds)."""
        return float(self._facts.ended_at[index])

    def less_accessible(self, than: float) -> list[str]:
        """Ids of the episodes below that accessibility."""
        facts, nodes = self._facts, self._facts.nodes()
        return [self._ids[node] for node in nodes[facts.accessibility[nodes] < than].tolist()]

    def least_reachable(self, count: int) -> list[str]:
        """Ids of the `count` episodes hardest to reach: least accessible, then least salient, then longest unseen."""
        facts, nodes = self._facts, self._facts.nodes()
        if len(nodes) > count:
            # Those that are as accessible as the last one in are all looked at: the other two decide among them.
            most = np.partition(facts.accessibility[nodes], count - 1)[count - 1] if count else np.float32(-1.0)
            nodes = nodes[facts.accessibility[nodes] <= most]
        order = np.lexsort((facts.last_accessed_at[nodes], facts.salience[nodes], facts.accessibility[nodes]))
        return [self._ids[node] for node in nodes[order[:count]].tolist()]

    def saliences(self) -> Float64:
        """Of every episode, in no order."""
        return self._facts.salience[self._facts.nodes()]

    def ids_beginning(self, prefix: str) -> list[str]:
        """Ids of the episodes whose id begins so."""
        return [name for name in self._index if name.startswith(prefix)]

    def edges(self, index: int) -> Mapping[Edge, float]:
        """Where the links of the episode at `index` lead, with their strengths."""
        return {(target, LINK_TYPES[kind]): strength for target, kind, strength in self._arena.links_from(index)}

    def links_of(self, episode_id: str) -> tuple[Link, ...]:
        """The links that go out from an episode, strongest first."""
        index = self._index.get(episode_id)
        if index is None:
            return ()
        found = [Link(episode_id, self._ids[to], kind, strength) for (to, kind), strength in self.edges(index).items()]
        return tuple(sorted(found, key=lambda link: (-link.strength, link.target_id, link.type)))

    def links_into(self, episode_id: str) -> tuple[Link, ...]:
        """The links that come in to an episode."""
        index = self._index.get(episode_id)
        if index is None:
            return ()
        return tuple(
            Link(self._ids[source], episode_id, kind, strength)
            for source in self._arena.sources_of(index)
            for (to, kind), strength in self.edges(source).items()
            if to == index
        )

    def strength_of(self, source_id: str, target_id: str, kind: LinkType) -> float | None:
        """How strong a link is; None when there is none."""
        source, target = self._index.get(source_id), self._index.get(target_id)
        if source is None or target is None:
            return None
        return self._arena.strength(source, target, _NUMBERS[kind.value])

    def before(self, changes: ChangeSet) -> Before:
        """What stands now where `changes` would put something, or take it away."""
        named = {episode.id for episode in changes.episodes} | {entry.episode_id for entry in changes.retired}
        return Before(
            episodes=tuple(episode for name in sorted(named) if (episode := self.get(name)) is not None),
            links=tuple(
                replace(link, strength=strength)
                for link in changes.links
                if (strength := self.strength_of(link.source_id, link.target_id, link.type)) is not None
            ),
        )

    def apply(self, changes: ChangeSet) -> None:
        """Take `changes` over, in place. What names an episode that is not here is passed over. Never waits."""
        for episode_id in changes.removed_ids:
            self._drop_episode(episode_id)
        for episode in changes.episodes:
            self._put_episode(episode)
        for episode_id, vector in changes.vectors:
            if (index := self._index.get(episode_id)) is not None:
                self._table.put(index, vector)
        if changes.links:
            self._put_links(changes.links)
        for touch in changes.touches:
            self._alter(touch)
        for fading in changes.fadings:
            self._alter(fading)
        for retirement in changes.retired:
            self._drop_episode(retirement.episode_id)
        for dormancy in changes.dormant:
            self._drop_episode(dormancy.episode_id)

    def restand(self, standings: EpisodeValues) -> None:
        """Take over what touches and fadings would change, of many at once: episodes stay on their shelf. Who is not
        here is passed over."""
        found = np.array([self._index.get(name, -1) for name in standings.ids], dtype=np.int64)
        rows = np.flatnonzero(found >= 0)
        nodes = found[rows]
        self._facts.restand(nodes, standings, rows)
        for node, row in zip(nodes.tolist(), rows.tolist(), strict=True):
            if (episode := self._episodes[node]) is not None:
                self._episodes[node] = standings.of(row, episode)
        if self._shelf is not None:
            self._shelf = UpdatedShelf(self._shelf, nodes, rows, standings, pack_episode)

    def arrange_vectors(self, dimensions: int, vectors: Mapping[str, Vector]) -> VectorTable:
        """`vectors`, by episode id, as the rows of this graph; zeros where there is none. Changes nothing."""
        table = VectorTable(self._kernels, dimensions, len(self._table.rows))
        for episode_id, index in self._index.items():
            if (vector := vectors.get(episode_id)) is not None:
                table.rows[index] = vector
        while table.extend_shadow(self.size):
            pass
        return table

    def replace_vectors(self, table: VectorTable) -> None:
        """Put `table`, which `arrange_vectors` made of this very graph, in the place of its vectors."""
        self.dimensions = table.dimensions
        self._table = table
        table.kernels = self._kernels

    def fill(self, packed: PackedGraph) -> None:
        """Fill this graph, which is empty, in one go. Raises ValueError where the parts do not fit together."""
        count = len(packed.ids)
        if len(packed.links.nodes) != count or not packed.facts.is_whole(count) or len(packed.vectors) < count:
            raise ValueError("The parts of the graph are not of one length.")
        table = VectorTable(self._kernels, self.dimensions, 0)
        table.replace_rows(packed.vectors)
        if count > len(table.rows) - _FIRST_CAPACITY:
            table.grow(count + _FIRST_CAPACITY)
        self._allot(table)
        self._arena.fill(packed.links)
        self._facts.fill(packed.facts)
        self._episodes, self._shelf, self._ids = [None] * count, packed.shelf, list(packed.ids)
        self._index = dict(zip(self._ids, range(count), strict=True))

    def pack(self) -> PackedGraph:
        """A copy of this graph as it is now: nothing done to it later is seen in the copy. Without room behind it."""
        rows = np.fromiter(self._index.values(), dtype=np.int64, count=len(self._index))
        return PackedGraph(
            ids=list(self._index),
            shelf=_EpisodesCopy(rows, list(self._episodes), self._shelf),
            vectors=self._table.rows[rows],
            links=self._arena.pack(rows, self.size),
            facts=self._facts.pack(rows),
        )

    def use(self, kernels: Kernels) -> None:
        """Go on with `kernels`."""
        self._kernels = self._table.kernels = self._arena.kernels = kernels

    def shadow_slices(self) -> Iterator[None]:
        """Make the int8 shadow that a compiled search reads, 4,096 rows a step. The graph may change between steps."""
        while self._table.extend_shadow(self.size):
            yield

    @property
    def field(self) -> EnergyField:
        """Where the energy of a recall stands while it lasts."""
        return self._field

    def _allot(self, table: VectorTable) -> None:
        self._table = table
        nodes = len(table.rows)
        self._arena = LinkArena(self._kernels, nodes)
        self._facts = NodeFacts(nodes)
        self._field = EnergyField(self._arena, self._facts, nodes)

    def _put_episode(self, episode: Episode) -> None:
        if episode.merged_into is not None:
            return
        index = self._index.get(episode.id)
        if index is None:
            index = self._index[episode.id] = self._new_index(episode.id)
        self._episodes[index] = episode
        self._facts.put(index, episode)

    def _new_index(self, episode_id: str) -> int:
        if self._free:
            index = self._free.pop()
            self._ids[index] = episode_id
            return index
        index = len(self._episodes)
        self._episodes.append(None)
        self._ids.append(episode_id)
        capacity = len(self._table.rows)
        if index >= capacity:
            for part in (self._table, self._facts, self._field):
                part.grow(2 * capacity)
            self._arena.grow_nodes(2 * capacity)
        return index

    def _put_links(self, links: Sequence[Link]) -> None:
        index = self._index
        try:
            sources = [index[link.source_id] for link in links]
            ends = [index[link.target_id] for link in links]
        except KeyError:  # Cheaper than to ask for each: few change sets name anybody who is gone.
            self._put_links([link for link in links if link.source_id in index and link.target_id in index])
            return
        kinds = [_NUMBERS[link.type._value_] for link in links]
        self._arena.put(sources, ends, kinds, [link.strength for link in links])

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
        self._facts.put(index, episode)

    def _drop_episode(self, episode_id: str) -> None:
        index = self._index.pop(episode_id, None)
        if index is None:
            return
        self._arena.drop_node(index)
        self._table.clear(index)
        self._facts.clear(index)
        self._episodes[index] = None
        self._ids[index] = ""
        self._free.append(index)


class _EpisodesCopy:
    """The episodes of a graph as they were: those at hand, the others from its shelf."""

    def __init__(self, rows: Int64, episodes: list[Episode | None], shelf: EpisodeShelf | None) -> None:
        self._rows = rows
        self._episodes = episodes
        self._shelf = shelf

    def __call__(self, place: int) -> Episode:
        row = int(self._rows[place])
        episode = self._episodes[row]
        if episode is None:
            if self._shelf is None:
                raise KeyError(place)
            return self._shelf(row)
        return episode

    def raw(self, place: int) -> bytes:
        row = int(self._rows[place])
        if self._episodes[row] is None and self._shelf is not None:
            return self._shelf.raw(row)
        return pack_episode(self(place))


class _Named(msgspec.Struct):
    entities: tuple[str, ...]


_named_decoder = msgspec.msgpack.Decoder(_Named)


def entities_packed(raw: bytes) -> tuple[str, ...]:
    """What a packed episode names, without the rest of it."""
    return _named_decoder.decode(raw).entities


def pack_episode(episode: Episode) -> bytes:
    """An episode as MessagePack."""
    return msgspec.msgpack.encode(episode)
