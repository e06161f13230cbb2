"""Erases words from the tables of other packages, which memory knows only by the list of holdings."""

import json
from collections.abc import Mapping
from typing import Any, Final

from reveries.db.checksums import checksum
from reveries.db.database import Reader, Row, Transaction
from reveries.db.holdings import ERASED_BY_LIST, HOLDINGS
from reveries.memory.forgetting.needles import TextMatcher

ERASED_TEXT: Final = "(erased)"

ListedRows = Mapping[str, list[Row]]
"""By table: the rows that contain the words, with their rowid as `id`."""


async def find_listed_rows(source: Reader, matches: TextMatcher) -> ListedRows:
    """Find the rows of listed tables that contain the words in one of their columns."""
    matching: dict[str, list[Row]] = {}
    for table, holding in ERASED_BY_LIST.items():
        rows = await source.rows(f"forget.words_of_{table}")
        matching[table] = [row for row in rows if any(matches(str(row[column])) for column in holding.words)]
    return matching


async def erase_listed_rows(transaction: Transaction, listed: ListedRows, matches: TextMatcher) -> dict[str, int]:
    """Remove the words from these rows. Returns the number of changed or deleted rows by table."""
    for table, rows in listed.items():
        if not rows:
            continue
        if HOLDINGS[table].erased == "row":
            await transaction.run_text_many(f"DELETE FROM {table} WHERE rowid = ?", [(row["id"],) for row in rows])  # noqa: S608
        else:
            await _erase_words(transaction, table, rows, matches)
    return {table: len(rows) for table, rows in listed.items()}


async def _erase_words(transaction: Transaction, table: str, rows: list[Row], matches: TextMatcher) -> None:
    holding = HOLDINGS[table]
    columns = [*holding.words, *(("checksum",) if holding.checksum_of else ())]
    assignments = ", ".join(f"{column} = ?" for column in columns)
    values = []
    for row in rows:
        left = {column: scrub_text(str(row[column]), matches) for column in holding.words}
        checked = [checksum(*(left[column] for column in holding.checksum_of))] if holding.checksum_of else []
        values.append((*left.values(), *checked, row["id"]))
    await transaction.run_text_many(f"UPDATE {table} SET {assignments} WHERE rowid = ?", values)  # noqa: S608


def scrub_text(text: str, matches: TextMatcher) -> str:
    """Remove the words from `text`: in JSON the strings that contain them, otherwise the whole text."""
    if not matches(text):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return ERASED_TEXT
    if not isinstance(value, dict | list):
        return ERASED_TEXT
    return json.dumps(_scrub_value(value, matches), ensure_ascii=False)


def _scrub_value(value: Any, matches: TextMatcher) -> Any:
    match value:
        case str():
            return ERASED_TEXT if matches(value) else value
        case list():
            return [_scrub_value(item, matches) for item in value]
        case dict():
            return {ERASED_TEXT if matches(key) else key: _scrub_value(item, matches) for key, item in value.items()}
    return value
