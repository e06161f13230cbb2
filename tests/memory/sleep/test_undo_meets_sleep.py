"""Undo while a pass is running: each sees the other's changes as a whole, and nothing is lost between them."""

import asyncio
from pathlib import Path

import pytest

from reveries.errors import UndoError
from reveries.memory.memory import Memory
from tests.memory.kit import GatedEmbedder, open_memory, talk

CELLO = ("My sister Maria moved to Oslo and plays the cello.", "How lovely for your sister Maria.")
VIOLIN = ("Maria my sister also plays the violin in Oslo with the cello.", "Your sister Maria plays a lot.")


async def _found(memory: Memory, cue: str) -> list[str]:
    return [one.turn.text for one in (await memory.search(cue, 5)).turns]


@pytest.mark.requirement("R-104", "R-107")
async def test_a_pass_that_light_sleep_builds_upon_meanwhile_is_refused_and_the_newer_exchange_stays(
    tmp_path: Path,
) -> None:
    embedder = GatedEmbedder()
    async with asyncio.timeout(300), open_memory(tmp_path, embedder=embedder) as memory:
        await talk(memory, CELLO)
        await memory.light_sleep()
        (first,) = await memory.sleep_log(5)
        await talk(memory, VIOLIN)
        embedder.close()
        async with asyncio.TaskGroup() as tasks:
            sleeping = tasks.create_task(memory.light_sleep())
            await embedder.asked.wait()
            undoing = tasks.create_task(_refusal(memory, first.run_id))
            for _ in range(200):
                await asyncio.sleep(0)
            await memory.sleep_log(5)
            embedder.gate.set()
        assert sleeping.result().experiences == 1
        assert "built upon" in undoing.result()
        assert VIOLIN[0] in await _found(memory, "violin")
        assert len(await memory.undo_pass(first.run_id, through=True)) == 2
        assert (await memory.light_sleep()).experiences == 2
        assert VIOLIN[0] in await _found(memory, "violin")


async def _refusal(memory: Memory, run_id: str) -> str:
    try:
        await memory.undo_pass(run_id)
    except UndoError as error:
        return str(error)
    return ""


@pytest.mark.requirement("R-107")
async def test_words_taken_back_while_light_sleep_has_them_in_hand_are_refused_and_the_sleep_is_whole(
    tmp_path: Path,
) -> None:
    embedder = GatedEmbedder()
    async with asyncio.timeout(300), open_memory(tmp_path, embedder=embedder) as memory:
        said_in = await talk(memory, CELLO)
        embedder.close()
        async with asyncio.TaskGroup() as tasks:
            sleeping = tasks.create_task(memory.light_sleep())
            await embedder.asked.wait()
            taking = tasks.create_task(_refused(memory, said_in))
            for _ in range(200):
                await asyncio.sleep(0)
            await memory.sleep_log(5)
            embedder.gate.set()
        assert sleeping.result().experiences == 1
        assert "nothing to take back" in taking.result()
        assert [entry.outcome for entry in await memory.sleep_log(5)] == ["done"]
        assert CELLO[0] in await _found(memory, "cello")


async def _refused(memory: Memory, conversation_id: str) -> str:
    try:
        await memory.past_talk.delete_last_exchange(conversation_id)
    except UndoError as error:
        return str(error)
    return ""


@pytest.mark.requirement("R-107")
async def test_words_taken_back_between_two_batches_are_left_out_of_the_second(tmp_path: Path) -> None:
    embedder = GatedEmbedder()
    async with asyncio.timeout(300), open_memory(tmp_path, embedder=embedder) as memory:
        await talk(memory, *((f"The boat number {place} is red.", "I see.") for place in range(64)))
        said_in = await _another_conversation(memory)
        embedder.close()
        async with asyncio.TaskGroup() as tasks:
            sleeping = tasks.create_task(memory.light_sleep())
            await embedder.asked.wait()
            taking = tasks.create_task(memory.past_talk.delete_last_exchange(said_in))
            for _ in range(200):
                await asyncio.sleep(0)
            await memory.sleep_log(5)
            embedder.gate.set()
        assert [turn.text for turn in taking.result()] == ["My bank PIN is 4711.", "As you wish."]
        assert sleeping.result().left == 0
        assert [entry.outcome for entry in await memory.sleep_log(5)] == ["done"]
        assert not any("PIN" in text for text in await _found(memory, "bank PIN"))


async def _another_conversation(memory: Memory) -> str:
    conversation = await memory.conversations.open_conversation(new_after_seconds=0)
    turn = await memory.conversations.append_owner_turn(conversation.id, "My bank PIN is 4711.")
    await memory.conversations.record_exchange(turn, "As you wish.")
    return conversation.id
