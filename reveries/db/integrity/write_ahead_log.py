"""SQLite's write-ahead log on the disk: which pages it holds for the file, and whether it is intact.

The format and its checksum are SQLite's (https://sqlite.org/fileformat2.html, section 4). Opening the log while SQLite
runs is safe, unlike its other files: SQLite locks the file and the index of the log, never the log itself, so closing
it here drops no lock.
"""

import functools
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Log:
    """The valid part of a log: everything up to the last commit before which every frame is intact."""

    crc_of: dict[int, int] = field(default_factory=dict)
    """CRC-32 of the newest content of each page, by page number from 1."""
    is_broken_off: bool = False
    """Committed and synced data follows a damaged frame. SQLite stops reading at that frame."""


class _LogFrame(NamedTuple):
    page: int
    size_after: int
    """Size of the file in pages, where this frame ends a commit; else 0."""
    crc: int
    is_whole: bool
    """This frame and all before it are intact."""
    sums: tuple[int, int]
    """The cumulative checksum stored in the frame."""


class _LogGeneration(NamedTuple):
    """The log since SQLite last restarted it from its beginning, and how far it was read."""

    head: bytes
    order: str
    """Byte order of the checksum's words."""
    page_bytes: int
    salts: tuple[int, ...]
    is_whole: bool
    sums: tuple[int, int]
    at: int
    """Offset of the frame that follows `sums`."""

    @property
    def frame_bytes(self) -> int:
        return _FRAME.size + self.page_bytes


class LogFollower:
    """Reads a growing log incrementally: only what was added since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: _LogGeneration | None = None
        self.crc_of: dict[int, int] = {}
        """As `Log.crc_of`, for all of this generation."""

    def read_on(self) -> dict[int, int]:
        """Return the pages committed since the last call: all of them where the log restarted.

        Only while nothing commits. Raises OSError.
        """
        try:
            with self._path.open("rb") as file:
                begun = _read_generation(file)
                if begun is None or self._read is None or self._read.head != begun.head:
                    self._read, self.crc_of = begun, {}
                found = self._read_on(file, self._read) if self._read is not None else {}
        except FileNotFoundError:
            self._read, self.crc_of, found = None, {}, {}
        self.crc_of |= found
        return found

    def _read_on(self, file: BinaryIO, begun: _LogGeneration) -> dict[int, int]:
        found, coming = dict[int, int](), dict[int, int]()
        for count, frame in enumerate(_read_frames(file, begun, until_broken=True), start=1):
            coming[frame.page] = frame.crc
            if frame.size_after:
                found |= coming
                coming.clear()
                # SQLite overwrites an uncommitted rest: it is read again the next time.
                self._read = begun._replace(sums=frame.sums, at=begun.at + count * begun.frame_bytes)
        return found


def log_of(database: Path) -> Path:
    """Return the path of the log of `database`."""
    return database.with_name(f"{database.name}-wal")


def log_bytes(database: Path) -> int:
    """Return the size of the log of `database`; 0 where there is none."""
    try:
        return log_of(database).stat().st_size
    except OSError:
        return 0


def read_log(path: Path) -> Log:
    """Read the log at `path`; empty where there is none. Only while nothing commits. Raises OSError."""
    found, coming, commits_behind = Log(), dict[int, int](), 0
    try:
        with path.open("rb") as file:
            begun = _read_generation(file)
            for frame in _read_frames(file, begun) if begun is not None else ():
                if not frame.is_whole:
                    commits_behind += frame.size_after > 0
                    continue
                coming[frame.page] = frame.crc
                if frame.size_after:
                    found.crc_of.update(coming)
                    coming.clear()
    except FileNotFoundError:
        return found
    # Each commit is synced before the next begins, so a power cut leaves at most one commit after a torn frame.
    found.is_broken_off = commits_behind > 1
    return found


def _read_generation(file: BinaryIO) -> _LogGeneration | None:
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
    return _LogGeneration(head, order, page_bytes, tuple(salts), is_whole, (first, second), _HEAD.size)


def _read_frames(file: BinaryIO, begun: _LogGeneration, *, until_broken: bool = False) -> Iterator[_LogFrame]:
    """Yield the frames of this generation in order; frames with other salts are left from an earlier one, or damaged.

    `until_broken`: stop at the first damaged frame.
    """
    file.seek(begun.at)
    state, is_whole = np.array(begun.sums, np.uint32), begun.is_whole
    step = _step_matrix((_CHECKED_OF_FRAME + begun.page_bytes) // 4)
    for piece in _read_log_pieces(file, begun.frame_bytes):
        for frame, part in zip(piece, _frame_sums(piece, begun.order), strict=True):
            page, size_after, first_salt, second_salt, *sums = _FRAME.unpack_from(frame)
            is_of_round = (first_salt, second_salt) == begun.salts
            if is_whole:
                state = step @ state + part
                is_whole = is_of_round and sums == state.tolist()
            if until_broken and not is_whole:
                return
            if is_of_round:
                yield _LogFrame(page, size_after, zlib.crc32(frame[_FRAME.size :]), is_whole, (sums[0], sums[1]))


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
