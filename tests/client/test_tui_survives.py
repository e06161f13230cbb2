"""Robustness of the terminal: other versions, huge messages, floods, tiny terminals, panes closed too early."""

import asyncio
import time

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.widgets import Static

from reveries import protocol
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.browser import Browser
from reveries.client.tui.composer import Composer
from reveries.client.tui.panes import FindInput
from reveries.client.tui.turns import OwnerTurn, ReplyWidget
from reveries.config import Home
from tests.client.looks import LOOKS, why
from tests.client.screen_text import rows_of, text_of, until
from tests.client.test_cli import DETAIL, FOUND
from tests.client.test_tui import HOSTILE
from tests.fakes.clock import HandClock
from tests.fakes.daemon import NOW, Script, awake
from tests.fakes.lateness import lateness


def _banner(app: ReveriesApp) -> str:
    return str(app.query_one("#banner", Static).render())


@pytest.mark.parametrize(("newer", "advice"), [(1, "open reveries again"), (-1, "reveries sleep, then reveries wake")])
async def test_another_version_is_told_with_what_to_do_and_the_draft_stays(home: Home, newer: int, advice: str) -> None:
    app = ReveriesApp(home)
    script = Script(version=protocol.PROTOCOL_VERSION + newer)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(120, 30)) as pilot:
        await pilot.press(*"draft")
        await until(pilot, lambda: f"uses protocol {protocol.PROTOCOL_VERSION + newer}" in _banner(app))
        assert advice in _banner(app)
        assert "is away" not in _banner(app)
        assert app.composer.text == "draft"
        mind.script.version = protocol.PROTOCOL_VERSION
        await until(pilot, lambda: app.is_attached_to_mind)
        assert app.composer.text == "draft"


async def test_a_mind_that_sleeps_is_told_with_how_to_wake_it(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "Wake it: reveries wake" in _banner(app))
        assert "reconnecting" in text_of(app)


async def test_a_million_characters_are_said_and_answered(home: Home) -> None:
    app = ReveriesApp(home)
    long = "word " * 199_990 + "the-end"
    async with asyncio.timeout(300), awake(home, Script(pieces=[long])) as mind, app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write(long)
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.query(ReplyWidget)) and not app.is_answering)
        await until(pilot, lambda: "the-end" in text_of(app))
        (said,) = mind.requests(protocol.Say)
        assert isinstance(said, protocol.Say)
        assert said.text == long
        assert app.composer.text == ""


async def test_more_than_a_turn_may_hold_is_refused_and_stays_in_the_draft(home: Home, clock: HandClock) -> None:
    app = ReveriesApp(home, clock)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("x" * (protocol.MAX_TEXT_CHARS + 1))
        assert "1,000,001 characters" in app.composer.text
        await pilot.press("enter")
        await until(pilot, lambda: "a message has at most" in text_of(app))
        assert len(app.composer.draft) == protocol.MAX_TEXT_CHARS + 1
        assert mind.requests(protocol.Say) == []


async def test_ten_thousand_tokens_at_once_are_shown_whole(home: Home) -> None:
    app = ReveriesApp(home)
    pieces = [f"w{number} " for number in range(10_000)]
    async with asyncio.timeout(300), awake(home, Script(pieces=pieces)), app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("h", "i", "enter")
        await until(pilot, lambda: bool(app.query(ReplyWidget)) and not app.is_answering)
        await until(pilot, lambda: "w9999" in text_of(app))
        assert next(iter(app.query(ReplyWidget))).text.strip() == "".join(pieces).strip()


@pytest.mark.parametrize("size", [(1, 1), (5, 40), (200, 3)])
async def test_every_screen_lives_in_any_terminal(home: Home, size: tuple[int, int]) -> None:
    app = ReveriesApp(home)
    turns = [protocol.SaidTurn("t", "Reverie", False, "# A\n\n- b\n\n| c | d |\n|---|---|\n| e | f |", NOW, False)]
    script = Script(turns=turns, looks=LOOKS, found=FOUND, episode=DETAIL)
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        for key in ("f1", "f4", "slash"):
            await pilot.press(key)
            await pilot.pause()
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert len(rows_of(app)) == size[1]
            await pilot.resize_terminal(100, 30)
            await pilot.press("escape", "escape")
        await until(pilot, lambda: not app.screen.is_modal)
        assert app.is_running


async def test_a_browser_that_closes_before_its_answers_come_breaks_nothing(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(found=FOUND, episode=DETAIL, looks=LOOKS)
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        for _ in range(2):
            await pilot.press("f4", "escape", "f8", *"pe", "escape")
        await until(pilot, lambda: not isinstance(app.screen, Browser))
        assert app.is_running


async def test_the_mind_goes_while_a_browser_is_open(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(found=FOUND, episode=DETAIL, looks=LOOKS)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("f4")
        await until(pilot, lambda: isinstance(app.screen, Browser) and "Ada" in text_of(app))
        await mind.stop()
        await until(pilot, lambda: not app.is_attached_to_mind)
        await pilot.press("w")
        await until(pilot, lambda: "The mind is away." in text_of(app))
        await pilot.press("escape")
        await mind.start()
        await until(pilot, lambda: app.is_attached_to_mind)


async def test_it_is_back_within_two_seconds_of_the_minds_return(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await mind.stop()
        await until(pilot, lambda: not app.is_attached_to_mind)
        await pilot.pause(3.0)
        await mind.start()
        began = time.monotonic()
        async with lateness() as late:
            await until(pilot, lambda: app.is_attached_to_mind)
        # Two seconds, the time to attach, and the delay of this machine.
        assert time.monotonic() - began <= 2.5 + 3 * late.worst_seconds


async def test_what_stands_twice_is_shown_twice_and_not_lost(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        for _ in range(2):
            await pilot.press(*"again", "enter")
            await until(pilot, lambda: not app.is_answering and app.composer.text == "")
        await until(pilot, lambda: [turn.text for turn in app.query(OwnerTurn)] == ["again", "again"])


_SAFE_KEYS = ("f3", "f4", "f5", "f6", "f8", "ctrl+r")


async def test_a_browser_obeys_no_text_wherever_it_stands(home: Home) -> None:
    thought = protocol.ThoughtEntry("th", NOW, NOW, HOSTILE, HOSTILE, HOSTILE, 1, [], explanation=HOSTILE)
    item = protocol.RecalledItem("e", HOSTILE, 0.5, 1.0, HOSTILE, HOSTILE, was_told=True)
    run = protocol.SleepRun("r1", "light", HOSTILE, NOW, NOW, 1, 1, 0, 0, HOSTILE, "", "", HOSTILE)
    script = Script(
        turns=[protocol.SaidTurn("t", HOSTILE, True, HOSTILE, NOW, False)],
        earlier=[protocol.SaidTurn("u", HOSTILE, True, HOSTILE, NOW, False)],
        past=[protocol.PastConversation("c", NOW, NOW, HOSTILE, 1, HOSTILE, HOSTILE, is_held=False)],
        thoughts=[thought],
        recalled=[item],
        found=FOUND,
        looks=LOOKS | {"AskWhy": why(summary=HOSTILE, cue=HOSTILE)},
        sleep={"AskSleepLog": protocol.SleepLog(0, [run]), "InspectSleep": protocol.SleepRunDetail(0, run, [], 0)},
    )
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(140, 50)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await app.chat.add_message("x")
        app.recalled_items = [item]
        for key in _SAFE_KEYS:
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Browser) and "…" not in text_of(app).splitlines()[6:20])
            await pilot.pause(0.3)
            seen = text_of(app)
            assert not [char for char in seen if char != "\n" and (ord(char) < 32 or 0x7F <= ord(char) < 0xA0)], key
            assert "\u202e" not in seen
            assert "EVIL" not in seen
            await pilot.press("escape", "escape")
            await until(pilot, lambda: not app.screen.is_modal)
        assert app.is_running


async def test_what_is_pasted_into_a_browser_is_made_plain(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, Browser) and app.focused is not None)
        app.screen.query_one(FindInput).post_message(events.Paste("a\x1b]52;c;RVZJTA==\x07b\x9b31m\u202ec"))
        await until(pilot, lambda: app.screen.query_one(FindInput).value == "abc")


async def test_a_pasted_list_is_said_with_its_lines_as_they_were(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        pasted = "eggs\rflour\nmilk\r\nsalt\u2028butter"
        app.post_message(events.Paste(pasted))
        await until(pilot, lambda: "butter" in app.query_one(Composer).draft)
        await pilot.press("enter")
        await until(pilot, lambda: any(isinstance(request, protocol.Say) for request in fake.received))
        said = [request.text for request in fake.received if isinstance(request, protocol.Say)]
        assert said == ["eggs\nflour\nmilk\nsalt\nbutter"]


@pytest.mark.parametrize(
    "written",
    [
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d🚀",
        "🏳\ufe0f\u200d🌈",
        "全角\u3000空白",
        "12\u202f000\u00a0€",
        "\u200fשלום!",
        "\U0001fae9",
        "e\u0301",
    ],
    ids=ascii,
)
async def test_what_is_typed_arrives_whole_in_any_script(home: Home, written: str) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        _type(app, written)
        await until(pilot, lambda: app.query_one(Composer).draft == written)
        await pilot.press("enter")
        await until(pilot, lambda: any(isinstance(request, protocol.Say) for request in fake.received))
        assert [request.text for request in fake.received if isinstance(request, protocol.Say)] == [written]
        await pilot.press("f8")
        await until(pilot, lambda: isinstance(app.screen, Browser) and app.focused is not None)
        app.screen.query_one(FindInput).focus()
        await pilot.pause()
        _type(app, written)
        await until(pilot, lambda: app.screen.query_one(FindInput).value == written)


async def test_control_characters_and_direction_overrides_cannot_be_typed(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        _type(app, "a\u202e\x85\x9b\U000e0061b")
        await until(pilot, lambda: app.query_one(Composer).draft == "ab")


def _type(app: ReveriesApp, text: str) -> None:
    """Send the characters as the terminal's driver does."""
    focused = app.focused
    assert focused is not None
    for message in XTermParser().feed(text):
        focused.post_message(message)
