"""What is said of backups, by the waking mind and by the process that answers while it sleeps."""

from pathlib import Path

from reveries import protocol
from reveries.clock import Clock
from reveries.config import Home, Settings
from reveries.daemon.copying import make_copy
from reveries.daemon.instance import hold_lock
from reveries.daemon.mind import Mind
from reveries.db.backups import Backup, Looked, backups_in, find_backup, look_at, put_back
from reveries.db.opening import open_database


async def make_backup(request_id: int, mind: Mind) -> protocol.Backups:
    """One more copy, by the waking mind. Raises StorageError."""
    name, looked = await mind.copy()
    return _frame(request_id, mind.home.backups, [_entry(find_backup(mind.home.backups, name), looked)])


async def make_backup_asleep(settings: Settings, home: Home, clock: Clock) -> protocol.Backups:
    """The same while nobody is awake. Raises AlreadyAwakeError, StorageError."""
    home.create()
    with hold_lock(home, home.database(settings)):
        database = await open_database(home.database(settings), home.backups)
        try:
            name, looked = await make_copy(database, home.backups, settings.storage, clock)
        finally:
            await database.aclose()
    return _frame(0, home.backups, [_entry(find_backup(home.backups, name), looked)])


def listed(home: Home) -> protocol.Backups:
    """Which there are; none of them is opened."""
    return _frame(0, home.backups, [_entry(one, None) for one in backups_in(home.backups)])


def verified(home: Home, name: str) -> protocol.Backups:
    """One of them, or with no name all of them, looked at. Raises NotFoundError."""
    wanted = [find_backup(home.backups, name)] if name else backups_in(home.backups)
    return _frame(0, home.backups, [_entry(one, look_at(one.path)) for one in wanted])


def restored(settings: Settings, home: Home, clock: Clock, name: str) -> protocol.BackupRestored:
    """Put one, or with no name the newest, in the memory's place. Raises AlreadyAwakeError, NotFoundError,
    StorageError."""
    home.create()
    with hold_lock(home, home.database(settings)):
        backup = find_backup(home.backups, name)
        done = put_back(home.database(settings), backup, clock.now(), "You asked for it.")
    return protocol.BackupRestored(0, done.backup, done.missing_from, done.missing_until, done.kept)


def _frame(request_id: int, folder: Path, backups: list[protocol.BackupEntry]) -> protocol.Backups:
    return protocol.Backups(request_id, str(folder), backups)


def _entry(backup: Backup, looked: Looked | None) -> protocol.BackupEntry:
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
