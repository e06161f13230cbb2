"""A whole memory as one portable file, out and in: JSON lines, each with its checksum, and a last line with the
checksum of all. docs/reference/mind-file.md has the format.

Rows are exported in the order in which they were stored, so that an imported mind exports byte for byte the same.
"""

import base64
import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from reveries.db.backups import verify_backup
from reveries.db.connecting import connect_read_only
from reveries.db.driver import dbapi
from reveries.db.holdings import NOT_EXPORTED
from reveries.db.schemas import SCHEMA_VERSION, fill_statements, inheritance_statements
from reveries.db.storage_errors import describe_driver_error
from reveries.errors import DatabaseTooNewError, InputDataError, InputFileError, StorageError

FORMAT: Final = 1
NOT_IN_MIND_FILE: Final = NOT_EXPORTED | {
    "embedding_cache",
    "snapshot_marks",
    "changed_rows",
    "schedule",
    "deep_vector_tables",
    "chunk_numbers",
}
"""Tables without content of their own, or that the mind rebuilds."""
VECTORS: Final = frozenset({"vectors", "consolidation_vectors", "embedding_space", "chunk_vectors"})
"""Exported only on request: another embedder cannot use them, and all can be rebuilt."""
_GONE_COLUMNS: Final = {"chunks": frozenset({"tier", "status"})}
"""Of files that earlier schemas wrote: nothing ever stood in them but their defaults."""
_SHADOW: Final = re.compile(r"(?:deep_words|deep_vectors_\d+|chunk_words)(?:_.*)?|sqlite_.*")
_LONGEST_LINE: Final = 64 * 2**20
_ROWS_AT_ONCE: Final = 2000
_HASH_BYTES: Final = 16
_BLOB: Final = "$base64"
_PRAGMAS_OF_IMPORT: Final = (
    "foreign_keys=OFF",
    # No one else has the file, and it is removed on failure: with a log everything would be written twice.
    "journal_mode=MEMORY",
    # In KiB. Link rows touch index pages at random: with SQLite's default of 2 MB each would be read again.
    "cache_size=-131072",
)

RowProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class MindFileSummary:
    """How much was exported or imported."""

    rows: int
    bytes: int
    with_vectors: bool
    check: str
    """Checksum of the whole file: two files with the same checksum are the same."""


def export_mind(database: Path, target: Path, *, with_vectors: bool, tell: RowProgress) -> MindFileSummary:
    """Write the memory at `database` into the new file `target`, while no one writes to the memory.

    Raises InputFileError when `target` cannot be written, StorageError when the memory cannot be read.
    """
    partial = target.with_name(f"{target.name}.partial")
    if target.exists():
        raise InputFileError(
            f"The file {target} exists already.", advice="Choose another name: nothing is overwritten."
        )
    is_ours = False
    try:
        with contextlib.closing(connect_read_only(database)) as look, partial.open("xb") as file:
            is_ours = True
            os.fchmod(file.fileno(), 0o600)
            moved = _write_tables(look, file.write, with_vectors=with_vectors, tell=tell)
            file.flush()
            os.fsync(file.fileno())
        # A file that appeared there meanwhile is not overwritten either.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        partial.replace(target)
    except OSError as error:
        _remove_if(partial, is_ours)
        raise InputFileError(
            f"The file {target} cannot be written: {error.strerror or error}.",
            advice="Check the folder and its free space.",
        ) from error
    except dbapi.Error as error:
        _remove_if(partial, is_ours)
        raise StorageError(
            f"The memory cannot be read: {describe_driver_error(error)}.", advice="See: reveries backup verify"
        ) from error
    return moved


def _remove_if(file: Path, is_ours: bool) -> None:
    if is_ours:
        file.unlink(missing_ok=True)


def check_mind(source: Path, tell: RowProgress) -> MindFileSummary:
    """Read all of `source` and compare every checksum; changes nothing.

    Raises InputFileError, InputDataError naming the line, and DatabaseTooNewError.
    """
    rows, with_vectors, is_ended, total = 0, False, False, _Total()
    for number, line, raw in _read_lines(source):
        if is_ended:
            raise _mind_file_error(f"{source} line {number}", "there is something after the last line")
        if number == 1:
            with_vectors = _read_mind_header(line, source)
        elif "end" in line:
            _compare_end(line, rows, total.hex, f"{source} line {number}")
            is_ended = True
            continue
        else:
            _table_and_row(line, f"{source} line {number}")
            rows += 1
            if rows % _ROWS_AT_ONCE == 0:
                tell(rows, 0)
        total.add(raw)
    if not is_ended:
        raise InputDataError(
            f"{source} is incomplete: its last line is missing.", advice="Copy it again, or export it again."
        )
    return MindFileSummary(rows, source.stat().st_size, with_vectors, total.hex)


def import_mind(source: Path, empty: Path, tell: RowProgress) -> None:
    """Fill the database at `empty`, which has the schema and no rows, from a file that `check_mind` accepted. All or
    nothing.

    Raises InputDataError where a row does not fit. The owner's words are what the file says they are. Rows that lack
    the taint of their sources, as earlier code may have written them, get it.
    """
    connection = dbapi.connect(str(empty), isolation_level=None)
    try:
        for pragma in _PRAGMAS_OF_IMPORT:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN IMMEDIATE")
        with _without_guards(connection):
            written_by = _fill_tables(connection, source, tell)
            for version in range(written_by + 1, SCHEMA_VERSION + 1):
                for statement in fill_statements(version):
                    connection.execute(statement)
            for statement in inheritance_statements():
                connection.execute(statement)
        connection.execute("COMMIT")
    finally:
        connection.close()
    if problems := (looked := verify_backup(empty)).problems + looked.rotten:
        raise InputDataError(f"{source} is not a complete mind: {problems[0]}", advice="Export it again.")


# --- out -------------------------------------------------------------------------------------------------------------


def _write_tables(
    look: "dbapi.Connection", write: Callable[[bytes], int], *, with_vectors: bool, tell: RowProgress
) -> MindFileSummary:
    total, rows, size = _Total(), 0, 0

    def put(line: dict[str, object]) -> None:
        nonlocal size
        raw = msgspec.json.encode(line)
        total.add(raw)
        size += write(raw + b"\n")

    version = int(look.execute("PRAGMA user_version").fetchone()[0])
    put({"reveries_mind": FORMAT, "schema": version, "vectors": with_vectors})
    for table in sorted(_tables(look) - (frozenset() if with_vectors else VECTORS)):
        names = _columns(look, table)
        for row in look.execute(f"SELECT {_quote_names(names)} FROM {table} ORDER BY {_storage_order_of(look, table)}"):  # noqa: S608
            values = {name: _encode_value(value) for name, value in zip(names, row, strict=True)}
            put({"table": table, "row": values, "check": _checksum_of_row(table, values)})
            rows += 1
            if rows % _ROWS_AT_ONCE == 0:
                tell(rows, 0)
    end = total.hex
    size += write(msgspec.json.encode({"end": {"rows": rows, "check": end}}) + b"\n")
    return MindFileSummary(rows, size, with_vectors, end)


def _encode_value(value: object) -> object:
    return {_BLOB: base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


# --- in --------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _without_guards(connection: "dbapi.Connection") -> Iterator[None]:
    """Drop the triggers that check each new row: an import may insert a row before its sources."""
    named = "type = 'trigger' AND name LIKE '%~_guarded' ESCAPE '~'"
    doors = connection.execute(f"SELECT name, sql FROM sqlite_master WHERE {named} ORDER BY rowid").fetchall()  # noqa: S608
    for name, _ in doors:
        connection.execute(f'DROP TRIGGER "{name}"')
    yield
    for _, made in doors:
        connection.execute(made)


def _fill_tables(connection: "dbapi.Connection", source: Path, tell: RowProgress) -> int:
    """Insert every row; return the schema of the memory that was exported."""
    tables, done, schema = _Tables(connection), 0, SCHEMA_VERSION
    for number, line, _ in _read_lines(source):
        if number == 1:
            schema = int(line["schema"])
        elif "end" not in line:
            where = f"{source} line {number}"
            _insert_row(connection, tables, *_table_and_row(line, where), where)
            done += 1
            if done % _ROWS_AT_ONCE == 0:
                tell(done, 0)
    return schema


def _read_lines(source: Path) -> Iterator[tuple[int, dict[str, Any], bytes]]:
    """Yield the line number, the decoded line and the raw line."""
    try:
        with source.open("rb") as file:
            number = 0
            while raw := file.readline(_LONGEST_LINE):
                number += 1
                where = f"{source} line {number}"
                if not raw.endswith(b"\n"):
                    raise _mind_file_error(where, "it is cut off, or longer than a line may be")
                yield number, _decode_line(raw, where), raw[:-1]
    except OSError as error:
        raise InputFileError(
            f"The file {source} cannot be read: {error.strerror or error}.",
            advice="Check its name and its permissions.",
        ) from error


def _decode_line(raw: bytes, where: str) -> dict[str, Any]:
    try:
        line = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise _mind_file_error(where, "it is not JSON") from error
    if not isinstance(line, dict):
        raise _mind_file_error(where, "it is not a JSON object")
    return line


def _read_mind_header(line: dict[str, Any], source: Path) -> bool:
    """Whether the file includes vectors. Raises InputDataError, DatabaseTooNewError."""
    file_format, schema = line.get("reveries_mind"), line.get("schema")
    if not isinstance(file_format, int) or not isinstance(schema, int):
        raise InputDataError(
            f"{source} is not an exported mind.", advice="Create one with: reveries export --mind FILE"
        )
    if file_format > FORMAT or schema > SCHEMA_VERSION:
        raise DatabaseTooNewError(
            f"{source} was written by a newer Reveries (format {file_format}, schema {schema}).",
            advice="Import it with that version. Nothing was changed.",
        )
    return line.get("vectors") is True


def _table_and_row(line: dict[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    """Return the table and row of a line. Raises InputDataError if its checksum does not match."""
    table, row, check = line.get("table"), line.get("row"), line.get("check")
    if not isinstance(table, str) or not isinstance(row, dict) or not isinstance(check, str):
        raise _mind_file_error(where, "it is not a row of a mind")
    if _checksum_of_row(table, row) != check:
        raise _mind_file_error(where, "its checksum does not match: the line was changed")
    return table, row


class _Tables:
    """The tables that may receive rows, with their INSERT statements."""

    def __init__(self, connection: "dbapi.Connection") -> None:
        self._columns = {name: frozenset(_columns(connection, name)) for name in _tables(connection)}
        self._statements: dict[tuple[str, ...], str] = {}

    def statement(self, table: str, row: dict[str, Any]) -> str:
        """Return the INSERT statement; empty where no table has these columns."""
        key = (table, *row)
        if (remembered := self._statements.get(key)) is not None:
            return remembered
        if not row or not row.keys() <= self._columns.get(table, frozenset()):
            return ""
        marks = ", ".join("?" * len(row))
        made = f"INSERT INTO {table} ({_quote_names(list(row))}) VALUES ({marks})"  # noqa: S608
        return self._statements.setdefault(key, made)


def _insert_row(connection: "dbapi.Connection", tables: _Tables, table: str, row: dict[str, Any], where: str) -> None:
    row = {name: value for name, value in row.items() if name not in _GONE_COLUMNS.get(table, frozenset())}
    if not (statement := tables.statement(table, row)):
        raise _mind_file_error(where, f"there is no table {table[:40]!r} with these columns in a mind of this format")
    try:
        connection.execute(statement, [_decode_value(value) for value in row.values()])
    except (dbapi.Error, ValueError, TypeError, OverflowError) as error:
        raise _mind_file_error(where, f"its row does not fit into {table} ({error})") from error


def _decode_value(value: object) -> object:
    if isinstance(value, dict):
        if set(value) != {_BLOB} or not isinstance(value[_BLOB], str):
            raise ValueError("an object is in the place of a value")
        return base64.b64decode(value[_BLOB], validate=True)
    if isinstance(value, list | bool):
        raise TypeError("a list or a boolean is in the place of a value")
    return value


def _compare_end(line: dict[str, Any], rows: int, check: str, where: str) -> None:
    end = line["end"]
    if not isinstance(end, dict) or end.get("rows") != rows or end.get("check") != check:
        raise _mind_file_error(
            where, "the checksum of the whole file does not match: lines are missing or were changed"
        )


def _mind_file_error(where: str, what: str) -> InputDataError:
    return InputDataError(f"{where}: {what}. Nothing was imported.", advice="Copy the file again, or export it again.")


# --- both ------------------------------------------------------------------------------------------------------------


class _Total:
    """The checksum of all lines so far."""

    def __init__(self) -> None:
        self._found = hashlib.blake2b(digest_size=_HASH_BYTES)

    def add(self, raw: bytes) -> None:
        self._found.update(raw + b"\n")

    @property
    def hex(self) -> str:
        return self._found.hexdigest()


def _checksum_of_row(table: str, row: dict[str, Any]) -> str:
    return hashlib.blake2b(msgspec.json.encode([table, row]), digest_size=_HASH_BYTES).hexdigest()


def _tables(connection: "dbapi.Connection") -> frozenset[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(str(row[0]) for row in rows if not _SHADOW.fullmatch(str(row[0]))) - NOT_IN_MIND_FILE


def _columns(connection: "dbapi.Connection", table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]


def _storage_order_of(connection: "dbapi.Connection", table: str) -> str:
    """Return the order in which rows were stored; for a table without row numbers, its key."""
    made = str(connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0])
    if "WITHOUT ROWID" not in made:
        return "rowid"
    keys = [(row[5], str(row[1])) for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]
    return _quote_names([name for _, name in sorted(keys)])


def _quote_names(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
