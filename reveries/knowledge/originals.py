"""Files of documents as they came: kept in the home and beside the backups, each once, under the SHA-256 of its bytes.

Every function works on the disk: call it in a thread. All files have mode 0600. A file that is being written ends in
`.partial`.
"""

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reveries.db.storage_errors import is_disk_full
from reveries.errors import DiskFullError, DocumentError, DocumentFault, StorageError
from reveries.own_files import open_new_file, sync_to_disk

MOST_BYTES: Final = 2 * 2**30
"""Of one file. A larger one is refused before a byte of it is copied."""
BACKUP_FOLDER: Final = "originals"
_PIECE_BYTES: Final = 2**20
_NAME: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Original:
    """A kept file."""

    sha256: str
    bytes: int


def keep_original(source: Path, folder: Path) -> Original:
    """Copy the file at `source` into `folder`, unless it is there. Raises DocumentError where there is no file, nothing
    in it or too much, DiskFullError, StorageError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = folder / f"{secrets.token_hex(8)}.partial"
    with _open_source(source) as reading:
        try:
            kept = _copy_into(reading, partial)
            target = folder / kept.sha256
            if target.exists():
                partial.unlink()
            else:
                partial.replace(target)
                sync_to_disk(folder)
        except OSError as error:
            partial.unlink(missing_ok=True)
            if is_disk_full(error):
                raise DiskFullError(
                    f"There is no space left to keep {source.name[:80]!r}.",
                    advice="Free some space, then add it again. Nothing was added.",
                ) from error
            raise StorageError(
                f"{source.name[:80]!r} cannot be kept: {error.strerror or error}.", advice="Nothing was added."
            ) from error
    return kept


@contextlib.contextmanager
def _open_source(source: Path) -> Iterator[int]:
    """Open a plain file for reading. A pipe or a device is never opened to be read. Raises DocumentError."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name has a character that no file can have"
        raise DocumentError(
            f"{source.name[:80]!r} cannot be read: {why}.",
            advice="Check its name and its permissions.",
            fault=DocumentFault.MISSING,
        ) from error
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise DocumentError(
                f"{source.name[:80]!r} is not a file.", advice="Name a file or a folder.", fault=DocumentFault.MISSING
            )
        if not seen.st_size:
            raise DocumentError(f"{source.name[:80]!r} is empty.", fault=DocumentFault.EMPTY)
        if seen.st_size > MOST_BYTES:
            raise DocumentError(
                f"{source.name[:80]!r} has {seen.st_size // 2**20:,} MB; at most {MOST_BYTES // 2**20:,} MB are kept.",
                advice="Split it.",
                fault=DocumentFault.TOO_LARGE,
            )
        yield descriptor
    finally:
        os.close(descriptor)


def _copy_into(reading: int, partial: Path) -> Original:
    digest, size = hashlib.sha256(), 0
    with os.fdopen(open_new_file(partial), "wb") as writing:
        while piece := os.read(reading, _PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
    return Original(digest.hexdigest(), size)


def find_original(sha256: str, *folders: Path) -> Path | None:
    """Return where a file is kept: the first of `folders` that has it."""
    named = (folder / sha256 for folder in folders if _NAME.fullmatch(sha256))
    return next((file for file in named if file.is_file()), None)


def link_originals(needed: Collection[str], folder: Path, copies: Path) -> None:
    """Have `copies` hold every needed file of `folder` as well, as a hard link where the file system can. Raises
    OSError."""
    missing = [name for name in needed if (folder / name).is_file() and not (copies / name).exists()]
    if not missing:
        return
    copies.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in missing:
        try:
            os.link(folder / name, copies / name)
        except OSError as error:
            if is_disk_full(error):
                raise
            partial = copies / f"{name}.partial"
            partial.unlink(missing_ok=True)
            with (folder / name).open("rb") as reading:
                _copy_into(reading.fileno(), partial)
            partial.replace(copies / name)


def bring_back_originals(needed: Collection[str], folder: Path, copies: Path) -> int:
    """Have `folder` hold the needed files that only `copies` has, as after a restore; return how many came back. Raises
    OSError."""
    missing = [name for name in needed if not (folder / name).exists() and (copies / name).is_file()]
    link_originals(missing, copies, folder)
    return len(missing)


def drop_unneeded(needed: Collection[str], folder: Path) -> int:
    """Remove the files that nothing needs, and partial ones; return how many. Raises OSError."""
    removed = 0
    if folder.is_dir():
        for file in sorted(folder.iterdir()):
            is_ours = _NAME.fullmatch(file.name) is not None or file.suffix == ".partial"
            if is_ours and file.name not in needed:
                file.unlink(missing_ok=True)
                removed += 1
    return removed
