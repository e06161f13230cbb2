"""Exports a whole mind to a file or imports it from one, in its own process, while no other process writes to it."""

import asyncio
from pathlib import Path

from reveries import protocol
from reveries.config import Home, Settings
from reveries.daemon.process.single_instance import hold_lock
from reveries.db.backups import find_backup, find_backups, find_memory_traces
from reveries.db.mind_file import MindFileSummary, check_mind, export_mind, import_mind
from reveries.db.opening import open_database
from reveries.errors import NotFoundError, StorageError, UsageError
from reveries.own_files import sync_to_disk
from reveries.progress import CountCallback


def export_to_file(
    settings: Settings, home: Home, file: Path, backup: str, report_progress: CountCallback, *, with_vectors: bool
) -> protocol.MindMoved:
    """Export the memory, or the backup named `backup`, to `file`. Raises AlreadyAwakeError, NotFoundError,
    InputFileError, StorageError."""
    if backup:
        source = find_backup(home.backups, backup).path
        return _moved_frame(file, export_mind(source, file, with_vectors=with_vectors, tell=report_progress))
    home.create()
    database = home.database(settings)
    with hold_lock(home, database):
        if not database.exists():
            raise NotFoundError("There is no mind in this home yet.", advice="Create one: reveries init")
        asyncio.run(_open_and_close(database, home.backups))
        return _moved_frame(file, export_mind(database, file, with_vectors=with_vectors, tell=report_progress))


def import_from_file(settings: Settings, home: Home, file: Path, report_progress: CountCallback) -> protocol.MindMoved:
    """Import `file` as the mind of this home, which must have none. Raises AlreadyAwakeError, UsageError,
    InputFileError, InputDataError, DatabaseTooNewError: then nothing was changed."""
    home.create()
    database = home.database(settings)
    with hold_lock(home, database):
        if database.exists() or find_backups(home.backups) or find_memory_traces(database):
            raise UsageError(
                f"There is already a mind in {home.path}. It is not replaced.",
                advice=f"Import it elsewhere: REVERIES_HOME=~/another reveries import --mind {file}",
            )
        moved = check_mind(file, report_progress)
        partial = database.with_name(f"{database.name}.importing")
        _remove_partial(partial)
        try:
            asyncio.run(_open_and_close(partial, None))
            import_mind(file, partial, report_progress)
            partial.rename(database)
            sync_to_disk(database.parent)
        except OSError as error:
            raise StorageError(
                f"The disk failed while {file} was imported: {error.strerror}.", advice=f"Check {database.parent}."
            ) from error
        finally:
            _remove_partial(partial)
    return _moved_frame(file, moved)


async def _open_and_close(path: Path, backups: Path | None) -> None:
    """Open and close a memory, so that it has the current schema and an empty write-ahead log."""
    await (await open_database(path, backups)).aclose()


def _remove_partial(partial: Path) -> None:
    for file in partial.parent.glob(f"{partial.name}*"):
        file.unlink()


def _moved_frame(file: Path, moved: MindFileSummary) -> protocol.MindMoved:
    return protocol.MindMoved(0, str(file), moved.rows, moved.bytes, moved.with_vectors, moved.check)
