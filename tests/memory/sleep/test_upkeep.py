"""What time does stands in the log of the pass that it ends, in a dry run before, and can be taken back."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.llm.scripted import ScriptedModel
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.sleep.dormancy import falling_dormant, is_spent
from reveries.memory.sleep.upkeep import Upkeep
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, answering, deep_answer, memory_settings, open_memory, talk
from tests.memory.sleep.test_dormancy import DAY, worn
from tests.memory.test_memory import picture

SAID = "The wooden boat Sole needs blue paint."


async def old_memory(memory: Memory, clock: HandClock, days: float) -> None:
    """One episode, slept on deeply, that nobody thought of since."""
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
        assert did.line.startswith("Time: 1 episode faded, 1 turn left")


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
        assert (named.episode_id, named.what, named.new_summary) == (name, "dormant", SAID)
        slept = await memory.deep_sleep(ScriptedModel([]))
        assert name not in memory.live.graph
        told = (await memory.sleep_run(slept.run_id)).changes
        assert [diff for change in told for diff in change.episodes] == [named]
        await memory.take_back(slept.run_id)
        assert name in memory.live.graph


async def test_a_word_of_the_owner_ends_what_time_does_after_the_batch_in_hand(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        for place in range(3):
            await memory.import_turns(f"past {place}", [PastTurn(NOW - place * DAY, "Bea", f"{place}: {SAID}")])
        await memory.light_sleep()
        await clock.advance(60 * DAY)
        before, stop = picture(memory), asyncio.Event()
        stop.set()
        done = await Upkeep(memory._store, memory_settings(), clock.now(), stop=stop).run()
        assert done.is_empty
        assert picture(memory) == before


@given(st.integers(1, 400), st.integers(0, 400), st.floats(0.0, 1.0))
def test_no_more_fade_out_of_reach_at_once_than_a_pass_may_take_without_asking(
    spent: int, others: int, share: float
) -> None:
    settings = memory_settings(ask_above_share=share, ask_above_count=5)
    worn_out = [worn(f"e{place:03}", last_accessed_at=NOW - 365 * DAY - place) for place in range(spent)]
    held = [*worn_out, *(worn(f"x{place:03}", accessibility=0.9) for place in range(others))]
    assert all(is_spent(one, NOW, settings) for one in worn_out)
    gone = falling_dormant(held, len(held), NOW, settings)
    most = spent if share >= 1.0 else min(spent, max(5, int(share * len(held))))
    assert [entry.episode_id for entry in gone] == [one.id for one in reversed(worn_out)][:most]
