"""`reveries forget`: what is shown before, what is said after, and the search of the home."""

import json

import msgspec
import pytest

from reveries.client.byte_search import TraceSearch
from reveries.client.features.forgetting import forgotten_page, trace_search_page
from reveries.client.render import Page
from reveries.config import Home
from reveries.protocol import Forgotten, ForgottenItem, ForgottenStore
from tests.client.command_line import reveries
from tests.client.test_tui import HOSTILE
from tests.rows import check_rows

NOW = 1_790_000_000.0


def text(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


def plan(word: str = "pear", *, is_dry_run: bool = True) -> Forgotten:
    items = [ForgottenItem(f"id{n}", "turn", NOW, f"You: a {word} number {n}", n == 1) for n in range(60)]
    stores = [ForgottenStore("turns", 60), ForgottenStore("episodes", 2, 1)]
    return Forgotten(1, is_dry_run, True, "r1", NOW, stores, items, 60, [f"Mind the {word}."], 7, 1.25)


def test_a_plan_says_what_would_go_and_what_is_made_anew() -> None:
    shown = text(forgotten_page(plan()))
    assert "This would be erased for good:" in shown
    assert "and 20 more" in shown
    assert "1 rebuilt" in shown
    assert "turn, rebuilt" in shown
    assert "a pear number 0" in shown


@pytest.mark.requirement("F10")
def test_what_would_stay_and_tells_of_the_same_is_named_with_its_id() -> None:
    left = [ForgottenItem("f00d", "turn", NOW, "Reverie: Your brother lives in Bergen.")]
    shown = text(forgotten_page(msgspec.structs.replace(plan(), left=left)))
    assert "would be kept, and may say the same" in shown
    assert "f00d" in shown
    assert "Your brother lives in Bergen." in shown


def test_nothing_chosen_is_said() -> None:
    nothing = Forgotten(1, True, True, "", NOW, [], [], 0, [])
    assert "nothing to forget" in text(forgotten_page(nothing))


@pytest.mark.requirement("F5")
@check_rows("hostile", HOSTILE)
def test_no_memory_reaches_the_terminal_unescaped(hostile: str) -> None:
    shown = text(forgotten_page(plan(hostile)))
    shown += text(trace_search_page(TraceSearch({hostile: {"text": 1}}, 1, 1, [hostile])))
    assert not any(ord(character) < 32 and character != "\n" for character in shown)


@pytest.mark.requirement("F10")
def test_the_search_of_a_home_ends_with_1_where_the_words_stand(home: Home) -> None:
    home.create()
    (home.path / "notes.txt").write_text("My pear tree")
    found = reveries(home, "forget", "--verify", "--matching", "PEAR tree")
    assert found.code == 1
    assert "notes.txt" in found.out
    answer = json.loads(reveries(home, "forget", "--verify", "--matching", "pear tree", "--json").out)
    assert answer["found"] == {"notes.txt": {"text": 1}}
    nothing = reveries(home, "forget", "--verify", "--matching", "plum tree")
    assert nothing.code == 0
    assert "Not found" in nothing.out


def test_a_search_for_nothing_is_refused(home: Home) -> None:
    assert "which words to search for" in reveries(home, "forget", "--verify").err
