"""Embeds sentences in the background for the circuit breaker, which never waits for them (RA-35)."""

import asyncio
from collections import deque

import structlog

from reveries.errors import ReveriesError
from reveries.llm.base import Embedder, Vector

log = structlog.get_logger("meanings")

_QUEUE_LIMIT = 32
"""More sentences are dropped: then the text is generated faster than it is embedded."""


class SentenceEmbeddings:
    """The queue to the embedder. `run` as long as the daemon runs."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._waiting: asyncio.Queue[tuple[SentenceVectors, str]] = asyncio.Queue(_QUEUE_LIMIT)

    def open(self) -> "SentenceVectors":
        """Open the sentences of one thought or reply."""
        return SentenceVectors(self)

    def offer(self, line: "SentenceVectors", sentence: str) -> None:
        """Queue a sentence without waiting; drop it if the queue is full."""
        if not self._waiting.full():
            self._waiting.put_nowait((line, sentence))

    async def run(self) -> None:
        """Embed queued sentences one at a time, so that recall never waits for more than one."""
        while True:
            line, sentence = await self._waiting.get()
            if line.is_closed or self._embedder is None:
                continue
            try:
                vectors = await self._embedder.embed([sentence])
            except ReveriesError as error:
                log.debug("sentence_embedding.failed", why=str(error))
                continue
            if not line.is_closed:
                line.deliver(sentence, vectors[0])


class SentenceVectors:
    """The sentences of one thought or reply, with their vectors; after `close` no more are delivered."""

    def __init__(self, meanings: SentenceEmbeddings) -> None:
        self._meanings = meanings
        self._delivered: deque[tuple[str, Vector]] = deque(maxlen=_QUEUE_LIMIT)
        self.is_closed = False

    def offer(self, sentence: str) -> None:
        self._meanings.offer(self, sentence)

    def deliver(self, sentence: str, vector: Vector) -> None:
        self._delivered.append((sentence, vector))

    def take(self) -> tuple[str, Vector] | None:
        """Return the oldest sentence with its vector that was not taken yet."""
        return self._delivered.popleft() if self._delivered else None

    def close(self) -> None:
        self.is_closed = True
        self._delivered.clear()
