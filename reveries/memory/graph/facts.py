"""What recall multiplies energy with, one value a node: a copy of an episode's fields in arrays; and new values of many
episodes at once, laid over those that are still packed. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from reveries.index.arrays import Float32, Float64, Int32, Int64
from reveries.memory.graph.spread_loops import LEAST_TIME, MOST_TIME, year_day
from reveries.memory.model import Episode


class EpisodeShelf(Protocol):
    """Episodes as they stand in a file, by their place; put together when somebody wants one, for a hundred thousand at
    once take seconds."""

    def __call__(self, place: int) -> Episode:
        """The episode at a place."""

    def raw(self, place: int) -> bytes:
        """The same, packed (`pack_episode`)."""


@dataclass(frozen=True, slots=True)
class EpisodeValues:
    """The new values of episodes, in parallel columns: those that `Touch` and `Fading` name."""

    ids: Sequence[str]
    access_count: Int64
    last_accessed_at: Float64
    salience: Float64
    accessibility: Float64
    last_decayed_at: Float64

    def of(self, row: int, episode: Episode) -> Episode:
        """`episode` with the values of a row."""
        return replace(
            episode,
            access_count=int(self.access_count[row]),
            last_accessed_at=float(self.last_accessed_at[row]),
            salience=float(self.salience[row]),
            accessibility=float(self.accessibility[row]),
            last_decayed_at=float(self.last_decayed_at[row]),
        )


class UpdatedShelf:
    """A shelf whose episodes stand otherwise by now."""

    def __init__(
        self,
        shelf: EpisodeShelf,
        places: Int64,
        rows: Int64,
        standings: EpisodeValues,
        pack: Callable[[Episode], bytes],
    ) -> None:
        self._shelf = shelf
        self._rows = np.full(int(places.max(initial=-1)) + 1, -1, dtype=np.int64)
        self._rows[places] = rows
        self._standings = standings
        self._pack = pack

    def __call__(self, place: int) -> Episode:
        episode, row = self._shelf(place), self._row(place)
        return episode if row < 0 else self._standings.of(row, episode)

    def raw(self, place: int) -> bytes:
        return self._shelf.raw(place) if self._row(place) < 0 else self._pack(self(place))

    def _row(self, place: int) -> int:
        return int(self._rows[place]) if place < len(self._rows) else -1


@dataclass(frozen=True, slots=True)
class RecallMoment:
    """When it is, as the loops compare it."""

    now: float
    week_hour: int
    """0 to 167, in UTC."""
    year_day: int
    """32 x month + day."""


def graph_moment(now: float) -> RecallMoment:
    """`now` in unix seconds, with its place in the week and in the year."""
    hour = math.floor(min(max(now, LEAST_TIME), MOST_TIME) / 3600.0)
    return RecallMoment(now, hour % 168, year_day(hour // 24))


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """The facts of nodes 0, 1, 2 ... side by side."""

    accessibility: Float64
    valence: Float64
    salience: Float64
    last_accessed_at: Float64
    created_at: Float64
    ended_at: Float64
    conversation: Int32
    """Places in `conversations`; -1 for none."""
    conversations: Sequence[str]

    def is_whole(self, count: int) -> bool:
        """Whether there are `count` of each."""
        moods = (self.accessibility, self.valence, self.salience)
        times = (self.last_accessed_at, self.created_at, self.ended_at)
        return all(len(column) == count for column in (*moods, *times, self.conversation))


class NodeFacts:
    """Arrays by node index."""

    def __init__(self, nodes: int) -> None:
        self.accessibility: Float32 = np.ones(nodes, dtype=np.float32)
        self.valence: Float32 = np.zeros(nodes, dtype=np.float32)
        self.salience: Float64 = np.zeros(nodes, dtype=np.float64)
        self.last_accessed_at: Float64 = np.zeros(nodes, dtype=np.float64)
        self.created_at: Float64 = np.zeros(nodes, dtype=np.float64)
        self.ended_at: Float64 = np.zeros(nodes, dtype=np.float64)
        self.conversation: Int32 = np.full(nodes, -1, dtype=np.int32)
        self.came: Int64 = np.full(nodes, -1, dtype=np.int64)
        """The how-manieth a node was to come; -1 where nothing stands."""
        self._conversations: dict[str, int] = {}
        self._next = 0

    def grow(self, nodes: int) -> None:
        """Room for node indices below `nodes`."""
        more = NodeFacts(nodes - len(self.valence))
        self.accessibility = np.concatenate([self.accessibility, more.accessibility])
        self.valence = np.concatenate([self.valence, more.valence])
        self.salience = np.concatenate([self.salience, more.salience])
        self.last_accessed_at = np.concatenate([self.last_accessed_at, more.last_accessed_at])
        self.created_at = np.concatenate([self.created_at, more.created_at])
        self.ended_at = np.concatenate([self.ended_at, more.ended_at])
        self.conversation = np.concatenate([self.conversation, more.conversation])
        self.came = np.concatenate([self.came, more.came])

    def put(self, node: int, episode: Episode) -> None:
        """Copy what counts of `episode`."""
        self.accessibility[node] = episode.accessibility
        self.valence[node] = episode.valence
        self.salience[node] = episode.salience
        self.last_accessed_at[node] = episode.last_accessed_at
        self.created_at[node] = episode.created_at
        self.ended_at[node] = episode.ended_at
        name = episode.conversation_id
        self.conversation[node] = -1 if not name else self._conversations.setdefault(name, len(self._conversations))
        if self.came[node] < 0:
            self.came[node] = self._next
            self._next += 1

    def restand(self, nodes: Int64, standings: EpisodeValues, rows: Int64) -> None:
        """Copy what counts of `rows` to `nodes`."""
        self.accessibility[nodes] = standings.accessibility[rows]
        self.salience[nodes] = standings.salience[rows]
        self.last_accessed_at[nodes] = standings.last_accessed_at[rows]

    def clear(self, node: int) -> None:
        """Let nothing stand at `node`."""
        self.came[node] = -1
        self.conversation[node] = -1

    def fill(self, packed: PackedFacts) -> None:
        """Set the first nodes, all at once."""
        many = slice(0, len(packed.created_at))
        self.accessibility[many] = packed.accessibility
        self.valence[many] = packed.valence
        self.salience[many] = packed.salience
        self.last_accessed_at[many] = packed.last_accessed_at
        self.created_at[many] = packed.created_at
        self.ended_at[many] = packed.ended_at
        self.conversation[many] = packed.conversation
        self._next = len(packed.created_at)
        self.came[many] = np.arange(self._next)
        self._conversations = {name: code for code, name in enumerate(packed.conversations)}

    def pack(self, nodes: Int64) -> PackedFacts:
        """A copy of the facts of `nodes`, in this order."""
        return PackedFacts(
            self.accessibility[nodes].astype(np.float64),
            self.valence[nodes].astype(np.float64),
            self.salience[nodes],
            self.last_accessed_at[nodes],
            self.created_at[nodes],
            self.ended_at[nodes],
            self.conversation[nodes],
            list(self._conversations),
        )

    def nodes(self) -> Int64:
        """Those that stand for something."""
        return np.flatnonzero(self.came >= 0)

    def nodes_of(self, conversation_id: str) -> Int64:
        """Those of a conversation."""
        code = self._conversations.get(conversation_id)
        return np.flatnonzero(self.conversation == code) if code is not None else np.zeros(0, dtype=np.int64)

    def first_of_latest(self, nodes: Int64, *times: Float64) -> int | None:
        """The one of `nodes` with the greatest time; of equal ones the next time decides, at last who came first."""
        for column in times:
            if len(nodes):
                nodes = nodes[column[nodes] == column[nodes].max()]
        return int(nodes[self.came[nodes].argmin()]) if len(nodes) else None
