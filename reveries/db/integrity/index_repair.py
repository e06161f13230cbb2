"""Rebuild damaged indexes from their tables, where nothing suggests that the table lost something.

An index and its table hold the same rows. Where an index has a row or value that its table lacks, either may be wrong,
and the index may be the only trace of it: then a backup is needed. The same goes for an index that SQLite cannot clear
because one of its pages is invalid.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from reveries.db.backups import find_structure_problems
from reveries.db.connecting import connect_for_writing, connect_read_only
from reveries.db.driver import SQLITE_CORRUPT, SQLITE_NOTADB, dbapi
from reveries.db.storage_errors import primary_error_code


def are_only_indexes_damaged(path: Path) -> bool:
    """Whether all damage may be in indexes. Changes nothing. Reads all of the file.

    Every table must be readable to its end, and no index, as far as it is readable, may hold what its table lacks.
    """
    try:
        with contextlib.closing(connect_read_only(path)) as connection:
            tables = _indexed_tables(connection)
            entries = [query for table in tables for query in _orphaned_entry_queries(connection, table)]
            connection.text_factory = bytes  # Broken text is a matter of the checksums.
            for table in tables:
                for _ in connection.execute(f"SELECT * FROM {_quote_name(table)} NOT INDEXED"):  # noqa: S608
                    pass
            return not any(_returns_a_row(connection, statement) for statement in entries)
    except UnicodeDecodeError:
        return False
    except dbapi.DatabaseError as error:
        if primary_error_code(error) not in (SQLITE_CORRUPT, SQLITE_NOTADB):
            raise
        return False


def rebuild_indexes(path: Path, before_it_counts: Callable[[], None]) -> bool:
    """Rebuild every index. False, with nothing changed, where the structure or the references are still wrong.

    Broken texts do not count: they are no matter of an index. `before_it_counts` is called just before the commit. Only
    while no one has the memory open. Raises the driver's errors.
    """
    with contextlib.closing(connect_for_writing(path)) as connection:
        connection.row_factory = None
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("REINDEX")
            if not find_structure_problems(connection):
                before_it_counts()
                connection.execute("COMMIT")
                return True
        except dbapi.DatabaseError as error:
            # Duplicate rows under a unique index, or invalid pages: more is damaged than indexes.
            if not isinstance(error, dbapi.IntegrityError) and primary_error_code(error) != SQLITE_CORRUPT:
                raise
        connection.rollback()
    return False


def _indexed_tables(connection: "dbapi.Connection") -> list[str]:
    """Return all tables but virtual ones, whose extension may be missing; their shadow tables are included."""
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    return [str(row[0]) for row in connection.execute(plain)]


def _orphaned_entry_queries(connection: "dbapi.Connection", table: str) -> Iterator[str]:
    """Yield a query for each index of `table` that finds an entry without a matching row.

    SQLite reads the entry from the index alone, the row by the table's key. (SQLite before 3.46 reads the row as well
    for a partial index whose condition is on another column: the check is weaker there.)
    """
    columns = connection.execute(f"PRAGMA table_info({_quote_name(table)})").fetchall()
    primary = [str(row[1]) for row in sorted(columns, key=lambda row: int(row[5])) if row[5]]
    indexes = connection.execute(f"PRAGMA index_list({_quote_name(table)})").fetchall()
    own = next((str(name) for _, name, _, origin, _ in indexes if origin == "pk"), "")
    is_own_key = bool(own) and not _has_rowid(connection, table)
    key = primary if is_own_key else ["rowid"]
    held_by = f"INDEXED BY {_quote_name(own)}" if is_own_key else "NOT INDEXED"
    for _, name, _, _, is_partial in indexes:
        if is_own_key and name == own:
            continue  # It is the table.
        index_columns = [
            str(row[2]) for row in connection.execute(f"PRAGMA index_xinfo({_quote_name(name)})") if row[2]
        ]
        named = list(dict.fromkeys([*key, *index_columns]))
        where = f"WHERE {_condition(connection, name)}" if is_partial else ""
        taken = ", ".join(f"{_quote_column(column)} AS k{place}" for place, column in enumerate(named))
        alike = " AND ".join(f"held.{_quote_column(column)} IS entry.k{place}" for place, column in enumerate(named))
        yield (
            f"SELECT 1 FROM (SELECT {taken} FROM {_quote_name(table)} INDEXED BY {_quote_name(name)} {where}) AS entry "  # noqa: S608
            f"WHERE NOT EXISTS (SELECT 1 FROM {_quote_name(table)} AS held {held_by} WHERE {alike}"
            f"{f' AND ({_condition(connection, name)})' if is_partial else ''}) LIMIT 1"
        )


def _has_rowid(connection: "dbapi.Connection", table: str) -> bool:
    [row] = connection.execute(f"PRAGMA table_list({_quote_name(table)})").fetchall()
    return not row[4]


def _condition(connection: "dbapi.Connection", index: str) -> str:
    """Return the WHERE condition of a partial index."""
    [sql] = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (index,)).fetchone()
    return str(sql).partition(" WHERE ")[2]


def _returns_a_row(connection: "dbapi.Connection", statement: str) -> bool:
    """Whether `statement` returns a row; False where the index cannot be read. The tables were read before."""
    try:
        return connection.execute(statement).fetchone() is not None
    except dbapi.DatabaseError as error:
        if primary_error_code(error) != SQLITE_CORRUPT:
            raise
        return False


def _quote_column(name: str) -> str:
    return name if name == "rowid" else _quote_name(name)


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
