"""A full disk (A5): it is reported, nothing is spent or lost, and everything resumes by itself. SQLite reports
"full"."""

from pathlib import Path

import msgspec
import pytest

from reveries.config import Home, load_settings
from reveries.daemon.lifecycle.room_keeper import RoomKeeper
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.db.reserve import RESERVE_BYTES, is_out_of_space, release_reserve, reserve_path
from reveries.db.room import disk_full_error
from reveries.errors import DiskFullError, StorageLostError
from reveries.llm.base import Prompt, Role
from reveries.memory.memory import Memory
from reveries.memory.sleep.light_sleep import LightSleep
from reveries.monologue.ports import ThoughtState
from tests.daemon.asking import status_of
from tests.daemon.kit import talking
from tests.daemon.mind_kit import NOON, living
from tests.fakes.clock import HandClock
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import open_memory

SETTINGS = load_settings(None)
LARGE = "the pear tree " * 40_000
MEGABYTE = 10**6


async def fill(database: Database) -> None:
    """Keep the file from growing."""
    (row,) = await database.rows_of_text("PRAGMA page_count", ())
    await database.rows_of_text(f"PRAGMA max_page_count={row['page_count']}", ())


async def make_room(database: Database) -> None:
    await database.rows_of_text("PRAGMA max_page_count=1000000", ())


def thinker() -> ScriptedModel:
    return ScriptedModel(otherwise="I wonder about the pear tree. That is enough.", name="ollama/x")


async def test_on_a_full_disk_memory_is_searched_though_the_latest_words_cannot_be_slept_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise DiskFullError("full")

    async with open_memory(tmp_path) as memory:
        monkeypatch.setattr(LightSleep, "run", fail)
        await memory.make_latest_recallable()


@pytest.mark.requirement("A5", "H3")
async def test_on_a_full_disk_nothing_is_acknowledged_and_no_model_is_asked_until_there_is_room(home: Home) -> None:
    async with living(home, thinker(), PatientClock(NOON), SETTINGS) as life:
        told: list[list[str]] = []
        life.mind.events.problems_changed.subscribe(told.append)
        await life.say("Hello.")
        await fill(life.mind.database)
        with pytest.raises(DiskFullError):
            await life.say(LARGE)
        assert len(told) == 1
        assert "disk is full" in told[0][0]
        asked = len(life.model.prompts)
        for _ in range(5):
            with pytest.raises(DiskFullError):
                await life.say("Are you there?")
            await life.pass_time(2)
        assert len(life.model.prompts) == asked
        assert (await status_of(life.mind)).health == "degraded"
        with pytest.raises(DiskFullError):
            await life.mind.sleep.consolidate(None, trigger="owner")
        assert len(life.model.prompts) == asked
        await make_room(life.mind.database)
        await life.mind.room.check()
        assert told[-1] == []
        assert (await life.say("Are you there?")).draft.reason == "stop"
        turns = await life.mind.memory.conversations.recent_turns(life.mind.conversation.conversation_id, 10)
        assert [turn.text for turn in turns if turn.origin.value == "owner"] == ["Hello.", "Are you there?"]


@pytest.mark.requirement("A5")
async def test_thinking_waits_for_room_the_owners_word_too_and_goes_on_by_itself(home: Home) -> None:
    async with living(home, thinker(), PatientClock(NOON), SETTINGS) as life:
        await life.pass_time(0.1)
        await fill(life.mind.database)
        life.mind.database.room.close()
        await life.pass_time(1)
        assert life.mind.activity.state() == (ThoughtState.HELD.value, "The disk is full.")
        asked = len(life.model.prompts)
        await life.pass_time(24)
        assert len(life.model.prompts) == asked
        await make_room(life.mind.database)
        await life.mind.room.check()
        await life.say("Good evening.")
        await life.pass_time(2)
        assert any(prompt.role is Role.MONOLOGUE for prompt in life.model.prompts[asked:])


@pytest.mark.requirement("A5")
async def test_a_conversation_that_could_not_rest_on_a_full_disk_rests_when_there_is_room(home: Home) -> None:
    """Thinking resumes only when the conversation becomes idle."""
    async with living(home, thinker(), PatientClock(NOON), SETTINGS) as life:
        await life.say("Hello.")
        life.mind.database.room.close()
        await life.pass_time(1)
        rested = [life.mind.conversation.is_resting]
        asked = len(life.model.prompts)
        await life.mind.room.check()
        await life.pass_time(1)
        rested.append(life.mind.conversation.is_resting)
        assert rested == [False, True]
        assert any(prompt.role is Role.MONOLOGUE for prompt in life.model.prompts[asked:])


@pytest.mark.requirement("A5")
async def test_a_reply_during_which_the_disk_fills_is_told_as_a_full_disk(home: Home) -> None:
    def fails(prompt: Prompt) -> list[str]:
        raise disk_full_error()

    home.create()
    async with talking(home.path, fails) as talk:
        with pytest.raises(DiskFullError):
            await talk.say("Hello.")
        assert (await talk.say("Hello again.")).text == "Indeed."


@pytest.mark.requirement("A4")
async def test_a_disk_that_fails_during_a_reply_is_told_as_a_disk_that_fails(home: Home) -> None:
    """The cost is recorded at the end of a reply; its error must reach the daemon itself, not an exception group."""

    def fails(prompt: Prompt) -> list[str]:
        raise StorageLostError("The disk failed a write.")

    home.create()
    async with talking(home.path, fails) as talk:
        with pytest.raises(StorageLostError):
            await talk.say("Hello.")


@pytest.mark.requirement("A5")
async def test_a_memory_wakes_on_a_full_disk_and_goes_on_with_the_last_conversation(tmp_path: Path) -> None:
    """The start completes what a crash left, and begins a new conversation after a long idle time."""
    clock = HandClock()
    async with open_memory(tmp_path, clock) as before:
        conversation = await before.conversations.open_conversation(3600)
        await before.conversations.append_owner_turn(conversation.id, "Are you there?")
        clock.step_wall(7 * 86400)
        before._parts.database.room.close()
        after = Memory(before._parts)
        await after.hydrate()
        assert (await after.conversations.open_conversation(3600)).id == conversation.id
        with pytest.raises(DiskFullError):
            await after.conversations.begin_conversation()
        assert (await after.stats()).experiences == 0
        before._parts.database.room.open()
        await after.hydrate()
        assert (await after.stats()).experiences == 1
        assert (await after.conversations.open_conversation(3600)).id != conversation.id


@pytest.mark.requirement("A5")
async def test_room_is_put_by_while_there_is_enough_and_given_up_where_there_is_none(tmp_path: Path) -> None:
    free, memory = [3 * MEGABYTE], tmp_path / "memory.db"
    database = await open_database(memory)
    keeper = RoomKeeper(database, HandClock(), lambda: SETTINGS.storage, lambda _: free[0])
    laid = []
    for free[0] in (3 * MEGABYTE, 5 * MEGABYTE):
        await keeper.check()
        laid.append(reserve_path(memory).exists())
    await database.aclose()
    assert laid == [False, True]
    assert reserve_path(memory).stat().st_size == RESERVE_BYTES
    assert (release_reserve(memory), release_reserve(memory)) == (True, False)
    assert not is_out_of_space(memory)
    assert not memory.with_name("memory.db.tried").exists()


@pytest.mark.requirement("A5")
async def test_little_room_is_warned_of_and_less_lets_the_background_rest(tmp_path: Path) -> None:
    free = [10_000 * MEGABYTE]
    database = await open_database(tmp_path / "memory.db")
    try:
        keeper = RoomKeeper(database, HandClock(), lambda: SETTINGS.storage, lambda _: free[0])
        changes: list[list[str]] = []
        keeper.changed.subscribe(lambda: changes.append(keeper.problems()))
        said = []
        for megabytes in (10_000, 199, 49, 55, 61, 0.5, 3, 5, 300):
            free[0] = int(megabytes * MEGABYTE)
            await keeper.check()
            said.append((keeper.why_to_rest(), len(keeper.problems())))
        nearly, full = "The disk is nearly full.", "The disk is full."
        assert said == [
            ("", 0), ("", 1), (nearly, 1), (nearly, 1), ("", 1), (full, 1), (full, 1), (nearly, 1), ("", 0),
        ]  # fmt: skip
        assert len(changes) == 7
        free[0] = 5 * MEGABYTE
        await keeper.check()
        assert "(less than 10 MB free)" in keeper.problems()[0]
    finally:
        await database.aclose()


@pytest.mark.requirement("A5", "A9")
async def test_where_there_is_no_room_for_a_backup_none_is_made_and_that_is_told(home: Home) -> None:
    storage = msgspec.structs.replace(SETTINGS.storage, rest_below_free_megabytes=10**9)
    settings = msgspec.structs.replace(SETTINGS, storage=storage)
    async with living(home, thinker(), PatientClock(NOON), settings) as life:
        with pytest.raises(Exception, match="No backup was made"):
            await life.mind.backups.back_up()
        assert any("No backup was made" in problem for problem in (await status_of(life.mind)).problems)
        assert list(home.backups.iterdir()) == []
        life.mind.in_force.current = SETTINGS
        await life.mind.backups.back_up()
        assert (await status_of(life.mind)).health == "ok"
