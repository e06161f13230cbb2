"""Shutdown: what is still stored, which models are still called, and how fast it is after a disk failure (A4, B4)."""

import asyncio
import contextlib

import pytest

from reveries.config import Home, load_settings
from reveries.daemon.app import _supervise_task
from reveries.daemon.shutdown import _SIGNAL_DEADLINE_SECONDS, Shutdown, wind_down
from reveries.daemon.talk.reply_generation import ReplyStop
from reveries.errors import AsleepError, StorageLostError
from reveries.llm.base import Role
from reveries.monologue.ports import ThoughtState
from tests.daemon.kit import Events, until
from tests.daemon.mind_kit import NOON, Living, living
from tests.daemon.test_words_and_thoughts import SlowDanger
from tests.fakes.clock import HandClock, settle
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Pause, ScriptedModel
from tests.memory.kit import deep_answer


@pytest.mark.requirement("A4", "B4")
async def test_where_the_disk_has_failed_nobody_waits_for_a_model_that_is_slow(home: Home) -> None:
    model = ScriptedModel(otherwise="Indeed.", name="ollama/x")
    async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
        mind, loop = life.mind, asyncio.get_running_loop()
        async with mind.conversation._turn_lock:  # As while a reply is generated.
            with contextlib.suppress(StorageLostError), mind.database.record_loss():
                raise StorageLostError("The disk failed a write.")
            ending, began = Shutdown(), loop.time()
            ending.request(is_graceful=False, exit_code=74)
            await life.clock.drive(wind_down(mind, ending))
            assert (
                loop.time() - began < _SIGNAL_DEADLINE_SECONDS
            )  # It waits at most this long for a reply that does not end.
        assert not await mind.memory.save_last_snapshot()


@pytest.mark.requirement("A4")
async def test_a_disk_that_failed_ends_the_daemon_by_whoever_looks_but_not_before_who_was_told_of_it_hears_so(
    home: Home,
) -> None:
    model = ScriptedModel(otherwise="Indeed.", name="ollama/x")
    async with living(home, model, PatientClock(NOON), load_settings(None)) as life:
        mind, ending = life.mind, Shutdown()
        with contextlib.suppress(StorageLostError), mind.database.record_loss():
            raise StorageLostError("The disk failed a write.")
        async with asyncio.timeout(300):
            with pytest.raises(StorageLostError):
                await _supervise_task("room", mind.room.run, mind, ending)
            ending.request(is_graceful=False, exit_code=74)
            await _supervise_task("room", mind.room.run, mind, ending)


@pytest.mark.requirement("A4", "B4")
async def test_a_disk_that_fails_while_it_falls_asleep_politely_ends_the_waiting_for_a_reply(home: Home) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel((["She ", Pause(1e6)],), otherwise="Indeed.", clock=clock, name="ollama/x")
    async with (
        living(home, model, clock, load_settings(None)) as life,
        asyncio.timeout(300),
        asyncio.TaskGroup() as tasks,
    ):
        talk, events, ending, stop = life.mind.conversation, Events(), Shutdown(), ReplyStop()
        turn = tasks.create_task(talk.say(FACT, events, stop=stop), name="turn")
        await until(lambda: events.text == "She ")
        ending.request(is_graceful=True)
        winding = tasks.create_task(wind_down(life.mind, ending), name="wind-down")
        await until(lambda: talk.is_closing)
        ending.storage_lost(74)
        await until(ending.wound_down.is_set)  # Its clock has not moved.
        assert ending.exit_code == 74
        assert not turn.done()
        assert not list(home.backups.glob("*.db"))
        stop.request()
        await clock.drive(asyncio.wait_for(winding, 300))


@pytest.mark.requirement("A4")
async def test_a_disk_that_fails_in_the_last_sleep_is_not_asked_for_a_backup(home: Home) -> None:
    """Only the pass gets the error."""
    clock = HandClock(NOON)
    lost = StorageLostError("The disk failed a write.")
    async with living(home, ScriptedModel(clock=clock, name="ollama/x"), clock, load_settings(None)) as life:
        mind = life.mind
        ending = Shutdown()
        ending.request(is_graceful=True)
        mind.events.state_changed.subscribe(
            lambda state, detail: _fails(life, lost) if state == "consolidating" else None
        )
        await clock.drive(wind_down(mind, ending))
    assert mind.database.is_lost
    assert not list(home.backups.glob("*.db"))


FACT = "My sister Maria moved to Oslo last week and I miss her a lot."
ASKED = "What do you think she does there?"


@pytest.mark.requirement("R-93", "R-7", "R-100")
async def test_a_reply_that_is_too_slow_for_falling_asleep_is_kept_as_a_part_and_the_last_sleep_goes_on(
    home: Home,
) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel(["So it is."], otherwise=deep_answer(0.5, FACT, summary=FACT), clock=clock, name="ollama/x")
    async with (
        living(home, model, clock, load_settings(None)) as life,
        asyncio.timeout(300),
        asyncio.TaskGroup() as tasks,
    ):
        mind, events = life.mind, Events()
        await life.say(FACT)
        model.add(["She ", "paints ", Pause(1e6), "boats."])
        turn = tasks.create_task(mind.conversation.say(ASKED, events), name="turn")
        await until(lambda: events.text == "She paints ")
        ending = Shutdown()
        ending.request(is_graceful=True)
        winding = tasks.create_task(wind_down(mind, ending), name="wind-down")
        await until(lambda: mind.conversation.is_closing)
        await clock.advance(19)
        assert not turn.done()
        await clock.advance(1)
        await until(turn.done)
        await clock.drive(asyncio.wait_for(winding, 300))
        result = turn.result()
        assert result.reply_turn is not None
        assert (result.reply_turn.text, result.reply_turn.is_partial) == ("She paints", True)
        assert "falling asleep" in result.draft.explanation
        assert await mind.memory.unprocessed_count() == 0
        assert {one.depth for one in mind.memory.live.graph.episodes()} == {"deep"}  # Deep sleep calls the model.
        assert list(home.backups.glob("*.db"))


@pytest.mark.requirement("R-93", "R-7")
@pytest.mark.parametrize("is_graceful", [True, False])
async def test_once_it_ends_words_that_wait_are_told_so_and_no_model_is_asked_for_them(
    home: Home, *, is_graceful: bool
) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel((["She ", Pause(1e6)],), otherwise="Indeed.", clock=clock, name="ollama/x")
    async with (
        living(home, model, clock, load_settings(None)) as life,
        asyncio.timeout(300),
        asyncio.TaskGroup() as tasks,
    ):
        talk, events, ending = life.mind.conversation, Events(), Shutdown()
        first = tasks.create_task(talk.say(FACT, events), name="first")
        await until(lambda: events.text == "She ")
        second = tasks.create_task(_told(life, ASKED), name="second")
        await until(lambda: talk._pending_turns == 2)
        ending.request(is_graceful=is_graceful)
        winding = tasks.create_task(wind_down(life.mind, ending), name="wind-down")
        await until(lambda: talk.is_closing)
        await clock.advance(20 if is_graceful else 0)
        await until(lambda: first.done() and second.done())
        await clock.drive(asyncio.wait_for(winding, 300))
        assert first.result().reply_turn is not None
        assert "Nothing was stored" in second.result()
        assert "Nothing was stored" in await _told(life, "And what does Paul do?")
        assert len([prompt for prompt in model.prompts if prompt.role is Role.CONVERSATION]) == 1
        turns = await life.mind.memory.conversations.recent_turns(talk.conversation_id, 9)
        assert [(turn.text, turn.is_partial) for turn in turns] == [(FACT, False), ("She", True)]


@pytest.mark.requirement("R-6", "R-102")
async def test_words_that_come_too_late_do_not_break_off_the_last_sleep(home: Home) -> None:
    clock = HandClock(NOON)
    model = ScriptedModel(["So it is."], otherwise=deep_answer(0.5, FACT, summary=FACT), clock=clock, name="ollama/x")
    async with (
        living(home, model, clock, load_settings(None)) as life,
        asyncio.timeout(300),
        asyncio.TaskGroup() as tasks,
    ):
        await life.say(FACT)
        life.mind.conversation.danger = slow = SlowDanger()
        late = tasks.create_task(_told(life, ASKED), name="late")
        await slow.asked.wait()
        ending = Shutdown()
        ending.request(is_graceful=True)
        await clock.drive(wind_down(life.mind, ending))
        assert await life.mind.memory.unprocessed_count() == 0
        slow.answers.set()
        assert "Nothing was stored" in await late


@pytest.mark.requirement("R-94")
async def test_who_may_be_in_danger_is_shown_help_also_while_it_falls_asleep_and_nothing_is_thought(home: Home) -> None:
    clock, events = HandClock(NOON), Events()
    async with living(home, ScriptedModel(clock=clock, name="ollama/x"), clock, load_settings(None)) as life:
        thinking = life.mind.monologue
        thinking.pause()
        await until(lambda: thinking.state is ThoughtState.PAUSED)
        life.mind.conversation.refuse_turns()
        with pytest.raises(AsleepError):
            await life.mind.conversation.say("I want to kill myself tonight.", events)
        await settle()
        assert thinking.state is ThoughtState.PAUSED
    assert events.help_text


def _fails(life: Living, lost: StorageLostError) -> None:
    with life.mind.database.record_loss():
        raise lost


async def _told(life: Living, words: str) -> str:
    try:
        await life.say(words)
    except AsleepError as error:
        return str(error)
    return ""
