"""Checks the open memory: how SQLite runs, and what its pages say."""

from collections.abc import AsyncIterator

from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.daemon.checkup.memory_file import DAMAGED
from reveries.db.driver import SQLITE_VERSION
from reveries.db.storage_errors import damaged_in_use_error
from reveries.errors import StorageError, StorageLostError
from reveries.protocol import Fault, Finding

SAFE_SQLITE = (3, 51, 3)
"""The first version without the WAL-reset bug."""
_LOOK_SECONDS = 5.0
PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "busy_timeout": 5000}

SQLITE_UNSAFE = Fault("sqlite-unsafe", "note", "Two connections could damage the memory.", "Install pysqlite3.")
WRONG_PRAGMA = Fault("database-pragma", "wrong", "SQLite runs with wrong settings.", "Restart it: reveries sleep, wake")
VECTORS_SLOW = Fault(
    "vectors-slow", "note", "sqlite-vec cannot be loaded: old memories are found slowly.", "Install it."
)
NOT_STORING = Fault(
    "not-storing", "wrong", "Nothing new is stored, although the disk has space.", "Follow its message."
)


async def check(inside: Inside, _: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield what is wrong. Damaged pages stop all storing, as after any read that finds damage. Raises StorageError."""
    if tuple(int(part) for part in SQLITE_VERSION.split(".")) < SAFE_SQLITE:
        yield SQLITE_UNSAFE.found()
    if inside.memory is None:
        return
    database, where = inside.memory.database, inside.memory.database.path
    [runs] = await database.rows("statistics.how_it_runs")
    if wrong := [f"{name} is {runs[name]}, not {wanted}" for name, wanted in PRAGMAS.items() if runs[name] != wanted]:
        yield WRONG_PRAGMA.found(f"SQLite does not run as it must: {'; '.join(wrong)}.", where=where)
    if not database.has_vector_search:
        yield VECTORS_SLOW.found()
    if database.room.refusal:
        yield NOT_STORING.found(database.room.refusal, where=where)
    try:
        rows = await database.rows_within("statistics.look_through", {}, _LOOK_SECONDS)
        if rows and rows[0]["verdict"] != "ok":
            with database.record_loss():
                raise damaged_in_use_error(str(rows[0]["verdict"]))
    except TimeoutError:
        why = f"that takes more than {_LOOK_SECONDS:g} s (it is checked while the mind sleeps)"
        yield f"every page of the memory: {why}"
    except StorageLostError:
        raise  # It ends the mind: the owner is told at once, before another part meets the same.
    except StorageError as error:
        yield DAMAGED.found(error.message, where=where)
