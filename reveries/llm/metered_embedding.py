"""Budget control for embedders: known texts come from the cache, waiting requests share batches, and paid calls are
reserved first and settled after.

What runs on the owner's machines costs nothing and is never refused: without it neither search nor sleep nor recall
would work at the limit (G4). Its texts are counted in bulk: a write in every turn would cost more than the vector.
"""

import asyncio
import contextlib
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import structlog

from reveries.db.database import Database
from reveries.errors import (
    BudgetExceededError,
    DiskFullError,
    ModelError,
    ModelMissingError,
    ModelUnavailableError,
    StorageError,
)
from reveries.llm.base import Embedder, Role, Usage, Vector, Vectors
from reveries.llm.budget import Ledger, Reservation
from reveries.llm.caps import PlannedCall
from reveries.llm.faults import NOT_BILLED
from reveries.llm.prices import Price, price_of
from reveries.llm.remote_embedding import EmbeddedBatch, RemoteEmbedder, embedding_batches, prepare_text
from reveries.llm.tokens import estimate_tokens

MAX_CACHED_ROWS = 20_000
"""About 30 MB of 384 dimensions, 120 MB of 1,536."""

REMEMBERED_TEXTS = 4_096
"""In memory; 6 MB of 384 dimensions. The owner's words are embedded as the cue and, after sleep, as a turn."""

LOCAL_BATCH_TEXTS = 8
"""On one core a larger batch is no faster (docs/benchmarks/speed.md), and a cue waits for the running batch."""

COUNTED_AT_ONCE_TOKENS = 20_000
_BYTES_PER_TOKEN = 4

log = structlog.get_logger("embedding")


@dataclass(eq=False, slots=True)
class _Request:
    """The texts that one caller waits for."""

    left: dict[str, None]
    vectors: dict[str, Vector] = field(default_factory=dict)
    error: ModelError | None = None


class EmbeddingCache:
    """Vectors that were paid for, by the hash of the exact text, so that no text is paid for twice in a row.

    Only a cache, the table `embedding_cache`: it is bounded, and emptying it loses no memory.
    """

    def __init__(self, database: Database, max_rows: int = MAX_CACHED_ROWS) -> None:
        self._database = database
        self._max_rows = max_rows

    async def find(self, model_id: str, texts: Iterable[str]) -> dict[str, Vector]:
        """Return the cached vectors, by text."""
        by_hash = {content_hash(text): text for text in texts}
        named = {"model_id": model_id, "hashes": json.dumps(list(by_hash))}
        rows = await self._database.rows("embedding_cache.find", named)
        return {by_hash[row["content_hash"]]: np.frombuffer(row["vector"], "<f4").astype(np.float32) for row in rows}

    async def keep(self, model_id: str, vectors: Mapping[str, Vector]) -> None:
        """Store `vectors`, by text; the oldest rows are deleted when there are too many. Raises StorageError."""
        rows = [
            {"content_hash": content_hash(text), "model_id": model_id, "vector": vector.astype("<f4").tobytes()}
            for text, vector in vectors.items()
        ]
        async with self._database.transaction() as transaction:
            await transaction.run_many("embedding_cache.put", rows)
            await transaction.run("embedding_cache.bound", {"rows": self._max_rows})


class MeteredEmbedder:
    """`embedder` behind `ledger` and `cache`. Owns `embedder`: closing it closes both."""

    def __init__(
        self,
        embedder: Embedder,
        ledger: Ledger,
        cache: EmbeddingCache,
        find_price: Callable[[str], Price] = price_of,
    ) -> None:
        self._embedder = embedder
        self._ledger = ledger
        self._cache = cache
        # An embedder that is not called over HTTP runs in this process.
        is_remote = isinstance(embedder, RemoteEmbedder)
        self._price = find_price(embedder.model_id) if is_remote else Price(0.0, 0.0)
        self._remembered: OrderedDict[str, Vector] = OrderedDict()
        self._waiting: list[_Request] = []
        self._calling = asyncio.Lock()
        self._uncounted_bytes = 0

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. Raises BudgetExceededError before the embedder is called, ModelError when it fails."""
        wanted = dict.fromkeys(texts)
        vectors = await self._known(wanted)
        # Texts of similar length together: padding the shorter ones costs time.
        if missing := dict.fromkeys(sorted((text for text in wanted if text not in vectors), key=len)):
            vectors |= await self._ask_request(_Request(missing))
        if not vectors:
            return np.zeros((0, self.dimensions), np.float32)
        return np.stack([vectors[text] for text in texts])

    async def aclose(self) -> None:
        """Close the embedder; what was not counted yet is."""
        with contextlib.suppress(StorageError):
            await self._count_local(at_least=1)
        await self._embedder.aclose()

    async def _known(self, texts: Mapping[str, None]) -> dict[str, Vector]:
        vectors: dict[str, Vector] = {}
        for text in texts:
            if (vector := self._remembered.get(key := content_hash(text))) is not None:
                self._remembered.move_to_end(key)
                vectors[text] = vector
        # Reading the file takes longer than a small local model; it pays off where a call costs money.
        if not self._price.is_free and len(vectors) < len(texts):
            kept = await self._cache.find(self.model_id, (text for text in texts if text not in vectors))
            self._remember(kept)
            vectors |= kept
        return vectors

    async def _ask_request(self, request: _Request) -> dict[str, Vector]:
        """Wait for the request; one caller at a time sends a batch for all waiting ones, so a short cue never waits for
        a long list."""
        self._waiting.append(request)
        try:
            while request.left and request.error is None:
                async with self._calling:
                    if request.left and request.error is None:
                        await self._ask_next_batch()
        finally:
            self._waiting.remove(request)
        if request.error is not None:
            raise request.error
        return request.vectors

    async def _ask_next_batch(self) -> None:
        """Send one batch of the waiting texts, shortest requests first. A failure goes to the requests in the batch."""
        shortest_first = sorted(
            (waiting for waiting in self._waiting if waiting.left and waiting.error is None),
            key=lambda request: len(request.left),
        )
        texts = list(dict.fromkeys(text for request in shortest_first for text in request.left))
        batch = next(embedding_batches(texts))
        if self._price.is_free:
            batch = batch[:LOCAL_BATCH_TEXTS]
        try:
            answered = dict(zip(batch, await self._call_embedder(batch), strict=True))
        except BudgetExceededError as error:
            # It exceeds the remaining budget, which shorter requests may still fit into.
            max(shortest_first, key=lambda request: len(request.left)).error = error
            return
        except ModelError as error:
            for request in self._waiting:
                if not request.left.keys().isdisjoint(batch):
                    request.error = error
            return
        self._remember(answered)
        for request in self._waiting:
            for text in [text for text in batch if text in request.left]:
                request.vectors[text] = answered[text]
                del request.left[text]

    async def _call_embedder(self, texts: list[str]) -> Vectors:
        if self._price.is_free or not isinstance(self._embedder, RemoteEmbedder):
            vectors = await self._embedder.embed(texts)
            self._uncounted_bytes += sum(len(text.encode("utf-8", "replace")) for text in texts)
            await self._count_local(at_least=COUNTED_AT_ONCE_TOKENS)
            return vectors
        reservation = await self._ledger.reserve(self._worst_case(texts))
        answer = await self._settle_call(self._embedder, reservation, texts)
        with contextlib.suppress(DiskFullError):  # They are paid for, and usable without the cache.
            await self._cache.keep(self.model_id, dict(zip(texts, answer.vectors, strict=True)))
        return answer.vectors

    async def _settle_call(self, embedder: RemoteEmbedder, reservation: Reservation, texts: list[str]) -> EmbeddedBatch:
        try:
            answer = await embedder.embed_batch(texts)
        except ModelMissingError:
            await self._ledger.release(reservation)
            raise
        except ModelUnavailableError as error:
            if error.fault in NOT_BILLED:
                await self._ledger.release(reservation)
            else:
                await self._ledger.leave_reserved(reservation)
            raise
        except BaseException:
            await asyncio.shield(self._ledger.leave_reserved(reservation))
            raise
        if answer.prompt_tokens is None:
            await self._ledger.leave_reserved(reservation)
        else:
            await self._ledger.settle(reservation, Usage(answer.prompt_tokens, 0))
        return answer

    async def _count_local(self, at_least: int) -> None:
        tokens = -(-self._uncounted_bytes // _BYTES_PER_TOKEN)
        if tokens >= at_least:
            self._uncounted_bytes = 0
            with contextlib.suppress(DiskFullError):
                await self._ledger.record(Role.EMBEDDING, self.model_id, tokens, "local")

    def _worst_case(self, texts: list[str]) -> PlannedCall:
        # A service reads `prepare_text`; each text may have a mark before and after it.
        tokens = sum(estimate_tokens(prepare_text(text)) + 2 for text in texts)
        return PlannedCall(Role.EMBEDDING, self.model_id, self._price, tokens, 0)

    def _remember(self, vectors: Mapping[str, Vector]) -> None:
        for text, vector in vectors.items():
            self._remembered[content_hash(text)] = vector
        while len(self._remembered) > REMEMBERED_TEXTS:
            self._remembered.popitem(last=False)


def content_hash(text: str) -> str:
    """Return the SHA-256 of the exact text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
