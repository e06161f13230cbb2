"""What every embedder that is asked over HTTP shares: batches, limits, and a check of each row before it is believed.

A subclass asks one batch. Retrying is not done here: what calls an embedder decides what a failure means to it.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from reveries.config import LimitSettings
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Vectors

BATCH_TEXTS = 64
BATCH_CHARS = 48_000
"""About 16,000 tokens of English; hosted providers take no more than some hundred thousand at once."""

MAX_CHARS = 4_000
"""The rest of a longer text is not seen. Below 8,000 tokens in any script, which is what hosted models read."""

MAX_DIMENSIONS = 8_192
ROW_BYTES = MAX_DIMENSIONS * 32
"""More than a row of so many numbers takes as JSON."""

FIRST_TEXT_SECONDS = 1.0
"""And one more for every text: a cue, which a person waits for, has two."""

LONGEST_SECONDS = 60.0
"""A batch is short work; a service that takes longer is not there. `llm.limits.total_seconds` where that is less."""


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """One batch's answer. `prompt_tokens` is None when the provider did not say: unknown, not free."""

    vectors: Vectors = field(repr=False)
    prompt_tokens: int | None


class RemoteEmbedder(ABC):
    """The Embedder port over HTTP. `model_id` is "provider/name". `dimensions` is 0 until the first answer tells it."""

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
        """See Embedder. Raises ModelMissingError or ModelUnavailableError; then nothing of it is known."""
        parts = [(await self.embed_batch(batch)).vectors for batch in embedding_batches(texts)]
        return np.vstack(parts) if parts else np.zeros((0, self._dimensions), np.float32)

    async def embed_batch(self, texts: Sequence[str]) -> EmbeddedBatch:
        """One call: at most BATCH_TEXTS texts, see `embedding_batches`."""
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
        # Thousands of numbers from Python's to numpy's: some milliseconds that the loop need not stand still for.
        vectors = await asyncio.to_thread(unit_rows, rows, len(texts), self._model_id)
        if self._dimensions not in (0, vectors.shape[1]):
            raise bad_vectors_error(
                self._model_id, f"rows of {vectors.shape[1]} numbers after rows of {self._dimensions}"
            )
        self._dimensions = vectors.shape[1]
        return EmbeddedBatch(vectors, tokens)

    async def aclose(self) -> None:
        """Give everything back. Idempotent. Here: nothing of its own."""
        return

    @abstractmethod
    async def _ask_provider(self, texts: list[str]) -> tuple[Sequence[object], int | None]:
        """The rows, in the order of `texts`, and the tokens as the provider counted them. Raises ModelError."""


def embedding_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """`texts` in order, cut so that none has more than BATCH_TEXTS of them or BATCH_CHARS characters (one text may)."""
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
    """`text` as a service takes it: cut, without lone surrogates, and never blank, which some of them refuse."""
    cut = text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")
    return cut if cut.strip() else "."


def unit_rows(rows: Sequence[object], count: int, model_id: str) -> Vectors:
    """`rows` as float32 of unit length, shape (count, dimensions).

    Raises ModelUnavailableError unless there are `count` of them, all of one length, of finite numbers, none all 0.
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
    # By the largest first: the square of a very large number is none.
    scaled = numbers / largest
    unit: Vectors = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)
    return unit


def bad_vectors_error(model_id: str, what: str) -> ModelUnavailableError:
    """The error for an answer that cannot be used."""
    return ModelUnavailableError(
        f"{model_id} answered with {what}.", advice="Check llm.embedding_model: is it a model that embeds?"
    )
