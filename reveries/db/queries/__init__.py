"""SQL by name. `turns.insert` is the statement under `-- name: insert` in turns.sql."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

from reveries.db.holdings import ERASED_BY_LIST

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements() -> dict[str, str]:
    """Return every statement by "file.name", and `forget.words_of_TABLE` for each table that `forget` erases by list.
    Raises ValueError for a duplicate name."""
    statement_texts = {
        f"forget.words_of_{table}": _words_query(table, item.words) for table, item in ERASED_BY_LIST.items()
    }
    for file in resources.files(__package__).iterdir():
        if not file.name.endswith(".sql"):
            continue
        pieces = _NAME.split(file.read_text(encoding="utf-8"))
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
            key = f"{file.name.removesuffix('.sql')}.{name}"
            if key in statement_texts:
                raise ValueError(f"The statement {key} stands twice.")
            statement_texts[key] = text.strip().rstrip(";")
    return statement_texts


def _words_query(table: str, columns: Sequence[str]) -> str:
    """Return the query for every row of a table with the columns that can hold text."""
    words = ", ".join(f"coalesce({column}, '') AS {column}" for column in columns)
    return f"SELECT rowid AS id, {words} FROM {table}"  # noqa: S608
