"""Long texts in files of SQLite, where they are cut: the bytes on both sides of each border. Pure, but for reading.

What does not fit on one page goes on on another, anywhere in the file, so a search by bytes passes over words that lie
across the border. Nothing is opened by SQLite here: the mind may be awake. The format: https://sqlite.org/fileformat2.html
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

_MAGIC: Final = b"SQLite format 3\x00"
_LOG_MAGICS: Final = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOG_HEADER, _FRAME_HEADER = 32, 24
_TABLE_LEAF, _INDEX_LEAF, _INDEX_INNER = 0x0D, 0x0A, 0x02
_SMALLEST_PAGE, _LARGEST_PAGE = 512, 65536


@dataclass(frozen=True, slots=True)
class Border:
    """What stands before and after it, so much of each as was asked for."""

    before: bytes
    after: bytes


def borders(file: Path, reach: int) -> Iterator[Border]:
    """Each border in a database, or in a write-ahead log, with `reach` bytes on either side; of other files none. A
    page of a database may go on on one that is only in its log, and the other way round. Raises OSError."""
    with contextlib.ExitStack() as opened:
        parts = [_page_file(opened.enter_context(_open_unbuffered(file)))]
        beside = _other(file)
        if parts[0] is not None and beside is not None:
            parts.append(_page_file(opened.enter_context(_open_unbuffered(beside))))
        known = [part for part in parts if part is not None]
        if known and known[0] is parts[0]:
            yield from _Pages(known).borders(reach)


def _open_unbuffered(file: Path) -> BinaryIO:
    return file.open("rb", buffering=0)


def _other(file: Path) -> Path | None:
    """The log of a database, or the database of a log; None where there is none."""
    name = file.name
    other = file.with_name(name.removesuffix("-wal") if name.endswith("-wal") else f"{name}-wal")
    return other if other.is_file() else None


@dataclass(frozen=True, slots=True)
class _PageFile:
    """A file of pages."""

    file: BinaryIO
    page_bytes: int
    reserved: int
    places: dict[int, list[int]] | None
    """Where the pages of a log are, by number; None: a database, where each has its place."""

    def at(self, number: int) -> list[int]:
        if self.places is not None:
            return self.places.get(number, [])
        return [(number - 1) * self.page_bytes] if number > 0 else []

    def all(self) -> Iterator[tuple[int, int]]:
        """Every page: its number, and where it is."""
        if self.places is not None:
            yield from ((number, place) for number, places in self.places.items() for place in places)
            return
        size = os.fstat(self.file.fileno()).st_size
        yield from ((number + 1, number * self.page_bytes) for number in range(size // self.page_bytes))

    def read(self, place: int) -> bytes:
        return os.pread(self.file.fileno(), self.page_bytes, place)


def _page_file(file: BinaryIO) -> _PageFile | None:
    """None where it is no file of SQLite's."""
    head = os.pread(file.fileno(), 100, 0)
    if len(head) < _LOG_HEADER:
        return None
    if head.startswith(_MAGIC):
        size = int.from_bytes(head[16:18], "big")
        return _size_file(file, _LARGEST_PAGE if size == 1 else size, head[20])
    if head[:4] in _LOG_MAGICS:
        size = int.from_bytes(head[8:12], "big")
        return _size_file(file, size, 0, is_log=True)
    return None


def _size_file(file: BinaryIO, size: int, reserved: int, *, is_log: bool = False) -> _PageFile | None:
    if not _SMALLEST_PAGE <= size <= _LARGEST_PAGE or size & (size - 1):
        return None
    places: dict[int, list[int]] = {}
    if is_log:
        step = _FRAME_HEADER + size
        for at in range(_LOG_HEADER, os.fstat(file.fileno()).st_size - step + 1, step):
            number = int.from_bytes(os.pread(file.fileno(), 4, at), "big")
            places.setdefault(number, []).append(at + _FRAME_HEADER)
    return _PageFile(file, size, reserved, places if is_log else None)


class _Pages:
    """A database and its log, as far as both are there; what is looked through is the first."""

    def __init__(self, parts: list[_PageFile]) -> None:
        self._parts = parts
        self._usable = parts[0].page_bytes - max(part.reserved for part in parts)
        self._seen: set[tuple[int, int]] = set()

    def borders(self, reach: int) -> Iterator[Border]:
        for number, place in self._parts[0].all():
            page = self._parts[0].read(place)
            for end, goes_on in _cut_cells(page, 100 if number == 1 else 0, self._usable):
                yield from self._chain(page[max(0, end - reach) : end], goes_on, reach)

    def _chain(self, before: bytes, number: int, reach: int) -> Iterator[Border]:
        """From a cell over every page that it goes on on; each of those is walked through once."""
        ways = [(before, number)]
        while ways:
            before, number = ways.pop()
            for which, part in enumerate(self._parts):
                for place in part.at(number):
                    page = part.read(place)
                    if len(page) < self._usable:
                        continue
                    yield Border(before, page[4 : min(4 + reach, self._usable)])
                    if (which, place) not in self._seen:
                        self._seen.add((which, place))
                        ways.append(
                            (page[max(4, self._usable - reach) : self._usable], int.from_bytes(page[:4], "big"))
                        )


def _cut_cells(page: bytes, header: int, usable: int) -> Iterator[tuple[int, int]]:
    """Of each cell that goes on elsewhere: where on `page` it ends, and on which page it goes on."""
    kind = page[header] if len(page) >= usable else 0
    if kind not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INNER):
        return
    pointers = header + (12 if kind == _INDEX_INNER else 8)
    for number in range(int.from_bytes(page[header + 3 : header + 5], "big")):
        at = int.from_bytes(page[pointers + 2 * number : pointers + 2 * number + 2], "big")
        if kind == _INDEX_INNER:
            at += 4
        payload, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            _, at = _varint(page, at)
        end = at + _on_page(payload, usable, is_table=kind == _TABLE_LEAF)
        if end < at + payload and end + 4 <= len(page):
            yield end, int.from_bytes(page[end : end + 4], "big")


def _on_page(payload: int, usable: int, *, is_table: bool) -> int:
    """So many bytes of a payload stand on the cell's own page."""
    most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
    if payload <= most:
        return payload
    least = (usable - 12) * 32 // 255 - 23
    fitting = least + (payload - least) % (usable - 4)
    return fitting if fitting <= most else least


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for byte in page[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | (page[at] if at < len(page) else 0), at + 1
