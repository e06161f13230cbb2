"""A digest of a whole file beside it, so that what a disk changes by itself while nobody has it open is noticed.

SQLite's own check passes most flipped bits, and row checksums cover texts alone. A seal counts as long as the file has
the size and the time that it was sealed with: whoever writes to the file properly changes them.
"""

import contextlib
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from reveries.own_files import sync_to_disk, write_private_file

_PIECE_BYTES = 2**23
_MOST_THREADS = 4


class Seal(msgspec.Struct, frozen=True):
    """What a file was."""

    size: int
    mtime_ns: int
    sha256_of_pieces: bytes
    """SHA-256 of the SHA-256 of each piece of 8 MiB, in their order: pieces, so that all processors can read."""


def seal(file: Path, known: bytes = b"") -> None:
    """Write down what `file` is. Only while nobody has it open: on POSIX, closing it here would drop SQLite's locks.
    Reads all of it, unless its digest is known. A seal that cannot be written is none."""
    with contextlib.suppress(OSError):
        beside, state = _seal_beside(file), file.stat()
        write_private_file(beside, msgspec.json.encode(Seal(state.st_size, state.st_mtime_ns, known or digest(file))))


def is_broken(file: Path) -> bool:
    """Whether `file` is not what it was sealed as, though nobody wrote to it. False where there is no seal that counts.
    Only while nobody has it open. Raises OSError."""
    try:
        sealed = msgspec.json.decode(_seal_beside(file).read_bytes(), type=Seal)
    except (OSError, msgspec.MsgspecError):
        return False
    state = file.stat()
    if (state.st_size, state.st_mtime_ns) != (sealed.size, sealed.mtime_ns):
        return False
    return digest(file) != sealed.sha256_of_pieces


def is_sealed(file: Path) -> bool:
    """Whether there is a seal of `file`, one that counts or not: nobody has opened it since it was closed."""
    return _seal_beside(file).exists()


def unseal(file: Path) -> None:
    """Remove the seal of `file`, before anybody writes to it: the time of a file may reach the disk long after what was
    written, and a power cut between the two would make a whole file look broken. On the disk when this returns."""
    beside = _seal_beside(file)
    if not beside.exists():
        return
    beside.unlink()
    sync_to_disk(file.parent)


def _seal_beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.seal")


def digest(file: Path) -> bytes:
    """Of all its bytes. A mind waits for this whenever it wakes. hashlib and pread let other threads run meanwhile."""
    opened = os.open(file, os.O_RDONLY)
    try:
        begins = range(0, os.fstat(opened).st_size, _PIECE_BYTES)
        if len(begins) <= 1:  # Most minds: to begin a thread takes longer than to read them.
            return hashlib.sha256(b"".join(_piece_digest(opened, begin) for begin in begins)).digest()
        with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1), "seal") as threads:
            pieces = threads.map(lambda begin: _piece_digest(opened, begin), begins)
            return hashlib.sha256(b"".join(pieces)).digest()
    finally:
        os.close(opened)


def _piece_digest(opened: int, begin: int) -> bytes:
    """One read may return less than it was asked for."""
    found, end = hashlib.sha256(), begin + _PIECE_BYTES
    while begin < end and (part := os.pread(opened, end - begin, begin)):
        found.update(part)
        begin += len(part)
    return found.digest()
