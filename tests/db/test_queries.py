"""SQL by name: every statement fits the schema, and every name is used and is there."""

import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Final

import pytest

from reveries.db.driver import dbapi
from reveries.db.queries import statements

PACKAGE: Final = Path(str(resources.files("reveries")))
_ASKED_FOR: Final = re.compile(r"""\.(?:run|run_many|rows)\(\s*"([\w.]+)\"""")


class AnyParameter(dict[str, None]):
    """NULL for whatever name is asked for: enough to prepare a statement."""

    def __missing__(self, name: str) -> None:
        return None


@pytest.fixture(scope="module")
def schema() -> "dbapi.Connection":
    connection = dbapi.connect(":memory:")
    connection.executescript(PACKAGE.joinpath("schema.sql").read_text(encoding="utf-8"))
    return connection


def source() -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))


def test_every_statement_fits_the_schema(schema: "dbapi.Connection") -> None:
    wrong: dict[str, str] = {}
    for name, statement in statements().items():
        try:
            schema.execute(f"EXPLAIN {statement}", AnyParameter())
        except dbapi.Error as error:
            wrong[name] = str(error)
    assert wrong == {}


_PREPARE_ALL: Final = """
import json, sqlite3, sys
given = json.load(sys.stdin)
connection, wrong = sqlite3.connect(":memory:"), {}
connection.executescript(given["schema"])
for name, statement in given["statements"].items():
    try:
        connection.execute(f"EXPLAIN {statement}", type("Any", (dict,), {"__missing__": lambda self, key: None})())
    except sqlite3.Error as error:
        wrong[name] = str(error)
print(json.dumps(wrong))
"""


def test_every_statement_fits_the_sqlite_of_the_standard_library() -> None:
    """It serves where pysqlite3 has no wheel, and may be older. In its own process: two drivers in one crash it."""
    given = {"schema": PACKAGE.joinpath("schema.sql").read_text(encoding="utf-8"), "statements": statements()}
    ran = subprocess.run(
        [sys.executable, "-c", _PREPARE_ALL], input=json.dumps(given), capture_output=True, text=True, timeout=60
    )
    assert json.loads(ran.stdout) == {}


def test_every_statement_that_is_asked_for_is_there() -> None:
    assert set(_ASKED_FOR.findall(source())) <= set(statements())


def test_every_statement_is_asked_for() -> None:
    # What only a test asks for yet (the log of a pass, the history of the self-model) is read by a later part.
    code = source() + "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parents[1].rglob("test_*.py"))
    assert not [name for name in statements() if f'"{name}"' not in code and not name.startswith("forget.words_of_")]


def test_a_statement_is_one_statement() -> None:
    assert [name for name, statement in statements().items() if ";" in statement] == []


# --- the schema ------------------------------------------------------------------------------------------------------


def tables(schema: "dbapi.Connection") -> list[str]:
    found = schema.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [row[0] for row in found]


@pytest.mark.requirement("R-155")
def test_the_tables_beside_those_of_the_specification_are_there(schema: "dbapi.Connection") -> None:
    added = {"conversations", "turns", "tripwire_events", "usage_ledger", "consolidation_runs", "monologue_log"}
    assert added <= set(tables(schema))


def test_every_table_is_strict(schema: "dbapi.Connection") -> None:
    # The parameterised way to ask is a table-valued function; `strict` is its last column.
    strict = {row[1]: row[5] for row in schema.execute("PRAGMA table_list") if row[2] == "table"}
    assert all(strict[table] for table in tables(schema) if table in strict)


@pytest.mark.parametrize("table", ["raw_experiences", "turns", "episodes", "deep_texts"])
def test_a_table_of_text_keeps_where_it_comes_from(schema: "dbapi.Connection", table: str) -> None:
    columns = {row[1]: row[3] for row in schema.execute(f"PRAGMA table_info({table})")}
    assert {"origin", "tainted", "checksum"} <= set(columns)
    assert columns["origin"] == columns["tainted"] == columns["checksum"] == 1


def test_every_foreign_key_that_points_up_has_an_index(schema: "dbapi.Connection") -> None:
    """Else erasing a row would read the whole table below it. What is small, or is never erased by, is listed."""
    unindexed = {
        (table, row[3])
        for table in tables(schema)
        for row in schema.execute(f"PRAGMA foreign_key_list({table})").fetchall()
        if row[3] not in leading_columns(schema, table)
    }
    assert unindexed == {
        ("consolidation_changes", "experience_id"),
        ("episodes", "conversation_id"),
        ("gaps", "conversation_id"),
        ("monologue_log", "experience_id"),
    }


def leading_columns(schema: "dbapi.Connection", table: str) -> set[str]:
    """The first column of each index of `table`."""
    indexes = [row[1] for row in schema.execute(f"PRAGMA index_list({table})").fetchall()]
    return {schema.execute(f"PRAGMA index_info({index})").fetchone()[2] for index in indexes}
