"""Sentences on their way to the embedder and back: the breaker hands them in and never waits for them (RA-35)."""

import asyncio
from collections import deque

import structlog

from reveries.errors import ReveriesError
from reveries.llm.base import Embedder, Vector

log = structlog.get_logger("meanings")

_WAITING = 32
"""A sentence more than that is not weighed: the thought or the reply is faster than the embedder."""


class SentenceEmbeddings:
    """The queue to the embedder. `run` it for the life of the daemon."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._waiting: asyncio.Queue[tuple[SentenceVectors, str]] = asyncio.Queue(_WAITING)

    def open(self) -> "SentenceVectors":
        """One line of sentences: of one thought or one reply."""
        return SentenceVectors(self)

    def offer(self, line: "SentenceVectors", sentence: str) -> None:
        """Hand in a sentence. Never waits; when too many wait already it is let go."""
        if not self._waiting.full():
            self._waiting.put_nowait((line, sentence))

    async def run(self) -> None:
        """Embed what was handed in, one sentence at a time: recall never waits for more than one."""
        while True:
            line, sentence = await self._waiting.get()
            if line.is_closed or self._embedder is None:
                continue
            try:
                vectors = await self._embedder.embed([sentence])
            except ReveriesError as error:
                log.debug("not_embedded", why=str(error))
                continue
            if not line.is_closed:
                line.came(sentence, vectors[0])


class SentenceVectors:
    """The sentences of one thought or reply; after `close` nothing comes any more."""

    def __init__(self, meanings: SentenceEmbeddings) -> None:
        self._meanings = meanings
        self._came: deque[tuple[str, Vector]] = deque(maxlen=_WAITING)
        self.is_closed = False

    def offer(self, sentence: str) -> None:
        self._meanings.offer(self, sentence)

    def came(self, sentence: str, vector: Vector) -> None:
        self._came.append((sentence, vector))

    def take(self) -> tuple[str, Vector] | None:
        """The oldest that came and was not taken yet."""
        return self._came.popleft() if self._came else None

    def close(self) -> None:
        self.is_closed = True
        self._came.clear()
