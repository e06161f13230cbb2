"""A whole mind goes into a file, or comes from one, in a process of its own while nobody writes to what it reads."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from reveries import protocol
from reveries.config import Home, Settings
from reveries.daemon.single_instance import hold_lock
from reveries.db.backups import backups_in, find_backup, traces_of
from reveries.db.mind_file import Moved, check_mind, export_mind, import_mind
from reveries.db.opening import open_database
from reveries.errors import NotFoundError, StorageError, UsageError
from reveries.own_files import sync_to_disk

Tell = Callable[[int, int], None]


def taken_out(
    settings: Settings, home: Home, file: Path, backup: str, tell: Tell, *, with_vectors: bool
) -> protocol.MindMoved:
    """Write the memory, or the copy of it called `backup`, into `file`. Raises AlreadyAwakeError, NotFoundError,
    InputFileError, StorageError."""
    if backup:
        source = find_backup(home.backups, backup).path
        return _moved_frame(file, export_mind(source, file, with_vectors=with_vectors, tell=tell))
    home.create()
    database = home.database(settings)
    with hold_lock(home, database):
        if not database.exists():
            raise NotFoundError("There is no mind in this home yet.", advice="Make one: reveries init")
        asyncio.run(_open_and_close(database, home.backups))
        return _moved_frame(file, export_mind(database, file, with_vectors=with_vectors, tell=tell))


def brought_in(settings: Settings, home: Home, file: Path, tell: Tell) -> protocol.MindMoved:
    """Make `file` the mind of this home, which must have none. Raises AlreadyAwakeError, UsageError, InputFileError,
    InputDataError, DatabaseTooNewError: then nothing was changed."""
    home.create()
    database = home.database(settings)
    with hold_lock(home, database):
        if database.exists() or backups_in(home.backups) or traces_of(database):
            raise UsageError(
                f"There is a mind in {home.path} already, and it stays.",
                advice=f"Bring it in elsewhere: REVERIES_HOME=~/another reveries import --mind {file}",
            )
        moved = check_mind(file, tell)
        making = database.with_name(f"{database.name}.importing")
        _remove_partial(making)
        try:
            asyncio.run(_open_and_close(making, None))
            import_mind(file, making, tell)
            making.rename(database)
            sync_to_disk(database.parent)
        except OSError as error:
            raise StorageError(
                f"The disk failed while {file} was brought in: {error.strerror}.", advice=f"Look at {database.parent}."
            ) from error
        finally:
            _remove_partial(making)
    return _moved_frame(file, moved)


async def _open_and_close(path: Path, backups: Path | None) -> None:
    """Open and close a memory: it has this schema then, and its log is folded into it."""
    await (await open_database(path, backups)).aclose()


def _remove_partial(making: Path) -> None:
    for file in making.parent.glob(f"{making.name}*"):
        file.unlink()


def _moved_frame(file: Path, moved: Moved) -> protocol.MindMoved:
    return protocol.MindMoved(0, str(file), moved.rows, moved.bytes, moved.with_vectors, moved.check)
