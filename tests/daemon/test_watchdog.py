"""Hanging parts are reported, and slow ones are not (B7)."""

import asyncio

import msgspec
import pytest
import structlog

from reveries.config import Home, load_settings
from reveries.daemon.lifecycle.watchdog import BACKUP, POLL_SECONDS, SCHEDULE, THINKING, Watchdog
from reveries.heartbeat import Pulse
from reveries.llm.base import Prompt, Role
from reveries.monologue.thought import Reactivation, ThinkingReason
from tests.daemon.mind_kit import NOON, living
from tests.fakes.clock import HandClock
from tests.fakes.patient_clock import PatientClock
from tests.fakes.scripted import Pause, Piece, ScriptedModel
from tests.memory.kit import sleep_answer
from tests.monologue.kit import Kit

SETTINGS = load_settings(None)
LONGEST_CALL = SETTINGS.llm.limits.total_seconds
HOUR = 3600.0


def watching(name: str, pulse: Pulse) -> Watchdog:
    watchdog = Watchdog(SETTINGS.llm)
    watchdog.watch(name, pulse)
    return watchdog


def look_for(watchdog: Watchdog, seconds: float) -> None:
    for _ in range(int(seconds / POLL_SECONDS) + 2):
        watchdog.check(POLL_SECONDS)


@pytest.mark.requirement("B7")
async def test_a_part_that_works_and_does_not_get_on_is_named_and_told_of_once_its_patience_is_over() -> None:
    pulse, changes = Pulse(), list[list[str]]()
    watchdog = watching(THINKING, pulse)
    watchdog.changed.subscribe(lambda: changes.append(watchdog.problems()))
    with pulse.at_work(), structlog.testing.capture_logs() as lines:
        look_for(watchdog, watchdog.patience_seconds - 4 * POLL_SECONDS)
        assert (watchdog.hung, watchdog.problems()) == ([], [])
        look_for(watchdog, 4 * POLL_SECONDS)
        look_for(watchdog, HOUR)
        assert watchdog.hung == [THINKING]
        assert watchdog.problems()[0].endswith("minutes in thinking. To restart: reveries sleep, then reveries wake.")
        pulse.beat()
        watchdog.check(POLL_SECONDS)
        assert watchdog.hung == []
    assert [(line["event"], line["part"]) for line in lines] == [("part.hung", THINKING), ("part.recovered", THINKING)]
    assert [len(told) for told in changes] == [1, 0]


@pytest.mark.requirement("B7")
def test_where_models_answer_at_once_a_disk_still_has_an_hour() -> None:
    quick = msgspec.structs.replace(SETTINGS.llm.limits, total_seconds=30.0)
    assert Watchdog(msgspec.structs.replace(SETTINGS.llm, limits=quick)).patience_seconds >= HOUR


@pytest.mark.requirement("B7", "A9")
async def test_only_for_a_backup_that_hangs_is_the_mind_not_begun_anew() -> None:
    backup, thinking = Pulse(), Pulse()
    watchdog = watching(BACKUP, backup)
    watchdog.watch(THINKING, thinking)
    with backup.at_work():
        look_for(watchdog, watchdog.patience_seconds)
        assert (watchdog.hung, watchdog.must_restart) == ([BACKUP], False)
        assert "minutes in making a backup" in watchdog.problems()[0]
        with thinking.at_work():
            look_for(watchdog, watchdog.patience_seconds)
            assert (watchdog.hung, watchdog.must_restart) == ([BACKUP, THINKING], True)


@pytest.mark.requirement("B7")
async def test_who_said_for_how_long_it_waits_hangs_only_long_after_that() -> None:
    pulse = Pulse()
    watchdog = watching(SCHEDULE, pulse)
    with pulse.at_work(), pulse.waiting(6 * HOUR):
        look_for(watchdog, 6 * HOUR + watchdog.patience_seconds - 4 * POLL_SECONDS)
        assert watchdog.hung == []
        look_for(watchdog, 4 * POLL_SECONDS)
        assert watchdog.hung == [SCHEDULE]


@pytest.mark.requirement("B7")
async def test_who_waits_for_a_long_sleep_does_not_hang_while_that_gets_on() -> None:
    pulse = Pulse()
    watchdog = watching(SCHEDULE, pulse)
    with pulse.at_work(), watchdog.sleep.at_work():
        for _ in range(20):
            look_for(watchdog, HOUR / 2)
            assert watchdog.hung == []
            watchdog.sleep.beat()
        look_for(watchdog, watchdog.patience_seconds)
        assert watchdog.hung == ["sleep"]
        look_for(watchdog, watchdog.patience_seconds)
        assert watchdog.hung == ["sleep", SCHEDULE]


@pytest.mark.requirement("B7")
async def test_a_sleep_now_and_then_hides_none_that_hangs() -> None:
    """Light sleep follows each conversation; its own time does not count for others, but no more than that."""
    pulse = Pulse()
    watchdog = watching(THINKING, pulse)
    with pulse.at_work():
        for _ in range(4):
            look_for(watchdog, watchdog.patience_seconds / 3)
            with watchdog.sleep.at_work():
                watchdog.sleep.beat()
        assert watchdog.hung == [THINKING]


class _Suspended:
    """Each sleep of the clock takes three days, as if the process was stopped or the machine suspended."""

    def __init__(self, times: int) -> None:
        self._times = times
        self._monotonic = 0.0

    def now(self) -> float:
        return self._monotonic

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        if not self._times:
            raise asyncio.CancelledError
        self._times -= 1
        self._monotonic += 72 * HOUR


@pytest.mark.requirement("B7", "E1")
async def test_a_machine_that_slept_for_days_has_made_nothing_hang() -> None:
    pulse = Pulse()
    watchdog = watching(THINKING, pulse)
    with pulse.at_work(), pytest.raises(asyncio.CancelledError):
        await watchdog.run(_Suspended(10))
    assert watchdog.hung == []


@pytest.mark.requirement("B7")
async def test_the_slowest_thought_half_a_day_of_talk_and_a_settled_mind_are_no_hang() -> None:
    """A model that says nothing for as long as it may, again and again; then a conversation that goes on for half a
    day; then nothing to think about for one."""
    clock = HandClock()
    slow: list[Piece] = [
        Pause(LONGEST_CALL),
        "One ",
        Pause(30),
        "word. ",
        Pause(LONGEST_CALL),
        "That is enough for now.",
    ]
    kit = Kit(ScriptedModel(otherwise=slow, clock=clock), clock=clock)
    kit.sources.keeps_having_something = True
    watchdog = watching(THINKING, kit.monologue.pulse)

    async def look_on(hours: float) -> None:
        for _ in range(int(hours * HOUR / POLL_SECONDS)):
            await clock.advance(POLL_SECONDS)
            watchdog.check(POLL_SECONDS)
            assert watchdog.hung == []

    with kit.monologue.pulse.at_work():
        async with kit.living():
            await look_on(4)
            assert len(kit.sources.thoughts) > 2
            kit.monologue.pause()
            await look_on(12)
            kit.sources.keeps_having_something = kit.sources.has_something = False
            kit.monologue.resume()
            await look_on(24)


@pytest.mark.requirement("B7")
async def test_a_thought_whose_memories_never_come_hangs() -> None:
    clock = HandClock()
    kit = Kit(ScriptedModel(otherwise="word"), clock=clock)
    kit.sources.gathering = asyncio.Event()
    watchdog = watching(THINKING, kit.monologue.pulse)
    with kit.monologue.pulse.at_work():
        async with kit.living():
            kit.monologue.resume(Reactivation(ThinkingReason.CONVERSATION))
            await clock.advance(POLL_SECONDS)
            look_for(watchdog, watchdog.patience_seconds)
            assert watchdog.hung == [THINKING]


@pytest.mark.requirement("B7", "R-99")
async def test_a_sleep_that_takes_all_night_is_no_hang(home: Home) -> None:
    """Six things to sleep on, and each question takes all the time that a call may have. The clock looks on: see
    mind_kit."""
    clock = PatientClock(NOON)

    def answer(prompt: Prompt) -> list[Piece]:
        if prompt.role is Role.CONSOLIDATION:
            return [Pause(LONGEST_CALL - 10), sleep_answer(prompt, 0.6)]
        return ["I ", "see."]

    thinks_not = msgspec.structs.replace(SETTINGS.monologue, enabled=False)
    settings = msgspec.structs.replace(SETTINGS, monologue=thinks_not)
    async with living(home, ScriptedModel(otherwise=answer, clock=clock), clock, settings, all_jobs=True) as life:
        for number in range(6):
            await life.say(f"Something happened, number {number}.")
        before = life.clock.monotonic()
        await life.pass_time(6)
        assert await life.mind.memory.unprocessed_count() == 0
        assert life.clock.monotonic() - before >= 6 * (LONGEST_CALL - 10)
