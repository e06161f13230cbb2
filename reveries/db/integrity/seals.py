"""A digest of the whole file next to it, so that changes by the disk are noticed while no program has it open.

SQLite's own check passes most flipped bits, and row checksums cover texts alone. A seal is valid as long as the file
has the size and the time that it was sealed with: regular writes change them.
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
    """The size, time and digest of a sealed file."""

    size: int
    mtime_ns: int
    sha256_of_pieces: bytes
    """SHA-256 of the SHA-256 of each piece of 8 MiB, in order: in pieces, so that all processors can read."""


def seal(file: Path, known_digest: bytes = b"") -> None:
    """Write the seal of `file`. Reads all of it, unless its digest is known.

    Only while no one has it open: on POSIX, closing it here would drop SQLite's locks. A seal that cannot be written is
    skipped.
    """
    with contextlib.suppress(OSError):
        beside, state = _seal_beside(file), file.stat()
        write_private_file(
            beside, msgspec.json.encode(Seal(state.st_size, state.st_mtime_ns, known_digest or digest(file)))
        )


def is_broken(file: Path) -> bool:
    """Whether `file` does not match its valid seal. False where there is none.

    Only while no one has it open. Raises OSError.
    """
    try:
        sealed = msgspec.json.decode(_seal_beside(file).read_bytes(), type=Seal)
    except (OSError, msgspec.MsgspecError):
        return False
    state = file.stat()
    if (state.st_size, state.st_mtime_ns) != (sealed.size, sealed.mtime_ns):
        return False
    return digest(file) != sealed.sha256_of_pieces


def is_sealed(file: Path) -> bool:
    """Whether `file` has a seal, valid or not: no one has opened it since it was closed."""
    return _seal_beside(file).exists()


def unseal(file: Path) -> None:
    """Remove the seal of `file`, durably, before the first write.

    A file's time may reach the disk long after its data, so a power cut between the two would make a whole file look
    damaged.
    """
    beside = _seal_beside(file)
    if not beside.exists():
        return
    beside.unlink()
    sync_to_disk(file.parent)


def _seal_beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.seal")


def digest(file: Path) -> bytes:
    """Return the digest of all bytes of `file`. Every wake waits for it; hashlib and pread let other threads run."""
    opened = os.open(file, os.O_RDONLY)
    try:
        begins = range(0, os.fstat(opened).st_size, _PIECE_BYTES)
        if len(begins) <= 1:  # Most minds: starting a thread takes longer than reading them.
            return hashlib.sha256(b"".join(_piece_digest(opened, begin) for begin in begins)).digest()
        with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1), "seal") as threads:
            pieces = threads.map(lambda begin: _piece_digest(opened, begin), begins)
            return hashlib.sha256(b"".join(pieces)).digest()
    finally:
        os.close(opened)


def _piece_digest(opened: int, begin: int) -> bytes:
    """Return the digest of one piece. A read may return less than requested."""
    piece_hash, end = hashlib.sha256(), begin + _PIECE_BYTES
    while begin < end and (part := os.pread(opened, end - begin, begin)):
        piece_hash.update(part)
        begin += len(part)
    return piece_hash.digest()
