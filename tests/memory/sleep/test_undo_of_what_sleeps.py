"""Undo of a pass whose episodes or words are only on disk; and what must survive dormancy and waking."""

import asyncio
from pathlib import Path

import pytest

from reveries.memory.changes import ChangeSet, Dormancy
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from reveries.memory.model import Episode, Origin, RankedTurn, Recall
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, context, deep_answer, episode, open_memory, talk, turn
from tests.memory.test_memory import picture

BOAT = "The wooden boat Sole needs blue paint."


async def _leave(memory: Memory, *, words_alone: bool) -> None:
    """Make all live episodes dormant."""
    names = [one.id for one in memory.live.graph.episodes()]
    turns = tuple(turn.id for name in names for turn in memory.live.turns.turns_of(name))

    async def work(_: object) -> ChangeSet:
        if words_alone:
            return ChangeSet(put_away_turn_ids=turns)
        return ChangeSet(dormant=tuple(Dormancy(name, NOW - 1.0, "faded") for name in names))

    await memory._store.commit(work)


async def _found(memory: Memory, cue: str) -> list[str]:
    recall = await memory.recall(cue, context())
    return [ranked.turn.text for ranked in recall.turns]


def _made_of(episodes: list[Episode]) -> list[tuple[str, str, tuple[str, ...]]]:
    return sorted((one.summary, one.depth, one.experience_ids) for one in episodes)


@pytest.mark.parametrize("words_alone", [False, True])
@pytest.mark.requirement("R-104", "R-116")
async def test_a_light_sleep_is_taken_back_though_what_it_made_is_only_on_disk(
    tmp_path: Path, words_alone: bool
) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "I see."))
        await memory.light_sleep()
        (run,) = await memory.sleep_log(5)
        await _leave(memory, words_alone=words_alone)
        await memory.undo_pass(run.run_id)
        assert not len(memory.live.graph)
        assert memory.on_disk.texts == 0
        await memory.light_sleep()
        assert BOAT in await _found(memory, BOAT)
        live = picture(memory)
    async with open_memory(tmp_path, first_id=100_000) as memory:
        assert picture(memory) == live


@pytest.mark.parametrize("words_alone", [False, True])
@pytest.mark.requirement("R-105", "R-116", "R-169")
async def test_a_merge_is_taken_back_though_what_it_made_is_only_on_disk(tmp_path: Path, words_alone: bool) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.begin_import("a").add([PastTurn(NOW - 50 * 3600, "Bea", BOAT)])
        await memory.begin_import("b").add([PastTurn(NOW - 20 * 3600, "Bea", BOAT)])
        await memory.light_sleep()
        before = _made_of(list(memory.live.graph.episodes()))
        slept = await memory.deep_sleep(ScriptedModel([deep_answer(0.5, BOAT, summary=BOAT)] * 2))
        assert slept.merged == 1
        await _leave(memory, words_alone=words_alone)
        await memory.undo_pass(slept.run_id)
        assert _made_of(list(memory.live.graph.episodes())) == before
        assert {len(memory.live.turns.turns_of(one.id)) for one in memory.live.graph.episodes()} == {1}
        assert memory.on_disk.texts == 0
        live = picture(memory)
    async with open_memory(tmp_path, first_id=100_000) as memory:
        assert picture(memory) == live


@pytest.mark.requirement("R-116")
async def test_what_wakes_brings_back_none_of_the_words_that_were_only_repeated(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = await memory.conversations.open_conversation(3600.0)
        asked = await memory.conversations.append_owner_turn(conversation.id, BOAT)
        await memory.conversations.record_exchange(asked, BOAT, shown=[BOAT])
        await memory.light_sleep()
        before = picture(memory)
        (one,) = memory.live.graph.episodes()
        await _leave(memory, words_alone=False)
        assert await memory._deep_recall.wake_episodes([one.id], "cue") == (one.id,)
        woken = picture(memory)
        assert woken["turns"] == before["turns"]
        assert woken["vectors"] == before["vectors"]
    async with open_memory(tmp_path, first_id=100_000) as memory:
        assert picture(memory) == woken


async def test_a_word_that_comes_while_memory_fades_need_not_wait_for_all_of_it(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        old = tuple(episode(f"e{n:04}", last_accessed_at=0.0, last_decayed_at=0.0) for n in range(2500))

        async def work(_: object) -> ChangeSet:
            return ChangeSet(episodes=old)

        await memory._store.commit(work)
        conversation = await memory.conversations.open_conversation(3600.0)
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            fading = tasks.create_task(memory.decay_and_prune(), name="fading")
            await asyncio.sleep(0)
            await memory.conversations.append_owner_turn(conversation.id, BOAT)
            assert any(one.last_decayed_at == 0.0 for one in memory.live.graph.episodes())
        assert len(fading.result().fadings) == len(old)


async def test_the_taint_that_a_pass_brought_goes_with_it_and_stays_gone(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "It will look well."))
        await memory.light_sleep()
        (clean,) = memory.live.graph.episodes()
        conversation = await memory.conversations.open_conversation(3600.0)
        asked = await memory.conversations.append_owner_turn(
            conversation.id, "The boat Sole needs blue paint on the wooden hull."
        )
        letter = turn("t1", "Blue paint is poison.", origin=Origin.CHANNEL, tainted=True)
        vector = await memory.embed_cue(BOAT)
        ranked = (RankedTurn(letter, "e", 1.0),)
        recall = Recall(cue=BOAT, vector=vector, episodes=(), turns=ranked, edges_touched=0)
        told = await memory.conversations.record_exchange(
            asked, "The boat Sole then needs another paint.", recall=recall
        )
        assert told.experience.tainted
        await memory.light_sleep()
        assert [one.tainted for one in memory.live.graph.episodes() if one.id == clean.id] == [True]
        (run,) = await memory.sleep_log(1)
        await memory.undo_pass(run.run_id)
        assert [one.tainted for one in memory.live.graph.episodes()] == [False]
        live = picture(memory)
    async with open_memory(tmp_path, first_id=100_000) as memory:
        assert picture(memory) == live
