"""Whole folders of made-up notes: what does not go together is shown, what only looks like it is not. These folders
also chose the weights, so that the counts are those of development, no result (docs/benchmarks/projects.md)."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from reveries.knowledge.facts.conflicts import find_conflicts
from reveries.knowledge.facts.extraction import extract_facts
from reveries.knowledge.facts.fact_conflict import FactConflict
from reveries.knowledge.facts.model import Fact
from reveries.knowledge.facts.quantities import main_currency

TODAY = date(2026, 11, 27)
FOLDERS = tomllib.loads((Path(__file__).parent / "conflict_folders.toml").read_text(encoding="utf-8"))["folders"]
_MOST_MISSED = 3
_LEAST_SHARE = 0.66


def conflicts_of(folder: dict[str, Any]) -> list[FactConflict]:
    documents = {name: text.lstrip("\n") for name, text in folder["files"].items()}
    currency = main_currency("\n".join(documents.values()))
    facts = [fact for name, text in documents.items() for fact in extract_facts(name, text, TODAY, currency=currency)]
    return find_conflicts(facts, documents)


def is_pair(conflict: FactConflict, sides: dict[str, Any]) -> bool:
    return any(
        is_side(one, sides["a"]) and is_side(other, sides["b"])
        for one, other in ((conflict.a, conflict.b), (conflict.b, conflict.a))
    )


def is_side(fact: Fact, side: list[str]) -> bool:
    return fact.document == side[0] and side[1] in fact.text


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder["name"])
def test_of_a_folder_most_that_does_not_go_together_is_shown_and_nothing_that_only_looks_like_it(
    folder: dict[str, Any],
) -> None:
    found = conflicts_of(folder)
    missed = [item["subject"] for item in folder["conflicts"] if not any(is_pair(pair, item) for pair in found)]
    assert len(missed) <= _MOST_MISSED, missed
    trapped = [item["why"] for item in folder["look_alikes"] if any(is_pair(pair, item) for pair in found)]
    assert not trapped
    other = [
        (pair.a.text, pair.b.text) for pair in found if not any(is_pair(pair, item) for item in folder["conflicts"])
    ]
    assert len(other) <= 1, other


def test_of_all_folders_two_thirds_of_what_does_not_go_together_are_shown() -> None:
    shown = [
        any(is_pair(pair, item) for pair in found)
        for folder in FOLDERS
        for found in [conflicts_of(folder)]
        for item in folder["conflicts"]
    ]
    assert sum(shown) / len(shown) >= _LEAST_SHARE
