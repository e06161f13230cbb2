"""A digest of a whole file beside it, so that what a disk changes by itself while nobody has it open is noticed.

SQLite's own check passes most flipped bits, and row checksums cover texts alone. A seal counts as long as the file has
the size and the time that it was sealed with: whoever writes to the file properly changes them.
"""

import contextlib
import hashlib
import os
from pathlib import Path

import msgspec

_PIECE_BYTES = 2**20


class Seal(msgspec.Struct, frozen=True):
    """What a file was."""

    size: int
    mtime_ns: int
    digest: bytes
    """BLAKE2b-128."""


def seal(file: Path) -> None:
    """Write down what `file` is. Only while nobody has it open: on POSIX, closing it here would drop SQLite's locks.
    Reads all of it. A seal that cannot be written is none."""
    with contextlib.suppress(OSError):
        beside, state = _beside(file), file.stat()
        beside.write_bytes(msgspec.json.encode(Seal(state.st_size, state.st_mtime_ns, _digest(file))))
        beside.chmod(0o600)


def is_broken(file: Path) -> bool:
    """Whether `file` is not what it was sealed as, though nobody wrote to it. False where there is no seal that counts.
    Only while nobody has it open. Raises OSError."""
    try:
        sealed = msgspec.json.decode(_beside(file).read_bytes(), type=Seal)
    except (OSError, msgspec.MsgspecError):
        return False
    state = file.stat()
    if (state.st_size, state.st_mtime_ns) != (sealed.size, sealed.mtime_ns):
        return False
    return _digest(file) != sealed.digest


def unseal(file: Path) -> None:
    """Remove the seal of `file`, before anybody writes to it: the time of a file may reach the disk long after what was
    written, and a power cut between the two would make a whole file look broken. On the disk when this returns."""
    beside = _beside(file)
    if not beside.exists():
        return
    beside.unlink()
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.name}.seal")


def _digest(file: Path) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    with file.open("rb", buffering=0) as opened:
        while piece := opened.read(_PIECE_BYTES):
            found.update(piece)
    return found.digest()
