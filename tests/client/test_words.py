"""What the owner wrote: never lost, never said twice, never on the record when they were told that it is off it."""

import asyncio

import pytest

from reveries import protocol
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.commands import Called, called, may_become_private
from reveries.config import Home
from tests.client.screen_text import text_of, until
from tests.client.test_plain_chat import talk_plainly
from tests.fakes.daemon import FakeMind, awake


def said(mind: FakeMind) -> list[tuple[str, bool]]:
    """What the mind was told, and whether off the record."""
    return [(one.text, one.off_record is True) for one in mind.received if isinstance(one, protocol.Say)]


# --- what is private --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", [" ", "\n", "\t", "\u00a0", "\n\n  "])
@pytest.mark.parametrize("before", ["", " ", "\n", "\u200b"])
def test_private_words_are_private_whatever_blank_stands_around_the_command(before: str, between: str) -> None:
    what = called(f"{before}/private{between}my secret")
    assert isinstance(what, Called)
    assert (what.command.name, what.words) == ("/private", "my secret")


@pytest.mark.parametrize(
    "text", ["/private: hush", "/privately hush", " /PRIVATE hush", "/private/tmp is full", "/private\u200bx"]
)
def test_what_begins_with_private_is_never_said_on_the_record(text: str) -> None:
    assert isinstance(called(text), str)


def test_words_on_a_new_line_are_a_commands_words_too() -> None:
    what = called("/remember\nMarta likes tea\nand cake")
    assert isinstance(what, Called)
    assert (what.command.name, what.words) == ("/remember", "Marta likes tea\nand cake")


@pytest.mark.parametrize("text", [" /exit", " /undo", "\t/remember tea", " /nothing"])
def test_a_blank_before_a_slash_makes_words_of_it(text: str) -> None:
    assert called(text) is None


@pytest.mark.parametrize("text", [" /private hush", "/private\nhush", "/privat hush", "/Private hush", "/prviate hush"])
def test_what_is_meant_private_is_not_written_down_while_it_is_typed(text: str) -> None:
    assert may_become_private(text)
    assert not may_become_private("the /private command")
    assert not may_become_private("/priv")


async def test_private_words_on_a_new_line_are_said_off_the_record(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(20), awake(home) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"/private", "ctrl+j", *"hush")
        assert app.composer.draft_to_keep == ""
        await pilot.press("enter")
        await until(pilot, lambda: bool(said(mind)))
        assert said(mind) == [("hush", True)]
        await pilot.press("home", "space", *"/private psst")
        assert app.composer.draft_to_keep == ""


async def test_a_blank_before_a_command_says_it_plainly_too(home: Home) -> None:
    _, mind = await talk_plainly(home, " /exit", "/private\thush", "/private", "told", "/remember it")
    assert said(mind) == [("/exit", False), ("hush", True), ("told", True)]
    assert not mind.requests(protocol.Remember)


async def test_off_the_record_nothing_is_given_to_memory(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(20), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.set_private(True)
        await pilot.press(*"/remember it", "enter")
        await until(pilot, lambda: "off the record" in text_of(app) and "/remember" in app.composer.text)
        assert not mind.requests(protocol.Remember)
        assert said(mind) == []


async def test_said_again_off_the_record_it_is_off_the_record(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(20), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter")
        await until(pilot, lambda: "Good morning." in text_of(app) and not app.is_answering)
        await pilot.press(*"/private", "enter")
        await until(pilot, lambda: app.composer.is_private)
        await pilot.press(*"/retry", "enter")
        await until(pilot, lambda: len(said(mind)) == 2)
        assert said(mind) == [("one", False), ("one", True)]


async def test_said_again_plainly_off_the_record_it_is_off_the_record(home: Home) -> None:
    _, mind = await talk_plainly(home, "one", "/private", "/retry")
    assert said(mind) == [("one", False), ("one", True)]
