"""The only module that chooses the SQLite driver: two drivers in one process crash it.

pysqlite3 carries a SQLite that is free of the WAL-reset bug (3.7.0 to 3.51.2). Where it has no wheel, the standard
library's driver is used: that bug needs two connections, and there Reveries has exactly one, in one process.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3 as dbapi
else:
    try:
        from pysqlite3 import dbapi2 as dbapi
    except ImportError:
        import sqlite3 as dbapi

SQLITE_VERSION: str = dbapi.sqlite_version


def is_safe_for_two_connections(version: tuple[int, ...]) -> bool:
    """Whether a second connection may read the same file: not with the WAL-reset bug (to 3.51.2, and 3.52)."""
    return (3, 51, 3) <= version < (3, 52) or version >= (3, 53)


CAN_READ_CONCURRENTLY: bool = is_safe_for_two_connections(dbapi.sqlite_version_info)


def load_vector_search(connection: "dbapi.Connection") -> bool:
    """Load sqlite-vec into a connection; False where this build of SQLite or of Python cannot."""
    try:
        import sqlite_vec

        connection.enable_load_extension(True)
        try:
            sqlite_vec.load(connection)
        finally:
            connection.enable_load_extension(False)
    except (ImportError, AttributeError, OSError, dbapi.Error):
        return False
    return True


SQLITE_BUSY = 5
SQLITE_LOCKED = 6
SQLITE_INTERRUPT = 9
SQLITE_IOERR = 10
SQLITE_CORRUPT = 11
SQLITE_FULL = 13
SQLITE_NOTADB = 26

__all__ = [
    "CAN_READ_CONCURRENTLY",
    "SQLITE_BUSY",
    "SQLITE_CORRUPT",
    "SQLITE_FULL",
    "SQLITE_INTERRUPT",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOTADB",
    "SQLITE_VERSION",
    "dbapi",
    "is_safe_for_two_connections",
    "load_vector_search",
]
