"""Decay is logged with the pass that it ends, shown in a dry run, and can be undone as far as possible."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet, Dormancy, Fading, Touch
from reveries.memory.memory import Memory
from reveries.memory.sleep.decay import FADED, select_dormant_episodes, should_go_dormant
from reveries.memory.sleep.upkeep import FADING_AT_ONCE, Upkeep
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, answering, deep_answer, memory_settings, open_memory, talk
from tests.memory.sleep.test_dormancy import DAY, worn
from tests.memory.test_memory import picture

SAID = "The wooden boat Sole needs blue paint."


async def old_memory(memory: Memory, clock: HandClock, days: float) -> None:
    """Create one deep episode that has not been recalled since."""
    await talk(memory, (SAID, "I see."))
    await memory.deep_sleep(answering(deep_answer(0.2, SAID, summary=SAID)))
    await clock.advance(days * DAY)


@pytest.mark.requirement("R-104", "R-114", "R-116")
async def test_a_dry_run_tells_what_time_would_do_and_the_pass_then_tells_the_same(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await old_memory(memory, clock, 40)
        await memory.deep_sleep(ScriptedModel([]))
        await clock.advance(40 * DAY)
        before = picture(memory)
        (would,) = (await memory.dry_run(ScriptedModel([]))).changes
        assert picture(memory) == before
        slept = await memory.deep_sleep(ScriptedModel([]))
        (did,) = (await memory.sleep_run(slept.run_id)).changes
        assert would == did
        assert did.line.startswith("Time: 1 episode faded, 1 turn moved")


@pytest.mark.requirement("R-104", "R-116")
async def test_what_went_to_the_disk_is_named_before_and_after_and_comes_back_when_the_pass_is_taken_back(
    tmp_path: Path,
) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock, memory=memory_settings(dormant_after_idle_days=1)) as memory:
        await old_memory(memory, clock, 60)
        (name,) = memory.live.graph.ids()
        for _ in range(4):
            await memory.deep_sleep(ScriptedModel([]))
            await clock.advance(60 * DAY)
            dry = await memory.dry_run(ScriptedModel([]))
            if any(diff.what == "dormant" for change in dry.changes for diff in change.episodes):
                break
        (named,) = [diff for change in dry.changes for diff in change.episodes]
        assert (named.episode_id, named.what, named.old_summary) == (name, "dormant", SAID)
        slept = await memory.deep_sleep(ScriptedModel([]))
        assert name not in memory.live.graph
        told = (await memory.sleep_run(slept.run_id)).changes
        assert [diff for change in told for diff in change.episodes] == [named]
        (undone,) = await memory.undo_pass(slept.run_id)
        assert "1 woken from the disk" in undone.line
        assert name in memory.live.graph


async def words_that_left(memory: Memory, days: float) -> list[str]:
    """Return what leaves the index after so many days, when the one episode has faded."""
    (home,) = memory.live.graph.episodes()

    async def fade(_: object) -> ChangeSet:
        return ChangeSet(fadings=(Fading(home.id, home.salience, 0.2, NOW),))

    await memory._store.commit(fade)
    before = {turn.id: turn.text for turn in memory.live.turns.turns_of(home.id)}
    left = await Upkeep(memory._store, memory_settings(), NOW + days * DAY).unindex_old_words()
    return [before[name] for name in left]


@pytest.mark.requirement("R-66")
@pytest.mark.parametrize(("salience", "left"), [(0.89, ["I see."]), (0.9, []), (1.0, [])])
async def test_words_leave_the_index_after_sleep_unless_what_happened_is_very_salient(
    tmp_path: Path, salience: float, left: list[str]
) -> None:
    """The sentence that an exemplar quotes stays in any case."""
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, (SAID, "I see."))
        await memory.deep_sleep(answering(deep_answer(salience, SAID, summary=SAID), {}))
        assert await words_that_left(memory, 1) == []
        assert await words_that_left(memory, 3) == left


@pytest.mark.requirement("R-67")
async def test_words_of_what_sleep_did_not_work_on_never_leave_the_index(tmp_path: Path) -> None:
    """Words stay until a deep sleep has processed them, and after an undo of it, however old they are."""
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        await talk(memory, (SAID, "I see."))
        await memory.light_sleep()
        assert await words_that_left(memory, 1000) == []
        slept = await memory.deep_sleep(answering(deep_answer(0.2, SAID, summary=SAID)))
        await memory.undo_pass(slept.run_id)
        assert (await memory.stats()).unprocessed == 1
        assert await words_that_left(memory, 1000) == []


class StopsAfter(asyncio.Event):
    """A stop event that is set after so many checks."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    def is_set(self) -> bool:
        self._looks -= 1
        return self._looks < 0


async def put_old_episodes(memory: Memory, count: int) -> list[str]:
    """Create `count` episodes that have not been recalled for a year."""
    zeros = np.zeros(memory.live.graph.dimensions, dtype=np.float32)
    held = [worn(f"old{place:04}", accessibility=0.9, salience=0.8, last_decayed_at=0.0) for place in range(count)]

    async def work(_: object) -> ChangeSet:
        return ChangeSet(episodes=tuple(held), vectors=tuple((one.id, zeros) for one in held))

    await memory._store.commit(work)
    return [one.id for one in held]


async def test_a_word_of_the_owner_ends_what_time_does_after_the_batch_in_hand(tmp_path: Path) -> None:
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        names = await put_old_episodes(memory, 2 * FADING_AT_ONCE + 1)
        done = await Upkeep(memory._store, memory_settings(), NOW, stop=StopsAfter(1)).run()
        assert [entry.episode_id for entry in done.fadings] == names[:FADING_AT_ONCE]
        assert [one for name in names if (one := memory.live.graph.get(name)) and one.salience == 0.8] != []
        assert await Upkeep(memory._store, memory_settings(), NOW, stop=StopsAfter(1)).preview() == ()


async def test_what_is_recalled_or_pinned_while_its_turn_comes_stays(tmp_path: Path) -> None:
    async with open_memory(tmp_path, HandClock(NOW)) as memory:
        used, pinned, left = await put_old_episodes(memory, 3)
        episode = memory.live.graph.get(used)
        assert episode is not None
        touch = Touch(used, 1, NOW, episode.salience, episode.accessibility)

        async def work(_: object) -> ChangeSet:
            return ChangeSet(touches=(touch,))

        await memory._store.commit(work)
        upkeep = Upkeep(memory._store, memory_settings(), NOW)
        leaving = [Dormancy(name, NOW, FADED) for name in (used, pinned, left)]
        assert [entry.episode_id for entry in upkeep.filter_still_due(leaving, {pinned})] == [left]


@pytest.mark.requirement("R-104")
async def test_time_does_its_work_without_a_model_and_while_a_pass_waits_for_the_owner(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await old_memory(memory, clock, 60)
        (before,) = memory.live.graph.episodes()
        await memory.decay_and_prune()
        (after,) = memory.live.graph.episodes()
        assert after.salience < before.salience
        (run, *_) = await memory.sleep_log(5)
        assert (run.trigger, run.outcome, run.processed) == ("age", "done", 0)
        assert (await memory.sleep_run(run.run_id)).changes[0].line.startswith("Time: 1 episode faded")


@given(st.integers(1, 400), st.integers(0, 400), st.floats(0.0, 1.0))
def test_no_more_fade_out_of_reach_at_once_than_a_pass_may_take_without_asking(
    spent: int, others: int, share: float
) -> None:
    settings = memory_settings(ask_above_share=share, ask_above_count=5)
    worn_out = [worn(f"e{place:03}", last_accessed_at=NOW - 365 * DAY - place) for place in range(spent)]
    held = [*worn_out, *(worn(f"x{place:03}", accessibility=0.9) for place in range(others))]
    assert all(should_go_dormant(one, NOW, settings) for one in worn_out)
    gone = select_dormant_episodes(held, len(held), NOW, settings)
    most = spent if share >= 1.0 else min(spent, max(5, int(share * len(held))))
    assert [entry.episode_id for entry in gone] == [one.id for one in reversed(worn_out)][:most]
