"""Erases words from the tables that memory knows only by the list of holdings: what others than it keep in the file."""

import json
from collections.abc import Mapping
from typing import Any, Final

from reveries.db.checksums import checksum
from reveries.db.database import Reader, Row, Transaction
from reveries.db.holdings import ERASED_BY_LIST, HOLDINGS
from reveries.memory.forgetting.needles import TextMatcher

ERASED_TEXT: Final = "(erased)"

_STATEMENTS: Final = {
    "projects": "forget.words_of_projects",
    "goals": "forget.words_of_goals",
    "orientation": "forget.words_of_orientation",
    "tasks": "forget.words_of_tasks",
    "questions": "forget.words_of_questions",
    "activities": "forget.words_of_activities",
    "steps": "forget.words_of_steps",
    "chunks": "forget.words_of_chunks",
    "relations": "forget.words_of_relations",
    "coretrievals": "forget.words_of_coretrievals",
    "grants": "forget.words_of_grants",
}

ListedRows = Mapping[str, list[Row]]
"""By table: the rows that hold the words, with their number as `id`."""


async def find_listed_rows(source: Reader, holds: TextMatcher) -> ListedRows:
    """Every row of a listed table that holds the words in one of its columns."""
    found: dict[str, list[Row]] = {}
    for table, holding in ERASED_BY_LIST.items():
        rows = await source.rows(_STATEMENTS[table])
        found[table] = [row for row in rows if any(holds(str(row[column])) for column in holding.words)]
    return found


async def erase_listed_rows(transaction: Transaction, found: ListedRows, holds: TextMatcher) -> dict[str, int]:
    """Take the words out; how many rows of each table were changed or deleted."""
    for table, rows in found.items():
        if not rows:
            continue
        if HOLDINGS[table].erased == "row":
            await transaction.run_text_many(f"DELETE FROM {table} WHERE rowid = ?", [(row["id"],) for row in rows])  # noqa: S608
        else:
            await _erase_words(transaction, table, rows, holds)
    return {table: len(rows) for table, rows in found.items()}


async def _erase_words(transaction: Transaction, table: str, rows: list[Row], holds: TextMatcher) -> None:
    holding = HOLDINGS[table]
    columns = [*holding.words, *(("checksum",) if holding.checksum_of else ())]
    assignments = ", ".join(f"{column} = ?" for column in columns)
    values = []
    for row in rows:
        left = {column: scrub_text(str(row[column]), holds) for column in holding.words}
        checked = [checksum(*(left[column] for column in holding.checksum_of))] if holding.checksum_of else []
        values.append((*left.values(), *checked, row["id"]))
    await transaction.run_text_many(f"UPDATE {table} SET {assignments} WHERE rowid = ?", values)  # noqa: S608


def scrub_text(text: str, holds: TextMatcher) -> str:
    """`text` without the words: of JSON the strings that hold them, of anything else the whole."""
    if not holds(text):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return ERASED_TEXT
    if not isinstance(value, dict | list):
        return ERASED_TEXT
    return json.dumps(_scrub(value, holds), ensure_ascii=False)


def _scrub(value: Any, holds: TextMatcher) -> Any:
    match value:
        case str():
            return ERASED_TEXT if holds(value) else value
        case list():
            return [_scrub(item, holds) for item in value]
        case dict():
            return {ERASED_TEXT if holds(key) else key: _scrub(item, holds) for key, item in value.items()}
    return value
