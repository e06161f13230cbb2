"""Rewriting the file so that nothing deleted is left in it."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

import aiosqlite

from reveries.db.backups import VerificationResult, verify_database
from reveries.db.driver import dbapi
from reveries.db.failpoints import Step, reach_step
from reveries.db.integrity.seals import digest, seal, unseal
from reveries.db.storage_errors import is_disk_full
from reveries.errors import StorageLostError
from reveries.own_files import copy_private_file, sync_to_disk

_VACUUM_SPACE_FACTOR = 2.2
"""Times the file's size: a copy of it, and the log that writes it back."""
_COPY_SPACE_FACTOR = 1.1
"""Times the file's size, for each whole copy."""
_IN_MEMORY_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True)
class ScrubResult:
    """The result of rewriting the memory."""

    is_whole: bool
    """Nothing deleted is left in the file."""
    copied: VerificationResult | None = None
    """What verification found, where a backup was made of it as well."""


def has_space_for_copies(path: Path, copies: int) -> bool:
    """Whether so many copies of `path` fit on its disk."""
    return shutil.disk_usage(path.parent).free >= copies * _COPY_SPACE_FACTOR * path.stat().st_size


async def verify_and_copy(anew: Path, copy: Path | None) -> tuple[VerificationResult, bool]:
    """Verify a file that no one has open and copy it to `copy`; return the result and whether the copy was made."""
    async with asyncio.TaskGroup() as together:
        looking = together.create_task(asyncio.to_thread(verify_database, anew), name="look at what was written anew")
        if copy is not None:
            copying = together.create_task(asyncio.to_thread(_write_partial_copy, anew, copy), name="copy it")
    looked, digest = looking.result(), copying.result() if copy is not None else b""
    if copy is None or not digest:
        return looked, False
    if looked.problems:
        copy.with_suffix(".partial").unlink(missing_ok=True)
        return looked, False
    return looked, await asyncio.to_thread(_publish_copy, copy, digest)


def _write_partial_copy(source: Path, target: Path) -> bytes:
    """Copy `source` to a partial file next to `target`, read it back, and return its digest; empty on failure.

    Only while nothing writes to `source`. `_publish_copy` gives the copy its name.
    """
    partial = target.with_suffix(".partial")
    try:
        if shutil.disk_usage(target.parent).free >= _COPY_SPACE_FACTOR * source.stat().st_size:
            copy_private_file(source, partial)
            reach_step(Step.BACKUP_COPIED)
            copied_digest = digest(partial)
            if copied_digest == digest(source):
                return copied_digest
    except OSError:
        pass  # The caller makes a copy another way and gets that error.
    partial.unlink(missing_ok=True)
    return b""


def _publish_copy(target: Path, copied_digest: bytes) -> bool:
    """Rename the partial copy and seal it; whether that succeeded."""
    partial = target.with_suffix(".partial")
    try:
        unseal(target)
        reach_step(Step.BACKUP_VERIFIED)
        partial.replace(target)
        reach_step(Step.BACKUP_NAMED)
        sync_to_disk(target.parent)
    except OSError:
        partial.unlink(missing_ok=True)
        return False
    seal(target, copied_digest)
    return True


def replace_memory_file(anew: Path, memory: Path) -> bool:
    """Rename `anew` over the memory; no one may have either open. At any moment one of them is in place, whole.

    False where a log is next to the memory: it would be read as the new file's log. Raises StorageLostError: after a
    failed sync the rename may not last.
    """
    if any(memory.with_name(f"{memory.name}-{of}").exists() for of in ("wal", "journal")):
        return False
    try:
        anew.chmod(0o600)
        sync_to_disk(anew)
        reach_step(Step.SCRUB_COPIED)
        anew.replace(memory)
        reach_step(Step.SCRUB_PLACED)
        sync_to_disk(memory.parent)
    except OSError as error:
        raise StorageLostError(
            f"The disk failed while the memory {memory} was written anew: {error.strerror}.",
            advice="It is intact. Check the disk, then: reveries wake",
        ) from error
    return True


async def vacuum_in_place(connection: aiosqlite.Connection, path: Path) -> bool:
    """Run VACUUM on `path`, which `connection` has open. False without disk space for it. Raises the driver's
    errors."""
    size, free = await asyncio.to_thread(lambda: (path.stat().st_size, shutil.disk_usage(path.parent).free))
    if free < _VACUUM_SPACE_FACTOR * size:
        return False
    # In memory is fast for a small file; a large one would need as much memory as disk.
    store = "FILE" if size > _IN_MEMORY_BYTES else "MEMORY"
    await (await connection.execute(f"PRAGMA temp_store={store}")).close()
    try:
        await (await connection.execute("VACUUM")).close()
    except dbapi.OperationalError as error:
        if not is_disk_full(error):
            raise
        return False
    finally:
        await (await connection.execute("PRAGMA temp_store=MEMORY")).close()
    return True
