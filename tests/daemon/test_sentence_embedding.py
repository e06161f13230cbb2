"""Sentence embedding in the background: callers never wait, and get no unwanted vectors."""

import asyncio
from collections.abc import Sequence

import numpy as np

from reveries.daemon.talk.sentence_embedding import SentenceEmbeddings
from reveries.errors import ModelUnavailableError
from reveries.llm.base import Vectors


class Slow:
    """An embedder that waits for a signal, and may fail."""

    model_id = "slow"
    dimensions = 2

    def __init__(self) -> None:
        self.may_go = asyncio.Event()
        self.asked: list[str] = []
        self.fails = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        await self.may_go.wait()
        if self.fails:
            raise ModelUnavailableError("It is away.")
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))

    async def aclose(self) -> None: ...


async def _until_idle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_sentence_comes_back_with_its_vector() -> None:
    embedder = Slow()
    meanings = SentenceEmbeddings(embedder)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(meanings.run(), name="meanings")
        line = meanings.open()
        line.offer("It rains.")
        assert line.take() is None
        embedder.may_go.set()
        await _until_idle()
        came = line.take()
        assert came is not None
        assert came[0] == "It rains."
        assert came[1].tolist() == [1.0, 0.0]
        running.cancel()


async def test_what_is_closed_meanwhile_gets_nothing_and_a_failure_is_no_end() -> None:
    embedder = Slow()
    meanings = SentenceEmbeddings(embedder)
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(meanings.run(), name="meanings")
        closed, line = meanings.open(), meanings.open()
        closed.offer("Of a thought that ended.")
        await _until_idle()
        closed.close()
        embedder.may_go.set()
        await _until_idle()
        assert closed.take() is None
        embedder.fails = True
        line.offer("Lost.")
        await _until_idle()
        embedder.fails = False
        line.offer("Found.")
        await _until_idle()
        came = line.take()
        assert came is not None
        assert came[0] == "Found."
        running.cancel()


async def test_too_many_are_let_go_and_nobody_waits() -> None:
    embedder = Slow()
    meanings = SentenceEmbeddings(embedder)
    line = meanings.open()
    for number in range(500):
        line.offer(f"Sentence {number}.")
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(meanings.run(), name="meanings")
        embedder.may_go.set()
        await _until_idle()
        await _until_idle()
        assert len(embedder.asked) == 32
        running.cancel()
