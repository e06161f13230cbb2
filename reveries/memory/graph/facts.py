"""The factors that recall multiplies energy with: a copy of the episodes' fields in arrays, one value per node; and
bulk updates of episodes that are still packed. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from reveries.index.arrays import Float32, Float64, Int32, Int64
from reveries.memory.graph.spread_loops import LEAST_TIME, MOST_TIME, year_day
from reveries.memory.model import Episode


class LazyEpisodes(Protocol):
    """Packed episodes by position, each decoded on request: decoding a hundred thousand at once takes seconds."""

    def __call__(self, place: int) -> Episode:
        """Return the episode at a position."""

    def raw(self, place: int) -> bytes:
        """Return the packed episode at a position (`pack_episode`)."""


@dataclass(frozen=True, slots=True)
class EpisodeValues:
    """New values of episodes in parallel columns: the fields that `Touch` and `Fading` change."""

    ids: Sequence[str]
    access_count: Int64
    last_accessed_at: Float64
    salience: Float64
    accessibility: Float64
    last_decayed_at: Float64

    def apply_to(self, episode: Episode, row: int) -> Episode:
        """Return `episode` with the values of a row."""
        return replace(
            episode,
            access_count=int(self.access_count[row]),
            last_accessed_at=float(self.last_accessed_at[row]),
            salience=float(self.salience[row]),
            accessibility=float(self.accessibility[row]),
            last_decayed_at=float(self.last_decayed_at[row]),
        )


class UpdatedEpisodes:
    """Lazy episodes with updated values: row `rows[i]` of `values` belongs to the episode at `places[i]`."""

    def __init__(
        self,
        source: LazyEpisodes,
        places: Int64,
        rows: Int64,
        values: EpisodeValues,
        pack: Callable[[Episode], bytes],
    ) -> None:
        self._source = source
        self._rows = np.full(int(places.max(initial=-1)) + 1, -1, dtype=np.int64)
        self._rows[places] = rows
        self._values = values
        self._pack = pack

    def __call__(self, place: int) -> Episode:
        episode, row = self._source(place), self._row(place)
        return episode if row < 0 else self._values.apply_to(episode, row)

    def raw(self, place: int) -> bytes:
        return self._source.raw(place) if self._row(place) < 0 else self._pack(self(place))

    def _row(self, place: int) -> int:
        return int(self._rows[place]) if place < len(self._rows) else -1


@dataclass(frozen=True, slots=True)
class RecallMoment:
    """The time of a recall, in the forms that the loops compare."""

    now: float
    week_hour: int
    """0 to 167, in UTC."""
    year_day: int
    """32 x month + day."""


def recall_moment(now: float) -> RecallMoment:
    """Return `now` (unix seconds) with its hour of the week and day of the year."""
    hour = math.floor(min(max(now, LEAST_TIME), MOST_TIME) / 3600.0)
    return RecallMoment(now, hour % 168, year_day(hour // 24))


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """The facts of nodes 0, 1, 2 ... in parallel columns."""

    accessibility: Float64
    valence: Float64
    salience: Float64
    last_accessed_at: Float64
    created_at: Float64
    ended_at: Float64
    conversation: Int32
    """Indices into `conversations`; -1 for none."""
    conversations: Sequence[str]

    def has_length(self, count: int) -> bool:
        """Whether every column has `count` values."""
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
        self.arrival: Int64 = np.full(nodes, -1, dtype=np.int64)
        """The order in which nodes were added; -1 for an empty node."""
        self._conversations: dict[str, int] = {}
        self._next = 0

    def grow(self, nodes: int) -> None:
        """Make room for node indices below `nodes`."""
        more = NodeFacts(nodes - len(self.valence))
        self.accessibility = np.concatenate([self.accessibility, more.accessibility])
        self.valence = np.concatenate([self.valence, more.valence])
        self.salience = np.concatenate([self.salience, more.salience])
        self.last_accessed_at = np.concatenate([self.last_accessed_at, more.last_accessed_at])
        self.created_at = np.concatenate([self.created_at, more.created_at])
        self.ended_at = np.concatenate([self.ended_at, more.ended_at])
        self.conversation = np.concatenate([self.conversation, more.conversation])
        self.arrival = np.concatenate([self.arrival, more.arrival])

    def set_node(self, node: int, episode: Episode) -> None:
        """Copy the relevant fields of `episode`."""
        self.accessibility[node] = episode.accessibility
        self.valence[node] = episode.valence
        self.salience[node] = episode.salience
        self.last_accessed_at[node] = episode.last_accessed_at
        self.created_at[node] = episode.created_at
        self.ended_at[node] = episode.ended_at
        name = episode.conversation_id
        self.conversation[node] = -1 if not name else self._conversations.setdefault(name, len(self._conversations))
        if self.arrival[node] < 0:
            self.arrival[node] = self._next
            self._next += 1

    def update_values(self, nodes: Int64, values: EpisodeValues, rows: Int64) -> None:
        """Copy the values of `rows` to `nodes`."""
        self.accessibility[nodes] = values.accessibility[rows]
        self.salience[nodes] = values.salience[rows]
        self.last_accessed_at[nodes] = values.last_accessed_at[rows]

    def clear_node(self, node: int) -> None:
        self.arrival[node] = -1
        self.conversation[node] = -1

    def load_packed(self, packed: PackedFacts) -> None:
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
        self.arrival[many] = np.arange(self._next)
        self._conversations = {name: code for code, name in enumerate(packed.conversations)}

    def pack(self, nodes: Int64) -> PackedFacts:
        """Return a copy of the facts of `nodes`, in this order."""
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
        """Return the nodes in use."""
        return np.flatnonzero(self.arrival >= 0)

    def nodes_of(self, conversation_id: str) -> Int64:
        """Return the nodes of a conversation."""
        code = self._conversations.get(conversation_id)
        return np.flatnonzero(self.conversation == code) if code is not None else np.zeros(0, dtype=np.int64)

    def pick_latest(self, nodes: Int64, *times: Float64) -> int | None:
        """Return the one of `nodes` with the latest time; ties go by the next column of times, then by arrival."""
        for column in times:
            if len(nodes):
                nodes = nodes[column[nodes] == column[nodes].max()]
        return int(nodes[self.arrival[nodes].argmin()]) if len(nodes) else None
