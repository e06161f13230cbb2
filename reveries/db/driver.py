"""The one place that chooses the SQLite driver. Two drivers in one process crash it, so nobody imports another.

pysqlite3 carries a SQLite new enough to be free of the WAL-reset bug (3.7.0 to 3.51.2). Where it has no wheel the
standard library's driver serves: that bug needs two connections, and Reveries has exactly one, in one process.
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

SQLITE_FULL = 13
SQLITE_IOERR = 10

__all__ = ["SQLITE_FULL", "SQLITE_IOERR", "SQLITE_VERSION", "dbapi"]
