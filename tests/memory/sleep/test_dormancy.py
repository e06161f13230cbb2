"""Which episodes become dormant, and that nothing is lost by it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as checking
from hypothesis import strategies as st

from reveries.memory.changes import ChangeSet, Dormancy
from reveries.memory.graph.memory_graph import MemoryGraph
from reveries.memory.memory import Memory
from reveries.memory.model import Episode
from reveries.memory.sleep.decay import select_dormant_episodes, should_go_dormant
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, episode, memory_settings, open_memory, talk
from tests.memory.test_memory import SAYINGS, picture, recalled

DAY = 86_400.0
YEAR = 365 * DAY


def worn(name: str, **chosen: object) -> Episode:
    spent: dict[str, object] = {"salience": 0.1, "accessibility": 0.1, "last_accessed_at": NOW - YEAR}
    return episode(name, **({"created_at": NOW - 2 * YEAR} | spent | chosen))


@pytest.mark.requirement("R-116")
def test_an_episode_goes_dormant_only_when_all_three_bounds_are_passed() -> None:
    settings = memory_settings()
    assert should_go_dormant(worn("a"), NOW, settings)
    assert not should_go_dormant(worn("b", accessibility=0.21), NOW, settings)
    assert not should_go_dormant(worn("c", salience=0.16), NOW, settings)
    assert not should_go_dormant(worn("d", last_accessed_at=NOW - 179 * DAY), NOW, settings)


def test_a_high_floor_of_salience_keeps_nothing_from_going_dormant() -> None:
    settings = memory_settings(minimum_salience=0.4)
    assert should_go_dormant(worn("a", salience=0.4), NOW, settings)


REACH = st.builds(
    lambda n, a, s: replace(worn(f"e{n:04}"), accessibility=a, salience=s),
    st.integers(0, 9999),
    st.floats(0.1, 1.0),
    st.floats(0.0, 1.0),
)


@given(st.lists(REACH, unique_by=lambda one: one.id, max_size=30), st.integers(1, 20))
def test_above_the_limit_the_least_reachable_go_and_no_more_than_need_be(
    episodes: Sequence[Episode], limit: int
) -> None:
    settings = memory_settings(live_episodes=limit, ask_above_share=1.0)
    gone = {entry.episode_id: entry.reason for entry in select_dormant_episodes(episodes, len(episodes), NOW, settings)}
    spent = {one.id for one in episodes if should_go_dormant(one, NOW, settings)}
    staying = [one for one in episodes if one.id not in gone]
    assert spent <= gone.keys()
    assert len(staying) == min(limit, len(episodes) - len(spent))
    put_out = [one.accessibility for one in episodes if gone.get(one.id) == "limit"]
    assert max(put_out, default=0.0) <= min((one.accessibility for one in staying), default=1.0)


@given(st.lists(REACH, unique_by=lambda one: one.id, min_size=1, max_size=30), st.integers(0, 20))
def test_looking_at_the_least_reachable_alone_comes_to_the_same_as_looking_at_all(
    episodes: Sequence[Episode], excess: int
) -> None:
    """Return the episodes as the graph stores them, with float32 accessibility."""
    settings = memory_settings(live_episodes=max(1, len(episodes) - excess), ask_above_share=1.0)
    held = [replace(one, accessibility=float(np.float32(one.accessibility))) for one in episodes]
    graph = MemoryGraph(4)
    zeros = np.zeros(4, dtype=np.float32)
    graph.apply(ChangeSet(episodes=tuple(held), vectors=tuple((one.id, zeros) for one in held)))
    worn_out = graph.ids_less_accessible(settings.dormant_accessibility + 1e-6)
    names = {*worn_out, *graph.least_reachable_ids(excess + len(worn_out))}
    some = [one for one in held if one.id in names]
    few = select_dormant_episodes(some, len(held), NOW, settings)
    assert sorted(few, key=str) == sorted(select_dormant_episodes(held, len(held), NOW, settings), key=str)


async def live(memory: Memory) -> None:
    await talk(memory, *((saying, "I see.") for saying in SAYINGS))
    await memory.light_sleep()


async def put_to_rest(memory: Memory, names: Sequence[str]) -> None:
    entries = tuple(Dormancy(name, NOW, "faded") for name in names)

    async def work(_: object) -> ChangeSet:
        return ChangeSet(dormant=entries)

    await memory._store.commit(work)


@pytest.mark.requirement("R-104", "R-114", "R-116")
async def test_what_nobody_recalled_for_a_year_leaves_memory_and_stays_on_the_disk(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await live(memory)
        there = {one.id for one in memory.live.graph.episodes()}
        for _ in range(14):
            await clock.advance(30 * DAY)
            await memory.decay_and_prune()
        assert len(memory.live.graph) == 0
        assert len(memory.live.turns) == 0
        assert memory.on_disk.episodes == len(there)
        (name, *_) = there
        assert (await memory.inspect(name)).sources
        rows = await memory._parts.database.rows_of_text(
            "SELECT became, reason FROM dormancy_log WHERE episode_id = ? ORDER BY id", (name,)
        )
        assert [(row["became"], row["reason"]) for row in rows] == [("dormant", "faded")]


@pytest.mark.requirement("R-117")
async def test_what_is_recalled_now_and_then_stays(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        await live(memory)
        for _ in range(14):
            await clock.advance(30 * DAY)
            await memory.reinforce([await recalled(memory)])
            await memory.decay_and_prune()
        assert len(memory.live.graph)


@checking(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(["sleep", "wake", "talk"]), st.integers(0, 5)), max_size=8))
@pytest.mark.requirement("R-154", "R-173")
async def test_a_reload_equals_the_live_memory_whoever_went_dormant_and_woke(
    tmp_path_factory: pytest.TempPathFactory, deeds: Sequence[tuple[str, int]]
) -> None:
    folder, clock = tmp_path_factory.mktemp("mind"), HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        await live(memory)
        names = [one.id for one in memory.live.graph.episodes()]
        before = picture(memory)
        for deed, place in deeds:
            await clock.advance(3600)
            name = names[place % len(names)]
            match deed:
                case "sleep" if name in memory.live.graph:
                    await put_to_rest(memory, [name])
                case "wake" if name not in memory.live.graph:
                    assert await memory._deep_recall.wake_episodes([name], "cue") == (name,)
                case "talk":
                    await talk(memory, (f"{SAYINGS[place % len(SAYINGS)]} Again!", "Good."))
                    await memory.light_sleep()
        lasting, answer = picture(memory), await recalled(memory)
        on_disk = memory.on_disk
    async with open_memory(folder, clock, first_id=100_000) as memory:
        assert picture(memory) == lasting
        assert memory.on_disk == on_disk
        again = {one.turn.id: pytest.approx(one.score, abs=1e-4) for one in (await recalled(memory)).turns}
        assert {one.turn.id: one.score for one in answer.turns} == again
        asleep = [name for name in names if name not in memory.live.graph]
        await memory._deep_recall.wake_episodes(asleep, "cue")
        after = picture(memory)
        assert set(before["links"]) <= set(after["links"])  # type: ignore[call-overload]
        for name, links in before["links"].items():  # type: ignore[attr-defined]
            assert set(links) <= set(after["links"][name])  # type: ignore[index]
        assert memory.on_disk.texts == 0
