"""The statements of the schema and its migrations, one by one."""

from importlib import resources
from typing import Final

from reveries.db.driver import dbapi

SCHEMA_VERSION: Final = 15


def schema_statements() -> list[str]:
    """Return the statements that create a new database."""
    return _split_statements(resources.files("reveries").joinpath("schema.sql").read_text(encoding="utf-8"))


def migration_statements(target: int) -> list[str]:
    """Return the statements that migrate the previous schema to `target`."""
    file = resources.files("reveries.db").joinpath(f"migrations/{target:04}.sql")
    return _split_statements(file.read_text(encoding="utf-8")) + fill_statements(target)


def fill_statements(target: int) -> list[str]:
    """Return the statements that give rows of earlier schemas what `target` added. They also run after an import of an
    older memory, whose rows come into tables of today's schema."""
    file = resources.files("reveries.db").joinpath(f"migrations/{target:04}.fill.sql")
    return _split_statements(file.read_text(encoding="utf-8")) if file.is_file() else []


def inheritance_statements() -> list[str]:
    """Return the statements that give every row the taint of its sources."""
    return _split_statements(resources.files("reveries.db").joinpath("inheritance.sql").read_text(encoding="utf-8"))


def _split_statements(source: str) -> list[str]:
    """Split into statements: `executescript` would commit, and a migration must be atomic."""
    whole: list[str] = []
    pending = ""
    for line in source.splitlines(keepends=True):
        pending += line
        if dbapi.complete_statement(pending):
            whole.append(pending.strip())
            pending = ""
    return [statement for statement in whole if statement]
