"""Long jobs in the terminal: started here or elsewhere, they show their progress, and the conversation goes on."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from reveries import protocol
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.jobs import Jobs, RunningJob, job_row
from reveries.client.tui.panes import PagePane
from reveries.config import Home
from tests.client.screen_text import text_of, until
from tests.client.test_tui import HOSTILE
from tests.fakes.clock import HandClock
from tests.fakes.daemon import NOW, Script, awake, status


def _shows(app: ReveriesApp, words: str) -> bool:
    return isinstance(app.screen, PagePane) and words in text_of(app)


@pytest.mark.parametrize("columns", [20, 50, 76, 120])
def test_a_bar_fits_and_says_how_far_it_is(columns: int) -> None:
    row = job_row(RunningJob("importing " * 9, 120, 453, False, 0.0, True), columns)
    assert row.cell_length <= columns
    assert row.plain.endswith("120 of 453  26%")
    assert "of 2.0 MB" in job_row(RunningJob(HOSTILE, 1, 2_000_000, True, 0.0, True), 120).plain
    assert "\x1b" not in job_row(RunningJob(HOSTILE, 1, 0, False, 0.0, True), 120).plain


async def test_work_that_somebody_else_began_shows_and_goes(home: Home) -> None:
    clock = HandClock(NOW)
    app = ReveriesApp(home, clock)
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        await mind.broadcast(protocol.Progress(0, f"sleeping on it{HOSTILE}", 3, 12))
        await until(pilot, lambda: "3 of 12" in text_of(app))
        await mind.broadcast(protocol.Progress(0, f"sleeping on it{HOSTILE}", 12, 12))
        await until(pilot, lambda: "of 12" not in text_of(app))
        await mind.broadcast(protocol.Progress(0, "light sleep", 1, 9))
        await until(pilot, lambda: "1 of 9" in text_of(app))
        await clock.advance(60.0)
        app.query_one(Jobs).remove_silent()
        await until(pilot, lambda: "1 of 9" not in text_of(app))


async def test_what_today_used_is_asked_for_as_soon_as_a_reply_ends(home: Home) -> None:
    app = ReveriesApp(home, HandClock(NOW))
    async with asyncio.timeout(300), awake(home) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        before = len(mind.requests(protocol.AskStatus))
        app.composer.write("Good morning.")
        await pilot.press("enter")
        await until(pilot, lambda: len(mind.requests(protocol.AskStatus)) > before)


async def test_embedding_anew_is_a_bar_while_it_lasts(home: Home) -> None:
    app = ReveriesApp(home)
    under_way = status(home, embedding_done=40, embedding_total=200)
    async with asyncio.timeout(300), awake(home, Script(status=under_way)), app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "re-embedding memory" in text_of(app) and "40 of 200" in text_of(app))
        app._show_status(status(home))
        await until(pilot, lambda: "re-embedding memory" not in text_of(app))


async def test_consolidation_shows_a_bar_while_the_conversation_goes_on_and_its_page_at_the_end(home: Home) -> None:
    app = ReveriesApp(home)
    script = Script(progress=[("the first", 1, 2)], holds_reply=True)
    async with asyncio.timeout(300), awake(home, script) as mind, app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.is_attached_to_mind)
        app.composer.write("/consolidate")
        await pilot.press("enter")
        await until(pilot, lambda: "1 of 2" in text_of(app))
        app.composer.write("Still there?")
        await pilot.press("enter")
        await until(pilot, lambda: bool(mind.requests(protocol.Say)))
        mind.release.set()
        await until(pilot, lambda: isinstance(app.screen, PagePane) and "Processed" in text_of(app))
        assert "1 of 2" not in text_of(app)


async def test_a_file_is_brought_in_and_a_wrong_one_is_named(home: Home, tmp_path: Path) -> None:
    app = ReveriesApp(home)
    file = tmp_path / "past.jsonl"
    file.write_text(json.dumps({"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}) + "\n")
    made = protocol.Backups(0, "/backups", [])
    async with asyncio.timeout(300), awake(home, Script(looks={"MakeBackup": made})) as mind:
        async with app.run_test(size=(120, 30)) as pilot:
            await until(pilot, lambda: app.is_attached_to_mind)
            for typed, shown in (
                (f"/import --yes {file}", "Stored 1 turn"),
                (f"/import {tmp_path / 'none'}", "cannot be read"),
                ("/backup", "no backup yet"),
                ("/pull no-such-model", "no-such-model"),
            ):
                app.composer.write(typed)
                await pilot.press("enter")
                await until(pilot, partial(_shows, app, shown))
                await pilot.press("escape")
        assert [turn.text for turn in mind.imported] == ["Good morning"]
