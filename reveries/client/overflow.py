"""Find where long texts in SQLite files are split across overflow pages, with the bytes on both sides. Read-only.

A text that does not fit on one page continues on another one, anywhere in the file, so a search by bytes misses words
across the border. SQLite is not used: a daemon may be running. Format: https://sqlite.org/fileformat2.html
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
    """The bytes before and after the point where a text is split."""

    before: bytes
    after: bytes


def find_borders(file: Path, reach: int) -> Iterator[Border]:
    """Yield each border in a database or write-ahead log, with `reach` bytes on either side; nothing for other files. A
    text may continue from the database in its log, and the other way round. Raises OSError."""
    with contextlib.ExitStack() as opened:
        parts = [_open_page_file(opened.enter_context(_open_unbuffered(file)))]
        paired = _paired_file(file)
        if parts[0] is not None and paired is not None:
            parts.append(_open_page_file(opened.enter_context(_open_unbuffered(paired))))
        readable = [part for part in parts if part is not None]
        if readable and readable[0] is parts[0]:
            yield from _Pages(readable).find_borders(reach)


def _open_unbuffered(file: Path) -> BinaryIO:
    return file.open("rb", buffering=0)


def _paired_file(file: Path) -> Path | None:
    """Return the log of a database, or the database of a log; None if it does not exist."""
    name = file.name
    other = file.with_name(name.removesuffix("-wal") if name.endswith("-wal") else f"{name}-wal")
    return other if other.is_file() else None


@dataclass(frozen=True, slots=True)
class _PageFile:
    """An open database or log, as pages."""

    file: BinaryIO
    page_bytes: int
    reserved: int
    places: dict[int, list[int]] | None
    """Offsets of the pages of a log, by page number; None for a database, where the number gives the offset."""

    def offsets_of(self, number: int) -> list[int]:
        if self.places is not None:
            return self.places.get(number, [])
        return [(number - 1) * self.page_bytes] if number > 0 else []

    def list_pages(self) -> Iterator[tuple[int, int]]:
        """Yield the number and offset of every page."""
        if self.places is not None:
            yield from ((number, place) for number, places in self.places.items() for place in places)
            return
        size = os.fstat(self.file.fileno()).st_size
        yield from ((number + 1, number * self.page_bytes) for number in range(size // self.page_bytes))

    def read(self, place: int) -> bytes:
        return os.pread(self.file.fileno(), self.page_bytes, place)


def _open_page_file(file: BinaryIO) -> _PageFile | None:
    """Open a database or log; None if it is neither."""
    head = os.pread(file.fileno(), 100, 0)
    if len(head) < _LOG_HEADER:
        return None
    if head.startswith(_MAGIC):
        size = int.from_bytes(head[16:18], "big")
        return _make_page_file(file, _LARGEST_PAGE if size == 1 else size, head[20])
    if head[:4] in _LOG_MAGICS:
        size = int.from_bytes(head[8:12], "big")
        return _make_page_file(file, size, 0, is_log=True)
    return None


def _make_page_file(file: BinaryIO, size: int, reserved: int, *, is_log: bool = False) -> _PageFile | None:
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
    """A database and its log, if both exist; the first one is searched."""

    def __init__(self, parts: list[_PageFile]) -> None:
        self._parts = parts
        self._usable = parts[0].page_bytes - max(part.reserved for part in parts)
        self._seen: set[tuple[int, int]] = set()

    def find_borders(self, reach: int) -> Iterator[Border]:
        for number, place in self._parts[0].list_pages():
            page = self._parts[0].read(place)
            for end, goes_on in _overflowing_cells(page, 100 if number == 1 else 0, self._usable):
                yield from self._follow_chain(page[max(0, end - reach) : end], goes_on, reach)

    def _follow_chain(self, before: bytes, number: int, reach: int) -> Iterator[Border]:
        """Follow a cell over its overflow pages; each page is visited once."""
        ways = [(before, number)]
        while ways:
            before, number = ways.pop()
            for which, part in enumerate(self._parts):
                for place in part.offsets_of(number):
                    page = part.read(place)
                    if len(page) < self._usable:
                        continue
                    yield Border(before, page[4 : min(4 + reach, self._usable)])
                    if (which, place) not in self._seen:
                        self._seen.add((which, place))
                        ways.append(
                            (page[max(4, self._usable - reach) : self._usable], int.from_bytes(page[:4], "big"))
                        )


def _overflowing_cells(page: bytes, header: int, usable: int) -> Iterator[tuple[int, int]]:
    """Yield, for each cell that overflows, the offset where it ends on `page` and the number of its overflow page."""
    kind = page[header] if len(page) >= usable else 0
    if kind not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INNER):
        return
    pointers = header + (12 if kind == _INDEX_INNER else 8)
    for number in range(int.from_bytes(page[header + 3 : header + 5], "big")):
        at = int.from_bytes(page[pointers + 2 * number : pointers + 2 * number + 2], "big")
        if kind == _INDEX_INNER:
            at += 4
        payload, at = _read_varint(page, at)
        if kind == _TABLE_LEAF:
            _, at = _read_varint(page, at)
        end = at + _local_payload_bytes(payload, usable, is_table=kind == _TABLE_LEAF)
        if end < at + payload and end + 4 <= len(page):
            yield end, int.from_bytes(page[end : end + 4], "big")


def _local_payload_bytes(payload: int, usable: int, *, is_table: bool) -> int:
    """Return how many bytes of a payload are on the cell's own page."""
    most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
    if payload <= most:
        return payload
    least = (usable - 12) * 32 // 255 - 23
    fitting = least + (payload - least) % (usable - 4)
    return fitting if fitting <= most else least


def _read_varint(page: bytes, at: int) -> tuple[int, int]:
    """Read a number of one to nine bytes. Return it, and the offset after it."""
    value = 0
    for byte in page[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | (page[at] if at < len(page) else 0), at + 1
