"""Named queries: rows, the time limit of a statement, and a second connection that only reads."""

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
"""One row by column name, as SQLite returns it; callers convert it to one of our types at once."""

Parameters = Mapping[str, object]


_INTERRUPT_SECONDS: Final = 0.05


class Reader(Protocol):
    """A source of named queries: the database, a transaction, or a snapshot of the file."""

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """Return the rows of the query `name`."""
        ...


class DatabaseSnapshot:
    """A consistent snapshot of the file, read on a second connection that blocks no writer."""

    def __init__(self, connection: "dbapi.Connection") -> None:
        self._connection = connection
        self._is_given_up = False

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """Return the rows of the query `name`. One query at a time.

        A cancelled caller waits until the query is interrupted: closing the connection under it would free memory in
        use.
        """
        reading = asyncio.get_running_loop().run_in_executor(None, self._rows, name, parameters)
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            self._is_given_up = True
            while not reading.done():
                self._connection.interrupt()  # Repeated, because the query may have begun after the last interrupt.
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait((reading,), timeout=_INTERRUPT_SECONDS)
            raise

    def _rows(self, name: str, parameters: Parameters | None) -> list[Row]:
        if self._is_given_up:
            return []
        with storage_errors():
            return self._connection.execute(statements()[name], parameters or {}).fetchall()


def open_snapshot_connection(path: Path, with_vector_search: bool) -> "dbapi.Connection":
    """Open a connection that sees what is committed now, until it is closed. Slow: call it in a thread."""
    connection = connect_reader(path, with_vector_search)
    try:
        connection.row_factory = dbapi.Row
        connection.isolation_level = None
        connection.execute("BEGIN")
        # The snapshot begins with the first read.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


class StatementDeadline:
    """The deadline of the running statement. SQLite calls it in the connection's thread; 1 interrupts."""

    def __init__(self) -> None:
        self.until = math.inf

    def __call__(self) -> int:
        return int(time.monotonic() >= self.until)


async def fetch_rows(connection: aiosqlite.Connection, name: str, parameters: Parameters | None) -> list[Row]:
    """Return the rows of the query `name` on `connection`."""
    return await fetch_rows_of_text(connection, statements()[name], parameters or {})


async def fetch_rows_of_text(
    connection: aiosqlite.Connection, statement: str, parameters: Parameters | Sequence[object]
) -> list[Row]:
    """Return the rows of a query on `connection`.

    One trip to the connection's thread, where a cursor takes three: on a small mind these trips are most of a wake. A
    cancelled caller leaves no cursor open.
    """
    rows = await connection.execute_fetchall(statement, parameters)
    return list(rows)  # type: ignore[arg-type]  # a driver's Row is a mapping by column name
