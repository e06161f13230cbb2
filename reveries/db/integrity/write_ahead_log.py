"""SQLite's write-ahead log on the disk: which pages it holds for the file, and whether it is intact.

SQLite stops silently at the first damaged frame of a log. Two answers come only from here:

* Whether a disk damaged the log in its middle (`is_log_broken_off`). The commits behind that place were acknowledged;
  SQLite opens without them, and all of its checks pass.
* Which pages the log replaces, with which content (`read_pages_in_log`). Without that, damage to a memory that was
  killed cannot be told from pages that no checkpoint had written yet (`page_sums`).

SQLite gives neither: `PRAGMA wal_checkpoint` on a copy only counts frames, and the copy would hold the owner's words in
a place where a kill leaves it. The format and its checksum are SQLite's (https://sqlite.org/fileformat2.html, section
4). Opening the log while SQLite runs is safe, unlike its other files: SQLite locks the file and the index of the log,
never the log itself, so closing it here drops no lock.
"""

import contextlib
import functools
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_HEAD: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_MAGIC: Final = 0x377F0682
"""Its last bit gives the byte order of the checksum's words."""
_PAGE_BYTES: Final = tuple(2**power for power in range(9, 17))
_CHECKED_OF_HEAD: Final = 24
_CHECKED_OF_FRAME: Final = 8
"""Of the frame's header; its page is checked whole."""
_PIECE_BYTES: Final = 2**19


class _LogHead(NamedTuple):
    """The header that SQLite writes when it restarts the log from its beginning."""

    order: str
    """Byte order of the checksum's words."""
    page_bytes: int
    salts: tuple[int, ...]
    """Frames with other salts are left from before the restart, or damaged."""
    sums: tuple[int, int]
    is_whole: bool


class _LogFrame(NamedTuple):
    page: int
    size_after: int
    """Size of the file in pages, where this frame ends a commit; else 0."""
    crc: int
    is_whole: bool
    """This frame and all before it are intact."""


def log_of(database: Path) -> Path:
    """Return the path of the log of `database`."""
    return database.with_name(f"{database.name}-wal")


def log_bytes(database: Path) -> int:
    """Return the size of the log of `database`; 0 where there is none."""
    try:
        return log_of(database).stat().st_size
    except OSError:
        return 0


def read_pages_in_log(path: Path) -> dict[int, int]:
    """Return the CRC-32 of the newest committed content of each page in the log at `path`, by page number from 1.

    They end at the first damaged frame, as for SQLite. Only while nothing commits. Raises OSError.
    """
    pages, coming = dict[int, int](), dict[int, int]()
    for frame in _read_frames(path, until_damaged=True):
        coming[frame.page] = frame.crc
        if frame.size_after:
            pages.update(coming)
            coming.clear()
    return pages


def is_log_broken_off(path: Path) -> bool:
    """Whether committed and synced data follows a damaged frame of the log at `path`. Raises OSError."""
    commits_behind = sum(frame.size_after > 0 for frame in _read_frames(path) if not frame.is_whole)
    # Each commit is synced before the next begins, so a power cut leaves at most one commit after a torn frame.
    return commits_behind > 1


def _read_frames(path: Path, *, until_damaged: bool = False) -> Iterator[_LogFrame]:
    """Yield the frames since SQLite restarted the log; none where there is no log. Raises OSError."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        head = _read_head(file)
        if head is None:
            return
        state, is_whole = np.array(head.sums, np.uint32), head.is_whole
        step = _step_matrix((_CHECKED_OF_FRAME + head.page_bytes) // 4)
        for piece in _read_log_pieces(file, _FRAME.size + head.page_bytes):
            for frame, part in zip(piece, _frame_sums(piece, head.order), strict=True):
                page, size_after, first_salt, second_salt, *sums = _FRAME.unpack_from(frame)
                is_since_restart = (first_salt, second_salt) == head.salts
                if is_whole:
                    state = step @ state + part
                    is_whole = is_since_restart and sums == state.tolist()
                if until_damaged and not is_whole:
                    return
                if is_since_restart:
                    yield _LogFrame(page, size_after, zlib.crc32(frame[_FRAME.size :]), is_whole)


def _read_head(file: BinaryIO) -> _LogHead | None:
    """Read the header of `file`; None where it has none."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    magic, _, page_bytes, _, *salts, first, second = _HEAD.unpack(head)
    if magic & ~1 != _MAGIC or page_bytes not in _PAGE_BYTES:
        return None
    order = ">u4" if magic & 1 else "<u4"
    checked = np.frombuffer(head[:_CHECKED_OF_HEAD], order).astype(np.uint32)
    is_whole = (checked @ _word_weights(len(checked))).tolist() == [first, second]
    return _LogHead(order, page_bytes, tuple(salts), (first, second), is_whole)


def _read_log_pieces(file: BinaryIO, frame_bytes: int) -> Iterator[NDArray[np.uint8]]:
    """Yield whole frames, (frames, bytes), half a megabyte at a time."""
    while raw := file.read(max(1, _PIECE_BYTES // frame_bytes) * frame_bytes):
        whole = len(raw) // frame_bytes
        yield np.frombuffer(raw, np.uint8, whole * frame_bytes).reshape(whole, frame_bytes)


def _frame_sums(frames: NDArray[np.uint8], order: str) -> Words:
    """Return what each frame adds to the checksum, (frames, 2)."""
    checked = np.concatenate((frames[:, :_CHECKED_OF_FRAME], frames[:, _FRAME.size :]), axis=1)
    words = checked.view(order).astype(np.uint32)
    return words @ _word_weights(words.shape[1])


# The checksum processes pairs of words (a, b): s1 += a + s2, s2 += b + s1. That is linear (mod 2^32), so what a frame
# adds is one product with weights, for all frames at once, and the sums before it are multiplied by a power of one
# matrix.
_ONE_PAIR: Final = np.array([[1, 1], [1, 2]], np.uint32)
_OF_ITS_WORDS: Final = np.array([[1, 0], [1, 1]], np.uint32)


@functools.cache
def _word_weights(words: int) -> Words:
    """(words, 2): the weight of each word in the two sums."""
    rows, later = [], _OF_ITS_WORDS
    for _ in range(words // 2):
        rows.append(later.T)
        later = _ONE_PAIR @ later
    return np.concatenate(rows[::-1])


@functools.cache
def _step_matrix(words: int) -> Words:
    """(2, 2): how so many words transform the sums before them."""
    step = np.eye(2, dtype=np.uint32)
    for _ in range(words // 2):
        step = _ONE_PAIR @ step
    return step
