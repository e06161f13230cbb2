"""Labels of a picture: wrapped, and measured. Pure."""

import unicodedata
from typing import Final

COLUMNS: Final = 25
LINES: Final = 2


def wrap_label(text: str) -> list[str]:
    """Wrap `text` (one safe line) into at most two lines, ending with an ellipsis if it was cut.

    Lines break at spaces, or anywhere in words that are too long.
    """
    words = text.split()
    rows: list[str] = []
    row = ""
    while words:
        word = words.pop(0)
        if count_columns(f"{row} {word}".strip()) <= COLUMNS:
            row = f"{row} {word}".strip()
        elif row:
            rows.append(row)
            row = ""
            words.insert(0, word)
        else:
            cut = _cut_to_columns(word, COLUMNS)
            rows.append(cut)
            words.insert(0, word[len(cut) :])
    rows += [row] if row else []
    if len(rows) <= LINES:
        return rows
    last = _cut_to_columns(rows[LINES - 1], COLUMNS - 1).rstrip(" ,.;:-–—")
    return [*rows[: LINES - 1], f"{last}…"]


def _cut_to_columns(text: str, columns: int) -> str:
    """Return the part of `text` that fits, at least one character."""
    kept = text[:columns]
    while len(kept) > 1 and count_columns(kept) > columns:
        kept = kept[:-1]
    return kept


def count_columns(text: str) -> int:
    """Return the width of a text in columns; wide East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
