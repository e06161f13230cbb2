"""What is said of backups, by the waking mind and by the process that answers while it sleeps."""

import asyncio
from pathlib import Path

from reveries import protocol
from reveries.clock import Clock
from reveries.config import Home, Settings
from reveries.daemon.backup_keeper import make_copy
from reveries.daemon.mind import Mind
from reveries.daemon.single_instance import hold_lock
from reveries.db.backup_retention import Backup
from reveries.db.backups import Looked, Tell, backups_in, find_backup, look_at, put_back
from reveries.db.opening import open_database


async def make_backup(request_id: int, mind: Mind, tell: Tell) -> protocol.Backups:
    """One more copy, by the waking mind; `tell` is called in the loop. Raises StorageError."""
    loop = asyncio.get_running_loop()

    def tell_from_anywhere(what: str, done: int, total: int) -> None:
        loop.call_soon_threadsafe(tell, what, done, total)

    name, looked = await mind.backups.make_verified(tell_from_anywhere)
    return _backups_frame(request_id, mind.home.backups, [_backup_entry(find_backup(mind.home.backups, name), looked)])


async def make_backup_asleep(settings: Settings, home: Home, clock: Clock, tell: Tell) -> protocol.Backups:
    """The same while nobody is awake. Raises AlreadyAwakeError, StorageError."""
    home.create()
    with hold_lock(home, home.database(settings)):
        database = await open_database(home.database(settings), home.backups)
        try:
            name, looked = await make_copy(database, home.backups, settings.storage, clock, tell)
        finally:
            await database.aclose()
    return _backups_frame(0, home.backups, [_backup_entry(find_backup(home.backups, name), looked)])


def list_backups(home: Home) -> protocol.Backups:
    """Which there are; none of them is opened."""
    return _backups_frame(0, home.backups, [_backup_entry(one, None) for one in backups_in(home.backups)])


def verify_backups(home: Home, name: str, tell: Tell) -> protocol.Backups:
    """One of them, or with no name all of them, looked at. Raises NotFoundError."""
    wanted = [find_backup(home.backups, name)] if name else backups_in(home.backups)

    def look(one: Backup) -> Looked:
        return look_at(one.path, lambda what, done, total: tell(f"{one.name}: {what}", done, total))

    return _backups_frame(0, home.backups, [_backup_entry(one, look(one)) for one in wanted])


def restore_backup(settings: Settings, home: Home, clock: Clock, name: str, tell: Tell) -> protocol.BackupRestored:
    """Put one, or with no name the newest, in the memory's place. Raises AlreadyAwakeError, NotFoundError,
    StorageError."""
    home.create()
    with hold_lock(home, home.database(settings)):
        backup = find_backup(home.backups, name)
        done = put_back(home.database(settings), backup, clock.now(), "You asked for it.", tell)
    return protocol.BackupRestored(0, done.backup, done.missing_from, done.missing_until, done.kept)


def _backups_frame(request_id: int, folder: Path, backups: list[protocol.BackupEntry]) -> protocol.Backups:
    return protocol.Backups(request_id, str(folder), backups)


def _backup_entry(backup: Backup, looked: Looked | None) -> protocol.BackupEntry:
    found = looked or Looked(())
    return protocol.BackupEntry(
        name=backup.name,
        made_at=backup.made_at,
        size_bytes=backup.path.stat().st_size,
        is_before_migration=backup.is_before_migration,
        is_looked_at=looked is not None,
        problems=list(found.problems),
        rotten=list(found.rotten),
        turns=found.turns,
        episodes=found.episodes,
    )
