"""What every Embedder promises. A test module subclasses `EmbedderContract` and gives an `embedder`."""

import asyncio

import numpy as np

from reveries.llm.base import Embedder

TEXTS = ["a", "", "   ", "word " * 2000, "\ud800 lone", "日本語", "x\0y", *(f"text {n} " * (n % 9) for n in range(150))]


class EmbedderContract:
    """Subclasses define the fixture `embedder`."""

    async def test_rows_are_of_unit_length_finite_and_as_many_as_the_texts(self, embedder: Embedder) -> None:
        rows = await embedder.embed(TEXTS)
        assert rows.shape == (len(TEXTS), embedder.dimensions)
        assert rows.dtype == np.float32
        assert np.isfinite(rows).all()
        assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)

    async def test_rows_are_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        together = await embedder.embed(TEXTS)
        for place in (0, 5, len(TEXTS) - 1):
            [alone] = await embedder.embed([TEXTS[place]])
            assert float(alone @ together[place]) > 0.99

    async def test_different_texts_have_different_vectors(self, embedder: Embedder) -> None:
        one, other = await embedder.embed(["The cello is out of tune.", "A tax return is due in May."])
        assert float(one @ other) < 0.9

    async def test_nothing_gives_no_rows(self, embedder: Embedder) -> None:
        assert len(await embedder.embed([])) == 0

    async def test_requests_at_once_each_get_their_own(self, embedder: Embedder) -> None:
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(embedder.embed([f"number {n}", "same"]), name=f"ask {n}") for n in range(5)]
        for n, one in enumerate(asked):
            [alone] = await embedder.embed([f"number {n}"])
            assert float(alone @ one.result()[0]) > 0.99

    async def test_a_cancelled_request_leaves_it_ready_for_the_next(self, embedder: Embedder) -> None:
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(embedder.embed(TEXTS), name="asking")
            await asyncio.sleep(0)
            asking.cancel()
        assert len(await embedder.embed(["again"])) == 1

    async def test_it_has_a_name_that_stays(self, embedder: Embedder) -> None:
        before = embedder.model_id
        await embedder.embed(["x"])
        assert embedder.model_id == before != ""

    async def test_closing_twice_is_closing_once(self, embedder: Embedder) -> None:
        await embedder.aclose()
        await embedder.aclose()
