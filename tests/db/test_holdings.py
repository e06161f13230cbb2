"""The list of tables with words agrees with the schema, its triggers, the export and the privacy page."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.db.holdings import HOLDINGS
from reveries.db.mind_file import NOT_IN_MIND_FILE
from reveries.db.schemas import schema_statements
from tests.memory.forgetting.everywhere import PLANTS
from tests.rows import check_rows

PRIVACY = Path(__file__).parents[2] / "docs" / "explain" / "privacy.md"


@pytest.fixture
def schema() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    for statement in schema_statements():
        connection.execute(statement)
    yield connection
    connection.close()


def test_a_word_is_planted_in_each_column_and_erased_by_forgetting() -> None:
    assert {f"{table}.{column}" for table, one in HOLDINGS.items() for column in one.words} == set(PLANTS)


def test_each_checksum_that_a_row_carries_is_compared(schema: sqlite3.Connection) -> None:
    carrying = {table for table, columns in tables(schema).items() if "checksum" in columns}
    assert {table for table, one in HOLDINGS.items() if one.checksum_of} == carrying


@pytest.mark.requirement("F1", "F3")
def test_what_is_tainted_is_kept_so_by_triggers_at_both_doors(schema: sqlite3.Connection) -> None:
    tainted = {table for table, columns in tables(schema).items() if "tainted" in columns}
    assert {table for table, one in HOLDINGS.items() if one.is_tainted} == tainted
    triggers = {row[0] for row in schema.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    assert {f"{table}_{door}" for table in tainted for door in ("taint_stays", "guarded")} <= triggers


def test_an_export_carries_it_unless_the_list_says_that_it_is_made_anew() -> None:
    assert {table for table, one in HOLDINGS.items() if not one.is_exported} == HOLDINGS.keys() & NOT_IN_MIND_FILE


@check_rows("table", HOLDINGS)
def test_the_privacy_page_names_it(table: str) -> None:
    assert HOLDINGS[table].privacy in PRIVACY.read_text(encoding="utf-8")


def tables(schema: sqlite3.Connection) -> dict[str, set[str]]:
    """Each table with its columns."""
    names = [row[0] for row in schema.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: {row[1] for row in schema.execute(f"PRAGMA table_xinfo({name})")} for name in names}
