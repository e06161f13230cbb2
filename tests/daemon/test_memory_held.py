"""Another program locks the memory file (H3): clients are notified, nothing is acknowledged, and it resumes by
itself."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reveries import protocol
from reveries.config import Home, load_settings
from reveries.daemon.lifecycle.room_keeper import RoomKeeper
from reveries.daemon.mind import Mind
from reveries.db.database import Database
from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.errors import StorageError
from tests.daemon.asking import ask, status_of
from tests.daemon.mind_kit import NOON, living
from tests.fakes.clock import HandClock
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel

_HELD = "What is new is not stored. Another program holds the memory's file. End that program; "


@contextlib.asynccontextmanager
async def _held(path: Path) -> AsyncIterator[None]:
    """By a connection that writes, for as long as it pleases. A thought may be about to be stored: the loop has to run
    on while this one waits for it."""
    other = dbapi.connect(path, isolation_level=None, timeout=60, check_same_thread=False)
    with contextlib.closing(other):
        await asyncio.to_thread(other.execute, "BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


async def _wait_briefly(database: Database) -> None:
    """Let the busy timeout pass at once."""
    await database.rows_of_text("PRAGMA busy_timeout=1", ())


async def _problems(mind: Mind) -> tuple[str, list[str]]:
    status = await status_of(mind)
    return status.health, status.problems


@pytest.mark.requirement("H3")
async def test_who_holds_the_memorys_file_is_told_of_until_a_commit_succeeds(home: Home) -> None:
    model = ScriptedModel(otherwise="That is enough.", name="ollama/x")
    async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
        mind, told = life.mind, list[list[str]]()
        mind.events.problems_changed.subscribe(told.append)
        await life.say("Hello.")
        began = time.monotonic()
        await ask(mind, protocol.AskCheckup(1))
        alone_seconds = time.monotonic() - began  # It reads weights, too, which takes time on a busy machine.
        async with _held(mind.database.path):
            await _wait_briefly(mind.database)
            with pytest.raises(StorageError, match="Another program holds"):
                await life.say("Are you there?")
            assert [problem[: len(_HELD)] for problem in told[-1]] == [_HELD]
            health, (problem,) = await _problems(mind)
            assert (health, problem[: len(_HELD)]) == ("degraded", _HELD)
            # It must not wait five seconds for the lock.
            async with asyncio.timeout(4):
                await mind.room.check()
            async with asyncio.timeout(2 * alone_seconds + 4):
                found = [
                    (one.fault, one.sentence)
                    for one in (await ask(mind, protocol.AskCheckup(1), protocol.Checkup)).findings
                ]
            assert ("not-storing", problem) in found
        await mind.room.check()
        assert told[-1] == []
        assert await _problems(mind) == ("ok", [])
        assert (await mind.database.rows("statistics.how_it_runs"))[0]["busy_timeout"] == 5000
        await life.say("And now?")
        said = await mind.memory.conversations.recent_turns(mind.conversation.conversation_id, 10)
        assert [turn.text for turn in said if turn.origin.value == "owner"] == ["Hello.", "And now?"]


@pytest.mark.requirement("A9", "H3")
async def test_a_backup_is_made_while_another_program_keeps_what_is_new_from_being_stored(home: Home) -> None:
    model = ScriptedModel(otherwise="That is enough.", name="ollama/x")
    async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
        await life.say("Hello.")
        async with _held(life.mind.database.path):
            await life.mind.backups.back_up()
        assert len(list(home.backups.glob("*.db"))) == 1


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[tuple[Database, RoomKeeper]]:
    """Open a memory on a disk with space, and its monitor."""
    database = await open_database(tmp_path / "memory.db")
    try:
        yield database, RoomKeeper(database, HandClock(), lambda: load_settings(None).storage, lambda _: math.inf)
    finally:
        await database.aclose()


@pytest.mark.requirement("A5", "H3")
async def test_a_disk_that_has_room_again_is_tried_until_the_program_that_holds_the_file_is_gone(
    kept: tuple[Database, RoomKeeper],
) -> None:
    database, keeper = kept
    database.room.close()
    async with _held(database.path):
        async with asyncio.timeout(8):  # It must not wait for the lock, five seconds each.
            for _ in range(2):
                await keeper.check()
        told = [(database.room.is_full, [problem[: len(_HELD)] for problem in keeper.problems()])]
    await keeper.check()
    told.append((database.room.is_full, keeper.problems()))
    assert told == [(True, [_HELD]), (False, [])]


@pytest.mark.requirement("A5", "H3")
async def test_of_a_disk_that_fills_after_another_program_was_in_the_way_that_is_told(
    kept: tuple[Database, RoomKeeper],
) -> None:
    database, keeper = kept
    database.room.record_refusal("What is new is not stored. Another program holds the memory's file.")
    database.room.close()
    [problem] = keeper.problems()
    assert problem.startswith("The disk is full")


@pytest.mark.requirement("H3")
async def test_whatever_refuses_what_is_new_it_is_tried_at_each_look(kept: tuple[Database, RoomKeeper]) -> None:
    database, keeper = kept
    await database.rows_of_text("PRAGMA query_only=1", ())
    with pytest.raises(StorageError):
        async with database.transaction() as transaction:
            await transaction.run("room.fill", {"bytes": 2})
    for _ in range(2):
        await keeper.check()
    assert ["can only be read" in problem for problem in keeper.problems()] == [True]
    await database.rows_of_text("PRAGMA query_only=0", ())
    await keeper.check()
    assert keeper.problems() == []
