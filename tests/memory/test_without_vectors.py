"""Without an embedder nothing is lost: storing, sleeping and recalling work by words."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from reveries.errors import (
    ModelError,
    ModelMissingError,
    ModelUnavailableError,
    ReveriesError,
)
from reveries.llm.base import Vectors
from reveries.memory.importing import PastTurn
from tests.memory.kit import NOW, WordEmbedder, answering, deep_answer, open_memory, talk
from tests.memory.reembedding_kit import (
    ERRORS,
    SAYINGS,
    all_have_vectors,
    database_of,
    fill,
    found_all,
    vectors_by_model,
)


@pytest.mark.requirement("R-94", "D1")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_without_an_embedder_turns_sleep_and_recall_go_on_and_the_vectors_come_later(
    tmp_path: Path, error: ReveriesError
) -> None:
    embedder = WordEmbedder()
    embedder.error = error
    async with open_memory(tmp_path, embedder=embedder) as memory:
        for saying in SAYINGS:
            await talk(memory, saying)
        slept = await memory.light_sleep()
        assert (slept.experiences, slept.left) == (len(SAYINGS), 0)
        assert await found_all(memory)
        assert error.message in memory.no_vector_reason
        assert await vectors_by_model(database_of(memory)) == {}
        embedder.error = None
        await memory.reembedding.embed_missing()
        assert await found_all(memory)
        assert memory.no_vector_reason == ""
        progress = memory.reembedding.progress
        assert progress.is_complete
        assert progress.total == progress.done == 2 * len(SAYINGS) + len(memory.live.graph)
        assert all_have_vectors(memory)
    async with open_memory(tmp_path, embedder=WordEmbedder(), first_id=500) as memory:
        assert all_have_vectors(memory)
        assert memory.live.graph.vectors.any(axis=1).all()


async def test_without_an_embedder_an_import_goes_on(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    embedder.error = ModelMissingError("not there")
    lines = [PastTurn(NOW - 1000.0 + n, "Ana" if n % 2 == 0 else "Bo", f"line {n} about topic{n}") for n in range(60)]
    async with open_memory(tmp_path, embedder=embedder) as memory:
        assert (await memory.begin_import("old").add(lines)).stored == 60
        await memory.light_sleep()
        recall = await memory.search("topic42", 3)
        assert recall.turns[0].turn.text == "line 42 about topic42"
        embedder.error = None
        await memory.reembedding.embed_missing()
        assert all_have_vectors(memory)


async def test_without_an_embedder_deep_sleep_goes_on_and_the_summary_counts_later(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with open_memory(tmp_path, embedder=embedder) as memory:
        await talk(memory, SAYINGS[0])
        await memory.light_sleep()
        embedder.error = ModelUnavailableError("gone")
        summary = "Their sibling emigrated to Portugal."
        slept = await memory.deep_sleep(answering(deep_answer(summary=summary)))
        assert slept.processed == 1
        assert (await memory.search("sister Marta", 3)).episodes
        embedder.error = None
        await memory.reembedding.embed_missing()
        [whole] = memory.live.graph.episodes()
        [told] = await embedder.embed([whole.summary])
        assert float(memory.live.graph.vector_of(whole.id) @ told) > 0.6
        assert memory.reembedding.progress.is_complete


async def test_an_embedder_that_hangs_does_not_hold_up_a_cue(tmp_path: Path) -> None:
    class Hanging(WordEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            raise TimeoutError  # as asyncio.timeout does when the time for a cue is over

    await fill(tmp_path)
    async with open_memory(tmp_path, embedder=Hanging(), first_id=500) as memory:
        assert await found_all(memory)


async def test_what_was_said_while_the_embedder_was_away_is_one_episode_by_time(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    embedder.error = ModelUnavailableError("gone")
    async with open_memory(tmp_path, embedder=embedder) as memory:
        await talk(memory, SAYINGS[0], SAYINGS[1])
        await memory.light_sleep()
        assert len(memory.live.graph) == 1
        [one] = memory.live.graph.episodes()
        assert one.salience < 0.9


async def test_an_embedder_that_says_its_dimensions_late_is_waited_for(tmp_path: Path) -> None:
    embedder = WordEmbedder("late")
    embedder.dimensions = 0
    embedder.error = ModelUnavailableError("not up yet")
    async with open_memory(tmp_path, embedder=embedder) as memory:
        await talk(memory, *SAYINGS)
        await memory.light_sleep()
        assert memory.live.dimensions == 0
        assert await found_all(memory)
        embedder.dimensions, embedder.error = 48, None
        await memory.reembedding.embed_missing()
        assert memory.live.dimensions == 48
        assert await found_all(memory)


async def test_a_model_that_changed_its_length_under_its_name_is_refused_and_words_serve(tmp_path: Path) -> None:
    await fill(tmp_path)
    async with open_memory(tmp_path, embedder=WordEmbedder(dimensions=32), first_id=500) as memory:
        assert await found_all(memory)
        await talk(memory, ("The heron stood in the pond.", "Still?"))
        await memory.light_sleep()
        assert await found_all(memory, {"heron pond": "heron"})
        with pytest.raises(ModelError, match="vectors of 32 numbers"):
            await memory.reembedding.embed_missing()
