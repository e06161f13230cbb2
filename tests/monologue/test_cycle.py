"""The whole cycle of thinking, in order, and that observers do not influence it (R-30, R-31, R-39, R-59)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, nullcontext

import pytest

from reveries.monologue.thought import FinishedThought
from reveries.safety.verdict import CONTINUE, Action, Severity, TripReason, Verdict
from tests.fakes.scripted import ScriptedModel
from tests.monologue.kit import SETTINGS, Kit, Sources, Watch

FIRST, SECOND = "Anna moved to Oslo. That is enough for now.", "They will miss her. That is enough for now."


STOP = Verdict(Action.INTERRUPT, TripReason.LOOP_DETECTED, Severity.MEDIUM, "In circles.")


def kit_with(watch: Watch) -> Kit:
    return Kit(ScriptedModel([FIRST, SECOND]), sources=Sources(keeps_having_something=True), watch=watch)


@pytest.mark.requirement("R-30", "R-31", "R-41", "R-59")
async def test_a_cycle_gathers_streams_is_watched_at_each_token_settles_is_recorded_and_begins_again_with_nothing() -> (
    None
):
    """The breaker sees every token; each buffer is recorded completely before the next one begins empty, not sooner
    than after `idle_check_seconds`."""
    seen: list[str] = []

    def look(piece: str) -> Verdict:
        seen.append(piece)
        return CONTINUE

    watch = Watch(look)
    kit = kit_with(watch)
    async with kit.living():
        await kit.clock.advance(SETTINGS.idle_check_seconds - 1)
        assert [thought.text for thought in kit.sources.thoughts] == [FIRST]
        assert "".join(seen) == FIRST
        assert len(seen) == kit.sources.thoughts[0].tokens == len(FIRST.split())
        await kit.clock.advance(60)
    assert [thought.text for thought in kit.sources.thoughts] == [FIRST, SECOND]
    assert [thought.why_began for thought in kit.sources.thoughts] == ["waking", "timer"]
    assert "".join(seen) == FIRST + SECOND
    assert watch.resets == len(kit.sources.thoughts)
    assert [previous for _, previous, _ in kit.sources.gathered] == ["", FIRST]


@pytest.mark.requirement("R-31")
@pytest.mark.parametrize("tokens", [1, 3])
async def test_what_the_breaker_stops_at_a_token_goes_no_further_than_that_token(tokens: int) -> None:
    left = [tokens]

    def look(_: str) -> Verdict:
        left[0] -= 1
        return STOP if left[0] == 0 else CONTINUE

    kit = kit_with(Watch(look))
    async with kit.living():
        await kit.clock.advance(20)
    assert len(kit.sources.thoughts[0].text.split()) <= tokens


@asynccontextmanager
async def watched(kit: Kit, *, reads: bool) -> AsyncIterator[None]:
    """An observer that reads everything, or one that reads nothing."""
    async with aclosing(kit.monologue.cycle.observers.watch()) as events, asyncio.TaskGroup() as tasks:

        async def read() -> None:
            async for _ in events:
                pass

        reading = tasks.create_task(read() if reads else asyncio.Event().wait(), name="observer")
        yield
        reading.cancel()


@pytest.mark.requirement("R-39")
@pytest.mark.parametrize("watcher", ["reads", "takes nothing"])
async def test_a_watched_mind_thinks_the_same_at_the_same_times_as_one_that_nobody_watches(watcher: str) -> None:
    async def think(*, is_watched: bool) -> list[FinishedThought]:
        kit = kit_with(Watch())
        async with kit.living(), watched(kit, reads=watcher == "reads") if is_watched else nullcontext():
            await kit.clock.advance(2 * SETTINGS.idle_check_seconds)
        return kit.sources.thoughts

    alone, seen = await think(is_watched=False), await think(is_watched=True)
    assert len(alone) >= 2
    assert seen == alone
