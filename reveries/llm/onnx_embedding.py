"""Text to vectors on this machine: MiniLM (int8 ONNX), in its own thread.

384 dimensions, English. The model is loaded in that thread at the first call; it never runs on the event loop's thread.
"""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reveries.errors import ModelMissingError, ModelUnavailableError
from reveries.llm.base import Vectors

if TYPE_CHECKING:
    import onnxruntime
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

MODEL_ID = "all-minilm-l6-v2-int8"
DIMENSIONS = 384
MAX_TOKENS = 256
"""The model's training length; the rest of a longer text is ignored."""

MAX_CHARS = 8 * MAX_TOKENS
"""More characters than that are never among the first tokens of ordinary text; tokenizing a book would stall."""

BATCH_TEXTS = 8
"""On one core a larger batch is no faster: padding the shorter texts costs more than a call."""

RECENT_TEXTS_KEPT = 16
"""Vectors of single texts in the cache: an owner's message is checked for danger, used for recall, then stored."""


class OnnxEmbedder:
    """The Embedder port on two files. The first call raises ModelMissingError when one is missing."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        self._files = (model, tokenizer)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._loaded: _OnnxModel | None = None

    @property
    def model_id(self) -> str:
        return MODEL_ID

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    @property
    def computed_texts(self) -> int:
        """On how many texts the model was run."""
        return self._loaded.computed_texts if self._loaded is not None else 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. An empty text has the vector of an empty input, which is similar to no other. Order is kept."""
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        loop = asyncio.get_running_loop()
        # A thread's work cannot be cancelled: it runs in slices, so that a cancellation waits for one batch at most.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for batch in _split_into_batches(order, BATCH_TEXTS):
            try:
                rows = await loop.run_in_executor(self._thread, self._embed_batches, [texts[index] for index in batch])
            except RuntimeError as error:
                raise ModelUnavailableError(f"The embedder cannot be used: {error}.", advice="Ask again.") from error
            vectors[batch] = rows
        return vectors

    async def aclose(self) -> None:
        """Close, after waiting for the running batch, which takes less than a second."""
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)
        self._loaded = None

    def _embed_batches(self, texts: list[str]) -> Vectors:
        if self._loaded is None:
            self._loaded = _load_onnx_model(*self._files)
        return self._loaded.embed(texts)


@dataclass(slots=True)
class _OnnxModel:
    """Model and tokenizer. Used only by the embedder's thread."""

    session: "onnxruntime.InferenceSession"
    tokenizer: "Tokenizer"
    recent: dict[tuple[int, ...], Vectors] = field(default_factory=dict)
    """Vectors of single texts by their token ids, so that case and white space do not matter."""
    computed_texts: int = 0

    def embed(self, texts: list[str]) -> Vectors:
        """Return the mean of the token vectors, scaled to length 1."""
        tokens = self.tokenizer.encode_batch([_encodable(text) for text in texts])
        if len(tokens) > 1:
            return self._compute_vectors(tokens)
        read = tuple(tokens[0].ids)
        if (vectors := self.recent.pop(read, None)) is None:
            vectors = self._compute_vectors(tokens)
        self.recent[read] = vectors
        while len(self.recent) > RECENT_TEXTS_KEPT:
            del self.recent[next(iter(self.recent))]
        return vectors

    def _compute_vectors(self, tokens: "Sequence[Encoding]") -> Vectors:
        self.computed_texts += len(tokens)
        ids = np.array([text.ids for text in tokens], np.int64)
        mask = np.array([text.attention_mask for text in tokens], np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        expected = {node.name for node in self.session.get_inputs()}
        hidden: NDArray[np.float32] = self.session.run(None, {k: v for k, v in feed.items() if k in expected})[0]
        weights = mask[..., None].astype(np.float32)
        mean = (hidden * weights).sum(1) / np.maximum(weights.sum(1), 1.0)
        unit: Vectors = (mean / np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)).astype(np.float32)
        return unit


def _load_onnx_model(model: Path, tokenizer: Path) -> _OnnxModel:
    # Imported here, in the thread: both are large, and a process that embeds nothing needs neither.
    import onnxruntime
    from tokenizers import Tokenizer

    for file in (model, tokenizer):
        if not file.is_file():
            raise ModelMissingError(
                f"The embedder's file {file} is not there.", advice="Fetch it: reveries models pull all-minilm-l6-v2"
            )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    words = Tokenizer.from_file(str(tokenizer))
    words.enable_truncation(MAX_TOKENS)
    words.enable_padding()
    return _OnnxModel(session, words)


def _encodable(text: str) -> str:
    """Cut to what can matter, without lone surrogates, which the tokenizer refuses."""
    return text[:MAX_CHARS].encode("utf-8", "replace").decode("utf-8")


def _split_into_batches(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
