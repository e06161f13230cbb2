"""SQL by name. `turns.insert` is the statement under `-- name: insert` in turns.sql."""

import re
from functools import cache
from importlib import resources

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements() -> dict[str, str]:
    """Return every statement by "file.name". Raises ValueError for a duplicate name."""
    statement_texts: dict[str, str] = {}
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
