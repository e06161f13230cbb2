"""The owner's marks on thoughts: a dropped thought is gone from everything that recall reads."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from reveries.llm.base import Vectors
from reveries.memory.changes import ChangeSet, Dormancy
from reveries.memory.conversations import Thought
from reveries.memory.memory import Memory
from tests.memory.kit import NOW, WordEmbedder, open_memory, talk

WORDS = "The lighthouse keeper never answered my letter about the zeppelin."


class GatedEmbedder(WordEmbedder):
    """Embeds when the test opens the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        await self.gate.wait()
        return await super().embed(texts)


async def think(memory: Memory, words: str = WORDS, at: float = NOW) -> str:
    """Have this thought; the id of its experience."""
    found = await memory.conversations.record_thought(Thought(f"t{at}", at, at + 9.0, "idle", "settled", words, 9, "m"))
    assert found is not None
    return found.id


async def fall_dormant(memory: Memory) -> None:
    """Make everything in the live memory dormant."""

    async def work(_: object) -> ChangeSet:
        return ChangeSet(dormant=tuple(Dormancy(name, NOW, "limit") for name in memory.live.graph.ids()))

    await memory._store.commit(work)


@pytest.mark.requirement("R-41", "R-57")
async def test_a_dropped_thought_that_was_only_on_the_disk_cannot_be_found_there_any_more(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        thought = await think(memory)
        await memory.light_sleep()
        (home,) = memory.live.graph.ids()
        await fall_dormant(memory)
        assert (await memory.search_deep("zeppelin", 5)).hits
        await memory.thought_edits.withdraw(thought)
        assert not (await memory.search_deep("zeppelin", 5)).hits
        assert await memory._deep_recall.wake_episodes([home], "the test") == ()
        assert memory.on_disk.texts == 0
        assert len(memory.live.graph) == 0
    async with open_memory(tmp_path, first_id=500) as memory:
        assert len(memory.live.graph) == len(memory.live.turns) == 0


@pytest.mark.requirement("R-41", "R-57")
async def test_a_thought_that_is_dropped_while_light_sleep_is_on_its_way_to_it_is_not_slept_on(tmp_path: Path) -> None:
    embedder = GatedEmbedder()
    async with open_memory(tmp_path, embedder=embedder) as memory:
        # More than one batch before it.
        await talk(memory, *[(f"Potato number {number} is peeled.", "I see.") for number in range(70)])
        thought = await think(memory, at=NOW + 1.0)
        embedder.gate.clear()
        embedder.asked.clear()
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            tasks.create_task(memory.light_sleep(), name="light sleep")
            await embedder.asked.wait()
            tasks.create_task(memory.thought_edits.withdraw(thought), name="drop")
            await asyncio.sleep(0)
            embedder.gate.set()
        assert WORDS not in {turn.text for turn, _ in memory.live.turns.entries()}
        assert (await memory.light_sleep()).experiences == 0


@pytest.mark.requirement("R-41", "R-57")
async def test_the_pass_that_made_an_episode_of_a_dropped_thought_can_still_be_taken_back(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, ("My sister Marta lives in Lisbon.", "I see."))
        thought = await think(memory, at=NOW + 1.0)
        await memory.light_sleep()
        await memory.thought_edits.withdraw(thought)
        (run,) = await memory.sleep_log(1)
        await memory.undo_pass(run.run_id)
        assert len(memory.live.graph) == len(memory.live.turns) == 0
        await memory.light_sleep()
        assert WORDS not in {turn.text for turn, _ in memory.live.turns.entries()}
        assert len(memory.live.graph) == 1


@pytest.mark.requirement("R-66")
async def test_a_pinned_thought_that_was_only_on_the_disk_is_in_memory_again(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        thought = await think(memory)
        await memory.light_sleep()
        await fall_dormant(memory)
        await memory.thought_edits.pin(thought)
        (home,) = memory.live.graph.episodes()
        assert home.salience == home.accessibility == 1.0
        assert [turn.text for turn in memory.live.turns.turns_of(home.id)] == [WORDS]
        assert await memory.unprocessed_count() == 1, "and deep sleep comes to it"


@pytest.mark.requirement("R-3")
async def test_after_a_drop_an_idle_mind_does_not_write_the_same_snapshot_again_and_again(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        thought = await think(memory)
        await memory.light_sleep()
        await memory.thought_edits.withdraw(thought)
        assert await memory.save_snapshot()
        marks = await memory._parts.database.rows("changed.marks")
        assert await memory.save_snapshot()
        assert [dict(row) for row in await memory._parts.database.rows("changed.marks")] == [dict(row) for row in marks]
