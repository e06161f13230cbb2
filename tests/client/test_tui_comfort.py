"""Conveniences of the terminal: history, drafts, the slash menu, copying, several conversations."""

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from textual import events
from textual.theme import Theme
from textual.widgets import OptionList

from reveries import protocol
from reveries.client.draft_file import DraftFile
from reveries.client.owner_files import edit_in_editor, editor_command, write_unique_file
from reveries.client.slash_commands import COMMANDS
from reveries.client.slash_parsing import CommandCall, complete_command, parse_command
from reveries.client.talk_page import conversation_markdown
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.browser import Browser
from reveries.client.tui.history import History
from reveries.client.tui.slash_menu import SlashMenu
from reveries.client.tui.textual_switches import remove_textual_switches
from reveries.client.tui.themes import BUILT_IN_THEMES
from reveries.client.tui.turns import OwnerTurn, ReplyWidget
from reveries.config import Home, load_settings
from reveries.errors import InputFileError, UsageError
from reveries.keys import KeySettings
from tests.client.screen_text import press_until_it_ends, text_of, until
from tests.client.test_cli import DETAIL, FOUND
from tests.client.test_tui import HOSTILE
from tests.fakes.clock import HandClock
from tests.fakes.daemon import NOW, Script, awake


def _turns(count: int, first: int = 0) -> list[protocol.SaidTurn]:
    return [
        protocol.SaidTurn(
            f"t{number}", "you" if number % 2 == 0 else "Reverie", number % 2 == 0, f"turn {number}", NOW, False
        )
        for number in range(first, first + count)
    ]


# --- pure -------------------------------------------------------------------------------------------------------------


def test_history_goes_back_to_the_oldest_and_forward_to_the_draft() -> None:
    history = History()
    history.prepend(["one", "two"])
    history.add("three")
    history.add("one")
    assert [history.older("draft"), history.older(""), history.older("")] == ["one", "three", "two"]
    assert history.older("") is None
    assert [history.newer(), history.newer(), history.newer()] == ["three", "one", "draft"]
    assert history.newer() is None
    assert history.find_texts("T o") == ["two"]


def test_filling_anew_keeps_what_was_written_here() -> None:
    history = History()
    history.add("mine")
    history.prepend(["theirs", "mine"])
    assert history.find_texts("") == ["mine", "theirs"]


@pytest.mark.parametrize(
    ("typed", "first"), [("/", "/stop"), ("/me", "/memory"), ("/RES", "/resume"), ("/undo", "/undo")]
)
def test_a_beginning_is_completed(typed: str, first: str) -> None:
    assert complete_command(typed)[0].name == first


@pytest.mark.parametrize("typed", ["hello", "", "/memory pear", "/zzz", "a /new"])
def test_words_are_no_beginning_of_a_command(typed: str) -> None:
    assert complete_command(typed) == []


def test_a_command_with_words_that_it_does_not_take_is_said_to_the_mind() -> None:
    assert parse_command("/new shoes would be nice") is None
    assert isinstance(parse_command("/new"), CommandCall)
    assert isinstance(parse_command("/quit"), CommandCall)


def test_every_key_of_a_command_is_a_setting() -> None:
    assert {command.key for command in COMMANDS if command.key} <= set(KeySettings.__struct_fields__)


def test_a_draft_is_kept_privately_and_goes_when_it_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "draft.txt"
    assert DraftFile(file).load() == ""
    first = DraftFile(file)
    assert first.keep("wor")
    assert first.keep("words\n")
    first.close()
    assert [file] == list(tmp_path.iterdir())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = DraftFile(file)
    assert again.load() == "words\n"
    assert again.keep("")
    assert not file.exists()
    assert not DraftFile(tmp_path / "none" / "draft.txt").keep("lost, and nobody falls")


def test_a_draft_that_was_tampered_with_is_made_plain(tmp_path: Path) -> None:
    (tmp_path / "draft.txt").write_bytes(HOSTILE.encode() + b"\xff")
    assert "\x1b" not in DraftFile(tmp_path / "draft.txt").load()


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    first, second = (
        write_unique_file(tmp_path / "talk.md", "one"),
        write_unique_file(tmp_path / "talk.md", "two\x1b]0;x\x07"),
    )
    assert (first.name, second.name) == ("talk.md", "talk-2.md")
    assert (first.read_text(), second.read_text()) == ("one", "two")
    assert stat.S_IMODE(second.stat().st_mode) == 0o600
    with pytest.raises(InputFileError):
        write_unique_file(tmp_path / "no" / "talk.md", "x")


def test_the_editor_is_visual_before_editor() -> None:
    assert editor_command({"VISUAL": "code -w", "EDITOR": "vi"}) == ["code", "-w"]
    assert editor_command({"VISUAL": "", "EDITOR": "vi"}) == ["vi"]
    with pytest.raises(UsageError):
        editor_command({})


async def test_what_the_editor_leaves_is_the_draft(tmp_path: Path) -> None:
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nprintf " and more\\033[31m\\n" >> "$1"\n')
    script.chmod(0o700)
    async with asyncio.timeout(300):
        assert await edit_in_editor("words", [str(script)]) == "words and more"
        with pytest.raises(UsageError, match="exit code 1"):
            await edit_in_editor("words", ["false"])
        with pytest.raises(UsageError, match="could not be started"):
            await edit_in_editor("words", [str(tmp_path / "nothing")])


def test_an_export_is_plain_markdown_by_day() -> None:
    turns = [protocol.SaidTurn("1", HOSTILE, True, HOSTILE, NOW, False), *_turns(1, 1)]
    text = conversation_markdown(turns, NOW, "Reverie")
    assert "\x1b" not in text
    assert text.startswith("# Talk with Reverie")
    assert text.count("\n## ") == 1
    assert "**Reverie**" in text


# --- on the screen ----------------------------------------------------------------------------------------------------


async def test_up_calls_back_what_was_said_and_down_the_draft(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(turns=_turns(4))), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and len(app.composer.past) == 2)
        await pilot.press(*"new", "up")
        assert app.composer.text == "turn 2"
        await pilot.press("up", "up")
        assert app.composer.text == "turn 0"
        await pilot.press("down", "down")
        assert app.composer.text == "new"


async def test_the_slash_menu_completes_and_runs(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        menu = app.query_one(SlashMenu)
        await pilot.press(*"/insp")
        await until(pilot, lambda: menu.is_open)
        await pilot.press("tab")
        assert app.composer.text == "/inspect "
        assert not menu.is_open
        await pilot.press("enter")
        await until(pilot, lambda: "needs an argument" in text_of(app))
        app.composer.clear()
        await pilot.press("slash")
        await until(pilot, lambda: "/stop" in text_of(app))
        await pilot.press("escape")
        assert not menu.is_open
        await pilot.press(*"hel", "enter")
        await until(pilot, lambda: "keys and commands" in text_of(app))
        assert fake.requests(protocol.Say) == []


@pytest.mark.requirement("F10")
async def test_the_palette_lays_no_picture_of_the_screen_anywhere(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test():
        offered = list(app.get_system_commands(app.screen))
    assert {"Quit", "Theme"} <= {command.title for command in offered}
    assert not [command for command in offered if "svg" in command.help.lower()]


def test_the_environment_makes_the_screen_write_no_log(home: Home, tmp_path: Path) -> None:
    log = tmp_path / "log"
    asked = {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "TEXTUAL_LOG": str(log), "TEXTUAL": "devtools"}
    subprocess.run(
        [sys.executable, "-m", "reveries.client.tui.browser_terminal"],
        env={**os.environ, "REVERIES_HOME": str(home.path), **asked}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert not log.exists()


def test_only_how_it_looks_may_be_said_by_the_environment() -> None:
    environment = {
        "TEXTUAL": "devtools,debug", "TEXTUAL_SCREENSHOT": "1", "TEXTUAL_PRESS": "a", "TEXTUAL_DEVTOOLS_HOST": "far",
        "TEXTUAL_ANIMATIONS": "none", "TEXTUAL_DRIVER": "somebody:Else", "TEXTUALLY": "x", "PATH": "/bin",
    }  # fmt: skip
    remove_textual_switches(environment)
    assert environment == {"TEXTUAL_ANIMATIONS": "none", "TEXTUALLY": "x", "PATH": "/bin"}


async def test_every_command_is_in_the_palette(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        for command in COMMANDS:
            assert any(title.startswith(f"{command.name[1:].capitalize()}:") for title in titles)


async def test_a_draft_outlives_the_terminal_and_so_does_what_waited(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"one", "enter", *"two", "enter", *"three")
        await until(pilot, lambda: app.is_answering)
        await press_until_it_ends(app, "ctrl+d")
    again = ReveriesApp(home)
    async with asyncio.timeout(300), again.run_test() as pilot:
        assert again.composer.text == "two\n\nthree"


async def test_keys_that_were_pressed_right_before_leaving_are_in_the_draft(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        for key in "half a thought":
            app.post_message(events.Key(key if key != " " else "space", key))
        app.post_message(events.Key("ctrl+d", None))
        await pilot.pause()
    assert DraftFile(home.draft).load() == "half a thought"


async def test_ctrl_r_finds_words_of_earlier_conversations(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(earlier=[protocol.SaidTurn("e1", "you", True, "the pear\nand the wall", NOW, False)])
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, Browser))
        await pilot.press(*"pear")
        await until(pilot, lambda: "the pear and the wall" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, Browser))
        assert app.composer.text == "the pear\nand the wall"


async def test_a_marked_message_is_copied_else_the_last_reply(home: Home, tmp_path: Path) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(turns=_turns(4))), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and bool(app.query(ReplyWidget)))
        await pilot.press("ctrl+y")
        await until(pilot, lambda: app.clipboard == "turn 3")
        await pilot.press("alt+up", "alt+up", "ctrl+y")
        await until(pilot, lambda: app.clipboard == "turn 2")
        assert [turn.text for turn in app.query(OwnerTurn) if turn.has_class("marked")] == ["turn 2"]
        await pilot.press("alt+down", "alt+down")
        assert not app.query(".marked")
        app.composer.write(f"/copy {tmp_path / 'copied.md'}")
        await pilot.press("enter")
        await until(pilot, lambda: (tmp_path / "copied.md").exists())
        assert (tmp_path / "copied.md").read_text() == "turn 3"


async def test_the_last_block_of_code_is_copied(home: Home) -> None:
    app = ReveriesApp(home)
    reply = "Look:\n\n```python\none()\n```\n\nor\n\n~~~\ntwo()\n~~~\n\nDone."
    turns = [protocol.SaidTurn("t1", "Reverie", False, reply, NOW, False)]
    async with asyncio.timeout(300), awake(home, Script(turns=turns)), app.run_test() as pilot:
        await until(pilot, lambda: bool(app.query(ReplyWidget)))
        app.composer.write("/copy code")
        await pilot.press("enter")
        await until(pilot, lambda: app.clipboard == "two()\n")


async def test_the_whole_conversation_is_exported_not_only_what_is_shown(
    home: Home, tmp_path: Path, clock: HandClock
) -> None:
    app = ReveriesApp(home, clock)
    script = Script(earlier=_turns(700), turns=_turns(2, 700))
    async with asyncio.timeout(300), awake(home, script), app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write(f"/export {tmp_path / 'talk.md'}")
        await pilot.press("enter")
        await until(pilot, lambda: "702 turns written to" in text_of(app))
        text = (tmp_path / "talk.md").read_text()
        assert [text.count(f"turn {number}\n") for number in (0, 350, 701)] == [1, 1, 1]


async def test_undo_brings_the_words_back_into_the_draft(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"oops", "enter")
        await until(pilot, lambda: "Good morning." in text_of(app) and not app.is_answering)
        await pilot.press(*"/undo", "enter")
        await until(pilot, lambda: app.composer.text == "oops")
        await until(pilot, lambda: not app.query(OwnerTurn))


async def test_retry_says_the_same_again(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as fake, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press(*"again", "enter")
        await until(pilot, lambda: "Good morning." in text_of(app) and not app.is_answering)
        await pilot.press(*"/retry", "enter")
        await until(pilot, lambda: len(fake.requests(protocol.Say)) == 2)
        await until(pilot, lambda: [turn.text for turn in app.query(OwnerTurn)] == ["again"] and not app.is_answering)


async def test_another_conversation_is_chosen_from_a_list(home: Home) -> None:
    past = [
        protocol.PastConversation("c9", NOW, NOW, "chat", 4, "the pear tree", "", False),
        protocol.PastConversation("c8", NOW, NOW, "chat", 2, "soup", "", False),
    ]
    app = ReveriesApp(home)
    script = Script(past=past, turns=_turns(2))
    async with asyncio.timeout(300), awake(home, script) as fake, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "turn 1" in text_of(app))
        await pilot.press("f8")
        await until(pilot, lambda: "the pear tree" in text_of(app) and "soup" in text_of(app))
        await pilot.press(*"pear")
        await until(pilot, lambda: "soup" not in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: bool(fake.requests(protocol.ResumeConversation)))
        await until(pilot, lambda: not app.query(OwnerTurn))


async def test_scrolling_to_the_top_brings_earlier_turns_and_keeps_the_place(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(earlier=_turns(250), turns=_turns(40, 250))
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "turn 289" in text_of(app))
        app.chat.scroll_home(animate=False)
        await until(pilot, lambda: len(app.chat.query(".turn")) == 140)
        await until(pilot, lambda: "turn 250" in text_of(app))
        assert app.chat.first_shown == 150


async def test_what_comes_below_is_told_and_the_text_stays(home: Home) -> None:
    app = ReveriesApp(home)
    async with (
        asyncio.timeout(300),
        awake(home, Script(turns=_turns(60))) as fake,
        app.run_test(size=(80, 24)) as pilot,
    ):
        await until(pilot, lambda: "turn 59" in text_of(app))
        await pilot.press("pageup", "pageup")
        place = app.chat.scroll_y
        await fake.broadcast(protocol.Spoken(0, protocol.SaidTurn("x", "you", True, "from elsewhere", NOW, False)))
        await until(pilot, lambda: "newer below" in text_of(app))
        assert app.chat.scroll_y == place
        await pilot.press("ctrl+l")
        await until(pilot, lambda: "from elsewhere" in text_of(app) and "newer below" not in text_of(app))


async def test_the_browser_of_memory_shows_an_episode_and_obeys_no_text(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(found=FOUND, episode=DETAIL)
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/memory pear")
        await pilot.press("enter")
        await until(pilot, lambda: "word for word" in text_of(app))
        assert app.screen.query_one("#entries", OptionList).option_count == len(FOUND.episodes)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Browser))


async def test_keys_can_be_other_ones(home: Home) -> None:
    home.path.mkdir(mode=0o700)
    home.config.write_text('[client]\ntheme = "day"\n[client.keys]\ncopy = ""\nside = "f9"\n')
    app = ReveriesApp(home, settings=load_settings(home.config).client)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "recalled just now" in text_of(app))
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert "recalled just now" in text_of(app)
        await pilot.press("f9")
        await until(pilot, lambda: "recalled just now" not in text_of(app))
        assert app.theme == "reveries-day"


@pytest.mark.parametrize("theme", BUILT_IN_THEMES, ids=lambda theme: theme.name)
async def test_the_first_frame_has_its_colours(home: Home, theme: Theme) -> None:
    home.path.mkdir(mode=0o700)
    home.config.write_text(f'[client]\ntheme = "{theme.name}"\n')
    app = ReveriesApp(home, settings=load_settings(home.config).client)
    async with asyncio.timeout(300), app.run_test():
        assert app.screen.styles.background.hex.lower() == theme.background
        assert app.current_theme.dark is theme.dark
        assert app.has_class("-dark-mode" if theme.dark else "-light-mode")


async def test_own_colours_are_found_and_wrong_ones_are_told(home: Home) -> None:
    home.themes.mkdir(mode=0o700, parents=True)
    (home.themes / "moss.toml").write_text('primary = "#608060"\n')
    home.config.write_text('[client]\ntheme = "moss"\n')
    settings = load_settings(home.config).client
    app = ReveriesApp(home, settings=settings)
    async with asyncio.timeout(300), app.run_test():
        assert app.theme == "moss"
    (home.themes / "moss.toml").write_text('primry = "#608060"\n')
    app = ReveriesApp(home, settings=settings)
    async with asyncio.timeout(300), app.run_test(size=(160, 30)) as pilot:
        await pilot.pause()
        assert app.theme == "reveries-dusk"


def test_a_message_of_a_million_characters_is_taken_and_given_back() -> None:
    history = History()
    history.add("x" * 1_000_000)
    assert len(history.older("") or "") == 1_000_000
