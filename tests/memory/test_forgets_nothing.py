"""Memory deletes nothing by itself: only `forget` does, and `undo` removes what a pass wrote."""

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


@pytest.mark.requirement("F11")
def test_the_statements_that_erase_are_asked_for_by_forgetting_alone() -> None:
    package = Path(reveries.db.queries.__file__).parents[2]
    asked = [file for file in package.rglob("*.py") if '"forget.' in file.read_text(encoding="utf-8")]
    # `deep_store` and `database` carry out their part of it; an import is corrected on the owner's word; `queries`
    # makes the statements of the list.
    others = {f"{file.parent.name}/{file.name}" for file in asked if file.parent.name not in ("forgetting", "db")}
    assert others == {"memory/deep_store.py", "owner_edits/imports.py", "queries/__init__.py"}
    takers = {file.name for file in package.rglob("*.py") if "forgetting.erase(" in file.read_text(encoding="utf-8")}
    assert takers == {"forgetting.py"}
    asking = {
        f"{file.parent.name}/{file.name}"
        for file in package.rglob("*.py")
        if "await forget(" in file.read_text(encoding="utf-8")
    }
    assert asking == {"requests/memory.py"}


def test_the_statements_that_take_back_are_asked_for_on_the_owners_word_alone() -> None:
    package = Path(reveries.db.queries.__file__).parents[2]
    asked = {file.name for file in package.rglob("*.py") if '"undo.' in file.read_text(encoding="utf-8")}
    # `consolidation` and `owner_questions` end what a row says of waiting for the owner, never what is remembered.
    # `thoughts` takes out what light sleep made of a thought that the owner drops.
    # `past_talk` takes the owner's last words back (/undo), while sleep has made nothing of them.
    assert asked == {"undo.py", "consolidation.py", "owner_questions.py", "thoughts.py", "past_talk.py"}
    takers = {
        file.name
        for file in package.rglob("*.py")
        if "past_talk.delete_last_exchange(" in file.read_text(encoding="utf-8")
    }
    assert takers == {"conversation.py"}
    asking = {
        file.name for file in package.rglob("*.py") if "conversation.take_back(" in file.read_text(encoding="utf-8")
    }
    assert asking == {"talk.py"}
    droppers = {file.name for file in package.rglob("*.py") if ".withdraw(" in file.read_text(encoding="utf-8")}
    assert droppers == {"thought_log.py"}
    requests = {file.name for file in package.rglob("*.py") if "_log.drop(" in file.read_text(encoding="utf-8")}
    assert requests == {"thinking_control.py"}
    for name in ("consolidation.py", "owner_questions.py"):
        text = (package / "memory" / "sleep" / name).read_text(encoding="utf-8")
        assert set(re.findall(r'"undo\.(\w+)"', text)) <= {"drop_pending", "release"}
