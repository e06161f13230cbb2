"""Answers backup requests, for the running daemon and for the offline process."""

import asyncio
from pathlib import Path

from reveries import protocol
from reveries.clock import Clock
from reveries.config import Home, Settings
from reveries.daemon.lifecycle.backup_keeper import BackupKeeper, write_backup
from reveries.daemon.process.single_instance import hold_lock
from reveries.db.backup_retention import Backup
from reveries.db.backups import (
    BackupProgress,
    VerificationResult,
    find_backup,
    find_backups,
    restore_backup_copy,
    verify_backup,
)
from reveries.db.opening import open_database


async def create_backup(
    request_id: int, home: Home, keeper: BackupKeeper, report_progress: BackupProgress
) -> protocol.Backups:
    """Create a backup of the running mind; `report_progress` is called in the loop. Raises StorageError."""
    loop = asyncio.get_running_loop()

    def report_from_thread(what: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(report_progress, what, done, total)

    name, looked = await keeper.back_up_verified(report_from_thread)
    return _backups_frame(request_id, home.backups, [_backup_entry(find_backup(home.backups, name), looked)])


async def create_backup_offline(
    settings: Settings, home: Home, clock: Clock, report_progress: BackupProgress
) -> protocol.Backups:
    """Create a backup while no daemon runs. Raises AlreadyAwakeError, StorageError."""
    home.create()
    with hold_lock(home, home.database(settings)):
        database = await open_database(home.database(settings), home.backups)
        try:
            name, looked = await write_backup(
                database, home.backups, home.originals, settings.storage, clock, report_progress
            )
        finally:
            await database.aclose()
    return _backups_frame(0, home.backups, [_backup_entry(find_backup(home.backups, name), looked)])


def list_backups(home: Home) -> protocol.Backups:
    """List the backups without opening them."""
    return _backups_frame(0, home.backups, [_backup_entry(backup, None) for backup in find_backups(home.backups)])


def verify_backups(home: Home, name: str, report_progress: BackupProgress) -> protocol.Backups:
    """Check the backup `name`, or all if it is empty. Raises NotFoundError."""
    wanted = [find_backup(home.backups, name)] if name else find_backups(home.backups)

    def verify(backup: Backup) -> VerificationResult:
        return verify_backup(
            backup.path, lambda what, done, total: report_progress(f"{backup.name}: {what}", done, total)
        )

    return _backups_frame(0, home.backups, [_backup_entry(backup, verify(backup)) for backup in wanted])


def restore_backup(
    settings: Settings, home: Home, clock: Clock, name: str, report_progress: BackupProgress
) -> protocol.BackupRestored:
    """Replace the memory by the backup `name`, or by the newest if it is empty. Raises AlreadyAwakeError,
    NotFoundError, StorageError."""
    home.create()
    with hold_lock(home, home.database(settings)):
        backup = find_backup(home.backups, name)
        done = restore_backup_copy(home.database(settings), backup, clock.now(), "You asked for it.", report_progress)
    return protocol.BackupRestored(0, done.backup, done.missing_from, done.missing_until, done.kept)


def _backups_frame(request_id: int, folder: Path, backups: list[protocol.BackupEntry]) -> protocol.Backups:
    return protocol.Backups(request_id, str(folder), backups)


def _backup_entry(backup: Backup, looked: VerificationResult | None) -> protocol.BackupEntry:
    result = looked or VerificationResult(())
    return protocol.copy_fields(
        protocol.BackupEntry,
        result,
        name=backup.name,
        made_at=backup.made_at,
        size_bytes=backup.path.stat().st_size,
        is_before_migration=backup.is_before_migration,
        is_looked_at=looked is not None,
    )
