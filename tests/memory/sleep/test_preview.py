"""A dry run asks the model and changes nothing; a pass that would merge away too much asks the owner first."""

import asyncio
from pathlib import Path

import pytest

from reveries.errors import ModelAnswerError, NotFoundError
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, answering, deep_answer, hanging, memory_settings, open_memory, talk
from tests.memory.test_memory import picture

BOAT = "The wooden boat Sole needs blue paint."
ASKS_SOON = memory_settings(ask_above_share=0.0, ask_above_count=1)


async def boats(memory: Memory, count: int, speaker: str = "Ana") -> None:
    """Create `count` episodes with the same content, each in its own conversation."""
    for place in range(count):
        await memory.begin_import(f"past {place}").add([PastTurn(NOW - (50 - place) * 3600, speaker, BOAT)])
    await memory.light_sleep()
    assert len(memory.live.graph) == count


def one_boat(count: int) -> ScriptedModel:
    return ScriptedModel([deep_answer(0.5, BOAT, summary=BOAT)] * count)


async def test_a_dry_run_shows_the_diff_and_changes_nothing(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (BOAT, "I see."))
        await memory.light_sleep()
        before, runs = picture(memory), await memory.sleep_log(100)
        (light,) = memory.live.graph.episodes()
        self_answer: dict[str, object] = {"owner_facts": ["Ana has a boat."]}
        seen = await memory.dry_run(answering(deep_answer(0.9, BOAT, summary="Ana has a boat, Sole."), self_answer))
        assert (picture(memory), await memory.sleep_log(100)) == (before, runs)
        ((change,), (diff,)) = seen.changes, seen.changes[0].episodes
        assert (diff.what, diff.old_summary, diff.new_summary) == ("changed", light.summary, "Ana has a boat, Sole.")
        assert "+ owner_facts: Ana has a boat." in change.self_model
        assert (await memory.stats()).unprocessed == 1


@pytest.mark.requirement("R-105")
async def test_a_dry_run_sees_what_its_own_earlier_steps_would_do(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await boats(memory, 3)
        seen = await memory.dry_run(one_boat(3))
        would = [diff.what for change in seen.changes for diff in change.episodes if diff.what == "merged away"]
        real = await memory.deep_sleep(one_boat(3))
        assert len(would) == real.merged == 2
        assert [change.line for change in seen.changes] == list(real.log)


async def test_a_dry_run_of_at_most_so_many_says_how_many_more_wait(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await boats(memory, 3)
        seen = await memory.dry_run(ScriptedModel([ModelAnswerError("No."), deep_answer()]), limit=2)
        assert (len(seen.changes), seen.fallbacks, seen.left) == (2, 1, 1)
        stop = asyncio.Event()
        stop.set()
        assert (await memory.dry_run(ScriptedModel(), stop=stop)).was_interrupted


async def test_a_pass_that_would_merge_away_more_than_its_share_stops_and_asks(tmp_path: Path) -> None:
    async with open_memory(tmp_path, memory=ASKS_SOON) as memory:
        await boats(memory, 4)
        slept = await memory.deep_sleep(one_boat(4))
        assert (slept.merged, len(memory.live.graph)) == (1, 3)
        assert "superseded 1 of 4 episodes" in slept.question
        assert BOAT in slept.question
        (newest, *_) = await memory.sleep_log(1)
        assert (newest.outcome, newest.question) == ("asks", slept.question)
        silent = ScriptedModel()
        waits = await memory.deep_sleep(silent)
        assert (waits.run_id, waits.question, silent.prompts) == (slept.run_id, slept.question, [])


@pytest.mark.requirement("F1")
async def test_foreign_text_merges_no_more_than_its_share_and_neither_ends_a_pass_nor_asks(tmp_path: Path) -> None:
    async with open_memory(tmp_path, memory=ASKS_SOON) as memory:
        await boats(memory, 4, "Bea")
        would = await memory.dry_run(one_boat(4))
        slept = await memory.deep_sleep(one_boat(4))
        assert (slept.question, slept.processed, slept.left) == ("", 4, 0)
        assert (slept.merged, len(memory.live.graph)) == (1, 3)
        assert not would.would_ask
        assert [change.line for change in would.changes] == list(slept.log)
        assert (await memory.sleep_log(1))[0].outcome == "done"


@pytest.mark.requirement("F1")
async def test_what_foreign_text_merged_is_not_taken_from_what_the_owners_words_may(tmp_path: Path) -> None:
    async with open_memory(tmp_path, memory=ASKS_SOON) as memory:
        await boats(memory, 3, "Bea")
        await memory.deep_sleep(one_boat(3))
        for place in range(2):
            await memory.begin_import(f"foreign {place}").add([PastTurn(NOW - (9 - place) * 3600, "Bea", BOAT)])
            own = PastTurn(NOW - (9 - place) * 3600, "Ana", "I sold the cello to Tomas in spring.")
            await memory.begin_import(f"own {place}").add([own])
        await memory.light_sleep()
        model = ScriptedModel([deep_answer(0.5)] * 4)
        slept = await memory.deep_sleep(model)
        assert (slept.question, slept.left) == ("", 0)
        own_left = [one for one in memory.live.graph.episodes() if not one.tainted]
        assert len(own_left) == 1


async def test_what_the_owner_confirms_is_done_without_asking_the_model_again(tmp_path: Path) -> None:
    async with open_memory(tmp_path, memory=ASKS_SOON) as memory:
        await boats(memory, 3)
        slept = await memory.deep_sleep(one_boat(3))
        left = len(memory.live.graph)
        line = await memory.answer_sleep_question(slept.run_id[:6], do_it=True)
        assert "merged" in line
        assert len(memory.live.graph) == left - 1
        assert await memory.sleep_question() is None
        assert (await memory.sleep_log(1))[0].outcome == "done"
        live = picture(memory)
    async with open_memory(tmp_path, first_id=1000) as memory:
        assert picture(memory) == live
        await memory.undo_pass(slept.run_id)
        assert len(memory.live.graph) == 3


async def test_what_the_owner_drops_is_not_done_and_not_taken_up_again_by_itself(tmp_path: Path) -> None:
    async with open_memory(tmp_path, memory=ASKS_SOON) as memory:
        await boats(memory, 3)
        slept = await memory.deep_sleep(one_boat(3))
        before = picture(memory)
        await memory.answer_sleep_question(slept.run_id, do_it=False)
        assert picture(memory) == before
        assert (await memory.stats()).unprocessed == 2
        assert await memory.unprocessed_count() == 1
        with pytest.raises(NotFoundError, match="does not wait"):
            await memory.answer_sleep_question(slept.run_id, do_it=True)


async def test_a_question_outlives_a_restart_and_goes_with_the_pass_that_is_taken_back(tmp_path: Path) -> None:
    async with open_memory(tmp_path, memory=ASKS_SOON) as memory:
        await boats(memory, 3)
        slept = await memory.deep_sleep(one_boat(3))
    async with open_memory(tmp_path, memory=ASKS_SOON, first_id=1000) as memory:
        question = await memory.sleep_question()
        assert question is not None
        assert question.text == slept.question
        await memory.undo_pass(slept.run_id)
        assert await memory.sleep_question() is None
        assert len(memory.live.graph) == 3


async def test_a_share_of_one_never_asks(tmp_path: Path) -> None:
    never = memory_settings(ask_above_share=1.0, ask_above_count=0)
    async with open_memory(tmp_path, memory=never) as memory:
        await boats(memory, 4)
        assert (await memory.deep_sleep(one_boat(4))).merged == 3


@pytest.mark.requirement("R-102")
async def test_a_word_of_the_owner_ends_a_dry_run_in_the_middle_of_an_experience(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await boats(memory, 2)
        asked, stop = asyncio.Event(), asyncio.Event()
        model = ScriptedModel([hanging(asked)], clock=HandClock())
        async with asyncio.timeout(300), asyncio.TaskGroup() as group:
            looking = group.create_task(memory.dry_run(model, stop=stop), name="look")
            await asked.wait()
            stop.set()
        assert looking.result().was_interrupted
        assert (looking.result().changes, looking.result().left) == ([], 2)
