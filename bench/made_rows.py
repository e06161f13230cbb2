"""A database for generated rows, without the triggers that check each inserted row (schema 7)."""

import contextlib
from collections.abc import AsyncIterator

from reveries.db.database import Database

_GUARDS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%~_guarded' ESCAPE '~'"


@contextlib.asynccontextmanager
async def made_rows(database: Database) -> AsyncIterator[None]:
    """Allow rows in the owner's name that no client sent, by dropping the guards until the end."""
    guards = await database.rows_of_text(f"{_GUARDS} ORDER BY rowid", ())
    await _run(database, [f'DROP TRIGGER "{guard["name"]}"' for guard in guards])
    try:
        yield
    finally:
        await _run(database, [str(guard["sql"]) for guard in guards])


async def _run(database: Database, statements: list[str]) -> None:
    async with database.transaction() as transaction:
        for statement in statements:
            await transaction.run_text(statement)
