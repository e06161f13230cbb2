"""Transactions: named statements that take effect together, and a variant for reading."""

from collections.abc import Iterable, Sequence

import aiosqlite

from reveries.db.driver import SQLITE_BUSY, dbapi
from reveries.db.queries import statements
from reveries.db.reading import Parameters, Row, fetch_rows
from reveries.db.storage_errors import primary_error_code


class Transaction:
    """Statements that take effect together or not at all."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def run(self, name: str, parameters: Parameters | None = None) -> int:
        """Run the statement `name`; return how many rows it changed."""
        cursor = await self._connection.execute(statements()[name], parameters or {})
        changed = cursor.rowcount
        await cursor.close()
        return changed

    async def run_many(self, name: str, rows: Iterable[Parameters]) -> None:
        """Run the statement `name` once for each of `rows`."""
        await (await self._connection.executemany(statements()[name], rows)).close()

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """Return the rows of the query `name`, within this transaction."""
        return await fetch_rows(self._connection, name, parameters)

    async def run_text(self, statement: str) -> None:
        """Run a statement without a name: for tables that are created at run time (`vector_tables`)."""
        await (await self._connection.execute(statement)).close()

    async def run_text_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement without a name once for each of `rows`."""
        await (await self._connection.executemany(statement, rows)).close()


class ReadOnlyTransaction(Transaction):
    """A transaction for reading: its incidental writes are skipped while another program holds the lock.

    A writer never blocks readers, so a busy error always concerns a write.
    """

    async def run(self, name: str, parameters: Parameters | None = None) -> int:
        try:
            return await super().run(name, parameters)
        except dbapi.OperationalError as error:
            _require_busy(error)
            return 0

    async def run_many(self, name: str, rows: Iterable[Parameters]) -> None:
        try:
            await super().run_many(name, rows)
        except dbapi.OperationalError as error:
            _require_busy(error)

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        try:
            return await super().rows(name, parameters)
        except dbapi.OperationalError as error:
            _require_busy(error)
            return []


def _require_busy(error: dbapi.OperationalError) -> None:
    if primary_error_code(error) != SQLITE_BUSY:
        raise error
