"""A checksum of every page of the memory, in a file next to it, so that changes by the disk are noticed after a kill
too.

A seal (`reveries.db.integrity.seals`) is for a file that was closed. SQLite writes to its file only when the log is
checkpointed, so before each checkpoint the checksums of the pages in the log are written here and synced: at any moment
a page matches its checksum, or it is in the log, whose frames carry checksums of their own. They are valid as long as
the file has the size and the time that it had after the last checkpoint; after another program wrote to it they are
discarded and rebuilt when it is opened again. A mismatch alone never restores a backup.

A page's checksum is its CRC-32. It detects every single flipped bit, and other damage except once in four thousand
million times; and reading a whole file takes half as long as with a cryptographic digest.
"""

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from reveries.db.integrity.write_ahead_log import log_of, read_pages_in_log
from reveries.own_files import open_own_file, write_private_file

Sums = NDArray[np.uint32]
"""(pages,): the CRC-32 of each page."""

_HEAD: Final = struct.Struct("<16sIQqI")
"""Magic, bytes per page, size and time (ns) of the memory after the last checkpoint, and a CRC-32 of these and of all
checksums: damage to this file is no damage to the memory."""
_MAGIC: Final = b"reveries pages 1"
_SUMS_AT: Final = 4096
"""Far enough from the head that a torn write of one leaves the other intact."""
_SUM: Final = np.dtype("<u4")
_UNKNOWN: Final = 0
_PIECE_BYTES: Final = 2**23
_FILE_HEAD_BYTES: Final = 100


class PageSums:
    """The page checksums of one memory. A failure to write them only loses the check; it is never an error."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._beside = database.with_name(f"{database.name}.pages")
        self._page_bytes = 0
        """0 while no checksums are valid."""
        self._left_as = (0, 0)
        """Size and time (ns) of the memory when last seen; only we write to it."""

    def changed(self) -> list[int]:
        """Return the numbers (from 1) of the pages that do not match; none where no checksums are valid.

        Reads all of the file: only while no one has it open. Raises OSError.
        """
        noted = self._read_noted()
        if noted is None:
            return []
        page_bytes, wanted = noted
        with self._database.open("rb") as file:
            sums = np.fromiter(_page_sums(file, page_bytes), _SUM)
        both = min(len(sums), len(wanted))
        differ = np.nonzero((wanted[:both] != sums[:both]) & (wanted[:both] != _UNKNOWN))[0] + 1
        in_log = read_pages_in_log(log_of(self._database))
        return [page for page in differ.tolist() if page not in in_log]

    def begin(self) -> None:
        """Start tracking pages, and rebuild the checksums if none are valid, which reads all of the file.

        Only while no one has it open, before a log left there is checkpointed.
        """
        with contextlib.suppress(OSError):
            if (noted := self._read_noted()) is not None:
                self._page_bytes, self._left_as = noted[0], self._state()
            elif self._database.exists():
                self._rebuild_sums()
        self.before_fold()

    def after_opening(self) -> None:
        """Update the checksums after the memory was opened and closed, which changes its first page.

        Only while no one has it open.
        """
        with contextlib.suppress(OSError):
            if not self._page_bytes:
                self._rebuild_sums()
                return
            with self._database.open("rb") as file:
                first = zlib.crc32(file.read(self._page_bytes))
            self._note_pieces({_offset_of_page(1): np.array(first, _SUM).tobytes()})
        self.after_fold()

    def before_fold(self) -> None:
        """Write the checksums of the pages in the log. Only while nothing commits."""
        if not self._page_bytes:
            return
        try:
            if self._state() != self._left_as:
                self.forget()
                return
            in_log = read_pages_in_log(log_of(self._database))
            self._note_pieces({_offset_of_page(page): np.array(crc, _SUM).tobytes() for page, crc in in_log.items()})
        except OSError:
            self.forget()

    def after_fold(self) -> None:
        """Record the size and time of the file as valid."""
        if not self._page_bytes:
            return
        try:
            self._left_as = self._state()
            pages = self._left_as[0] // self._page_bytes
            sums = self._beside.read_bytes()[_SUMS_AT : _offset_of_page(pages + 1)]
            self._note_pieces({0: self._head(sums)}, len(sums))
        except OSError:
            self.forget()

    def forget(self) -> None:
        """Invalidate all checksums."""
        self._page_bytes = 0
        with contextlib.suppress(OSError):
            self._beside.unlink(missing_ok=True)

    def _read_noted(self) -> tuple[int, Sums] | None:
        """Return bytes per page and the checksum of each page; None where none are valid."""
        try:
            raw = self._beside.read_bytes()
            state = self._state()
        except OSError:
            return None
        if len(raw) < _SUMS_AT:
            return None
        magic, page_bytes, size, mtime_ns, crc = _HEAD.unpack_from(raw)
        if (magic, (size, mtime_ns)) != (_MAGIC, state) or crc != _crc(page_bytes, state, raw[_SUMS_AT:]):
            return None
        return page_bytes, np.frombuffer(raw, _SUM, (len(raw) - _SUMS_AT) // _SUM.itemsize, _SUMS_AT)

    def _rebuild_sums(self) -> None:
        with self._database.open("rb") as file:
            page_bytes = _page_bytes(file.read(_FILE_HEAD_BYTES))
            if not page_bytes:
                return
            file.seek(0)
            sums = np.fromiter(_page_sums(file, page_bytes), _SUM).tobytes()
        self._page_bytes, self._left_as = page_bytes, self._state()
        write_private_file(self._beside, self._head(sums).ljust(_SUMS_AT, b"\0") + sums)

    def _state(self) -> tuple[int, int]:
        state = self._database.stat()
        return state.st_size, state.st_mtime_ns

    def _head(self, sums: bytes) -> bytes:
        """Return the file head for `sums`."""
        crc = _crc(self._page_bytes, self._left_as, sums)
        return _HEAD.pack(_MAGIC, self._page_bytes, *self._left_as, crc)

    def _note_pieces(self, pieces: Mapping[int, bytes], sums_bytes: int | None = None) -> None:
        """Write `pieces` at their offsets.

        With `sums_bytes`, cut the file after so many: a file that grows again may contain pages that were never
        written. Without, sync before returning.
        """
        opened = open_own_file(self._beside, 0)
        try:
            for at, piece in pieces.items():
                os.pwrite(opened, piece, at)
            if sums_bytes is None:
                os.fsync(opened)
            elif os.fstat(opened).st_size > _SUMS_AT + sums_bytes:
                os.ftruncate(opened, _SUMS_AT + sums_bytes)
        finally:
            os.close(opened)


def _crc(page_bytes: int, state: tuple[int, int], sums: bytes) -> int:
    return zlib.crc32(sums, zlib.crc32(struct.pack("<IQq", page_bytes, *state)))


def _offset_of_page(page: int) -> int:
    return _SUMS_AT + _SUM.itemsize * (page - 1)


def _page_sums(file: BinaryIO, page_bytes: int) -> Iterator[int]:
    while piece := memoryview(file.read(_PIECE_BYTES - _PIECE_BYTES % page_bytes)):
        for begin in range(0, len(piece), page_bytes):
            yield zlib.crc32(piece[begin : begin + page_bytes])


def _page_bytes(head: bytes) -> int:
    """Return the page size of a database file from its first bytes; 0 where it is none."""
    if len(head) < _FILE_HEAD_BYTES or not head.startswith(b"SQLite format 3\0"):
        return 0
    [size] = struct.unpack_from(">H", head, 16)
    return 2**16 if size == 1 else int(size)
