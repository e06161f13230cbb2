"""Copies of the database: written on a second connection, verified, and only then renamed to their final name."""

import asyncio
import contextlib
import threading
from functools import partial as partial_of
from pathlib import Path

from reveries.db.backups import MEGABYTE, BackupProgress, VerificationResult, discard_progress, verify_backup
from reveries.db.busy_backoff import run_at_low_priority
from reveries.db.driver import dbapi, load_vector_search
from reveries.db.failpoints import Step, reach_step
from reveries.db.integrity.seals import seal, unseal
from reveries.errors import StorageError
from reveries.own_files import sync_to_disk

_TOLD_EVERY_SECONDS = 0.25


def connect_reader(path: Path, with_vector_search: bool) -> "dbapi.Connection":
    """Open another connection to the file at `path` that only reads. Use it in one thread at a time."""
    connection = dbapi.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0, check_same_thread=False)
    if with_vector_search:
        load_vector_search(connection)
    return connection


def vacuum_into(connection: "dbapi.Connection", target: Path, is_low_priority: bool) -> None:
    """Copy what `connection` reads to `target`, and close the connection. Stops when the connection is interrupted."""
    with contextlib.closing(connection):
        run_at_low_priority(
            lambda: connection.execute("VACUUM INTO ?", (str(target),)), is_low_priority=is_low_priority
        )


def is_on_another_disk(copy: Path, memory: Path) -> bool:
    """Whether a failure at `copy` says nothing about the disk of `memory`; a missing disk counts as another."""
    try:
        return copy.parent.stat().st_dev != memory.stat().st_dev
    except OSError:
        return True


async def verify_copy(
    partial: Path, target: Path, tell: BackupProgress, *, is_low_priority: bool
) -> VerificationResult:
    """Run `verify_and_publish` in a thread that stops soon after the caller is cancelled.

    A signal must end the daemon within seconds (B4), however large the copy.
    """
    given_up = threading.Event()
    looking = asyncio.get_running_loop().run_in_executor(
        None, partial_of(verify_and_publish, partial, target, tell, is_low_priority=is_low_priority, given_up=given_up)
    )
    try:
        return await asyncio.shield(looking)
    except asyncio.CancelledError:
        given_up.set()
        await asyncio.wait((looking,))
        looking.exception()  # Retrieved so that asyncio does not report it.
        raise


def verify_and_publish(
    partial: Path,
    target: Path,
    tell: BackupProgress = discard_progress,
    *,
    is_low_priority: bool = False,
    given_up: threading.Event | None = None,
) -> VerificationResult:
    """Verify the copy `partial`, sync it, and rename it to `target`.

    Raises StorageError when it is not whole, or when `given_up` is set before it was verified.
    """
    reach_step(Step.BACKUP_COPIED)
    looked = verify_backup(partial, tell, is_low_priority=is_low_priority, given_up=given_up)
    if looked.problems:
        partial.unlink()
        raise StorageError(
            f"The backup {target} did not verify: {looked.problems[0]}", advice="The memory itself is in use."
        )
    partial.chmod(0o600)
    unseal(target)
    sync_to_disk(partial)
    reach_step(Step.BACKUP_VERIFIED)
    partial.replace(target)
    reach_step(Step.BACKUP_NAMED)
    sync_to_disk(target.parent)
    run_at_low_priority(lambda: seal(target), is_low_priority=is_low_priority)
    return looked


async def watch_copying(copying: "asyncio.Future[None]", source: Path, partial: Path, tell: BackupProgress) -> None:
    """Wait for `copying`, reporting how much of `source` has been written whenever that grows.

    Written data is synced as it arrives: syncing a gigabyte at the end would delay a commit.
    """
    arrived = 0
    tell("copying, MB", 0, _bytes_of(source) // MEGABYTE)
    while not (await asyncio.wait((copying,), timeout=_TOLD_EVERY_SECONDS))[0]:
        if (copied_bytes := _bytes_of(partial)) != arrived:
            arrived = copied_bytes
            tell("copying, MB", arrived // MEGABYTE, _bytes_of(source) // MEGABYTE)
        await asyncio.to_thread(_begin_to_sync, partial)
    copying.result()


def _begin_to_sync(partial: Path) -> None:
    """Sync what is written so far. An error here also occurs in SQLite's final sync, which reports it."""
    with contextlib.suppress(OSError):
        sync_to_disk(partial)


def _bytes_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
