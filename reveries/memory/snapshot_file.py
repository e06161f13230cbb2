"""File format of a snapshot: the live memory (graph and turns) in one file next to the database, for a fast wake.

The rows stay authoritative. A snapshot has a mark, and the database notes which rows changed since that mark: those are
read again (memory/snapshots.py). A snapshot that is damaged, from another version, or whose mark the database does not
know is ignored, and the memory is built from the rows. The file is written whole or not at all, with mode 0600. It
contains the text of the episodes, so erasing an episode erases the snapshot too.

Layout: a magic line, a MessagePack header with its length and checksum, then sections at multiples of 64 bytes.
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
from reveries.db.failpoints import Step, reach_step
from reveries.index.arrays import Int64
from reveries.index.terms import TERMS_RULE
from reveries.index.words import PackedWords
from reveries.llm.base import Vectors
from reveries.memory.graph.arena import PackedLinks
from reveries.memory.graph.facts import PackedFacts
from reveries.memory.graph.memory_graph import PackedGraph
from reveries.memory.live import PackedMemory
from reveries.memory.model import Episode, Turn
from reveries.memory.recall.turn_features import SURFACE
from reveries.memory.recall.turn_packing import MARKS, PackedNames, PackedTurns, unpack_turn
from reveries.own_files import open_replacement, sync_to_disk

_MAGIC: Final = b"reveries snapshot 3\n"
_ALIGNMENT = 64
_CHUNK_BYTES = 1 << 23
_CHECKED_WORDS = 1 << 17
_SPARE_SHARE = 0.5
_WITH_SPARE: Final = ("targets", "kinds", "strengths")
_LEAST_SPARE = 1024
_FACTS: Final = ("accessibility", "valence", "salience", "last_accessed_at", "created_at", "ended_at", "conversation")

Numbers = NDArray[np.generic]


class Section(msgspec.Struct, frozen=True):
    """One array in the file."""

    name: str
    dtype: str
    length: int
    """Number of elements."""
    check: int


class Header(msgspec.Struct, frozen=True):
    """Identity and contents of a snapshot."""

    version: str
    fields: list[str]
    mark: bytes = msgspec.field(name="stamp")
    """Identifies the snapshot in the database."""
    model_id: str
    dimensions: int
    count: int
    sections: list[Section]


class SnapshotEpisodes:
    """Encoded episodes of a snapshot, decoded when read."""

    def __init__(self, text: memoryview, ends: Int64) -> None:
        self._text = text
        self._ends = ends

    def __call__(self, place: int) -> Episode:
        return msgspec.msgpack.decode(self.raw(place), type=Episode)

    def raw(self, place: int) -> bytes:
        return bytes(self._text[self._ends[place - 1] if place else 0 : self._ends[place]])


class _UnusableSnapshotError(Exception):
    """The file cannot be used, or the save was stopped. Never leaves this module."""


def write_snapshot(path: Path, packed: PackedMemory, mark: bytes, model_id: str, is_wanted: Callable[[], bool]) -> bool:
    """Write `packed` to `path`, replacing an existing snapshot; whether it was done. Gives up when `is_wanted` returns
    False or the write fails; an old snapshot is then left unchanged. Slow: call it in a thread."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        sections = _sections_of(packed, is_wanted)
        with os.fdopen(open_replacement(partial), "wb") as file:
            header = Header(
                version=__version__,
                fields=_field_names(),
                mark=mark,
                model_id=model_id,
                dimensions=packed.graph.vectors.shape[1],
                count=len(packed.graph.ids),
                sections=[_section(name, values) for name, values in sections],
            )
            _write_all(file, header, [values for _, values in sections], is_wanted)
            file.flush()
            os.fsync(file.fileno())
        reach_step(Step.SNAPSHOT_WRITTEN)
        partial.replace(path)
        reach_step(Step.SNAPSHOT_NAMED)
        sync_to_disk(path.parent)
    except (OSError, _UnusableSnapshotError):
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        return False
    return True


def read_snapshot(
    path: Path, marks: Container[bytes], model_id: str, dimensions: int
) -> tuple[bytes, PackedMemory] | None:
    """Read the memory and its mark. None if there is no intact snapshot with one of `marks` and of this embedding
    model. Slow: call it in a thread."""
    try:
        with path.open("rb", buffering=0) as file:
            header = _read_header(file)
            if header.mark not in marks or (header.model_id, header.dimensions) != (model_id, dimensions):
                return None
            arrays = {section.name: _read_section(file, section, header) for section in header.sections}
            graph = _graph_from_sections(header, arrays)
            return header.mark, PackedMemory(graph, turns_from_sections(arrays, graph.ids, dimensions))
    except (OSError, _UnusableSnapshotError, msgspec.MsgspecError, ValueError, LookupError, TypeError):
        return None


def read_earlier_turns(path: Path, model_id: str, dimensions: int) -> PackedTurns | None:
    """Read the turns of an outdated snapshot, to reuse what has not changed; None if there is none of this model."""
    try:
        with path.open("rb", buffering=0) as file:
            header = _read_header(file)
            if (header.model_id, header.dimensions) != (model_id, dimensions):
                return None
            # Sections are read in sequence, those of the graph too.
            arrays = {section.name: _read_section(file, section, header) for section in header.sections}
            turns = turns_from_sections(arrays, _split_lines(arrays["ids"]), dimensions)
            return turns if turns.is_consistent() else None
    except (OSError, _UnusableSnapshotError, msgspec.MsgspecError, ValueError, LookupError, TypeError):
        return None


def erase_snapshot(path: Path) -> None:
    """Overwrite and delete the file, so that nothing of an erased episode is left in it. Raises OSError."""
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


def allocate_vectors(count: int, dimensions: int) -> Vectors:
    """Allocate zeros for `count` vectors and half as many spare rows. Untouched rows take no physical memory."""
    return np.zeros((count + max(_LEAST_SPARE, int(_SPARE_SHARE * count)), dimensions), dtype=np.float32)


def _field_names() -> list[str]:
    """Names of the packed fields, and the rule of the terms. A snapshot with others is from another version and is not
    read."""
    return [field.name for kind in (Episode, Turn) for field in fields(kind)] + [
        *(MARKS.names or ()),
        *(SURFACE.names or ()),
        f"terms {TERMS_RULE}",
    ]


def _sections_of(memory: PackedMemory, is_wanted: Callable[[], bool]) -> list[tuple[str, Numbers]]:
    graph, raws = memory.graph, list[bytes]()
    for place in range(len(graph.ids)):
        if not place % 1024 and not is_wanted():
            raise _UnusableSnapshotError
        raws.append(graph.lazy_episodes.raw(place))
    links, turns = graph.links, turn_sections(memory.turns, graph.ids, is_wanted)
    if turns is None:
        raise _UnusableSnapshotError
    return [
        *turns,
        ("vectors", graph.vectors[: len(graph.ids)].reshape(-1)),
        ("nodes", links.nodes.reshape(-1)),
        ("targets", links.targets[: links.taken]),
        ("kinds", links.kinds[: links.taken]),
        ("strengths", links.strengths[: links.taken]),
        *((name, getattr(graph.facts, name)) for name in _FACTS),
        ("conversations", np.frombuffer("\n".join(graph.facts.conversations).encode(), dtype=np.uint8)),
        ("ids", np.frombuffer("\n".join(graph.ids).encode(), dtype=np.uint8)),
        ("episode_ends", np.cumsum([len(raw) for raw in raws], dtype=np.int64)),
        ("episodes", np.frombuffer(b"".join(raws), dtype=np.uint8)),
    ]


def _graph_from_sections(header: Header, arrays: dict[str, Numbers]) -> PackedGraph:
    count = header.count
    ids = _split_lines(arrays["ids"])
    ends, text = arrays["episode_ends"].view(np.int64), arrays["episodes"].data
    if len(ids) != count or len(ends) != count or (count and ends[-1] != len(text)):
        raise _UnusableSnapshotError
    return PackedGraph(
        ids=ids,
        lazy_episodes=SnapshotEpisodes(text, ends),
        vectors=arrays["vectors"].view(np.float32).reshape(allocate_vectors(header.count, header.dimensions).shape),
        links=PackedLinks(
            arrays["nodes"].reshape(-1, 4).view(np.int32),
            arrays["targets"].view(np.int32),
            arrays["kinds"].view(np.uint8),
            arrays["strengths"].view(np.float32),
            next(section.length for section in header.sections if section.name == "targets"),
        ),
        facts=PackedFacts(
            accessibility=arrays["accessibility"].view(np.float64),
            valence=arrays["valence"].view(np.float64),
            salience=arrays["salience"].view(np.float64),
            last_accessed_at=arrays["last_accessed_at"].view(np.float64),
            created_at=arrays["created_at"].view(np.float64),
            ended_at=arrays["ended_at"].view(np.float64),
            conversation=arrays["conversation"].view(np.int32),
            conversations=_split_lines(arrays["conversations"]),
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
    """Read one array. Vectors and links get spare capacity, so that adding an episode copies nothing."""
    values: Numbers
    if section.name == "vectors":
        if section.length != header.count * header.dimensions or section.dtype != "<f4":
            raise _UnusableSnapshotError
        values = allocate_vectors(header.count, header.dimensions).reshape(-1)
    elif section.name in _WITH_SPARE:
        values = np.zeros(section.length + section.length // 4, dtype=section.dtype)
    else:
        values = np.empty(section.length, dtype=section.dtype)
    file.seek(-(-file.tell() // _ALIGNMENT) * _ALIGNMENT)
    part = values[: section.length]
    view = part.view(np.uint8).data
    done = 0
    while done < len(view):
        count = file.readinto(view[done : done + _CHUNK_BYTES])  # type: ignore[attr-defined]  # a raw file has it
        if not count:
            raise _UnusableSnapshotError
        done += count
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
    """Fast checksum: sums of 64-bit words per mebibyte, and a CRC over the sums and the remaining bytes. Detects a
    flipped bit and a torn or missing page."""
    raw = values.view(np.uint8)
    whole = len(raw) // 8 * 8
    words = raw[:whole].view(np.int64)
    starts = np.arange(0, len(words), _CHECKED_WORDS)
    sums = np.add.reduceat(words, starts) if len(words) else words
    return zlib.crc32(raw[whole:].tobytes(), zlib.crc32(sums.tobytes()))


_PREFIX = "turns."
_ROWS_PER_CHECK = 1024
_CACHED_TURNS = 4096


class SnapshotTurns:
    """Encoded turns of a snapshot, decoded when read."""

    def __init__(self, text: memoryview, ends: Int64) -> None:
        self._text = text
        self._ends = ends
        self._cache: dict[int, Turn] = {}
        """Recently decoded turns: a recall reads its best turns several times."""

    def __call__(self, row: int) -> Turn:
        turn = self._cache.get(row)
        if turn is None:
            if len(self._cache) >= _CACHED_TURNS:
                self._cache.clear()
            turn = self._cache[row] = unpack_turn(self.raw(row))
        return turn

    def raw(self, row: int) -> bytes:
        return bytes(self._text[self._ends[row - 1] if row else 0 : self._ends[row]])


def turn_sections(
    turns: PackedTurns, episode_ids: Sequence[str], is_wanted: Callable[[], bool]
) -> list[tuple[str, Numbers]] | None:
    """Return arrays by name; None if `is_wanted` returns False."""
    raws: list[bytes] = []
    for row in range(len(turns.ids)):
        if not row % _ROWS_PER_CHECK and not is_wanted():
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


def turns_from_sections(arrays: Mapping[str, Numbers], episode_ids: Sequence[str], dimensions: int) -> PackedTurns:
    """Rebuild the index from the arrays of `turn_sections`. Raises ValueError or KeyError if they do not fit."""
    own = {name.removeprefix(_PREFIX): values for name, values in arrays.items() if name.startswith(_PREFIX)}
    ids, vocabulary = _split_lines(own["ids"]), _split_lines(own["vocabulary"])
    homes = [*episode_ids, ""]  # -1 means no episode.
    ends, text = own["raw_ends"].view(np.int64), own["raws"].data
    if len(ends) != len(ids) or (len(ids) and ends[-1] != len(text)):
        raise ValueError("The turn offsets do not match the turn data.")
    return PackedTurns(
        ids=ids,
        homes=[homes[place] for place in own["homes"].view(np.int32).tolist()],
        lazy_turns=SnapshotTurns(text, ends),
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
