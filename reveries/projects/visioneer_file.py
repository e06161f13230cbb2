"""Read a database of Visioneer, whose projects have other tables: plain rows of text, JSON and ISO times (V-137).

It is somebody else's file: a column that is missing or of another form has its default, and what cannot be read is left
out and counted. Nothing is written to it.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from reveries.db.copies import connect_reader
from reveries.db.driver import dbapi
from reveries.errors import InputDataError, InputFileError
from reveries.safe_text import plain

ForeignRow = Mapping[str, Any]

_REQUIRED: Final = ("projects", "orientation", "tasks", "chunks")
_TABLES: Final = ("tasks", "questions", "activities", "chunks")
_LATEST: Final = 253402300799.0
"""The last second of the year 9999."""


@dataclass(frozen=True, slots=True)
class ForeignProject:
    """The rows of one project, oldest first."""

    id: str
    created_at: float | None
    page: ForeignRow
    page_written_at: float | None
    rows: Mapping[str, list[ForeignRow]]
    relations: list[ForeignRow]
    archived: list[ForeignRow]
    """Relations in the archive: the original row with `archived_at` and `reason`."""
    left_out: Counter[str] = field(default_factory=Counter)


def read_visioneer_file(path: Path) -> list[ForeignProject]:
    """Return the projects of the file. Raises InputFileError, InputDataError."""
    if not path.is_file():
        raise InputFileError(f"{path} is not a file.", advice="Give the path of Visioneer's database, visioneer.db")
    try:
        with closing(connect_reader(path, with_vector_search=False)) as connection:
            connection.row_factory = dbapi.Row
            # Not its views: what they yield may have no end.
            tables = {
                str(row["name"]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            if missing := [name for name in _REQUIRED if name not in tables]:
                raise InputDataError(
                    f"{path.name} is no database of Visioneer: it has no table {missing[0]}.",
                    advice="What else can be imported: reveries import --help",
                )
            read: dict[str, list[ForeignRow]] = {
                name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]  # noqa: S608 (own names)
                for name in (*_REQUIRED, *_TABLES, "relationships", "relationships_archive", "coretrieval")
                if name in tables
            }
    except dbapi.Error as error:
        raise InputDataError(f"{path.name} cannot be read: {error}.", advice="Is it whole?") from error
    return [_gather_project(row, read) for row in read["projects"]]


def _gather_project(project: ForeignRow, read: Mapping[str, list[ForeignRow]]) -> ForeignProject:
    project_id = str(project.get("id"))
    rows = {
        name: sorted((row for row in read.get(name, ()) if str(row.get("project_id")) == project_id), key=_when)
        for name in _TABLES
    }
    own = {str(row.get("id")) for row in rows["chunks"]}
    page_row = next((row for row in read["orientation"] if str(row.get("project_id")) == project_id), {})
    relations = [row for row in read.get("relationships", ()) if str(row.get("from_chunk_id")) in own]
    archived = [row for row in read.get("relationships_archive", ()) if str(row.get("from_chunk_id")) in own]
    left_out = Counter[str]()
    if pairs := sum(str(row.get("chunk_a_id")) in own for row in read.get("coretrieval", ())):
        left_out["pairs found together, which count for thirty days"] += pairs
    return ForeignProject(
        id=project_id,
        created_at=read_time(project.get("created_at")),
        page=_as_object(page_row.get("content")),
        page_written_at=read_time(page_row.get("last_rewritten")),
        rows=rows,
        relations=relations,
        archived=[{**_as_object(row.get("original_data")), **_without_nulls(row)} for row in archived],
        left_out=left_out,
    )


def read_time(value: object) -> float | None:
    """Return an ISO time (UTC where it names no zone) or a number of seconds or milliseconds as unix seconds. Pure."""
    number = read_number(value)
    if number is not None:
        seconds = number / 1000.0 if number > _LATEST else number
        return seconds if 0.0 <= seconds <= _LATEST else None
    try:
        at = datetime.fromisoformat(str(value).strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def read_number(value: object) -> float | None:
    """Return a finite number; None for anything else. Pure."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def read_json(value: str | bytes, otherwise: object) -> Any:
    """Return what a JSON text says; `otherwise` if it is none, or nested deeper than anybody writes. Pure."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return otherwise


def read_texts(value: object) -> tuple[str, ...]:
    """Return a JSON array, or what one holds, as texts; a text that is none as one. Pure."""
    if isinstance(value, str):
        value = read_json(value, [value])
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        return ()
    return tuple(text for entry in value if isinstance(entry, str) and (text := plain(entry).strip()))


def read_text(row: ForeignRow, name: str) -> str:
    """Return a column as text; empty if it is missing or null. Pure."""
    value = row.get(name)
    try:
        return "" if value is None else plain(str(value)).strip()
    except ValueError:  # A number of thousands of digits.
        return ""


def _as_object(value: object) -> dict[str, Any]:
    read_value = read_json(value, {}) if isinstance(value, str | bytes) else value
    return dict(read_value) if isinstance(read_value, Mapping) else {}


def _without_nulls(row: ForeignRow) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _when(row: ForeignRow) -> float:
    named = ("created_at", "asked_at", "timestamp")
    return next((at for name in named if (at := read_time(row.get(name))) is not None), 0.0)
