"""Commands that show a page: slash commands, F2, panes that do not interpret untrusted text."""

import asyncio

import pytest

from reveries import protocol
from reveries.client.slash_parsing import CommandCall, parse_command
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.composer import Composer
from reveries.client.tui.panes import PagePane
from reveries.config import Home
from tests.client.looks import CONTEXT, LOOKS, why
from tests.client.screen_text import rows_of, text_of, until
from tests.client.slash import first_request
from tests.client.test_cli import DETAIL, FOUND
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import Script, awake


@pytest.mark.parametrize(
    "text", ["hello", "/etc/passwd is a file", " /unknown", "/unknown to most of us", "/tmp/x", "what is /search", ""]
)
def test_what_is_no_command_is_said_as_it_is(text: str) -> None:
    assert parse_command(text) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/foo", "/help"),
        ("/serach garden", "/search"),
        ("/Undo", "/undo"),
        ("/exiit", "/exit"),
        ("/sesions", "/sessions"),
    ],
)
def test_what_is_nearly_a_command_is_not_said_but_asked_about(text: str, told: str) -> None:
    asked = parse_command(text)
    assert isinstance(asked, str)
    assert told in asked
    assert "space" in asked


def test_why_alone_asks_of_the_last_words() -> None:
    why = parse_command("/why")
    assert isinstance(why, CommandCall)
    assert why.command.name == "/recalled"


@pytest.mark.parametrize("text", ["/search", "/inspect "])
def test_a_command_that_needs_more_says_what(text: str) -> None:
    told = parse_command(text)
    assert isinstance(told, str)
    assert "needs an argument" in told


def test_a_command_becomes_its_request() -> None:
    assert first_request("/why e1 the old garden", 3) == (protocol.AskWhy(3, "e1", "the old garden"), protocol.Why)
    assert first_request("/self history", 4) == (protocol.AskSelfHistory(4), protocol.SelfHistory)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/search pear", "the pear stays"),
        ("/inspect e1", "word for word"),
        ("/why e1 the garden", "thematic 0.82"),
        ("/timeline", "8 days of silence"),
        ("/context", "321 of 3,584 tokens"),
        ("/self", "A calm listener."),
        ("/self history", "Ada likes coffee."),
        ("/contradictions", "I live in Porto."),
        ("/contradictions", "The hall costs 350 euros."),
    ],
)
@pytest.mark.parametrize("size", [(120, 60), (60, 60)])
async def test_each_command_opens_its_pane_and_says_nothing(
    home: Home, typed: str, said: str, size: tuple[int, int]
) -> None:
    app = ReveriesApp(home)
    script = Script(looks=LOOKS, found=FOUND, episode=DETAIL)
    async with asyncio.timeout(300), awake(home, script) as fake, app.run_test(size=size) as pilot:
        await until(pilot, lambda: "Say something." in text_of(app))
        app.query_one(Composer).insert(typed)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PagePane) and said in text_of(app))
        assert all(len(row) == size[0] for row in rows_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, PagePane))
        assert fake.requests(protocol.Say) == []


async def test_f2_shows_what_it_was_told_and_the_help_lists_it(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(looks=LOOKS)), app.run_test(size=(120, 140)) as pilot:
        await until(pilot, lambda: "Say something." in text_of(app))
        await pilot.press("f2")
        await until(pilot, lambda: "no room: 90 tokens" in text_of(app))
        await pilot.press("f2")
        await pilot.press("f1")
        await until(pilot, lambda: "F2" in text_of(app) and "/timeline" in text_of(app))


async def test_what_cannot_be_seen_is_told_in_the_pane(home: Home) -> None:
    refusal = protocol.Failed(0, "not_found", "Nothing was said since the mind woke.", "Say something first.")
    app = ReveriesApp(home)
    script = Script(failures={"AskContext": refusal})
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: "Say something." in text_of(app))
        await pilot.press("f2")
        await until(pilot, lambda: "Nothing was said since the mind woke." in text_of(app))


async def test_a_pane_obeys_no_text(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(looks={"AskWhy": why(summary=HOSTILE, cue=HOSTILE), "AskContext": CONTEXT})
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(120, 60)) as pilot:
        await until(pilot, lambda: "Say something." in text_of(app))
        app.query_one(Composer).insert("/why e1")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PagePane) and "[TODO]" in text_of(app))
        assert "\x1b" not in text_of(app)
        assert "\u202e" not in text_of(app)
