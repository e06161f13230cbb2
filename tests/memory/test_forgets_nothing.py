"""Memory's own statements delete nothing: only `forget` ever will."""

import re
from pathlib import Path

import pytest

import reveries.db.queries

_OF_MEMORY = ("episodes", "turns", "experiences", "conversations", "gaps", "self_model", "consolidation", "statistics")


@pytest.mark.requirement("R-104", "R-116", "R-173")
def test_no_statement_of_memory_deletes_a_row() -> None:
    folder = Path(reveries.db.queries.__file__).parent
    for name in _OF_MEMORY:
        text = (folder / f"{name}.sql").read_text(encoding="utf-8")
        assert not re.search(r"\b(DELETE|DROP|TRUNCATE|REPLACE INTO)\b", text, re.IGNORECASE), name
