import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from reveries.errors import ModelMissingError
from reveries.llm.assets import find_weights
from reveries.llm.onnx_embedding import RECENT_TEXTS_KEPT, OnnxEmbedder
from reveries.memory.text.indexed_text import embedding_text
from reveries.safety.crisis.likeness import split_pieces
from tests.llm.embedding_contract import EmbedderContract

pytestmark = pytest.mark.e2e

TURNS = [f"Caroline: I went to the {place} yesterday and it was so powerful." for place in ["pier", "market", "lake"]]


@pytest.fixture
async def embedder() -> AsyncIterator[OnnxEmbedder]:
    folder = find_weights("all-minilm-l6-v2")
    made = OnnxEmbedder(folder / "model.onnx", folder / "tokenizer.json")
    yield made
    await made.aclose()


class TestOnnxEmbedder(EmbedderContract):
    """The real weights."""


@pytest.mark.requirement("R-119")
async def test_texts_that_mean_the_same_are_near(embedder: OnnxEmbedder) -> None:
    cat, pet, tax = await embedder.embed(["My cat is ill.", "Our pet is not well.", "The tax return is due in May."])
    assert cat.shape == (384,)
    assert float(cat @ pet) > float(cat @ tax) + 0.2


@pytest.mark.requirement("V-10")
async def test_rows_are_of_unit_length_and_in_the_order_of_the_texts(embedder: OnnxEmbedder) -> None:
    texts = ["a", "", "word " * 2000, *TURNS, "\ud800 lone", "日本語", "x\0y"] + [f"text {n} " * n for n in range(40)]
    together = await embedder.embed(texts)
    assert together.shape == (len(texts), 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    for index in (0, 2, 3, len(texts) - 1):
        [alone] = await embedder.embed([texts[index]])
        assert float(alone @ together[index]) > 0.99


async def test_nothing_gives_no_rows(embedder: OnnxEmbedder) -> None:
    assert (await embedder.embed([])).shape == (0, 384)


async def test_the_loop_turns_while_it_embeds(embedder: OnnxEmbedder) -> None:
    await embedder.embed(["load"])
    turns = 0
    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(embedder.embed(TURNS * 30), name="embedding")
        while not working.done():
            await asyncio.sleep(0.001)
            turns += 1
    assert turns > 10
    assert {thread.name.split("_")[0] for thread in threading.enumerate()} >= {"embedding"}


async def test_short_turns_are_embedded_fast_enough_to_import_years(embedder: OnnxEmbedder) -> None:
    """20 a second of processor time on any machine; an idle one of today does 60 to 100 (docs/benchmarks/speed.md)."""
    await embedder.embed(["load"])
    began = time.process_time()
    await embedder.embed(TURNS * 40)
    assert len(TURNS) * 40 / (time.process_time() - began) > 20


@pytest.mark.parametrize(
    "said",
    [
        "Good evening! I played with Tom's band (the one from Leeds) today, it's been ages.",
        "Über   Köln?  \n And a second line: 3.5 km.",
        "So much happened. " + "We walked along the river and it rained. " * 6,
        "東京 naïve café 😀",
    ],
)
async def test_what_was_weighed_for_danger_is_not_computed_again_as_a_cue(embedder: OnnxEmbedder, said: str) -> None:
    weighed = await embedder.embed(split_pieces(said)[:1])
    cue = embedding_text(said, {"Reverie", "Ana"})
    assert (await embedder.embed([cue])).tobytes() == weighed.tobytes()
    assert embedder.computed_texts == 1


async def test_a_text_that_is_known_has_the_vector_it_had_and_the_oldest_are_forgotten(embedder: OnnxEmbedder) -> None:
    first = await embedder.embed(["The first thing."])
    first[:] = 0.0  # What was handed out is the caller's.
    again = await embedder.embed(["the first THING."])
    assert float(np.linalg.norm(again)) == pytest.approx(1.0)
    for number in range(RECENT_TEXTS_KEPT):
        await embedder.embed([f"thing number {number}"])
    assert embedder.computed_texts == 1 + RECENT_TEXTS_KEPT
    await embedder.embed(["The first thing."])
    assert embedder.computed_texts == 2 + RECENT_TEXTS_KEPT


async def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tmp_path / "model.onnx", tmp_path / "tokenizer.json")
    with pytest.raises(ModelMissingError, match=r"model\.onnx"):
        await embedder.embed(["x"])
    await embedder.aclose()
