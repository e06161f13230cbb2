"""A person in danger: found by rules alone, and the same words where they are harmless."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.safety.crisis import Urgency, find_crisis, help_text
from tests.safety.prose import ALL

_FILE = Path(__file__).parents[2] / "bench" / "safety" / "crisis.jsonl"
ROWS = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("text", [row["text"] for row in ROWS if row["kind"] == "explicit"])
def test_what_is_said_plainly_is_found(text: str) -> None:
    found = find_crisis(text)
    assert found is not None
    assert found.urgency is Urgency.EXPLICIT


@pytest.mark.parametrize("text", [row["text"] for row in ROWS if not row["label"]])
def test_the_same_words_where_they_are_harmless_are_not(text: str) -> None:
    assert find_crisis(text) is None


def test_what_is_only_hinted_at_is_mostly_found() -> None:
    hinted = [row["text"] for row in ROWS if row["kind"] == "indirect"]
    assert sum(find_crisis(text) is not None for text in hinted) >= 0.8 * len(hinted)


@pytest.mark.parametrize("name", ALL)
def test_ordinary_text_is_no_crisis(name: str) -> None:
    assert find_crisis(ALL[name]) is None


def test_it_is_found_in_the_middle_of_a_long_message_and_with_typographic_apostrophes() -> None:
    text = f"{ALL['dialogue']}\nI can’t tell anybody. I don’t want to live any more.\n{ALL['thought']}"
    assert find_crisis(text) is not None


@pytest.mark.parametrize("text", ["i want to " * 4000, "my friend " * 4000, "(" * 40_000, "i took all the " * 3000])
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    find_crisis(text)
    assert time.process_time() - began < 1.0


@given(st.text())
def test_any_text_can_be_looked_at(text: str) -> None:
    find_crisis(text)


def test_the_help_text_names_the_contacts_of_the_settings() -> None:
    contacts = load_settings(None).crisis.contacts
    text = help_text([*contacts, "My sister Ana: 555 0100"])
    assert all(contact in text for contact in contacts)
    assert "555 0100" in text
    assert help_text([]).strip()
