"""The owner's edits of episodes: pins prevent decay and dormancy; a correction supersedes and can be undone."""

from pathlib import Path

import pytest

from reveries.errors import NotFoundError, UsageError
from reveries.memory.changes import ChangeSet, Dormancy, Retirement
from reveries.memory.memory import Memory
from reveries.memory.model import Turn
from reveries.memory.store import load_pinned_ids
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, context, memory_settings, open_memory, talk

YEARS = 5 * 365 * 86_400.0


async def two_episodes(memory: Memory) -> tuple[str, str]:
    """Episodes of the lighthouse and of the soup."""
    for said in ("The lighthouse keeper is called Ruth.", "The soup needs more salt and a bay leaf."):
        await memory.remember(said)
        await memory.light_sleep()
    ids = {turn.text: name for turn, name in memory.live.turns.entries()}
    first, second = (next(name for text, name in ids.items() if word in text) for word in ("lighthouse", "soup"))
    return first, second


async def years_later(memory: Memory, clock: HandClock) -> None:
    for _ in range(5):
        await clock.advance(YEARS / 5)
        await memory.decay_and_prune()


async def test_a_pinned_episode_neither_fades_nor_goes_dormant_however_long_it_rests(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        held, left = await two_episodes(memory)
        assert (await memory.episode_edits.pin(held)).is_pinned
        before = memory.live.graph.get(held)
        await years_later(memory, clock)
        after = memory.live.graph.get(held)
        assert before is not None
        assert after is not None
        assert (after.salience, after.accessibility) == (before.salience, 1.0)
        assert memory.live.graph.get(left) is None
        assert (await memory.inspect(held)).is_pinned
        assert not (await memory.inspect(left)).is_pinned
    async with open_memory(tmp_path, clock, first_id=500) as memory:
        await years_later(memory, clock)
        assert memory.live.graph.get(held) is not None


async def test_a_pinned_episode_stays_where_more_are_live_than_fit(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock, memory=memory_settings(live_episodes=1)) as memory:
        held, left = await two_episodes(memory)
        await memory.episode_edits.set_salience(held, 0.0)
        await memory.episode_edits.pin(held)
        await clock.advance(60.0)
        await memory.decay_and_prune()
        assert list(memory.live.graph.ids()) == [held]
        assert left != held


async def test_an_unpinned_episode_fades_from_then_on_and_not_for_the_time_that_it_was_pinned(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        held, _ = await two_episodes(memory)
        await memory.episode_edits.pin(held)
        await years_later(memory, clock)
        before = (await memory.episode_edits.unpin(held)).episode.salience
        await memory.decay_and_prune()
        assert (await memory.inspect(held)).salience == before
        await clock.advance(30 * 86_400.0)
        await memory.decay_and_prune()
        assert (await memory.inspect(held)).salience < before


async def test_a_pin_goes_along_when_sleep_merges_the_episode_into_another(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        held, home = await two_episodes(memory)
        await memory.episode_edits.pin(held)

        async def merge(_: object) -> ChangeSet:
            return ChangeSet(retired=(Retirement(held, home),))

        await memory._store.commit(merge)
        assert await load_pinned_ids(memory._store.database) == {home}
        assert not (await memory.episode_edits.unpin(home)).is_pinned
        assert await load_pinned_ids(memory._store.database) == frozenset()


async def test_pinning_what_is_only_on_the_disk_brings_it_back(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        held, _ = await two_episodes(memory)

        async def fall_dormant(_: object) -> ChangeSet:
            return ChangeSet(dormant=(Dormancy(held, NOW, "faded"),))

        await memory._store.commit(fall_dormant)
        assert memory.live.graph.get(held) is None
        found = await memory.episode_edits.pin(held)
        assert (found.is_pinned, found.episode.accessibility) == (True, 1.0)
        assert memory.live.graph.get(held) is not None
        with pytest.raises(NotFoundError):
            await memory.episode_edits.pin("no such")


async def test_the_owner_says_how_much_an_episode_matters(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        held, _ = await two_episodes(memory)
        assert (await memory.episode_edits.set_salience(held, 0.9)).episode.salience == pytest.approx(0.9)
    async with open_memory(tmp_path, first_id=500) as memory:
        assert (await memory.inspect(held)).salience == pytest.approx(0.9)


# --- correcting ------------------------------------------------------------------------------------------------------

WRONG, RIGHT = "Marta's favourite drink is coffee with oat milk.", "Marta's favourite drink is tea, never coffee."
CUE = "What is Marta's favourite drink?"


async def told(memory: Memory, clock: HandClock) -> str:
    """The episode that has it wrong."""
    await talk(memory, (WRONG, "Coffee with oat milk, I see."), ("The bridge is closed on Monday.", "Noted."))
    await memory.light_sleep()
    await clock.advance(60.0)
    return next(name for turn, name in memory.live.turns.entries() if turn.text == WRONG)


async def ranked(memory: Memory) -> list[Turn]:
    vector = await memory.embed_cue(CUE)
    return [one.turn for one in memory.live.recall(CUE, vector, context(now=NOW + 120.0)).turns]


async def test_a_correction_ranks_first_and_what_it_corrects_is_kept_and_marked(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        wrong = await told(memory, clock)
        done = await memory.correct(wrong, RIGHT)
        assert {turn.text for turn in done.replaced} >= {WRONG}
        assert "The bridge is closed on Monday." not in {turn.text for turn in done.replaced}
    async with open_memory(tmp_path, clock, first_id=500) as memory:
        texts = [turn.text for turn in await ranked(memory)]
        assert texts.index(RIGHT) < texts.index(WRONG)
        vector = await memory.embed_cue(CUE)
        found = {one.turn.text: one.replaced_by for one in memory.live.recall(CUE, vector, context()).turns}
        replacement = found[WRONG]
        assert replacement is not None
        assert replacement.quote == RIGHT
        assert found[RIGHT] is None


async def test_a_correction_is_taken_back_like_a_pass_of_sleep_and_does_not_come_again(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        wrong = await told(memory, clock)
        before = set(memory.live.graph.ids())
        done = await memory.correct(wrong, RIGHT)
        await memory.undo_pass(done.run_id)
        assert set(memory.live.graph.ids()) == before
        assert not memory.live.claims.conflicts
        await memory.light_sleep()
        assert RIGHT not in {turn.text for turn, _ in memory.live.turns.entries()}
    async with open_memory(tmp_path, clock, first_id=500) as memory:
        await memory.light_sleep()
        assert set(memory.live.graph.ids()) == before
        assert not memory.live.claims.conflicts


async def test_what_waits_for_sleep_is_not_taken_back_with_a_correction(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        wrong = await told(memory, clock)
        await memory.remember("The ferry leaves at seven.")
        done = await memory.correct(wrong, RIGHT)
        await memory.undo_pass(done.run_id)
        texts = {turn.text for turn, _ in memory.live.turns.entries()}
        assert "The ferry leaves at seven." in texts
        assert RIGHT not in texts


async def test_the_same_correction_twice_in_a_moment_is_refused(tmp_path: Path) -> None:
    clock = HandClock(NOW)
    async with open_memory(tmp_path, clock) as memory:
        wrong = await told(memory, clock)
        await memory.correct(wrong, RIGHT)
        with pytest.raises(UsageError):
            await memory.correct(wrong, RIGHT)
        with pytest.raises(NotFoundError):
            await memory.correct("no such", RIGHT)
