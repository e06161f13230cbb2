"""A whole turn index as flat arrays and texts, as stored in a snapshot; and building it in bulk from rows. Pure."""

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
from reveries.index.vectors import Int8Rows, quantise_rows
from reveries.index.words import PackedWords, pack_words
from reveries.llm.base import Vector, Vectors
from reveries.memory.model import Origin, Turn
from reveries.memory.recall.turn_features import SURFACE, surface_features

MARKS = np.dtype(
    [
        ("said_at", np.float64),
        ("speaker", np.int32),
        ("conversation", np.int32),
        ("position", np.int32),
        ("own", np.bool_),
    ]
)
"""A turn's unix seconds, the numbers of its speaker and its conversation, its position there, and whether the mind said
it."""
SESSION_SECONDS = 6 * 3600.0
"""Turns further apart than this are not neighbours."""
_ROWS_AT_ONCE = 8192


class LazyTurns(Protocol):
    """Packed turns by row, each decoded on request."""

    def __call__(self, row: int) -> Turn:
        """Return the turn of a row."""

    def raw(self, row: int) -> bytes:
        """Return the packed turn of a row; empty for a row that is not live."""


class PackedNames(msgspec.Struct, frozen=True):
    """The names in an index."""

    speakers: list[str]
    """By their number in the marks."""
    conversations: list[str]
    about: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class PackedTurns:
    """A packed turn index: parallel columns, one row per turn; rows that are not live are empty."""

    ids: Sequence[str]
    homes: Sequence[str]
    """The episode id of each turn."""
    lazy_turns: LazyTurns
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

    def is_consistent(self) -> bool:
        """Whether the columns have one length and refer only to existing rows."""
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
    """Turns that are already decoded."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns

    def __call__(self, row: int) -> Turn:
        return self._turns[row]

    def raw(self, row: int) -> bytes:
        return pack_turn(self._turns[row])


def pack_turn(turn: Turn) -> bytes:
    """Return a turn as MessagePack."""
    return msgspec.msgpack.encode(turn)


def unpack_turn(raw: bytes) -> Turn:
    """Decode a turn from MessagePack."""
    return msgspec.msgpack.decode(raw, type=Turn)


def read_terms(turn: Turn) -> list[str]:
    """Return the terms by which a turn is found."""
    return terms_of(f"{turn.speaker} {turn.text}")


def pack_turns(
    turns: Sequence[Turn],
    homes: Sequence[str],
    vectors: Mapping[str, Vector],
    dimensions: int,
    packed: PackedTurns | None = None,
    known_rows: Int64 | None = None,
) -> PackedTurns:
    """Build the index of `turns`, which belong to the episodes `homes`, as adding them one by one would.

    Turns that are unchanged in `packed`, an earlier index with vectors of the same model, are copied from it, because
    reading a text again takes a hundred times as long. `known_rows` is the result of `find_known_rows` if the caller
    has it. `vectors` holds the vectors that are not in `packed`.
    """
    marks, speakers, conversations = _build_marks(turns)
    previous, following = _link_neighbours(marks)
    read = _TurnTexts(turns, packed, known_rows)
    values, scales = _quantise_vectors([vectors.get(turn.id) for turn in turns], dimensions)
    if packed is not None:
        bare = read.taken[~values[read.taken].any(axis=1)]
        values[bare], scales[bare] = packed.values[read.old_of[bare]], packed.scales[read.old_of[bare]]
    rows = Int8Rows.interpreted(values, scales)
    return PackedTurns(
        ids=[turn.id for turn in turns],
        homes=homes,
        lazy_turns=TurnList(turns),
        values=values,
        scales=scales,
        live=np.ones(len(turns), dtype=np.bool_),
        previous=previous,
        following=following,
        window_lengths=window_lengths(rows, previous, following),
        marks=marks,
        surface=read.surface,
        words=pack_words(read.vocabulary, read.terms, read.ends),
        names=PackedNames(speakers, conversations, read.about),
    )


def find_known_rows(turns: Sequence[Turn], packed: PackedTurns) -> Int64:
    """Return the row in `packed` of each turn that is unchanged there; -1 for the others."""
    live = packed.live.tolist()
    row_of = {turn_id: row for row, turn_id in enumerate(packed.ids) if live[row]}
    rows = (row_of.get(turn.id, -1) for turn in turns)
    return np.fromiter(
        (row if row >= 0 and packed.lazy_turns(row) == turn else -1 for row, turn in zip(rows, turns, strict=True)),
        dtype=np.int64,
        count=len(turns),
    )


class _TurnTexts:
    """Terms, surface features and subjects of `turns`, computed only for those that are not in `packed`."""

    def __init__(self, turns: Sequence[Turn], packed: PackedTurns | None, known_rows: Int64 | None) -> None:
        count = len(turns)
        none = np.full(count, -1, dtype=np.int64)
        self.old_of = none
        if packed is not None:
            self.old_of = known_rows if known_rows is not None else find_known_rows(turns, packed)
        self.taken = np.flatnonzero(self.old_of >= 0)
        fresh = np.flatnonzero(self.old_of < 0).tolist()
        self.surface: NDArray[np.void] = np.zeros(count, dtype=SURFACE)
        self.surface[fresh] = np.array([surface_features(turns[row].text) for row in fresh], dtype=SURFACE)
        self.vocabulary = list(packed.words.vocabulary) if packed else []
        self.about: dict[str, list[int]] = {}
        numbers = {term: number for number, term in enumerate(self.vocabulary)}
        read = {row: [numbers.setdefault(term, len(numbers)) for term in read_terms(turns[row])] for row in fresh}
        self.vocabulary = list(numbers)
        lengths = np.zeros(count, dtype=np.int64)
        lengths[fresh] = [len(read[row]) for row in fresh]
        if packed:
            lengths[self.taken] = np.diff(packed.words.ends)[self.old_of[self.taken]]
        self.ends = np.append(0, np.cumsum(lengths)).astype(np.int64)
        self.terms: Int32 = np.zeros(int(self.ends[-1]), dtype=np.int32)
        for row in fresh:
            self.terms[self.ends[row] : self.ends[row + 1]] = read[row]
        if packed:
            self._copy_known(packed, lengths)
        for row in fresh:
            for key in subjects_of(turns[row].text):
                self.about.setdefault(key, []).append(row)
        for rows in self.about.values():
            rows.sort()

    def _copy_known(self, packed: PackedTurns, lengths: Int64) -> None:
        taken, old = self.taken, self.old_of[self.taken]
        self.surface[taken] = packed.surface[old]
        many = lengths[taken]
        within = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        source, target = np.repeat(packed.words.ends[old], many) + within, np.repeat(self.ends[taken], many) + within
        self.terms[target] = packed.words.terms[source]
        new_of = dict(zip(old.tolist(), taken.tolist(), strict=True))
        for key, rows in packed.names.about.items():
            if kept := [new_of[row] for row in rows if row in new_of]:
                self.about[key] = kept


def window_lengths(rows: Int8Rows, previous: Int32, following: Int32) -> Float32:
    """Return for each row the length of the sum of its window's vectors: two before, itself, one after."""
    count = len(rows)
    lengths: Float32 = np.ones(count, dtype=np.float32)
    second = np.append(previous, -1)[previous]
    for start in range(0, count, _ROWS_AT_ONCE):
        part = slice(start, min(count, start + _ROWS_AT_ONCE))
        sums = rows[part]
        for near in (previous[part], second[part], following[part]):
            present = np.flatnonzero(near >= 0)
            sums[present] += rows[near[present].astype(np.int64)]
        lengths[part] = np.maximum(1e-6, np.linalg.norm(sums, axis=1))
    return lengths


def count_openers(about: Mapping[str, Sequence[int]]) -> Counter[str]:
    """Return how many of the keys begin with each word."""
    return Counter(key.split()[0] for key in about)


def _build_marks(turns: Sequence[Turn]) -> tuple[NDArray[np.void], list[str], list[str]]:
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


def _link_neighbours(marks: NDArray[np.void]) -> tuple[Int32, Int32]:
    """Return the previous and the next row of each row in its conversation; -1 for none."""
    count = len(marks)
    previous, following = np.full(count, -1, dtype=np.int32), np.full(count, -1, dtype=np.int32)
    order: Int64 = np.lexsort((marks["position"], marks["conversation"]))
    first, second = order[:-1], order[1:]
    is_near = (marks["conversation"][first] == marks["conversation"][second]) & (
        np.abs(marks["said_at"][second] - marks["said_at"][first]) <= SESSION_SECONDS
    )
    previous[second[is_near]], following[first[is_near]] = first[is_near], second[is_near]
    return previous, following


def _quantise_vectors(vectors: Sequence[Vector | None], dimensions: int) -> tuple[Int8, Float32]:
    values: Int8 = np.zeros((len(vectors), dimensions), dtype=np.int8)
    scales: Float32 = np.ones(len(vectors), dtype=np.float32)
    present = [row for row, vector in enumerate(vectors) if vector is not None]
    for start in range(0, len(present), _ROWS_AT_ONCE):
        chosen = present[start : start + _ROWS_AT_ONCE]
        block: Vectors = np.array([vectors[row] for row in chosen], dtype=np.float32).reshape(len(chosen), dimensions)
        values[chosen], scales[chosen] = quantise_rows(block)
    return values, scales
