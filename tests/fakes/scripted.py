"""Test doubles of both ports: a model that plays scripts, and an embedder that hashes words.

`ScriptedModel` answers each call with the next script of its queue and records the prompt. Nothing in it is random, and
only a script's `Pause`s take time, by the given clock.
"""

import asyncio
import re
import zlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from reveries.clock import Clock, SystemClock
from reveries.errors import ModelUnavailableError
from reveries.llm.base import ChatMessage, Delta, Finished, FinishReason, Prompt, Role, StreamEvent, Usage, Vectors
from reveries.llm.tokens import estimate_tokens


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so long, by the model's clock, before the next piece."""

    seconds: float


Piece = str | Pause | Exception
"""A delta, a wait, or an error to raise."""

Script = str | Exception | Sequence[Piece] | msgspec.Struct | dict[str, object] | Callable[[Prompt], Iterable[Piece]]
"""One call: a whole text (one delta a word), an error, its pieces, an object (answered as JSON), or a function of the
prompt that gives the pieces."""


class ScriptedModel:
    """The ChatModel port without a model. An empty queue repeats `otherwise`, or fails the call when there is none."""

    def __init__(
        self,
        scripts: Iterable[Script] = (),
        *,
        otherwise: Script | None = None,
        clock: Clock | None = None,
        name: str = "scripted/model",
        context_tokens: int = 4096,
        gives_usage: bool = True,
    ) -> None:
        self._scripts = deque(scripts)
        self._otherwise = otherwise
        self._clock = clock or SystemClock()
        self._name = name
        self._context_tokens = context_tokens
        self._gives_usage = gives_usage
        self.prompts: list[Prompt] = []
        """Every prompt that was streamed, in order."""
        self.first_token: Mapping[str, float] | None = None
        """The probabilities that it tells for a question beside the conversation; no script is played for that."""
        self.read: list[tuple[tuple[ChatMessage, ...], Role]] = []
        """Every prompt beginning that was read ahead, in order."""
        self.stopped = 0
        """Number of calls that were closed before their end."""
        self.is_closed = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def tells_probabilities(self) -> bool:
        return self.first_token is not None

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    def add(self, *scripts: Script) -> None:
        """Queue more scripts."""
        self._scripts.extend(scripts)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """Play the next script. Ends with LENGTH when the script has more pieces than the prompt allows tokens."""
        if prompt.is_aside:
            yield Finished(FinishReason.STOP, None, first_token=self.first_token)
            return
        self.prompts.append(prompt)
        token_count = 0
        is_whole = False
        try:
            for piece in self._next(prompt):
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, Pause):
                    await self._clock.sleep(piece.seconds)
                    continue
                await asyncio.sleep(0)  # as from a wire: others run between two pieces
                if token_count >= prompt.max_tokens:
                    break
                token_count += 1
                if piece:
                    yield Delta(piece)
            else:
                is_whole = True
            yield Finished(FinishReason.STOP if is_whole else FinishReason.LENGTH, self._usage(prompt, token_count))
            is_whole = True
        finally:
            self.stopped += not is_whole

    async def count_tokens(self, text: str) -> int:
        return estimate_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        self.read.append((tuple(messages), role))

    async def aclose(self) -> None:
        self.is_closed = True

    def _next(self, prompt: Prompt) -> Iterable[Piece]:
        script = self._scripts.popleft() if self._scripts else self._otherwise
        if script is None:
            return [ModelUnavailableError(f"{self._name} has no script left.", advice="Give it one more.")]
        if isinstance(script, str):
            return re.findall(r"\s*\S+|\s+$", script)
        if isinstance(script, Exception):
            return [script]
        if isinstance(script, msgspec.Struct | dict):
            return [msgspec.json.encode(script).decode()]
        return script(prompt) if callable(script) else script

    def _usage(self, prompt: Prompt, token_count: int) -> Usage | None:
        if not self._gives_usage:
            return None
        return Usage(sum(estimate_tokens(message.text) for message in prompt.messages), token_count)


class HashingEmbedder:
    """The Embedder port without a model: a text's vector is the sum of its words' fixed directions.

    Texts that share words are near each other; the same text has the same vector on every machine.
    """

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions
        self.batches: list[tuple[str, ...]] = []
        """The texts of every call, in order."""

    @property
    def model_id(self) -> str:
        return f"hashing-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(tuple(texts))
        vectors = np.zeros((len(texts), self._dimensions), np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                vectors[row] += self._direction(word)
        unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return unit.astype(np.float32)

    async def aclose(self) -> None:
        """Do nothing."""

    def _direction(self, word: str) -> Vectors:
        chance = np.random.default_rng(zlib.crc32(word.encode("utf-8", "replace")))
        return chance.standard_normal(self._dimensions).astype(np.float32)
