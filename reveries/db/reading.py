"""Reading by name: rows, how long a statement may take, and a connection that reads beside the one that writes."""

import asyncio
import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import aiosqlite

from reveries.db.copies import connect_reader
from reveries.db.driver import dbapi
from reveries.db.queries import statements
from reveries.db.storage_errors import storage_errors

Row = Mapping[str, Any]
"""One row by column name. SQLite's edge: whoever reads it turns it into one of our types at once."""

Parameters = Mapping[str, object]


_INTERRUPT_SECONDS: Final = 0.05


class Reader(Protocol):
    """Where queries are asked by name: the database, a transaction, or a moment of the file beside them."""

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """What the query called `name` finds."""
        ...


class DatabaseSnapshot:
    """All of the file as it was at one moment, read on a connection of its own: nobody waits for it."""

    def __init__(self, connection: "dbapi.Connection") -> None:
        self._connection = connection
        self._is_given_up = False

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """What the query called `name` finds. One at a time. A caller that is cancelled waits until it is broken off:
        SQLite's memory is gone from under it where the connection closes meanwhile."""
        reading = asyncio.get_running_loop().run_in_executor(None, self._rows, name, parameters)
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            self._is_given_up = True
            while not reading.done():
                self._connection.interrupt()  # Again: it may have begun just after the last one.
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait((reading,), timeout=_INTERRUPT_SECONDS)
            raise

    def _rows(self, name: str, parameters: Parameters | None) -> list[Row]:
        if self._is_given_up:
            return []
        with storage_errors():
            return self._connection.execute(statements()[name], parameters or {}).fetchall()


def open_snapshot_connection(path: Path, with_vector_search: bool) -> "dbapi.Connection":
    """A connection that reads what is committed now, until it is closed. Slow: call it in a thread."""
    connection = connect_reader(path, with_vector_search)
    try:
        connection.row_factory = dbapi.Row
        connection.isolation_level = None
        connection.execute("BEGIN")
        # The moment is that of the first look.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


class StatementDeadline:
    """Until when the statement in hand may go on. SQLite asks in the connection's thread, and breaks it off for 1."""

    def __init__(self) -> None:
        self.until = math.inf

    def __call__(self) -> int:
        return int(time.monotonic() >= self.until)


async def fetch_rows(connection: aiosqlite.Connection, name: str, parameters: Parameters | None) -> list[Row]:
    """What the query called `name` finds on that connection."""
    return await fetch_rows_of_text(connection, statements()[name], parameters or {})


async def fetch_rows_of_text(
    connection: aiosqlite.Connection, statement: str, parameters: Parameters | Sequence[object]
) -> list[Row]:
    """What a query finds on that connection. One trip to its thread and back, where a cursor would take three: on a
    small mind the trips are most of what a wake takes, and a caller that is cancelled leaves no cursor open."""
    found = await connection.execute_fetchall(statement, parameters)
    return list(found)  # type: ignore[arg-type]  # a driver's Row is a mapping by column name
