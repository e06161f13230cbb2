"""The live graph: every episode that can be recalled, its vector and its links, in memory. No I/O, no waiting.

Arrays, not objects: vectors (`index.vectors`), links (`arena`), the factors of energy (`facts`) and the energy itself
(`spreading`) are flat arrays by node index. When an episode leaves the graph its index can be reused, so callers must
not keep an index past the next `apply`.
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
from reveries.memory.changes import ChangeSet, Fading, PriorState, Touch
from reveries.memory.graph.arena import LinkArena, PackedLinks
from reveries.memory.graph.facts import EpisodeValues, LazyEpisodes, NodeFacts, PackedFacts, UpdatedEpisodes
from reveries.memory.graph.kernels import Kernels, interpreted_kernels
from reveries.memory.graph.spreading import EnergyField
from reveries.memory.model import Episode, Link, LinkType

Edge = tuple[int, LinkType]
"""The target index and the type of a link; each pair has one strength."""


LINK_TYPES: Final = tuple(LinkType)
"""Link types by their number in the arena."""
_NUMBERS: Final = {kind.value: number for number, kind in enumerate(LINK_TYPES)}
_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class PackedGraph:
    """A whole graph, to load into an empty one: parallel sequences, in the order in which the episodes were added."""

    ids: Sequence[str]
    lazy_episodes: LazyEpisodes
    vectors: Vectors
    """A row for each episode, possibly followed by spare rows; zeros for an episode without a vector."""
    links: PackedLinks
    facts: PackedFacts


class MemoryGraph:
    """Episodes by id and by index; links in their stored direction (R-81, RA-32)."""

    def __init__(self, dimensions: int, kernels: Kernels | None = None) -> None:
        self.dimensions = dimensions
        self._episodes: list[Episode | None] = []
        self._lazy_episodes: LazyEpisodes | None = None
        self._ids: list[str] = []
        self._index: dict[str, int] = {}
        self._free: list[int] = []
        self._kernels = kernels or interpreted_kernels()
        self._allocate(VectorTable(self._kernels, dimensions, _FIRST_CAPACITY))

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, episode_id: str) -> bool:
        return episode_id in self._index

    @property
    def size(self) -> int:
        """All indices are below this; some of them are unused."""
        return len(self._episodes)

    @property
    def vectors(self) -> Vectors:
        """One row per index, shape (size, dimensions); zeros for unused indices."""
        return self._table.rows[: self.size]

    def links_by_type(self) -> dict[str, int]:
        """Return the number of links of each type that occurs."""
        nodes = np.fromiter(self._index.values(), dtype=np.int64, count=len(self._index))
        slots, _ = self._arena.slots_from(nodes)
        counts = np.bincount(self._arena.kinds[slots], minlength=len(LINK_TYPES)).tolist()
        return {kind.value: count for kind, count in zip(LINK_TYPES, counts, strict=True) if count}

    def index_of(self, episode_id: str) -> int | None:
        return self._index.get(episode_id)

    def id_at(self, index: int) -> str:
        """Return the id of the episode at an index in use."""
        return self._ids[index]

    def at(self, index: int) -> Episode:
        """Return the episode at an index. Raises KeyError if the index is not in use."""
        episode = self._episodes[index]
        if episode is None:
            if self._lazy_episodes is None or not self._ids[index]:
                raise KeyError(index)
            episode = self._episodes[index] = self._lazy_episodes(index)
        return episode

    def get(self, episode_id: str) -> Episode | None:
        index = self._index.get(episode_id)
        return None if index is None else self.at(index)

    def vector_of(self, episode_id: str) -> Vector:
        """Return an episode's vector. Raises KeyError if there is no such episode."""
        vector: Vector = self._table.rows[self._index[episode_id]]
        return vector

    def nearest(self, vector: Vector, count: int) -> tuple[list[int], list[float]]:
        """Return the indices of the `count` episodes nearest to `vector`, ties included, unordered; and their cosines,
        all above 0."""
        return self._table.nearest(vector, count, self.size)

    def ids(self) -> Iterator[str]:
        """Iterate over all ids in the order in which they were added, without decoding any episode."""
        return iter(self._index)

    def indices_by_time(self) -> tuple[Int64, Float64]:
        """Return the indices in use ordered by when their episodes began, and those times (unix seconds)."""
        indices = np.fromiter(self._index.values(), dtype=np.int64, count=len(self._index))
        began = self._facts.created_at[indices]
        order = np.argsort(began, kind="stable")
        return indices[order], began[order]

    def episodes(self) -> Iterator[Episode]:
        """Iterate over all episodes in the order in which they were added."""
        return (self.at(index) for index in self._index.values())

    def latest_before(self, time: float, conversation_id: str | None, without: str) -> Episode | None:
        """Return the last episode that began no later than `time`, preferring those of the conversation; the episode
        `without` is excluded."""
        facts, own = self._facts, self._index.get(without, -1)
        nodes = facts.nodes_of(conversation_id) if conversation_id else np.zeros(0, dtype=np.int64)
        for among in (nodes, facts.nodes()):
            earlier = among[(facts.created_at[among] <= time) & (among != own)]
            if (node := facts.pick_latest(earlier, facts.created_at)) is not None:
                return self.at(node)
        return None

    def latest_of(self, conversation_id: str) -> Episode | None:
        """Return the latest episode of a conversation."""
        facts = self._facts
        node = facts.pick_latest(facts.nodes_of(conversation_id), facts.ended_at, facts.created_at)
        return None if node is None else self.at(node)

    def select_salient(self, least: float, ended_before: float) -> tuple[Int64, NDArray[np.float32]]:
        """Return the indices of the episodes with at least that salience that ended before that time, and their
        salience x accessibility."""
        facts, nodes = self._facts, self._facts.nodes()
        nodes = nodes[(facts.salience[nodes] >= least) & (facts.ended_at[nodes] < ended_before)]
        return nodes, (facts.salience[nodes] * facts.accessibility[nodes]).astype(np.float32)

    def neighbours(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the targets and strengths of the outgoing links of `index`, as views that the next change
        invalidates."""
        return self._arena.arrays_from(index)

    def pull_of(self, index: int) -> float:
        """Return salience x accessibility of the episode at an index in use."""
        return float(self._facts.salience[index] * self._facts.accessibility[index])

    def ended_at(self, index: int) -> float:
        """Return when the episode at an index in use ended (unix seconds)."""
        return float(self._facts.ended_at[index])

    def ids_less_accessible(self, than: float) -> list[str]:
        """Return the ids of the episodes below that accessibility."""
        facts, nodes = self._facts, self._facts.nodes()
        return [self._ids[node] for node in nodes[facts.accessibility[nodes] < than].tolist()]

    def least_reachable_ids(self, count: int) -> list[str]:
        """Return the ids of the `count` episodes hardest to reach: least accessible, then least salient, then least
        recently used."""
        facts, nodes = self._facts, self._facts.nodes()
        if len(nodes) > count:
            # Keep all ties at the cut-off accessibility: salience and last access decide among them.
            most = np.partition(facts.accessibility[nodes], count - 1)[count - 1] if count else np.float32(-1.0)
            nodes = nodes[facts.accessibility[nodes] <= most]
        order = np.lexsort((facts.last_accessed_at[nodes], facts.salience[nodes], facts.accessibility[nodes]))
        return [self._ids[node] for node in nodes[order[:count]].tolist()]

    def saliences(self) -> Float64:
        """Return the salience of every episode, unordered."""
        return self._facts.salience[self._facts.nodes()]

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Return the episode ids that begin with `prefix`."""
        return [name for name in self._index if name.startswith(prefix)]

    def edges(self, index: int) -> Mapping[Edge, float]:
        """Return the outgoing links of the episode at `index`, with their strengths."""
        return {(target, LINK_TYPES[kind]): strength for target, kind, strength in self._arena.links_from(index)}

    def links_of(self, episode_id: str) -> tuple[Link, ...]:
        """Return the outgoing links of an episode, strongest first."""
        index = self._index.get(episode_id)
        if index is None:
            return ()
        links = [Link(episode_id, self._ids[to], kind, strength) for (to, kind), strength in self.edges(index).items()]
        return tuple(sorted(links, key=lambda link: (-link.strength, link.target_id, link.type)))

    def links_into(self, episode_id: str) -> tuple[Link, ...]:
        """Return the incoming links of an episode."""
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
        """Return the strength of a link; None if there is no such link."""
        source, target = self._index.get(source_id), self._index.get(target_id)
        if source is None or target is None:
            return None
        return self._arena.strength(source, target, _NUMBERS[kind.value])

    def state_before(self, changes: ChangeSet) -> PriorState:
        """Return the current state of the episodes and links that `changes` would change or remove."""
        named = {episode.id for episode in changes.episodes} | {entry.episode_id for entry in changes.retired}
        return PriorState(
            episodes=tuple(episode for name in sorted(named) if (episode := self.get(name)) is not None),
            links=tuple(
                replace(link, strength=strength)
                for link in changes.links
                if (strength := self.strength_of(link.source_id, link.target_id, link.type)) is not None
            ),
        )

    def apply(self, changes: ChangeSet) -> None:
        """Apply `changes` in place. Entries for episodes that are not in the graph are skipped. Never waits."""
        for episode_id in changes.removed_ids:
            self._drop_episode(episode_id)
        for episode in changes.episodes:
            self._put_episode(episode)
        for episode_id, vector in changes.vectors:
            if (index := self._index.get(episode_id)) is not None:
                self._table.set_row(index, vector)
        if changes.links:
            self._put_links(changes.links)
        for touch in changes.touches:
            self._update_episode(touch)
        for fading in changes.fadings:
            self._update_episode(fading)
        for retirement in changes.retired:
            self._drop_episode(retirement.episode_id)
        for dormancy in changes.dormant:
            self._drop_episode(dormancy.episode_id)

    def update_values(self, values: EpisodeValues) -> None:
        """Apply the changes of many touches and fadings at once without decoding the episodes. Episodes that are not in
        the graph are skipped."""
        indices = np.array([self._index.get(name, -1) for name in values.ids], dtype=np.int64)
        rows = np.flatnonzero(indices >= 0)
        nodes = indices[rows]
        self._facts.update_values(nodes, values, rows)
        for node, row in zip(nodes.tolist(), rows.tolist(), strict=True):
            if (episode := self._episodes[node]) is not None:
                self._episodes[node] = values.apply_to(episode, row)
        if self._lazy_episodes is not None:
            self._lazy_episodes = UpdatedEpisodes(self._lazy_episodes, nodes, rows, values, pack_episode)

    def arrange_vectors(self, dimensions: int, vectors: Mapping[str, Vector]) -> VectorTable:
        """Arrange `vectors`, by episode id, as the rows of this graph; zeros for missing ones. Changes nothing."""
        table = VectorTable(self._kernels, dimensions, len(self._table.rows))
        for episode_id, index in self._index.items():
            if (vector := vectors.get(episode_id)) is not None:
                table.rows[index] = vector
        while table.extend_shadow(self.size):
            pass
        return table

    def replace_vectors(self, table: VectorTable) -> None:
        """Replace the vectors with `table`, which `arrange_vectors` of this graph returned."""
        self.dimensions = table.dimensions
        self._table = table
        table.kernels = self._kernels

    def load_packed(self, packed: PackedGraph) -> None:
        """Load `packed` into this empty graph. Raises ValueError if the parts are inconsistent."""
        count = len(packed.ids)
        if len(packed.links.nodes) != count or not packed.facts.has_length(count) or len(packed.vectors) < count:
            raise ValueError("The parts of the graph differ in length.")
        table = VectorTable(self._kernels, self.dimensions, 0)
        table.replace_rows(packed.vectors)
        if count > len(table.rows) - _FIRST_CAPACITY:
            table.grow(count + _FIRST_CAPACITY)
        self._allocate(table)
        self._arena.load_packed(packed.links)
        self._facts.load_packed(packed.facts)
        self._episodes, self._lazy_episodes, self._ids = [None] * count, packed.lazy_episodes, list(packed.ids)
        self._index = dict(zip(self._ids, range(count), strict=True))

    def pack(self) -> PackedGraph:
        """Return a copy of this graph that later changes do not affect, without spare rows."""
        rows = np.fromiter(self._index.values(), dtype=np.int64, count=len(self._index))
        return PackedGraph(
            ids=list(self._index),
            lazy_episodes=_EpisodesCopy(rows, list(self._episodes), self._lazy_episodes),
            vectors=self._table.rows[rows],
            links=self._arena.pack(rows, self.size),
            facts=self._facts.pack(rows),
        )

    def use_kernels(self, kernels: Kernels) -> None:
        self._kernels = self._table.kernels = self._arena.kernels = kernels

    @property
    def has_compiled_loops(self) -> bool:
        """Whether the loops are machine code."""
        return self._kernels.are_compiled

    def shadow_slices(self) -> Iterator[None]:
        """Build the int8 copy that a compiled search reads, 4,096 rows a step. The graph may change between steps."""
        while self._table.extend_shadow(self.size):
            yield

    @property
    def field(self) -> EnergyField:
        """The energy of the nodes during a recall."""
        return self._field

    def _allocate(self, table: VectorTable) -> None:
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
        self._facts.set_node(index, episode)

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
        except KeyError:  # Cheaper than checking each link: few change sets name a removed episode.
            self._put_links([link for link in links if link.source_id in index and link.target_id in index])
            return
        kinds = [_NUMBERS[link.type._value_] for link in links]
        self._arena.put_links(sources, ends, kinds, [link.strength for link in links])

    def _update_episode(self, change: Touch | Fading) -> None:
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
        self._facts.set_node(index, episode)

    def _drop_episode(self, episode_id: str) -> None:
        index = self._index.pop(episode_id, None)
        if index is None:
            return
        self._arena.drop_node(index)
        self._table.clear_row(index)
        self._facts.clear_node(index)
        self._episodes[index] = None
        self._ids[index] = ""
        self._free.append(index)


class _EpisodesCopy:
    """The episodes of a graph at one moment: the decoded ones, and the lazy source of the others."""

    def __init__(self, rows: Int64, episodes: list[Episode | None], lazy_episodes: LazyEpisodes | None) -> None:
        self._rows = rows
        self._episodes = episodes
        self._lazy_episodes = lazy_episodes

    def __call__(self, place: int) -> Episode:
        row = int(self._rows[place])
        episode = self._episodes[row]
        if episode is None:
            if self._lazy_episodes is None:
                raise KeyError(place)
            return self._lazy_episodes(row)
        return episode

    def raw(self, place: int) -> bytes:
        row = int(self._rows[place])
        if self._episodes[row] is None and self._lazy_episodes is not None:
            return self._lazy_episodes.raw(row)
        return pack_episode(self(place))


class _EntitiesOnly(msgspec.Struct):
    entities: tuple[str, ...]


_entities_decoder = msgspec.msgpack.Decoder(_EntitiesOnly)


def decode_entities(raw: bytes) -> tuple[str, ...]:
    """Decode only the entities of a packed episode."""
    return _entities_decoder.decode(raw).entities


def pack_episode(episode: Episode) -> bytes:
    """Return an episode as MessagePack."""
    return msgspec.msgpack.encode(episode)
