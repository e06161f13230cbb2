"""The live memory - graph and turns - as one file beside the database, so that a large mind wakes in a moment.

The rows stay the truth. A snapshot carries a mark, and the database notes which rows changed since that mark was made:
those are read anew (memory/snapshots.py). One that is damaged, of another version, or whose mark the database does not
know is put aside, and the graph is made from the rows. It is written whole or not at all, mode 0600, and holds what the
episodes say: an erasure of an episode erases the snapshot too.

Layout: a first line, a MessagePack header with its length and checksum, then sections at multiples of 64 bytes.
"""

import contextlib
import os
import zlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from reveries import __version__
from reveries.db.failpoints import Step, reached
from reveries.index.arrays import Int64
from reveries.index.words import PackedWords
from reveries.llm.base import Vectors
from reveries.memory.graph.arena import PackedLinks
from reveries.memory.graph.facts import PackedFacts
from reveries.memory.graph.memory_graph import PackedGraph
from reveries.memory.live import PackedMemory
from reveries.memory.model import Episode, Turn
from reveries.memory.recall.turn_features import SURFACE
from reveries.memory.recall.turn_packing import MARKS, PackedNames, PackedTurns, unpack_turn
from reveries.own_files import open_new, sync_to_disk

_MAGIC: Final = b"reveries snapshot 3\n"
_ALIGNMENT = 64
_CHUNK_BYTES = 1 << 23
_CHECKED_WORDS = 1 << 17
_ROOM_SHARE = 0.5
_WITH_ROOM: Final = ("targets", "kinds", "strengths")
_LEAST_ROOM = 1024
_FACTS: Final = ("accessibility", "valence", "salience", "last_accessed_at", "created_at", "ended_at", "conversation")

Numbers = NDArray[np.generic]


class Section(msgspec.Struct, frozen=True):
    """One array in the file."""

    name: str
    dtype: str
    length: int
    """Of the array's elements."""
    check: int


class Header(msgspec.Struct, frozen=True):
    """What a snapshot is of, and what is in it."""

    version: str
    fields: list[str]
    mark: bytes = msgspec.field(name="stamp")
    """What the database knows it by."""
    model_id: str
    dimensions: int
    count: int
    sections: list[Section]


class SnapshotEpisodes:
    """Episodes as they stand in the file."""

    def __init__(self, text: memoryview, ends: Int64) -> None:
        self._text = text
        self._ends = ends

    def __call__(self, place: int) -> Episode:
        return msgspec.msgpack.decode(self.raw(place), type=Episode)

    def raw(self, place: int) -> bytes:
        return bytes(self._text[self._ends[place - 1] if place else 0 : self._ends[place]])


class _UnusableSnapshotError(Exception):
    """The file cannot be used. Never leaves this module."""


def write_snapshot(path: Path, taken: PackedMemory, mark: bytes, model_id: str, is_wanted: Callable[[], bool]) -> bool:
    """Write `taken` to `path`, in the place of what is there; whether it was done. Given up when `is_wanted` says no,
    and when the disk does not take it: then an old snapshot stands as it was. Slow: call it in a thread."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        sections = _sections_of(taken, is_wanted)
        with os.fdopen(open_new(partial), "wb") as file:
            header = Header(
                version=__version__,
                fields=_field_names(),
                mark=mark,
                model_id=model_id,
                dimensions=taken.graph.vectors.shape[1],
                count=len(taken.graph.ids),
                sections=[_section(name, values) for name, values in sections],
            )
            _write_all(file, header, [values for _, values in sections], is_wanted)
            file.flush()
            os.fsync(file.fileno())
        reached(Step.SNAPSHOT_WRITTEN)
        partial.replace(path)
        reached(Step.SNAPSHOT_NAMED)
        sync_to_disk(path.parent)
    except (OSError, _UnusableSnapshotError):
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        return False
    return True


def read_snapshot(
    path: Path, marks: Container[bytes], model_id: str, dimensions: int
) -> tuple[bytes, PackedMemory] | None:
    """The memory in the file and its mark, which is one of `marks`; None when there is none of the database and the
    embedding model, or when a byte of it is wrong. Slow: call it in a thread."""
    try:
        with path.open("rb", buffering=0) as file:
            header = _read_header(file)
            if header.mark not in marks or (header.model_id, header.dimensions) != (model_id, dimensions):
                return None
            found = {section.name: _read_section(file, section, header) for section in header.sections}
            graph = _graph_of(header, found)
            return header.mark, PackedMemory(graph, turns_of_sections(found, graph.ids, dimensions))
    except (OSError, _UnusableSnapshotError, msgspec.MsgspecError, ValueError, LookupError, TypeError):
        return None


def read_earlier_turns(path: Path, model_id: str, dimensions: int) -> PackedTurns | None:
    """The turns in a snapshot of an earlier state, for what is still so; None where there is none of this model."""
    try:
        with path.open("rb", buffering=0) as file:
            header = _read_header(file)
            if (header.model_id, header.dimensions) != (model_id, dimensions):
                return None
            # One section after the other: the graph's are read over.
            found = {section.name: _read_section(file, section, header) for section in header.sections}
            turns = turns_of_sections(found, _split_lines(found["ids"]), dimensions)
            return turns if turns.is_consistent() else None
    except (OSError, _UnusableSnapshotError, msgspec.MsgspecError, ValueError, LookupError, TypeError):
        return None


def is_whole(path: Path) -> bool:
    """Whether every byte of the snapshot is as it was written. Slow: call it in a thread."""
    try:
        with path.open("rb", buffering=0) as file:
            header = _read_header(file)
            for section in header.sections:
                _read_section(file, section, header)
    except (OSError, _UnusableSnapshotError, msgspec.MsgspecError, ValueError, LookupError, TypeError):
        return False
    return True


def erase_snapshot(path: Path) -> None:
    """Overwrite and remove the file, so that nothing of an erased episode is left in it. Raises OSError."""
    for file in (path, path.with_name(f"{path.name}.partial")):
        if not file.exists():
            continue
        if file.is_symlink():
            file.unlink()
            continue
        with file.open("r+b") as opened:
            for start in range(0, file.stat().st_size, _CHUNK_BYTES):
                opened.seek(start)
                opened.write(bytes(min(_CHUNK_BYTES, file.stat().st_size - start)))
            opened.flush()
            os.fsync(opened.fileno())
        file.unlink()


def with_room(count: int, dimensions: int) -> Vectors:
    """Rows of zeros for `count` vectors and half as many more; what is not used takes no memory."""
    return np.zeros((count + max(_LEAST_ROOM, int(_ROOM_SHARE * count)), dimensions), dtype=np.float32)


def _field_names() -> list[str]:
    """What is packed of episodes and turns: another program's are not read."""
    return [field.name for kind in (Episode, Turn) for field in fields(kind)] + [
        *(MARKS.names or ()),
        *(SURFACE.names or ()),
    ]


def _sections_of(memory: PackedMemory, is_wanted: Callable[[], bool]) -> list[tuple[str, Numbers]]:
    taken, raws = memory.graph, list[bytes]()
    for place in range(len(taken.ids)):
        if not place % 1024 and not is_wanted():
            raise _UnusableSnapshotError
        raws.append(taken.lazy_episodes.raw(place))
    links, turns = taken.links, turn_sections(memory.turns, taken.ids, is_wanted)
    if turns is None:
        raise _UnusableSnapshotError
    return [
        *turns,
        ("vectors", taken.vectors[: len(taken.ids)].reshape(-1)),
        ("nodes", links.nodes.reshape(-1)),
        ("targets", links.targets[: links.taken]),
        ("kinds", links.kinds[: links.taken]),
        ("strengths", links.strengths[: links.taken]),
        *((name, getattr(taken.facts, name)) for name in _FACTS),
        ("conversations", np.frombuffer("\n".join(taken.facts.conversations).encode(), dtype=np.uint8)),
        ("ids", np.frombuffer("\n".join(taken.ids).encode(), dtype=np.uint8)),
        ("episode_ends", np.cumsum([len(raw) for raw in raws], dtype=np.int64)),
        ("episodes", np.frombuffer(b"".join(raws), dtype=np.uint8)),
    ]


def _graph_of(header: Header, found: dict[str, Numbers]) -> PackedGraph:
    count = header.count
    ids = _split_lines(found["ids"])
    ends, text = found["episode_ends"].view(np.int64), found["episodes"].data
    if len(ids) != count or len(ends) != count or (count and ends[-1] != len(text)):
        raise _UnusableSnapshotError
    return PackedGraph(
        ids=ids,
        lazy_episodes=SnapshotEpisodes(text, ends),
        vectors=found["vectors"].view(np.float32).reshape(with_room(header.count, header.dimensions).shape),
        links=PackedLinks(
            found["nodes"].reshape(-1, 4).view(np.int32),
            found["targets"].view(np.int32),
            found["kinds"].view(np.uint8),
            found["strengths"].view(np.float32),
            next(section.length for section in header.sections if section.name == "targets"),
        ),
        facts=PackedFacts(
            accessibility=found["accessibility"].view(np.float64),
            valence=found["valence"].view(np.float64),
            salience=found["salience"].view(np.float64),
            last_accessed_at=found["last_accessed_at"].view(np.float64),
            created_at=found["created_at"].view(np.float64),
            ended_at=found["ended_at"].view(np.float64),
            conversation=found["conversation"].view(np.int32),
            conversations=_split_lines(found["conversations"]),
        ),
    )


def _split_lines(raw: Numbers) -> list[str]:
    return raw.tobytes().decode().split("\n") if len(raw) else []


def _read_header(file: BinaryIO) -> Header:
    start = file.read(len(_MAGIC) + 8)
    if len(start) != len(_MAGIC) + 8 or not start.startswith(_MAGIC):
        raise _UnusableSnapshotError
    length, check = (int.from_bytes(start[at : at + 4], "little") for at in (len(_MAGIC), len(_MAGIC) + 4))
    raw = file.read(length)
    if len(raw) != length or zlib.crc32(raw) != check:
        raise _UnusableSnapshotError
    header = msgspec.msgpack.decode(raw, type=Header)
    if header.version != __version__ or header.fields != _field_names():
        raise _UnusableSnapshotError
    return header


def _read_section(file: BinaryIO, section: Section, header: Header) -> Numbers:
    """One array. Vectors and links have room behind them: nothing is copied when the next episode comes."""
    values: Numbers
    if section.name == "vectors":
        if section.length != header.count * header.dimensions or section.dtype != "<f4":
            raise _UnusableSnapshotError
        values = with_room(header.count, header.dimensions).reshape(-1)
    elif section.name in _WITH_ROOM:
        values = np.zeros(section.length + section.length // 4, dtype=section.dtype)
    else:
        values = np.empty(section.length, dtype=section.dtype)
    file.seek(-(-file.tell() // _ALIGNMENT) * _ALIGNMENT)
    part = values[: section.length]
    view = part.view(np.uint8).data
    done = 0
    while done < len(view):
        got = file.readinto(view[done : done + _CHUNK_BYTES])  # type: ignore[attr-defined]  # a raw file has it
        if not got:
            raise _UnusableSnapshotError
        done += got
    if _sum_of_words(part) != section.check:
        raise _UnusableSnapshotError
    return values


def _write_all(file: BinaryIO, header: Header, parts: Sequence[Numbers], is_wanted: Callable[[], bool]) -> None:
    raw = msgspec.msgpack.encode(header)
    file.write(_MAGIC + len(raw).to_bytes(4, "little") + zlib.crc32(raw).to_bytes(4, "little") + raw)
    for part in parts:
        file.write(bytes(-file.tell() % _ALIGNMENT))
        view = part.view(np.uint8).data
        for start in range(0, len(view), _CHUNK_BYTES):
            if not is_wanted():
                raise _UnusableSnapshotError
            file.write(view[start : start + _CHUNK_BYTES])


def _section(name: str, values: Numbers) -> Section:
    return Section(name, values.dtype.str, len(values), _sum_of_words(values))


def _sum_of_words(values: Numbers) -> int:
    """A checksum at the speed of memory: sums of 64-bit words by the mebibyte, and a CRC over those and the rest. A
    flipped bit, a torn or a missing page is noticed."""
    raw = values.view(np.uint8)
    whole = len(raw) // 8 * 8
    words = raw[:whole].view(np.int64)
    starts = np.arange(0, len(words), _CHECKED_WORDS)
    sums = np.add.reduceat(words, starts) if len(words) else words
    return zlib.crc32(raw[whole:].tobytes(), zlib.crc32(sums.tobytes()))


_PREFIX = "turns."
_LOOK_AGAIN_ROWS = 1024
_KEPT_READ = 4096


class FoldedTurns:
    """Turns as they stand in the file."""

    def __init__(self, text: memoryview, ends: Int64) -> None:
        self._text = text
        self._ends = ends
        self._read: dict[int, Turn] = {}
        """What was read lately: a recall asks for its best turns several times."""

    def __call__(self, row: int) -> Turn:
        turn = self._read.get(row)
        if turn is None:
            if len(self._read) >= _KEPT_READ:
                self._read.clear()
            turn = self._read[row] = unpack_turn(self.raw(row))
        return turn

    def raw(self, row: int) -> bytes:
        return bytes(self._text[self._ends[row - 1] if row else 0 : self._ends[row]])


def turn_sections(
    turns: PackedTurns, episode_ids: Sequence[str], is_wanted: Callable[[], bool]
) -> list[tuple[str, Numbers]] | None:
    """Arrays by name; None when they are not wanted any more."""
    raws: list[bytes] = []
    for row in range(len(turns.ids)):
        if not row % _LOOK_AGAIN_ROWS and not is_wanted():
            return None
        raws.append(turns.lazy_turns.raw(row))
    places = dict(zip(episode_ids, range(len(episode_ids)), strict=True))
    homes = np.fromiter((places.get(home, -1) for home in turns.homes), dtype=np.int32, count=len(turns.homes))
    words = turns.words
    sections: dict[str, Numbers] = {
        "values": turns.values.reshape(-1),
        "scales": turns.scales,
        "live": turns.live,
        "previous": turns.previous,
        "following": turns.following,
        "window_lengths": turns.window_lengths,
        "marks": turns.marks.view(np.uint8),
        "surface": turns.surface.view(np.uint8),
        "homes": homes,
        "ids": _pack_text("\n".join(turns.ids).encode()),
        "raw_ends": np.cumsum([len(raw) for raw in raws], dtype=np.int64),
        "raws": _pack_text(b"".join(raws)),
        "vocabulary": _pack_text("\n".join(words.vocabulary).encode()),
        "term_ends": words.term_ends,
        "word_rows": words.rows,
        "word_counts": words.counts,
        "terms": words.terms,
        "ends": words.ends,
        "names": _pack_text(msgspec.msgpack.encode(turns.names)),
    }
    return [(f"{_PREFIX}{name}", values) for name, values in sections.items()]


def turns_of_sections(found: Mapping[str, Numbers], episode_ids: Sequence[str], dimensions: int) -> PackedTurns:
    """The index that `turn_sections` took apart. Raises ValueError or KeyError where something does not fit."""
    own = {name.removeprefix(_PREFIX): values for name, values in found.items() if name.startswith(_PREFIX)}
    ids, vocabulary = _lines(own["ids"]), _lines(own["vocabulary"])
    named = [*episode_ids, ""]  # -1 is nobody's.
    ends, text = own["raw_ends"].view(np.int64), own["raws"].data
    if len(ends) != len(ids) or (len(ids) and ends[-1] != len(text)):
        raise ValueError("The turns end elsewhere than they say.")
    return PackedTurns(
        ids=ids,
        homes=[named[place] for place in own["homes"].view(np.int32).tolist()],
        lazy_turns=FoldedTurns(text, ends),
        values=own["values"].view(np.int8).reshape(len(ids), dimensions),
        scales=own["scales"].view(np.float32),
        live=own["live"].view(np.bool_),
        previous=own["previous"].view(np.int32),
        following=own["following"].view(np.int32),
        window_lengths=own["window_lengths"].view(np.float32),
        marks=own["marks"].view(MARKS),
        surface=own["surface"].view(SURFACE),
        words=PackedWords(
            vocabulary,
            own["term_ends"].view(np.int64),
            own["word_rows"].view(np.int32),
            own["word_counts"].view(np.int16),
            own["terms"].view(np.int32),
            own["ends"].view(np.int64),
        ),
        names=msgspec.msgpack.decode(own["names"].tobytes(), type=PackedNames),
    )


def _pack_text(raw: bytes) -> Numbers:
    return np.frombuffer(raw, dtype=np.uint8)


def _lines(raw: Numbers) -> list[str]:
    return raw.tobytes().decode().split("\n") if len(raw) else []
