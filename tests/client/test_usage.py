"""`reveries usage`: the page, on wide and narrow terminals, and the command."""

import datetime as dt
import json

import msgspec
import pytest

from reveries.client.features.usage import sparkline, usage_page
from reveries.config import Home
from reveries.protocol import UsageReport
from tests.client.command_line import reveries
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import USAGE, awake_in_thread


def text(report: UsageReport = USAGE, *, columns: int = 100, is_plain: bool = False) -> str:
    page = usage_page(report, columns=columns, is_plain=is_plain, zone=dt.UTC)
    return "\n".join("".join(part.text for part in row) for row in page)


@pytest.mark.requirement("R-49")
def test_it_shows_roles_models_money_what_is_left_and_when_it_renews() -> None:
    shown = text()
    for words in ("conversation", "openai/gpt-4.1-mini", "14 calls", "$0.04", "11.2k in, 2.3k out"):
        assert words in shown
    assert "Left today  renews 2025-06-16 00:06" in shown
    assert "$0.95 of $1.00" in shown


@pytest.mark.requirement("G1")
def test_what_nobody_told_is_never_hidden_in_the_sums() -> None:
    assert "unknown: 1 call at the worst case, $0.0024, 5% of the money" in text()
    assert "1 call running" in text()


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    assert max(len(row) for row in text(columns=columns).splitlines()) <= columns


def test_the_days_are_drawn_or_listed() -> None:
    assert "·▅█" in text()
    assert "2025-06-14       14,000 tokens     $0.02" in text(is_plain=True)
    assert "█" not in text(is_plain=True, columns=60)


def test_a_sparkline_shows_nothing_as_a_dot_and_little_as_the_lowest_block() -> None:
    assert sparkline([0, 1, 1000]) == "·▁█"
    assert sparkline([]) == ""


def test_an_unused_mind_has_a_page_too() -> None:
    empty = msgspec.structs.replace(USAGE, today=[], month=[], days=[])
    assert "nothing yet" in text(empty)


def test_the_command_shows_the_page_and_the_json(home: Home) -> None:
    with awake_in_thread(home):
        page, answer = reveries(home, "usage", "--days", "7"), reveries(home, "usage", "--json")
    assert page.code == 0
    assert "Today" in page.out
    assert "\x1b" not in page.out
    told = json.loads(answer.out)
    assert set(told) == {"now", "price_version", "today", "month", "limits", "days"}
    assert told["limits"][0]["key"] == "budget.tokens_per_day"


def test_a_models_name_cannot_speak_to_the_terminal() -> None:
    hostile = msgspec.structs.replace(USAGE.today[0], model=HOSTILE)
    shown = text(msgspec.structs.replace(USAGE, today=[hostile]))
    assert "\x1b" not in shown


@pytest.mark.requirement("R-49")
def test_a_mind_that_sleeps_has_a_ledger_too(home: Home) -> None:
    home.create()
    ran = reveries(home, "usage", "--json", "--days", "3")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert (len(told["days"]), told["today"]) == (3, [])
    assert told["limits"][0]["key"] == "budget.tokens_per_day"
    assert reveries(home, "usage").code == 0
