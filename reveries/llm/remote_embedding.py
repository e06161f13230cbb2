"""Embedders called over HTTP: batches, limits, and a check of each row before it is used.

A subclass sends one batch. Nothing is retried here: the caller decides what a failure means.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from reveries.config import LimitSettings
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Embedder, Role, Vectors
from reveries.llm.circuit import Failure
from reveries.llm.circuits import Circuits

BATCH_TEXTS = 64
BATCH_CHARS = 48_000
"""About 16,000 tokens of English; hosted providers accept at most some hundred thousand at once."""

MAX_CHARS = 4_000
"""The rest of a longer text is ignored. Below 8,000 tokens in any script, which is what hosted models read."""

MAX_DIMENSIONS = 8_192
ROW_BYTES = MAX_DIMENSIONS * 32
"""An upper bound on the JSON of a row of that many numbers."""

FIRST_TEXT_SECONDS = 1.0
"""Plus one second for every text: a cue, which a person waits for, has two."""

LONGEST_SECONDS = 60.0
"""A batch is short work; a slower service counts as unavailable. `llm.limits.total_seconds` where that is less."""


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """One batch's result. `prompt_tokens` is None when the provider did not report it: unknown, not free."""

    vectors: Vectors = field(repr=False)
    prompt_tokens: int | None


class RemoteEmbedder(ABC):
    """The Embedder port over HTTP. `model_id` is "provider/name". `dimensions` is 0 until the first answer."""

    def __init__(self, model_id: str, limits: LimitSettings) -> None:
        self._model_id = model_id
        self._seconds = min(LONGEST_SECONDS, limits.total_seconds)
        self._dimensions = 0

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. Raises ModelMissingError or ModelUnavailableError."""
        parts = [(await self.embed_batch(batch)).vectors for batch in embedding_batches(texts)]
        return np.vstack(parts) if parts else np.zeros((0, self._dimensions), np.float32)

    async def embed_batch(self, texts: Sequence[str]) -> EmbeddedBatch:
        """Send one call: at most BATCH_TEXTS texts, see `embedding_batches`."""
        seconds = min(self._seconds, FIRST_TEXT_SECONDS + len(texts))
        try:
            async with asyncio.timeout(seconds):
                rows, tokens = await self._ask_provider([prepare_text(text) for text in texts])
        except TimeoutError as error:
            raise ModelUnavailableError(
                f"{self._model_id} sent no vectors for {seconds:.0f} seconds, so the call was stopped.",
                advice="Memory is searched by words until it answers again.",
                fault=ModelFault.TIMED_OUT,
            ) from error
        # Converting thousands of numbers to numpy takes milliseconds, so it runs off the event loop.
        vectors = await asyncio.to_thread(unit_rows, rows, len(texts), self._model_id)
        if self._dimensions not in (0, vectors.shape[1]):
            raise bad_vectors_error(
                self._model_id, f"rows of {vectors.shape[1]} numbers after rows of {self._dimensions}"
            )
        self._dimensions = vectors.shape[1]
        return EmbeddedBatch(vectors, tokens)

    async def aclose(self) -> None:
        """Release all resources. Idempotent. The base class has none."""
        return

    @abstractmethod
    async def _ask_provider(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        """Return the rows in the order of `texts`, and the tokens as the provider counted them. Raises ModelError."""


class GuardedEmbedder:
    """The Embedder port over a remote `embedder`, behind its own circuit. Owns `embedder`.

    The circuit is not the one of the provider's chat models: an address may offer one service without the other. A
    refused call costs nothing, and memory is searched by words at once.
    """

    def __init__(self, embedder: Embedder, circuits: Circuits) -> None:
        self._embedder = embedder
        self._circuits = circuits
        self._key = f"{embedder.model_id} (embedding)"

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. Raises the last error, without a call, while it is too early to try again.

        A cue is as urgent as the owner's message that it comes from, so the conversation's waiting rule applies; the
        error's `retry_after_seconds` is the background's, for the caller that fills in missing vectors.
        """
        if self._circuits.wait_seconds(self._key, Role.CONVERSATION):
            circuit = self._circuits.get(self._key)
            raise self._unavailable_error(circuit.last_error, circuit.last_fault or ModelFault.UNREACHABLE)
        try:
            vectors = await self._embedder.embed(texts)
        except ModelUnavailableError as error:
            failure = Failure(error.fault, str(error), error.retry_after_seconds)
            await self._circuits.record_failure(self._key, failure)
            raise self._unavailable_error(str(error), error.fault) from error
        await self._circuits.record_answer(self._key)
        return vectors

    async def aclose(self) -> None:
        await self._embedder.aclose()

    def _unavailable_error(self, message: str, fault: ModelFault) -> ModelUnavailableError:
        wait_seconds = self._circuits.wait_seconds(self._key, Role.EMBEDDING)
        return ModelUnavailableError(message, fault=fault, retry_after_seconds=wait_seconds)


def embedding_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield `texts` in order, at most BATCH_TEXTS texts or BATCH_CHARS characters at a time (one long text may exceed
    that)."""
    batch: list[str] = []
    chars = 0
    for text in texts:
        size = min(len(text), MAX_CHARS)
        if batch and (len(batch) >= BATCH_TEXTS or chars + size > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += size
    if batch:
        yield batch


def prepare_text(text: str) -> str:
    """Return `text` as a service accepts it: cut, without lone surrogates, and never blank, which some of them
    refuse."""
    cut = text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")
    return cut if cut.strip() else "."


def unit_rows(rows: Sequence[object], count: int, model_id: str) -> Vectors:
    """Return `rows` as float32 of unit length, shape (count, dimensions).

    Raises ModelUnavailableError unless there are `count` rows of equal length, finite and not all zero.
    """
    if len(rows) != count:
        raise bad_vectors_error(model_id, f"{len(rows)} rows for {count} texts")
    try:
        numbers = np.asarray(rows, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise bad_vectors_error(model_id, "rows that are not all numbers, or not of one length") from error
    if numbers.ndim != 2 or not 0 < numbers.shape[1] <= MAX_DIMENSIONS:
        raise bad_vectors_error(model_id, f"rows of the shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise bad_vectors_error(model_id, "numbers that are not finite")
    largest = np.abs(numbers).max(axis=1, keepdims=True)
    if not (largest > 0.0).all():
        raise bad_vectors_error(model_id, "a row of zeros")
    # Divide by the largest first: the square of a very large number overflows.
    scaled = numbers / largest
    unit: Vectors = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)
    return unit


def bad_vectors_error(model_id: str, what: str) -> ModelUnavailableError:
    """Return the error for an answer that cannot be used."""
    return ModelUnavailableError(
        f"{model_id} answered with {what}.", advice="Check llm.embedding_model: is it a model that embeds?"
    )
