"""An erasure that is broken off: before anything is gone nothing has happened; afterwards no prompt has it any more,
and the next wake does the rest."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reveries import protocol
from reveries.config import Home
from reveries.daemon.forgetting import forget, scrub_after_restore
from reveries.daemon.server import Session
from reveries.errors import StorageDamagedError, StorageError
from reveries.memory.forgetting.tombstones import FILE_ONLY, UnfinishedErasure, read_marker, write_marker
from reveries.monologue.ports import ThoughtState
from tests.daemon.asking import dispatcher
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_erasing_without_room import ERASE, SETTINGS, WORD, copies_with, said_and_copied
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel


def nobody(what: str, done: int, total: int) -> None:
    """Ignore progress."""


@asynccontextmanager
async def knowing(home: Home) -> AsyncIterator[Living]:
    """Run a mind that was told the word, with backups that contain it."""
    async with living(home, ScriptedModel(otherwise="I see."), PatientClock(NOON), SETTINGS) as life:
        await said_and_copied(life, home)
        yield life


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not holds():  # noqa: ASYNC110  # What is waited for is a moment: each turn of the loop is looked at.
            await asyncio.sleep(0)


async def prompt_of(life: Living, words: str) -> str:
    """Return the prompt for these words."""
    await life.say(words)
    return str(life.model.prompts[-1])


async def hears(session: Session, frame: type[protocol.Switched]) -> None:
    """Wait until the client gets this frame."""
    heard = b""
    async with asyncio.timeout(300):
        while frame.__name__.lower().encode() not in heard:
            heard += await session.outbox.next_frames()


def turns_with_it(life: Living, home: Home) -> int:
    count = f"SELECT count(*) FROM turns WHERE text LIKE '%{WORD}%'"
    code = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])"
    words = [sys.executable, "-c", code, str(home.database_default), count]
    return int(subprocess.run(words, check=True, capture_output=True).stdout)


@pytest.mark.requirement("F10")
async def test_where_the_disk_refuses_what_comes_after_it_is_gone_no_prompt_has_it_and_the_error_says_so(
    home: Home,
) -> None:
    async with living(
        home,
        ScriptedModel(otherwise=f"I think of {WORD}, and of the harbour lights behind an orchard."),
        PatientClock(NOON),
        SETTINGS,
    ) as life:
        await said_and_copied(life, home)
        await life.clock.advance(60)
        assert WORD in life.mind.monologue.cycle.recent_thought()
        # A folder at the path of the erasure file, so that it cannot be written.
        obstacle = home.database_default.with_name("memory.db.forgotten.partial")
        obstacle.mkdir()
        with pytest.raises(StorageError, match="is erased from the memory, but"):
            await forget(life.mind, ERASE, nobody)
        assert turns_with_it(life, home) == 0
        assert WORD not in life.mind.monologue.cycle.recent_thought()
        assert WORD not in await prompt_of(life, "And now?")
        obstacle.rmdir()
        await scrub_after_restore(life.mind)
        assert read_marker(life.mind.memory.forgetting.marker) is None


@pytest.mark.requirement("F10")
async def test_whose_client_leaves_after_it_is_gone_is_erased_to_the_end(home: Home) -> None:
    async with knowing(home) as life, asyncio.TaskGroup() as tasks:
        requests, session = dispatcher(life.mind, tasks), Session(1)
        marker, other = life.mind.memory.forgetting.marker, Session(2)
        await requests.handle(other, protocol.Attach(1))
        request = tasks.create_task(requests.handle(session, ERASE))
        await until(
            lambda: not life.mind.conversation.turn_count
        )  # The rows are gone; the file is about to be rewritten.
        session.is_gone = True
        request.cancel()
        await until(lambda: request.done())
        await until(lambda: not marker.exists())
        assert turns_with_it(life, home) == 0
        await hears(other, protocol.Switched)
        assert WORD not in await prompt_of(life, "And now?")
    assert copies_with(home) == []


@pytest.mark.requirement("F10", "A9")
@pytest.mark.parametrize("is_first", [True, False])
async def test_stopped_before_anything_is_gone_it_changes_nothing_now_nor_with_the_next_wake(
    home: Home, is_first: bool
) -> None:
    async with knowing(home) as life, asyncio.TaskGroup() as tasks:
        if not is_first:
            await life.say("The pear tree is old.")
            await forget(life.mind, protocol.Forget(3, matching="pear tree", erase=True, dry_run=False), nobody)
            home.database_default.with_name("memory.db.replaced-1").write_text(f"a copy with {WORD}")
        kept = sorted(home.backups.iterdir())
        requests, session, marker = dispatcher(life.mind, tasks), Session(1), _marker(life)
        request = tasks.create_task(requests.handle(session, ERASE))
        await until(marker.exists)
        request.cancel()
        await until(lambda: request.done())
        assert request.cancelled()
        assert not marker.exists()
        await scrub_after_restore(life.mind)
        assert turns_with_it(life, home) > 0
        assert WORD in await prompt_of(life, "And now?")
        assert sorted(home.backups.iterdir()) == kept
        assert home.database_default.with_name("memory.db.replaced-1").exists()


@pytest.mark.requirement("F10", "R-93")
async def test_what_is_only_set_aside_or_not_found_costs_no_context_whenever_it_is_stopped(home: Home) -> None:
    async with knowing(home) as life, asyncio.TaskGroup() as tasks:
        await life.say("The pear tree is old.")
        requests, before = dispatcher(life.mind, tasks), life.mind.conversation.turn_count
        for turns in (0, 1, 3, 10, 30, 60, 100, 200, 400, 800, 1600):
            for number, erases in enumerate((True, False)):
                nothing = protocol.Forget(number, matching="nothing is like that", erase=erases, dry_run=False)
                request = tasks.create_task(requests.handle(Session(1), nothing))
                for _ in range(turns):
                    await asyncio.sleep(0)
                request.cancel()
                await until(request.done)
                assert life.mind.conversation.turn_count == before, (turns, erases)


@pytest.mark.requirement("F10", "A8")
async def test_killed_before_anything_was_gone_it_costs_no_copy_at_the_next_wake(home: Home) -> None:
    async with knowing(home) as life:
        await life.say("The pear tree is old.")
        await forget(life.mind, protocol.Forget(3, matching="pear tree", erase=True, dry_run=False), nobody)
        home.database_default.with_name("memory.db.replaced-1").write_text("all that is left of a day")
        kept = sorted(home.backups.iterdir())
        write_marker(_marker(life), UnfinishedErasure(receipt_id="a receipt that nobody has"))
        await scrub_after_restore(life.mind)
        assert not _marker(life).exists()
        assert sorted(home.backups.iterdir()) == kept
        assert home.database_default.with_name("memory.db.replaced-1").exists()


@pytest.mark.requirement("F10", "A8")
async def test_damage_that_is_met_while_it_is_decided_what_goes_erases_nothing_and_is_told_as_damage(
    home: Home,
) -> None:
    async with knowing(home) as life:
        await life.mind.database.scrub()  # So that the words are in the file, not in its write-ahead log.
        harm(home)
        kept = sorted(home.backups.iterdir())
        with pytest.raises(StorageDamagedError) as told:
            await forget(life.mind, ERASE, nobody)
        assert "erased" not in str(told.value)
        assert read_marker(_marker(life)) is None
        assert sorted(home.backups.iterdir()) == kept


def harm(home: Home) -> None:
    """Read in another process, because opening the file in this one would drop the locks of SQLite."""
    subprocess.run([sys.executable, "-c", _HARM, str(home.database_default), WORD], check=True)


_HARM = """
import sys
with open(sys.argv[1], "r+b") as file:
    content = file.read()
    size, at = int.from_bytes(content[16:18], "big"), -1
    while (at := content.find(sys.argv[2].encode(), at + 1)) >= 0:
        file.seek(at // size * size)
        file.write(b"\\xff" * 8)
"""


@pytest.mark.requirement("F10")
async def test_what_is_left_to_do_is_on_the_disk_also_where_it_cannot_be_written_anew(home: Home) -> None:
    async with knowing(home) as life:
        marker = _marker(life)
        write_marker(marker, FILE_ONLY)
        marker.with_name(f"{marker.name}.partial").mkdir()
        with pytest.raises(StorageError, match="Nothing is erased"):
            await forget(life.mind, ERASE, nobody)
        assert read_marker(marker) == FILE_ONLY
        assert turns_with_it(life, home) > 0


@pytest.mark.requirement("F10")
async def test_beside_what_an_earlier_one_has_left_the_error_says_that_this_one_is_erased(home: Home) -> None:
    async with knowing(home) as life:
        await life.say("The pear tree is old.")
        await forget(life.mind, protocol.Forget(3, matching="pear tree", erase=True, dry_run=False), nobody)
        _marker(life).touch()
        home.database_default.with_name("memory.db.forgotten.partial").mkdir()
        with pytest.raises(StorageError, match="is erased from the memory, but"):
            await forget(life.mind, ERASE, nobody)
        assert _marker(life).exists()


@pytest.mark.requirement("F10")
async def test_where_nothing_is_found_a_disk_that_refuses_the_rest_is_not_told_as_an_erasure(home: Home) -> None:
    async with knowing(home) as life:
        (home.path / "memory.snapshot").unlink(missing_ok=True)
        (home.path / "memory.snapshot").mkdir()
        nothing = protocol.Forget(3, matching="nothing is like that", erase=True, dry_run=False)
        with pytest.raises(StorageError, match="Nothing is erased"):
            await forget(life.mind, nothing, nobody)
        (home.path / "memory.snapshot").rmdir()


@pytest.mark.requirement("F10")
async def test_while_the_file_alone_is_written_anew_nobody_has_to_be_silent(home: Home) -> None:
    async with knowing(home) as life:
        write_marker(_marker(life), FILE_ONLY)
        async with asyncio.timeout(300), life.mind.activity.during_silence():
            await scrub_after_restore(life.mind)
        assert read_marker(_marker(life)) is None


@pytest.mark.requirement("F10", "R-96")
async def test_an_erasure_that_ends_while_the_mind_ends_lets_no_thought_begin(home: Home) -> None:
    async with knowing(home) as life:
        assert life.mind.conversation.is_resting
        assert str(life.mind.monologue.state) != ThoughtState.PAUSED
        life.mind.conversation.refuse_turns()
        await forget(life.mind, ERASE, nobody)
        await life.clock.advance(3600)
        assert life.mind.monologue.state is ThoughtState.PAUSED


def _marker(life: Living) -> Path:
    return life.mind.memory.forgetting.marker
