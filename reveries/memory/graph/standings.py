"""What recall and time change of many episodes at once, laid over those that still lie on their shelf. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from reveries.index.arrays import Float64, Int64
from reveries.memory.model import Episode


class EpisodeShelf(Protocol):
    """Episodes as they stand in a file, by their place; put together when somebody wants one, for a hundred thousand at
    once take seconds."""

    def __call__(self, place: int) -> Episode:
        """The episode at a place."""

    def raw(self, place: int) -> bytes:
        """The same, packed (`pack_episode`)."""


@dataclass(frozen=True, slots=True)
class Standings:
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


class Restood:
    """A shelf whose episodes stand otherwise by now."""

    def __init__(
        self, shelf: EpisodeShelf, places: Int64, rows: Int64, standings: Standings, pack: Callable[[Episode], bytes]
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
