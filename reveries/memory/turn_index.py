"""The source turns of live episodes, in memory: their words, their vectors, who follows whom. No I/O, no waiting."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reveries.llm.base import Vector, Vectors
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.lexicon import stop_words
from reveries.memory.model import Origin, Turn
from reveries.memory.names import subjects_of
from reveries.memory.stemming import without_code
from reveries.memory.surface import SURFACE, surface_of
from reveries.memory.words import Floats, Neighbours, WordIndex, terms_of

_FIRST_CAPACITY = 256
_ARRANGED_ROWS = 8192
MARKS = np.dtype([("said_at", np.float64), ("speaker", np.int32), ("conversation", np.int32), ("own", np.bool_)])
"""A turn's unix seconds, the numbers of its speaker and its conversation, and whether the mind itself said it."""

_OWN_CHARS = 320
_SESSION_SECONDS = 6 * 3600.0
"""Turns further apart than this are no context of each other."""


class TurnIndex:
    """Turns by row. A row is given once; a turn that leaves keeps its row, which then counts for nothing."""

    def __init__(self, dimensions: int) -> None:
        self.words = WordIndex()
        self._turns: list[Turn] = []
        self._episode_ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._rows_by_episode: dict[str, list[int]] = {}
        self._rows_by_conversation: dict[str, list[int]] = {}
        """Live rows in the order in which they were said."""
        self._speakers: dict[str, int] = {}
        self._vectors: Vectors = np.zeros((_FIRST_CAPACITY, dimensions), dtype=np.float32)
        self._live: NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self._previous: NDArray[np.int64] = np.full(_FIRST_CAPACITY, -1, dtype=np.int64)
        self._next: NDArray[np.int64] = np.full(_FIRST_CAPACITY, -1, dtype=np.int64)
        self._window_lengths: Floats = np.ones(_FIRST_CAPACITY, dtype=np.float32)
        self._marks: NDArray[np.void] = np.zeros(_FIRST_CAPACITY, dtype=MARKS)
        self._surface: NDArray[np.void] = np.zeros(_FIRST_CAPACITY, dtype=SURFACE)
        self._codes: dict[tuple[str, str], int] = {}
        self._sum: Vector = np.zeros(dimensions, dtype=np.float32)
        self.about: dict[str, list[int]] = {}
        """Which rows are about what: rows by the key of a name (see `names.subjects_of`)."""
        self.openers: Counter[str] = Counter()
        """How many of those keys begin with a word."""

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """Rows run below this."""
        return len(self._turns)

    @property
    def vectors(self) -> Vectors:
        return self._vectors[: self.size]

    @property
    def window_lengths(self) -> Floats:
        """For each row the length of the sum of its window's vectors."""
        return self._window_lengths[: self.size]

    @property
    def live(self) -> NDArray[np.bool_]:
        return self._live[: self.size]

    @property
    def marks(self) -> NDArray[np.void]:
        """Who said it, in which conversation, when: records of MARKS."""
        return self._marks[: self.size]

    @property
    def surface(self) -> NDArray[np.void]:
        """What each turn looks like: records of SURFACE."""
        return self._surface[: self.size]

    @property
    def mean_vector(self) -> Vector:
        """The mean of the live vectors: what everything here has in common. Not of unit length."""
        mean: Vector = self._sum / np.float32(max(1, len(self._rows)))
        return mean

    def speaker_code(self, name: str) -> int | None:
        """The number that stands for a speaker in `marks`."""
        return self._codes.get(("speaker", name))

    @property
    def neighbours(self) -> Neighbours:
        """Rows before and after in the same conversation; `size` where there is none."""
        size = self.size
        previous, following = self._previous[:size], self._next[:size]
        return Neighbours(np.where(previous < 0, size, previous), np.where(following < 0, size, following))

    @property
    def speakers(self) -> frozenset[str]:
        """Whose turns are here."""
        return frozenset(name for name, count in self._speakers.items() if count)

    @property
    def speaker_words(self) -> frozenset[str]:
        """The same in lower case."""
        return frozenset(name.casefold() for name in self.speakers)

    def turn(self, row: int) -> Turn:
        return self._turns[row]

    def episode_id(self, row: int) -> str:
        return self._episode_ids[row]

    def row_of(self, turn_id: str) -> int | None:
        return self._rows.get(turn_id)

    def rows_of(self, episode_id: str) -> Sequence[int]:
        """The live rows of an episode, in the order in which they came."""
        return self._rows_by_episode.get(episode_id, ())

    def turns_of(self, episode_id: str) -> list[Turn]:
        return [self._turns[row] for row in self.rows_of(episode_id)]

    def entries(self) -> Iterable[tuple[Turn, str]]:
        """Every live turn with its episode's id."""
        return ((self._turns[row], self._episode_ids[row]) for row in sorted(self._rows.values()))

    def apply(self, changes: ChangeSet) -> None:
        """Take over which turns come, go, and change hands when episodes merge. Cannot fail."""
        for entry in changes.indexed:
            self._put(entry)
        for retirement in changes.retired:
            self._hand_over(retirement.episode_id, retirement.merged_into)
        for dormancy in changes.dormant:
            for row in list(self.rows_of(dormancy.episode_id)):
                self._remove(self._turns[row].id)
        for turn_id in changes.unindexed_turn_ids:
            self._remove(turn_id)

    def arranged(self, dimensions: int, vectors: Mapping[str, Vector]) -> tuple[Vectors, Floats]:
        """`vectors`, by turn id, as the rows of this index, and the lengths of their windows. Changes nothing."""
        rows: Vectors = np.zeros((len(self._live), dimensions), dtype=np.float32)
        for turn_id, row in self._rows.items():
            if (vector := vectors.get(turn_id)) is not None:
                rows[row] = vector
        size = self.size
        near = self.neighbours
        padded = np.vstack([rows[:size], np.zeros((1, dimensions), dtype=np.float32)])
        before = np.append(near.previous, size)
        lengths: Floats = np.ones(len(self._live), dtype=np.float32)
        for start in range(0, size, _ARRANGED_ROWS):
            part = slice(start, min(size, start + _ARRANGED_ROWS))
            previous = near.previous[part]
            sums = padded[part] + padded[previous] + padded[before[previous]] + padded[near.next[part]]
            lengths[part] = np.maximum(1e-6, np.linalg.norm(sums, axis=1))
        return rows, lengths

    def replace_vectors(self, rows: Vectors, window_lengths: Floats) -> None:
        """Put what `arranged` made of this very index in the place of its vectors."""
        self._vectors, self._window_lengths = rows, window_lengths
        self._sum = rows[: self.size][self.live].sum(axis=0, dtype=np.float32)

    def _put(self, entry: IndexedTurn) -> None:
        row = self._rows.get(entry.turn.id)
        if row is not None:
            self._sum += entry.vector - self._vectors[row]
            self._vectors[row] = entry.vector
            self._measure_windows_around(row)
            self._move(row, entry.episode_id)
            return
        row = self.words.add(terms_of(f"{entry.turn.speaker} {entry.turn.text}"))
        self._turns.append(entry.turn)
        self._episode_ids.append(entry.episode_id)
        self._grow()
        self._rows[entry.turn.id] = row
        self._rows_by_episode.setdefault(entry.episode_id, []).append(row)
        self._speakers[entry.turn.speaker] = self._speakers.get(entry.turn.speaker, 0) + 1
        self._sum += entry.vector
        self._vectors[row] = entry.vector
        self._live[row] = True
        self._mark(row, entry.turn)
        self._join_neighbour(row)

    def _mark(self, row: int, turn: Turn) -> None:
        speaker = self._code("speaker", turn.speaker)
        conversation = self._code("conversation", turn.conversation_id)
        self._marks[row] = (turn.said_at, speaker, conversation, turn.origin is Origin.SELF)
        self._surface[row] = surface_of(turn.text)
        for key in subjects_of(turn.text):
            if key not in self.about:
                self.openers[key.split()[0]] += 1
            self.about.setdefault(key, []).append(row)

    def _code(self, kind: str, name: str) -> int:
        return self._codes.setdefault((kind, name), len(self._codes))

    def _join_neighbour(self, row: int) -> None:
        """Between those that were said before and after it: what wakes comes back into the middle."""
        rows = self._rows_by_conversation.setdefault(self._turns[row].conversation_id, [])
        at = bisect_right(rows, self._turns[row].position, key=lambda other: self._turns[other].position)
        rows.insert(at, row)
        self._join(rows[at - 1] if at else -1, row)
        self._join(row, rows[at + 1] if at + 1 < len(rows) else -1)
        self._measure_windows_around(row)

    def _leave_neighbours(self, row: int) -> None:
        rows = self._rows_by_conversation[self._turns[row].conversation_id]
        rows.remove(row)
        before, after = int(self._previous[row]), int(self._next[row])
        self._previous[row] = self._next[row] = -1
        if before >= 0 or after >= 0:
            self._join(before, after)
            self._measure_windows_around(before if before >= 0 else after)
            self._measure_windows_around(after if after >= 0 else before)

    def _join(self, row: int, following: int) -> None:
        """Make them neighbours, where they are near enough in time; -1 stands for nobody."""
        if row >= 0 and following >= 0:
            apart = abs(self._turns[row].said_at - self._turns[following].said_at)
            if apart <= _SESSION_SECONDS:
                self._next[row], self._previous[following] = following, row
                return
        if row >= 0:
            self._next[row] = -1
        if following >= 0:
            self._previous[following] = -1

    def _measure_windows_around(self, row: int) -> None:
        """A row's vector is part of its own window, of the one before it, and of the two after it."""
        following = int(self._next[row])
        second = int(self._next[following]) if following >= 0 else -1
        for changed in (int(self._previous[row]), row, following, second):
            if changed >= 0:
                window = self._vectors[self._window(changed)].sum(axis=0)
                self._window_lengths[changed] = max(1e-6, float(np.linalg.norm(window)))

    def _window(self, row: int) -> list[int]:
        first = int(self._previous[row])
        second = int(self._previous[first]) if first >= 0 else -1
        return [near for near in (second, first, row, int(self._next[row])) if near >= 0]

    def _grow(self) -> None:
        capacity = len(self._live)
        if len(self._turns) <= capacity:
            return
        self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._live = np.concatenate([self._live, np.zeros_like(self._live)])
        self._previous = np.concatenate([self._previous, np.full_like(self._previous, -1)])
        self._next = np.concatenate([self._next, np.full_like(self._next, -1)])
        self._window_lengths = np.concatenate([self._window_lengths, np.ones_like(self._window_lengths)])
        self._marks = np.concatenate([self._marks, np.zeros_like(self._marks)])
        self._surface = np.concatenate([self._surface, np.zeros_like(self._surface)])

    def _hand_over(self, old_id: str, new_id: str) -> None:
        for row in list(self._rows_by_episode.get(old_id, ())):
            self._move(row, new_id)

    def _move(self, row: int, episode_id: str) -> None:
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
        turn = self._turns[row]
        self._speakers[turn.speaker] -= 1
        self._sum -= self._vectors[row]
        self._vectors[row] = 0.0
        for key in subjects_of(turn.text):
            self.about[key].remove(row)
            if not self.about[key]:
                del self.about[key]
                self.openers[key.split()[0]] -= 1
        self._leave_neighbours(row)
        self._turns[row] = replace(turn, text="")


def meant(text: str, names: Iterable[str]) -> str:
    """What of `text` is compared by meaning: not its fenced code, not the names of those who speak."""
    prose = without_code(text)
    return without_names(prose if prose.strip() else text, names)


def meant_by(turn: Turn, names: Iterable[str]) -> str:
    """What of a turn is compared by meaning. Of the mind's own long replies the beginning, which says what they answer:
    the rest would cost four times as much to embed and is found by its words."""
    told = meant(turn.text, names)
    if turn.origin is not Origin.SELF or len(told) <= _OWN_CHARS:
        return told
    return told[:_OWN_CHARS].rsplit(None, 1)[0]


def without_names(text: str, names: Iterable[str]) -> str:
    """`text` without the names of those who speak: both sides of a comparison by meaning go without them, as a name
    says who was there, not what was said (RECALL: the largest single gain of the dense side). Unchanged when nothing
    much would be left."""
    spelled = [name for name in names if name[:1].isupper() and name.casefold() not in stop_words()]
    if not spelled:
        return text
    longest_first = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
    pattern = re.compile(rf"\b(?:{longest_first})\b(?:['\u2019]s\b)?")
    left = " ".join(pattern.sub(" ", text).split())
    return left if len(terms_of(left)) >= 1 else text
