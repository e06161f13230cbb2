"""A whole turn index as flat arrays and texts, as a snapshot holds it; and how it is built from rows in bulk. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from reveries.index.arrays import Float32, Int8, Int32, Int64
from reveries.index.names import subjects_of
from reveries.index.terms import terms_of
from reveries.index.vectors import Int8Rows, rounded_rows
from reveries.index.words import PackedWords, packed_words
from reveries.llm.base import Vector, Vectors
from reveries.memory.model import Origin, Turn
from reveries.memory.recall.turn_features import SURFACE, surface_of

MARKS = np.dtype(
    [
        ("said_at", np.float64),
        ("speaker", np.int32),
        ("conversation", np.int32),
        ("position", np.int32),
        ("own", np.bool_),
    ]
)
"""A turn's unix seconds, the numbers of its speaker and its conversation, its place in that, and whether the mind
itself said it."""
SESSION_SECONDS = 6 * 3600.0
"""Turns further apart than this are no context of each other."""
_ROWS_AT_ONCE = 8192


class TurnShelf(Protocol):
    """Turns as they stand in a file, by their row; put together when somebody wants one."""

    def __call__(self, row: int) -> Turn:
        """The turn of a row."""

    def raw(self, row: int) -> bytes:
        """The same, packed; nothing for a row whose turn is gone."""


class PackedNames(msgspec.Struct, frozen=True):
    """What of an index goes by names."""

    speakers: list[str]
    """By the number that stands for them in the marks."""
    conversations: list[str]
    about: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class PackedTurns:
    """Parallel columns, a row a turn; a row that is not live stands for nothing."""

    ids: Sequence[str]
    homes: Sequence[str]
    """Ids of episodes."""
    shelf: TurnShelf
    values: Int8
    """Vectors, shape (rows, dimensions), with their scales."""
    scales: Float32
    live: NDArray[np.bool_]
    previous: Int32
    following: Int32
    window_lengths: Float32
    marks: NDArray[np.void]
    surface: NDArray[np.void]
    words: PackedWords
    names: PackedNames

    def is_whole(self) -> bool:
        """Whether the columns fit together."""
        count = len(self.ids)
        columns = (self.homes, self.values, self.scales, self.live, self.previous, self.following, self.marks)
        others = (self.window_lengths, self.surface)
        near = (self.previous, self.following)
        return (
            all(len(column) == count for column in (*columns, *others))
            and len(self.words.ends) == count + 1
            and all(not count or (int(side.min()) >= -1 and int(side.max()) < count) for side in near)
            and all(0 <= row < count for rows in self.names.about.values() for row in rows)
        )


class TurnList:
    """Turns at hand."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns

    def __call__(self, row: int) -> Turn:
        return self._turns[row]

    def raw(self, row: int) -> bytes:
        return pack_turn(self._turns[row])


def pack_turn(turn: Turn) -> bytes:
    """A turn as MessagePack."""
    return msgspec.msgpack.encode(turn)


def unpack_turn(raw: bytes) -> Turn:
    """And back."""
    return msgspec.msgpack.decode(raw, type=Turn)


def read_terms(turn: Turn) -> list[str]:
    """What a turn is found by."""
    return terms_of(f"{turn.speaker} {turn.text}")


def packed_turns(
    turns: Sequence[Turn],
    homes: Sequence[str],
    vectors: Mapping[str, Vector],
    dimensions: int,
    known: PackedTurns | None = None,
    known_rows: Int64 | None = None,
) -> PackedTurns:
    """The index of `turns`, of episodes `homes`, in this order, as adding them one by one would make it.

    What stands word for word in `known`, an earlier index with vectors of the same model, is taken from there: to read
    a text anew takes a hundred times as long. `known_rows` is `rows_known` of both, if it is at hand. `vectors` holds
    what `known` has not.
    """
    marks, speakers, conversations = _marks(turns)
    previous, following = _chain_marks(marks)
    read = _Read(turns, known, known_rows)
    values, scales = _round_vectors([vectors.get(turn.id) for turn in turns], dimensions)
    if known is not None:
        bare = read.taken[~values[read.taken].any(axis=1)]
        values[bare], scales[bare] = known.values[read.old_of[bare]], known.scales[read.old_of[bare]]
    rows = Int8Rows.plain(values, scales)
    return PackedTurns(
        ids=[turn.id for turn in turns],
        homes=homes,
        shelf=TurnList(turns),
        values=values,
        scales=scales,
        live=np.ones(len(turns), dtype=np.bool_),
        previous=previous,
        following=following,
        window_lengths=window_lengths(rows, previous, following),
        marks=marks,
        surface=read.surface,
        words=packed_words(read.vocabulary, read.terms, read.ends),
        names=PackedNames(speakers, conversations, read.about),
    )


def rows_known(turns: Sequence[Turn], known: PackedTurns) -> Int64:
    """Where each of `turns` stands word for word in `known`; -1 where it does not."""
    live = known.live.tolist()
    place = {name: row for row, name in enumerate(known.ids) if live[row]}
    found = (place.get(turn.id, -1) for turn in turns)
    return np.fromiter(
        (row if row >= 0 and known.shelf(row) == turn else -1 for row, turn in zip(found, turns, strict=True)),
        dtype=np.int64,
        count=len(turns),
    )


class _Read:
    """What the texts of `turns` hold, read anew only where `known` does not say it."""

    def __init__(self, turns: Sequence[Turn], known: PackedTurns | None, known_rows: Int64 | None) -> None:
        count = len(turns)
        none = np.full(count, -1, dtype=np.int64)
        self.old_of = none if known is None else known_rows if known_rows is not None else rows_known(turns, known)
        self.taken = np.flatnonzero(self.old_of >= 0)
        fresh = np.flatnonzero(self.old_of < 0).tolist()
        self.surface: NDArray[np.void] = np.zeros(count, dtype=SURFACE)
        self.surface[fresh] = np.array([surface_of(turns[row].text) for row in fresh], dtype=SURFACE)
        self.vocabulary = list(known.words.vocabulary) if known else []
        self.about: dict[str, list[int]] = {}
        numbers = {term: number for number, term in enumerate(self.vocabulary)}
        read = {row: [numbers.setdefault(term, len(numbers)) for term in read_terms(turns[row])] for row in fresh}
        self.vocabulary = list(numbers)
        lengths = np.zeros(count, dtype=np.int64)
        lengths[fresh] = [len(read[row]) for row in fresh]
        if known:
            lengths[self.taken] = np.diff(known.words.ends)[self.old_of[self.taken]]
        self.ends = np.append(0, np.cumsum(lengths)).astype(np.int64)
        self.terms: Int32 = np.zeros(int(self.ends[-1]), dtype=np.int32)
        for row in fresh:
            self.terms[self.ends[row] : self.ends[row + 1]] = read[row]
        if known:
            self._take_over(known, lengths)
        for row in fresh:
            for key in subjects_of(turns[row].text):
                self.about.setdefault(key, []).append(row)
        for rows in self.about.values():
            rows.sort()

    def _take_over(self, known: PackedTurns, lengths: Int64) -> None:
        taken, old = self.taken, self.old_of[self.taken]
        self.surface[taken] = known.surface[old]
        many = lengths[taken]
        within = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        source, target = np.repeat(known.words.ends[old], many) + within, np.repeat(self.ends[taken], many) + within
        self.terms[target] = known.words.terms[source]
        new_of = dict(zip(old.tolist(), taken.tolist(), strict=True))
        for key, rows in known.names.about.items():
            if kept := [new_of[row] for row in rows if row in new_of]:
                self.about[key] = kept


def window_lengths(rows: Int8Rows, previous: Int32, following: Int32) -> Float32:
    """For each row the length of the sum of the vectors of its window: two before, itself, one after."""
    count = len(rows)
    lengths: Float32 = np.ones(count, dtype=np.float32)
    second = np.append(previous, -1)[previous]
    for start in range(0, count, _ROWS_AT_ONCE):
        part = slice(start, min(count, start + _ROWS_AT_ONCE))
        sums = rows[part]
        for near in (previous[part], second[part], following[part]):
            there = np.flatnonzero(near >= 0)
            sums[there] += rows[near[there].astype(np.int64)]
        lengths[part] = np.maximum(1e-6, np.linalg.norm(sums, axis=1))
    return lengths


def openers_of(about: Mapping[str, Sequence[int]]) -> Counter[str]:
    """How many of the keys begin with a word."""
    return Counter(key.split()[0] for key in about)


def _marks(turns: Sequence[Turn]) -> tuple[NDArray[np.void], list[str], list[str]]:
    speakers: dict[str, int] = {}
    conversations: dict[str, int] = {}
    records = [
        (
            turn.said_at,
            speakers.setdefault(turn.speaker, len(speakers)),
            conversations.setdefault(turn.conversation_id, len(conversations)),
            turn.position,
            turn.origin is Origin.SELF,
        )
        for turn in turns
    ]
    return np.array(records, dtype=MARKS), list(speakers), list(conversations)


def _chain_marks(marks: NDArray[np.void]) -> tuple[Int32, Int32]:
    """Who comes before and after whom in one conversation, in the order in which they were said; -1 for nobody."""
    count = len(marks)
    previous, following = np.full(count, -1, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    order: Int64 = np.lexsort((marks["position"], marks["conversation"]))
    first, second = order[:-1], order[1:]
    is_near = (marks["conversation"][first] == marks["conversation"][second]) & (
        np.abs(marks["said_at"][second] - marks["said_at"][first]) <= SESSION_SECONDS
    )
    previous[second[is_near]], following[first[is_near]] = first[is_near], second[is_near]
    return previous, following


def _round_vectors(vectors: Sequence[Vector | None], dimensions: int) -> tuple[Int8, Float32]:
    values: Int8 = np.zeros((len(vectors), dimensions), dtype=np.int8)
    scales: Float32 = np.ones(len(vectors), dtype=np.float32)
    there = [row for row, vector in enumerate(vectors) if vector is not None]
    for start in range(0, len(there), _ROWS_AT_ONCE):
        chosen = there[start : start + _ROWS_AT_ONCE]
        block: Vectors = np.array([vectors[row] for row in chosen], dtype=np.float32).reshape(len(chosen), dimensions)
        values[chosen], scales[chosen] = rounded_rows(block)
    return values, scales
