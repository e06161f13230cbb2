"""Commands in unusual cases: invalid paths, unexpected errors, late answers."""

import asyncio
import gc
import os
import signal
import warnings
from functools import partial
from pathlib import Path

import msgspec
import pytest
from textual.widgets import Static

from reveries import protocol
from reveries.client.owner_files import resolve_path, write_unique_file
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.browser import Browser
from reveries.client.tui.panes import PagePane
from reveries.client.tui.turns import Remark
from reveries.config import Home
from reveries.errors import InputFileError
from tests.client.looks import CONTEXT, why
from tests.client.screen_text import press_until_it_ends, text_of, until
from tests.client.test_consolidate import ASKS
from tests.fakes.clock import HandClock
from tests.fakes.daemon import NOW, FakeMind, Script, awake, status


def _shows(app: ReveriesApp, words: str) -> bool:
    return isinstance(app.screen, PagePane) and words in " ".join(text_of(app).split())


def _said(app: ReveriesApp) -> str:
    return "\n".join(str(remark.render()) for remark in app.chat.query(Remark))


def _turns(count: int) -> list[protocol.SaidTurn]:
    return [
        protocol.SaidTurn(f"old{n}", "you" if n % 2 == 0 else "Reverie", n % 2 == 0, f"Turn {n}.", NOW + n, False)
        for n in range(count)
    ]


def test_a_place_that_is_none_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="nobody-of-this-name"):
        resolve_path("~nobody-of-this-name/x")
    for place in (Path("/proc"), tmp_path / "none" / "x"):
        with pytest.raises(InputFileError, match="cannot be written"):
            write_unique_file(place, "words", "words.md")


def test_a_folder_takes_the_file_into_it(tmp_path: Path) -> None:
    assert write_unique_file(tmp_path, "words", "words.md") == tmp_path / "words.md"
    assert write_unique_file(tmp_path, "words", "words.md") == tmp_path / "words-2.md"
    assert not list(tmp_path.parent.glob(f"{tmp_path.name}-2*"))


async def test_a_command_with_a_place_that_is_none_says_so_and_the_talk_goes_on(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(turns=_turns(4))), app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and bool(app.chat.query(".turn")))
        for typed, shown in (
            ("/copy ~nobody-of-this-name/x", "nobody-of-this-name"),
            ("/export ~nobody-of-this-name/x", "nobody-of-this-name"),
            ("/import ~nobody-of-this-name/x", "nobody-of-this-name"),
            ("/export /proc", "cannot be written"),
        ):
            app.composer.write(typed)
            await pilot.press("enter")
            await until(pilot, partial(_shows, app, shown))
            await pilot.press("escape")
        assert app.is_running


async def test_a_fault_that_nobody_foresaw_in_a_command_is_written_down_and_the_talk_goes_on(home: Home) -> None:
    async def falls(_: str) -> None:
        raise OverflowError("nobody foresaw it")

    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.actions._actions["/backup"] = falls
        app.composer.write("/backup")
        await pilot.press("enter")
        await until(pilot, partial(_shows, app, "client.log"))
        await pilot.press("escape")
        app.composer.write("Still there?")
        await pilot.press("enter")
        await until(pilot, lambda: "Still there?" in text_of(app))
    assert "OverflowError" in (home.logs / "client.log").read_text()


async def test_work_that_ends_takes_no_key_from_who_writes(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(progress=[("the first", 1, 2)], holds_reply=True)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/consolidate")
        await pilot.press("enter")
        await until(pilot, lambda: "1 of 2" in text_of(app))
        await pilot.press(*"Quite")
        mind.release.set()
        await until(pilot, lambda: "Processed" in _said(app))
        await pilot.press("space", *"queer")
        assert app.composer.text == "Quite queer"
        assert not app.screen.is_modal


async def test_work_that_fails_takes_no_key_from_who_writes(home: Home) -> None:
    app = ReveriesApp(home)
    full = protocol.Failed(0, "storage", "There is no room.", "Free some.")
    script = Script(failures={"MakeBackup": full})
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.action_command("/backup")
        app.composer.write("half a sen")
        await until(pilot, lambda: "There is no room." in _said(app))
        assert app.composer.text == "half a sen"
        assert not app.screen.is_modal


async def test_leaving_while_work_is_under_way_is_asked_about_and_stop_ends_the_work_alone(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(
        progress=[("copying, MB", 120, 453)], holds_reply=True, looks={"MakeBackup": protocol.Backups(0, "/b", [])}
    )
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.action_command("/backup")
        await until(pilot, lambda: "120 of 453" in text_of(app))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: "stops what runs here: creating a backup" in text_of(app))
        assert app.is_running
        app.action_command("/stop")
        await until(pilot, partial(_shows, app, "It was stopped."))
        assert mind.requests(protocol.Cancel)
        assert not app.jobs.own_jobs
        await press_until_it_ends(app, "escape", "ctrl+d")


async def test_ctrl_d_twice_leaves_though_work_is_under_way(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(progress=[("the first", 1, 2)], holds_reply=True)
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.action_command("/consolidate")
        await until(pilot, lambda: "1 of 2" in text_of(app))
        await press_until_it_ends(app, "ctrl+d", "ctrl+d")


async def test_leaving_in_the_moment_of_a_hint_writes_no_warning_on_the_terminal(home: Home) -> None:
    app = ReveriesApp(home)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with asyncio.timeout(300), app.run_test(size=(120, 30)):
            app.jobs.update_job("creating a backup", "copying", 1, 2, is_ours=True)
            await press_until_it_ends(app, "ctrl+d", "ctrl+d")
        gc.collect()
    assert not [str(warning.message) for warning in caught if "never awaited" in str(warning.message)]


async def test_ctrl_q_asks_about_work_that_is_under_way_too(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test(size=(120, 30)) as pilot:
        app.jobs.update_job("creating a backup", "copying", 1, 2, is_ours=True)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "stops what runs here: creating a backup" in text_of(app))
        assert not app._exit
        await press_until_it_ends(app, "ctrl+q")


async def test_a_signal_ends_it_though_work_is_under_way(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), app.run_test(size=(120, 30)) as pilot:
        app.jobs.update_job("creating a backup", "copying", 1, 2, is_ours=True)
        os.kill(os.getpid(), signal.SIGTERM)
        await until(pilot, lambda: app._exit)
        assert app.ended_by is signal.SIGTERM


async def test_a_long_phrase_names_what_is_to_be_forgotten_whole_or_not_at_all(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        phrase = "the boat " * 15 + "in the harbour"
        app.composer.write(f"/forget {phrase}")
        await pilot.press("enter")
        await until(pilot, lambda: bool(mind.requests(protocol.Forget)))
        assert [one.about for one in mind.received if isinstance(one, protocol.Forget)] == [phrase]
        await pilot.press("escape")
        app.composer.write(f"/forget {'boat ' * 60}")
        await pilot.press("enter")
        await until(pilot, partial(_shows, app, "at most 200 are allowed"))
        assert len(mind.requests(protocol.Forget)) == 1


async def test_an_import_is_stopped_and_its_bar_goes(home: Home, tmp_path: Path) -> None:
    app = ReveriesApp(home)
    file = tmp_path / "past.jsonl"
    file.write_text('{"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}\n')
    script = Script(silent_on="Import")
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write(f"/import --yes {file}")
        await pilot.press("enter")
        await until(pilot, lambda: app.jobs.own_jobs == ["importing"])
        app.action_command("/stop")
        await until(pilot, lambda: not app.jobs.own_jobs)
        assert app.is_running


async def test_ctrl_c_twice_leaves_though_text_is_selected(home: Home, clock: HandClock) -> None:
    app = ReveriesApp(home, clock)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("some words")
        app.composer.select_all()
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "copied" in text_of(app))
        assert app.is_running
        await press_until_it_ends(app, "ctrl+c")


async def test_what_came_to_mind_and_how_much_was_read_is_there_after_reattaching(home: Home) -> None:
    item = protocol.RecalledItem("e1", "The pear tree stays.", 0.9, NOW, "the pear stays", "Ada", True)
    told = msgspec.structs.replace(CONTEXT, recalled=[item], total_tokens=1_500, context_tokens=4_000)
    app = ReveriesApp(home)
    script = Script(turns=_turns(4), looks={"AskContext": told, "AskWhy": why()})
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: "1.5k of 4.0k read" in text_of(app))
        assert "The pear tree stays." in text_of(app)
        await pilot.press("f3")
        await until(pilot, lambda: isinstance(app.screen, Browser) and "The pear tree stays." in text_of(app))
        await pilot.press("escape")
        asked = mind.requests(protocol.AskContext)
        assert [request.conversation_id for request in asked if isinstance(request, protocol.AskContext)] == ["c1"]
        # Turns of another conversation are not sent.
        script.failures["AskContext"] = protocol.Failed(0, "not_found", "Nothing was said.", "")
        app.action_command("/new")
        await until(pilot, lambda: "read" not in text_of(app).splitlines()[-1] and not app.recalled_items)


async def test_a_turn_of_another_terminal_says_what_came_to_mind_for_it(home: Home) -> None:
    item = protocol.RecalledItem("e1", "The pear tree stays.", 0.9, NOW, "", "", True)
    app = ReveriesApp(home)
    script = Script(turns=_turns(4), looks={"AskContext": msgspec.structs.replace(CONTEXT, recalled=[])})
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: bool(mind.requests(protocol.AskContext)))
        script.looks["AskContext"] = msgspec.structs.replace(CONTEXT, recalled=[item])
        await mind.broadcast(protocol.Spoken(0, protocol.SaidTurn("t9", "Reverie", False, "Indeed.", NOW, False)))
        await until(pilot, lambda: app.recalled_items == [item])


async def test_what_waits_its_turn_is_said_before_a_new_conversation_begins(home: Home) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        for words in ("The first", "The second", "/new"):
            app.composer.write(words)
            await pilot.press("enter")
            await until(pilot, lambda: not app.composer.text)
        await until(pilot, lambda: "your waiting messages" in text_of(app))
        mind.release.set()
        await until(pilot, lambda: bool(mind.requests(protocol.NewConversation)))
        kinds = [type(request).__name__ for request in mind.received]
        assert [kind for kind in kinds if kind in ("Say", "NewConversation")] == ["Say", "Say", "NewConversation"]


async def test_a_turn_that_is_spoken_while_it_attaches_is_shown(home: Home) -> None:
    class Speaking(FakeMind):
        """Broadcasts a turn of another terminal right after it answered Attach, before the next request."""

        async def _send(self, writer: asyncio.StreamWriter, frame: protocol.Frame) -> None:
            await super()._send(writer, frame)
            if isinstance(frame, protocol.Attached):
                self._turn += 1
                turn = protocol.SaidTurn(f"s{self._turn}", "Tom", True, f"Hello from Tom {self._turn}", NOW, False)
                await super()._send(writer, protocol.Spoken(0, turn))

    app, mind = ReveriesApp(home), Speaking(home)
    await mind.start()
    async with asyncio.timeout(300), app.run_test() as pilot:
        await until(pilot, lambda: "Hello from Tom 1" in text_of(app))
        # Switching to another conversation attaches in the same way.
        await mind.broadcast(protocol.Switched(0, "c1"))
        await until(pilot, lambda: "Hello from Tom 2" in text_of(app))
        await pilot.pause(0.2)
        assert "Hello from Tom 2" in text_of(app)
        await mind.stop()


async def test_earlier_turns_are_asked_for_again_when_they_did_not_come(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(turns=_turns(60), earlier=_turns(150)[:100])
    script.failures["AskTurns"] = protocol.Failed(0, "failed", "It was too slow.", "")
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and app.chat.max_scroll_y > 0 and app.chat.scroll_y > 0)
        app.chat.scroll_to(y=0, animate=False)
        await until(pilot, lambda: "too slow" in text_of(app))
        del script.failures["AskTurns"]
        app.chat.scroll_to(y=5, animate=False)
        await until(pilot, lambda: app.chat.scroll_y > 0)
        app.chat.scroll_to(y=0, animate=False)
        await until(pilot, lambda: app.chat.first_shown < 120)
        assert len(mind.requests(protocol.AskTurns)) == 2


async def test_earlier_turns_of_a_conversation_that_was_left_are_not_shown_in_the_next(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(turns=_turns(60), earlier=_turns(100), silent_on="AskTurns")
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test() as pilot:
        await until(pilot, lambda: app.is_attached_to_mind and app.chat.max_scroll_y > 0 and app.chat.scroll_y > 0)
        app.chat.scroll_to(y=0, animate=False)
        await until(pilot, lambda: bool(mind.requests(protocol.AskTurns)))
        (asked,) = mind.requests(protocol.AskTurns)
        assert isinstance(asked, protocol.AskTurns)
        mind.conversation, script.turns[:], script.earlier[:] = "c2", _turns(4), []
        await mind.broadcast(protocol.Switched(0, "c2"))
        await until(pilot, lambda: app.chat.first_shown == 0)
        await mind.broadcast(protocol.Turns(asked.request_id, "c1", _turns(100), 20))
        await pilot.pause(0.2)
        assert app.chat.first_shown == 0


async def test_the_status_line_holds_todays_use_against_the_limit_of_all_and_money_against_its_own(home: Home) -> None:
    limits = [
        protocol.UsageLimit("budget.tokens_per_day", "", "day", False, 2_500_000, 63_500, 0.0),
        protocol.UsageLimit("budget.dollars_per_day", "", "day", True, 1.5, 0.42, 0.0),
        protocol.UsageLimit("budget.monologue.tokens_per_day", "monologue", "day", False, 200_000, 50_000, 0.0),
    ]
    usage = [
        protocol.UsageToday("conversation", 14, 51_200, 12_300, 0.42, 2_000_000),
        protocol.UsageToday("embedding", 14, 900_000, 0, 0.0, 20_000_000),
    ]
    app = ReveriesApp(home)
    script = Script(status=status(home, usage=usage, limits=limits))
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: "63.5k of 2.5M today $0.42 of $1.5" in text_of(app))


@pytest.mark.parametrize("columns", [50, 80, 120])
async def test_no_row_of_the_help_is_cut(home: Home, columns: int) -> None:
    app = ReveriesApp(home)
    async with asyncio.timeout(300), awake(home), app.run_test(size=(columns, 24)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("f1")
        await until(pilot, lambda: "keys and commands" in text_of(app))
        page = app.screen.query_one("#help-page Static", Static)
        rows = str(page.render()).splitlines()[:-1]
        assert max(map(len, rows)) <= page.content_size.width <= page.container_size.width
        assert any("earlier turns load" in row for row in rows)


async def test_a_long_problem_does_not_hide_the_next_one(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(status=status(home, health="degraded", problems=["The disk is full. " * 30, "No backup was made."]))
    async with asyncio.timeout(300), awake(home, script), app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "No backup was made." in text_of(app))


@pytest.mark.parametrize(("key", "do_it"), [("c", True), ("d", False)])
async def test_what_a_pass_of_sleep_asks_is_answered_in_the_browser(home: Home, key: str, do_it: bool) -> None:
    app = ReveriesApp(home)
    log = protocol.SleepLog(0, [ASKS])
    answered = protocol.SleepAnswered(0, ASKS.run_id, "Two episodes became one.")
    answers: dict[str, protocol.Frame] = {
        "AskSleepLog": log,
        "InspectSleep": protocol.SleepRunDetail(0, ASKS, [], 0),
        "AnswerSleep": answered,
    }
    async with asyncio.timeout(300), awake(home, Script(sleep=answers)) as mind, app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await pilot.press("f5")
        await until(pilot, lambda: "has a question" in text_of(app))
        await pilot.press(key)
        await until(pilot, lambda: "asks about?" in text_of(app))
        await pilot.press("y")
        await until(pilot, lambda: "Two episodes became one." in text_of(app))
        (asked,) = mind.requests(protocol.AnswerSleep)
        assert isinstance(asked, protocol.AnswerSleep)
        assert (asked.run_id, asked.do_it) == (ASKS.run_id, do_it)
