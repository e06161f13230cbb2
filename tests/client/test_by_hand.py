"""The owner's edits of memory, and off the record, in the terminal and on the command line."""

import asyncio
import json

import msgspec
import pytest

from reveries import protocol
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.browser import Browser
from reveries.client.tui.forget_pane import ForgetPane
from reveries.client.tui.panes import PagePane, PromptPane
from reveries.client.tui.turns import OwnerTurn, ReplyWidget
from reveries.config import Home
from tests.client.command_line import reveries
from tests.client.screen_text import press_until_it_ends, text_of, until
from tests.client.test_cli import DETAIL, FOUND
from tests.client.test_daily import looks
from tests.client.test_tui import HOSTILE
from tests.fakes.daemon import Script, awake, awake_in_thread

HELD = protocol.EpisodeHeld(0, DETAIL.episode_id, HOSTILE, 0.8, 1.0, True)
CORRECTED = protocol.EpisodeCorrected(0, "run1", DETAIL.episode_id, "e77", [HOSTILE, "It was coffee."])
HANDS: dict[str, protocol.Frame] = {
    "PinEpisode": HELD,
    "WeighEpisode": HELD,
    "CorrectEpisode": CORRECTED,
    "Remember": protocol.Remembered(0, True, 1),
}


def controls(text: str) -> set[str]:
    """Characters that a terminal might interpret."""
    return {char for char in text if (ord(char) < 32 and char != "\n") or 127 <= ord(char) < 160}


# --- the command line ------------------------------------------------------------------------------------------------


def test_an_episode_is_pinned_weighed_and_corrected_by_its_id(home: Home) -> None:
    with awake_in_thread(home, Script(looks=HANDS)) as fake:
        pinned = reveries(home, "memory", "pin", "e1")
        reveries(home, "memory", "unpin", "e1")
        reveries(home, "memory", "salience", "e1", "0.8")
        corrected = reveries(home, "memory", "correct", "e1", "Marta", "likes", "tea")
        from_stdin = reveries(home, "memory", "correct", "e1", "--json", stdin="Marta likes tea")
    assert "pinned: it does not fade" in pinned.out
    assert "reveries consolidate undo run1" in corrected.out
    assert json.loads(from_stdin.out)["replaced"] == CORRECTED.replaced
    assert not controls(pinned.out + corrected.out + from_stdin.out)
    asked = [
        one
        for one in fake.received
        if isinstance(one, protocol.PinEpisode | protocol.WeighEpisode | protocol.CorrectEpisode)
    ]
    assert [msgspec.structs.replace(one, request_id=9) for one in asked] == [
        protocol.PinEpisode(9, "e1", True),
        protocol.PinEpisode(9, "e1", False),
        protocol.WeighEpisode(9, "e1", 0.8),
        protocol.CorrectEpisode(9, "e1", "Marta likes tea"),
        protocol.CorrectEpisode(9, "e1", "Marta likes tea"),
    ]


@pytest.mark.parametrize("words", [["pin", ""], ["salience", "e1", "1.5"], ["correct", "e1", " "]])
def test_what_cannot_be_done_by_hand_is_refused_before_the_mind_is_asked(home: Home, words: list[str]) -> None:
    with awake_in_thread(home) as fake:
        assert reveries(home, "memory", *words).code == 2
    assert not fake.received


# --- the memory browser ----------------------------------------------------------------------------------------------


async def test_keys_in_the_memory_browser_pin_weigh_and_correct(home: Home) -> None:
    script = Script(episode=DETAIL, found=FOUND, looks=HANDS)
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/memory tea")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Browser) and app.screen.marked is not None)
        await pilot.press("p")
        await until(pilot, lambda: "pinned: it does not fade" in text_of(app))
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, PromptPane))
        await pilot.press(*"No tea.", "enter")
        await until(pilot, lambda: "Corrected." in text_of(app))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PromptPane))
        await pilot.press(*"seven", "enter")
        await until(pilot, lambda: "a number from 0 to 1" in text_of(app))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, PromptPane))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Browser))
        assert [type(one) for one in mind.requests(protocol.PinEpisode)] == [protocol.PinEpisode]
        [corrected] = mind.requests(protocol.CorrectEpisode)
        assert isinstance(corrected, protocol.CorrectEpisode)
        assert corrected.text == "No tea."
        assert not mind.requests(protocol.WeighEpisode)
        assert not controls(text_of(app))


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("/remember Marta likes tea", "It will remember that."),
        ("/pin e1", "it does not fade"),
        ("/correct e1 It was tea.", "Corrected."),
        ("/salience e1 0,5", "accessibility"),
        ("/salience e1 much", "a number from 0 to 1"),
        ("/correct e1", "What is right instead?"),
        ("/digest 2d", "Marta's birthday"),
    ],
)
async def test_a_command_shows_what_came_of_it(home: Home, typed: str, shown: str) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(looks=HANDS | looks())), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write(typed)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PagePane) and shown in text_of(app))
        assert not controls(text_of(app))


# --- off the record --------------------------------------------------------------------------------------------------


async def test_a_private_turn_leaves_neither_a_draft_nor_history_and_the_next_is_on_the_record(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/private between us")
        app.draft.save()
        assert not home.draft.exists()
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.query(ReplyWidget)) and not app.is_answering)
        assert "off the record" in text_of(app)
        app.composer.write("not between us")
        await pilot.press("enter")
        await until(pilot, lambda: len(app.query(OwnerTurn)) == 2 and not app.is_answering)
        said = [(one.text, one.off_record) for one in mind.received if isinstance(one, protocol.Say)]
        assert said == [("between us", True), ("not between us", msgspec.UNSET)]
        assert app.composer.past.find_texts("between") == ["not between us"]


async def test_the_private_mode_shows_and_nothing_that_is_written_in_it_is_kept_on_the_disk(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(holds_reply=True)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        for typed in ("/private", "first secret"):
            app.composer.write(typed)
            await pilot.press("enter")
        await until(pilot, lambda: "off the record: nothing is kept" in text_of(app))
        await until(pilot, lambda: bool(mind.requests(protocol.Say)))
        app.composer.write("second secret")
        await pilot.press("enter")
        await until(pilot, lambda: "waits" in text_of(app))
        app.composer.write("third secret")
        app.draft.save()
        mind.drop_clients()
        await until(pilot, lambda: "second secret" in app.composer.draft)
        assert app.composer.is_private
        await press_until_it_ends(app, "ctrl+d")
    assert not home.draft.exists() or "secret" not in home.draft.read_text()


async def test_undo_takes_nothing_of_the_record_back_after_a_private_turn(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/private between us")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.query(ReplyWidget)) and not app.is_answering)
        app.composer.write("/undo")
        await pilot.press("enter")
        await until(pilot, lambda: "nothing to take back" in text_of(app))
        assert not mind.requests(protocol.TakeBack)


# --- forgetting ------------------------------------------------------------------------------------------------------

PLAN = protocol.Forgotten(
    0, True, False, "", 0.0, [protocol.ForgottenStore("episodes", 1)],
    [protocol.ForgottenItem("e1", "episode", 0.0, HOSTILE)], 1, [HOSTILE],
)  # fmt: skip


async def test_nothing_is_forgotten_before_its_word_is_typed_and_the_receipt_is_shown(home: Home) -> None:
    script = Script(episode=DETAIL, found=FOUND, looks={"Forget": PLAN})
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/memory tea")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Browser) and app.screen.marked is not None)
        await pilot.press("d")
        await until(pilot, lambda: "This would be archived" in text_of(app))
        assert not controls(text_of(app))
        await pilot.press(*"erase", "enter", *"yes", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, ForgetPane))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Browser))
        await pilot.press("D")
        await until(pilot, lambda: isinstance(app.screen, ForgetPane) and "This would be" in text_of(app))
        script.looks["Forget"] = msgspec.structs.replace(
            PLAN, is_dry_run=False, is_erased=True, receipt_id="r9", items=[], tombstones=7
        )
        await pilot.press(*"erase", "enter")
        await until(pilot, lambda: isinstance(app.screen, Browser) and "Receipt r9" in text_of(app))
        asked = [one for one in mind.received if isinstance(one, protocol.Forget)]
        assert [(one.id, one.dry_run, one.erase) for one in asked] == [
            (DETAIL.episode_id, True, False),
            (DETAIL.episode_id, True, True),
            (DETAIL.episode_id, False, True),
        ]


async def test_words_may_say_what_is_to_be_forgotten(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(looks={"Forget": PLAN})) as mind:
        async with app.run_test(size=(100, 40)) as pilot:
            await until(pilot, lambda: app.is_attached_to_mind)
            app.composer.write("/forget the blue folder")
            await pilot.press("enter")
            await until(pilot, lambda: "type forget" in text_of(app))
        [asked] = [one for one in mind.received if isinstance(one, protocol.Forget)]
        assert (asked.id, asked.about, asked.dry_run) == ("", "the blue folder", True)


async def test_a_word_that_could_be_an_id_and_is_none_is_looked_for_as_a_word(home: Home) -> None:
    none = protocol.Failed(0, "not_found", "Nothing has an id that begins with cafe.", "Find it.")
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(failures={"Forget": none})) as mind:
        async with app.run_test(size=(100, 40)) as pilot:
            await until(pilot, lambda: app.is_attached_to_mind)
            app.composer.write("/forget cafe")
            await pilot.press("enter")
            await until(pilot, lambda: len(mind.requests(protocol.Forget)) == 2)
        asked = [(one.id, one.about) for one in mind.received if isinstance(one, protocol.Forget)]
        assert asked == [("cafe", ""), ("", "cafe")]


async def test_what_cannot_be_forgotten_is_said_and_takes_no_word(home: Home) -> None:
    none = protocol.Failed(0, "not_found", "There is no e9.", "Find it.")
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(failures={"Forget": none})) as mind:
        async with app.run_test(size=(50, 20)) as pilot:
            await until(pilot, lambda: app.is_attached_to_mind)
            app.composer.write("/forget e9")
            await pilot.press("enter")
            await until(pilot, lambda: "There is no e9." in text_of(app))
            assert "type forget" not in text_of(app)
            await pilot.press(*"forget", "enter", "escape")
            await until(pilot, lambda: not app.screen.is_modal)
        assert len(mind.requests(protocol.Forget)) == 1
