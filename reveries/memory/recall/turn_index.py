"""The source turns of live episodes, in memory: their words, vectors and neighbours. No I/O, no waiting."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from reveries.index.kernels import IndexKernels
from reveries.index.names import subjects_of
from reveries.index.vectors import Int8Rows, Int8VectorTable
from reveries.index.word_scores import Floats, Neighbours
from reveries.index.words import WordIndex
from reveries.llm.base import Vector
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.model import Origin, Turn
from reveries.memory.recall.turn_features import SURFACE, StaticFeatures, TurnColumns, surface_features
from reveries.memory.recall.turn_packing import (
    MARKS,
    SESSION_SECONDS,
    LazyTurns,
    PackedNames,
    PackedTurns,
    count_openers,
    pack_turn,
    read_terms,
    unpack_turn,
    window_lengths,
)

_FIRST_CAPACITY = 256


class TurnIndex:
    """Turns by row. Rows are never reused; the row of a removed turn is no longer live."""

    def __init__(self, dimensions: int) -> None:
        self.words = WordIndex()
        self._turns: list[Turn | None] = []
        self._ids: list[str] = []
        self._episode_ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._rows_by_episode: dict[str, list[int]] = {}
        self._rows_by_conversation: dict[str, list[int]] = {}
        """Live rows in the order in which they were said."""
        self._speakers: dict[str, int] = {}
        self._lazy_turns: LazyTurns | None = None
        self._vectors = Int8VectorTable(dimensions, _FIRST_CAPACITY)
        self._live: NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self._previous: NDArray[np.int32] = np.full(_FIRST_CAPACITY, -1, dtype=np.int32)
        self._next: NDArray[np.int32] = np.full(_FIRST_CAPACITY, -1, dtype=np.int32)
        self._window_lengths: Floats = np.ones(_FIRST_CAPACITY, dtype=np.float32)
        self._marks: NDArray[np.void] = np.zeros(_FIRST_CAPACITY, dtype=MARKS)
        self._surface: NDArray[np.void] = np.zeros(_FIRST_CAPACITY, dtype=SURFACE)
        self._speaker_codes: dict[str, int] = {}
        self._conversation_codes: dict[str, int] = {}
        self.about: dict[str, list[int]] = {}
        """The rows about a name, by its key (see `names.subjects_of`)."""
        self._static_features: StaticFeatures | None = None
        self.openers: Counter[str] = Counter()
        """How many of those keys begin with each word."""

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """All rows are below this."""
        return len(self._turns)

    @property
    def vectors(self) -> Int8Rows:
        """The vectors by row; zeros for a turn without one."""
        return self._vectors.rows(self.size)

    @property
    def window_lengths(self) -> Floats:
        """For each row, the length of the sum of its window's vectors."""
        return self._window_lengths[: self.size]

    @property
    def live(self) -> NDArray[np.bool_]:
        return self._live[: self.size]

    @property
    def marks(self) -> NDArray[np.void]:
        """Speaker, conversation and time of each turn: records of MARKS."""
        return self._marks[: self.size]

    @property
    def surface(self) -> NDArray[np.void]:
        """The surface features of each turn: records of SURFACE."""
        return self._surface[: self.size]

    def speaker_code(self, name: str) -> int | None:
        """Return a speaker's number in `marks`."""
        return self._speaker_codes.get(name)

    @property
    def static_features(self) -> StaticFeatures:
        """The features that do not depend on a cue, cached until the index changes."""
        if self._static_features is None:
            size = self.size
            columns = TurnColumns(self.live, self.surface, self._previous[:size], self._next[:size])
            self._static_features = StaticFeatures(self.words, columns)
        return self._static_features

    @property
    def neighbours(self) -> Neighbours:
        """Previous and next rows in the same conversation; `size` where there is none."""
        return self.static_features.neighbours

    @property
    def speakers(self) -> frozenset[str]:
        """The names of the speakers of the live turns."""
        return frozenset(name for name, count in self._speakers.items() if count)

    @property
    def speaker_words(self) -> frozenset[str]:
        """`speakers` in lower case."""
        return frozenset(name.casefold() for name in self.speakers)

    def turn(self, row: int) -> Turn:
        turn = self._turns[row]
        if turn is None:
            if self._lazy_turns is None:
                raise KeyError(row)
            return self._lazy_turns(row)
        return turn

    def episode_id(self, row: int) -> str:
        return self._episode_ids[row]

    def turn_id(self, row: int) -> str:
        return self._ids[row]

    def row_of(self, turn_id: str) -> int | None:
        return self._rows.get(turn_id)

    def rows_of(self, episode_id: str) -> Sequence[int]:
        """Return the live rows of an episode, in the order in which they were added."""
        return self._rows_by_episode.get(episode_id, ())

    def partner_of(self, turn: Turn) -> Turn | None:
        """Return the other half of the exchange that `turn` belongs to, if it is live: the mind's reply to the owner's
        words, or the owner's words before a reply."""
        row = self._rows.get(turn.id)
        if row is None or turn.origin not in (Origin.OWNER, Origin.SELF):
            return None
        other = int((self._next if turn.origin is Origin.OWNER else self._previous)[row])
        if other < 0:
            return None
        partner = self.turn(other)
        is_adjacent = abs(partner.position - turn.position) == 1
        return partner if is_adjacent and {partner.origin, turn.origin} == {Origin.OWNER, Origin.SELF} else None

    def turns_of(self, episode_id: str) -> list[Turn]:
        return [self.turn(row) for row in self.rows_of(episode_id)]

    def entries(self) -> Iterable[tuple[Turn, str]]:
        """Iterate over the live turns with their episode ids."""
        return ((self.turn(row), self._episode_ids[row]) for row in sorted(self._rows.values()))

    def apply(self, changes: ChangeSet) -> None:
        """Add and remove turns, and reassign those of merged episodes. Cannot fail."""
        if changes.indexed or changes.dormant or changes.put_away_turn_ids or changes.unindexed_turn_ids:
            self._static_features = None
        for entry in changes.indexed:
            self._put_entry(entry)
        for retirement in changes.retired:
            self._reassign_turns(retirement.episode_id, retirement.merged_into)
        for dormancy in changes.dormant:
            for row in list(self.rows_of(dormancy.episode_id)):
                self._remove(self._ids[row])
        for turn_id in (*changes.put_away_turn_ids, *changes.unindexed_turn_ids):
            self._remove(turn_id)

    def arrange_vectors(self, dimensions: int, vectors: Mapping[str, Vector]) -> tuple[Int8VectorTable, Floats]:
        """Arrange `vectors`, by turn id, as the rows of this index, with their window lengths. Changes nothing."""
        table, size = Int8VectorTable(dimensions, len(self._live)), self.size
        for turn_id, row in self._rows.items():
            if (vector := vectors.get(turn_id)) is not None:
                table.set_row(row, vector)
        lengths: Floats = np.ones(len(self._live), dtype=np.float32)
        lengths[:size] = window_lengths(table.rows(size), self._previous[:size], self._next[:size])
        return table, lengths

    def replace_vectors(self, table: Int8VectorTable, lengths: Floats) -> None:
        """Replace the vectors with what `arrange_vectors` of this index returned."""
        self._static_features = None
        table.kernels = self._vectors.kernels
        self._vectors, self._window_lengths = table, lengths

    def use_kernels(self, kernels: IndexKernels) -> None:
        self._vectors.kernels = self.words.kernels = kernels

    def load_packed(self, packed: PackedTurns) -> None:
        """Load `packed` into this empty index. Raises ValueError if the parts are inconsistent."""
        if not packed.is_consistent() or packed.values.shape[1] != self._vectors.dimensions:
            raise ValueError("The parts of the turn index are inconsistent.")
        self.words.load_packed(packed.words)
        names, count = packed.names, len(packed.ids)
        self._turns, self._lazy_turns = [None] * count, packed.lazy_turns
        self._ids, self._episode_ids = list(packed.ids), list(packed.homes)
        self._vectors.values, self._vectors.scales = packed.values, packed.scales
        self._live, self._previous, self._next = packed.live, packed.previous, packed.following
        self._window_lengths, self._marks, self._surface = packed.window_lengths, packed.marks, packed.surface
        self.about, self.openers = names.about, count_openers(names.about)
        self._speaker_codes = {name: code for code, name in enumerate(names.speakers)}
        self._conversation_codes = {name: code for code, name in enumerate(names.conversations)}
        self._rebuild_lookups(names)

    def _rebuild_lookups(self, names: PackedNames) -> None:
        """Rebuild the dictionaries from the columns."""
        live, count = self._live, len(self._ids)
        rows = np.flatnonzero(live).tolist()
        if len(rows) == count:
            self._rows = dict(zip(self._ids, rows, strict=True))
        else:
            self._rows = {self._ids[row]: row for row in rows}
        for row in rows:
            self._rows_by_episode.setdefault(self._episode_ids[row], []).append(row)
        turn_counts = np.bincount(self._marks["speaker"][live], minlength=len(names.speakers)).tolist()
        self._speakers = dict(zip(names.speakers, turn_counts, strict=True))
        places = self._marks["conversation"][rows]
        order = np.lexsort((self._marks["position"][rows], places))
        for place, at in zip(places[order].tolist(), order.tolist(), strict=True):
            self._rows_by_conversation.setdefault(names.conversations[place], []).append(rows[at])

    def pack(self) -> PackedTurns:
        """Return a packed copy of this index (see `begin_copy`)."""
        return self.begin_copy()()

    def begin_copy(self) -> Callable[[], PackedTurns]:
        """Copy this index so that later changes do not affect the copy; of rows that are not live only the place is
        kept. The returned function sorts the words, which is the slow part."""
        size, live = self.size, self.live.copy()
        surface = self.surface.copy()
        surface[~live] = np.zeros(1, dtype=SURFACE)
        words = self.words.begin_copy(live)
        columns = partial(
            PackedTurns,
            ids=list(self._ids),
            homes=list(self._episode_ids),
            lazy_turns=_TurnsCopy(list(self._turns), self._lazy_turns, live),
            values=self._vectors.values[:size].copy(),
            scales=self._vectors.scales[:size].copy(),
            live=live,
            previous=self._previous[:size].copy(),
            following=self._next[:size].copy(),
            window_lengths=self._window_lengths[:size].copy(),
            marks=self._marks[:size].copy(),
            surface=surface,
            names=PackedNames(
                # A speaker without live turns keeps the number but not the name, which may have been erased.
                [name if self._speakers[name] > 0 else f"#{code}" for name, code in self._speaker_codes.items()],
                list(self._conversation_codes),
                {key: list(rows) for key, rows in self.about.items()},
            ),
        )
        return lambda: columns(words=words())

    def _put_entry(self, entry: IndexedTurn) -> None:
        row = self._rows.get(entry.turn.id)
        if row is not None:
            self._vectors.set_row(row, entry.vector)
            self._measure_windows_around(row)
            self._set_episode(row, entry.episode_id)
            return
        row = self.words.add(read_terms(entry.turn))
        self._ids.append(entry.turn.id)
        self._turns.append(entry.turn)
        self._episode_ids.append(entry.episode_id)
        self._grow()
        self._rows[entry.turn.id] = row
        self._rows_by_episode.setdefault(entry.episode_id, []).append(row)
        self._speakers[entry.turn.speaker] = self._speakers.get(entry.turn.speaker, 0) + 1
        self._vectors.set_row(row, entry.vector)
        self._live[row] = True
        self._mark_row(row, entry.turn)
        self._insert_in_conversation(row)

    def _mark_row(self, row: int, turn: Turn) -> None:
        speaker = self._speaker_codes.setdefault(turn.speaker, len(self._speaker_codes))
        conversation = self._conversation_codes.setdefault(turn.conversation_id, len(self._conversation_codes))
        self._marks[row] = (turn.said_at, speaker, conversation, turn.position, turn.origin is Origin.SELF)
        self._surface[row] = surface_features(turn.text)
        for key in subjects_of(turn.text):
            if key not in self.about:
                self.openers[key.split()[0]] += 1
            self.about.setdefault(key, []).append(row)

    def _insert_in_conversation(self, row: int) -> None:
        """Insert a row between the turns before and after it: those of a woken episode return to the middle."""
        turn, position = self.turn(row), self._marks["position"]
        rows = self._rows_by_conversation.setdefault(turn.conversation_id, [])
        at = bisect_right(rows, turn.position, key=position.__getitem__)
        rows.insert(at, row)
        self._join_rows(rows[at - 1] if at else -1, row)
        self._join_rows(row, rows[at + 1] if at + 1 < len(rows) else -1)
        self._measure_windows_around(row)

    def _remove_from_conversation(self, row: int) -> None:
        self._rows_by_conversation[self.turn(row).conversation_id].remove(row)
        before, after = int(self._previous[row]), int(self._next[row])
        self._previous[row] = self._next[row] = -1
        if before >= 0 or after >= 0:
            self._join_rows(before, after)
            self._measure_windows_around(before if before >= 0 else after)
            self._measure_windows_around(after if after >= 0 else before)

    def _join_rows(self, row: int, following: int) -> None:
        """Make two rows neighbours if they are near enough in time; -1 stands for no row."""
        if row >= 0 and following >= 0:
            said_at = self._marks["said_at"]
            if abs(said_at[row] - said_at[following]) <= SESSION_SECONDS:
                self._next[row], self._previous[following] = following, row
                return
        if row >= 0:
            self._next[row] = -1
        if following >= 0:
            self._previous[following] = -1

    def _measure_windows_around(self, row: int) -> None:
        """Recompute the window lengths that include this row: its own, the previous row's and the next two rows'."""
        following = int(self._next[row])
        second = int(self._next[following]) if following >= 0 else -1
        for changed in (int(self._previous[row]), row, following, second):
            if changed >= 0:
                window = self.vectors[self._window(changed)].sum(axis=0)
                self._window_lengths[changed] = max(1e-6, float(np.linalg.norm(window)))

    def _window(self, row: int) -> list[int]:
        first = int(self._previous[row])
        second = int(self._previous[first]) if first >= 0 else -1
        return [near for near in (second, first, row, int(self._next[row])) if near >= 0]

    def _grow(self) -> None:
        capacity = len(self._live)
        if len(self._turns) <= capacity:
            return
        more = max(capacity // 4, _FIRST_CAPACITY)
        self._vectors.grow(capacity + more)
        self._live = np.append(self._live, np.zeros(more, dtype=np.bool_))
        self._previous = np.append(self._previous, np.full(more, -1, dtype=np.int32))
        self._next = np.append(self._next, np.full(more, -1, dtype=np.int32))
        self._window_lengths = np.append(self._window_lengths, np.ones(more, dtype=np.float32))
        self._marks = np.append(self._marks, np.zeros(more, dtype=MARKS))
        self._surface = np.append(self._surface, np.zeros(more, dtype=SURFACE))

    def _reassign_turns(self, old_id: str, new_id: str) -> None:
        for row in list(self._rows_by_episode.get(old_id, ())):
            self._set_episode(row, new_id)

    def _set_episode(self, row: int, episode_id: str) -> None:
        old_id = self._episode_ids[row]
        if old_id == episode_id:
            return
        self._rows_by_episode[old_id].remove(row)
        rows = self._rows_by_episode.setdefault(episode_id, [])
        rows.append(row)
        rows.sort()
        self._episode_ids[row] = episode_id

    def _remove(self, turn_id: str) -> None:
        row = self._rows.pop(turn_id, None)
        if row is None:
            return
        self._live[row] = False
        self._rows_by_episode[self._episode_ids[row]].remove(row)
        turn = self.turn(row)
        self._speakers[turn.speaker] -= 1
        self._vectors.set_row(row, np.zeros(self._vectors.dimensions, dtype=np.float32))
        for key in subjects_of(turn.text):
            self.about[key].remove(row)
            if not self.about[key]:
                del self.about[key]
                self.openers[key.split()[0]] -= 1
        self._remove_from_conversation(row)
        self._turns[row] = replace(turn, text="")


class _TurnsCopy:
    """The turns of an index at one moment: the decoded ones, and the lazy source of the others."""

    def __init__(self, turns: list[Turn | None], lazy_turns: LazyTurns | None, live: NDArray[np.bool_]) -> None:
        self._turns = turns
        self._lazy_turns = lazy_turns
        self._live = live

    def __call__(self, row: int) -> Turn:
        return unpack_turn(self.raw(row))

    def raw(self, row: int) -> bytes:
        turn = self._turns[row]
        if not self._live[row]:
            return b""
        if turn is not None:
            return pack_turn(turn)
        if self._lazy_turns is None:
            raise KeyError(row)
        return self._lazy_turns.raw(row)
