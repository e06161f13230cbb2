"""The port to models: what a caller may ask, and what every adapter promises.

An adapter's `stream` yields `Delta`s and then exactly one `Finished`; a stream that ends without it is no answer
(the adapter raises ModelUnavailableError). Closing the generator, or cancelling the task that reads it, stops the
generation. Every adapter runs the same contract tests (tests/llm/contract.py).
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Rows of unit length, float32, shape (n, dimensions)."""

Vector = NDArray[np.float32]
"""One unit-length row, float32, shape (dimensions,)."""


class Role(StrEnum):
    """What a call is for. Each has its own model, its own budget and its own place in the prompt cache."""

    CONVERSATION = "conversation"
    MONOLOGUE = "monologue"
    CONSOLIDATION = "consolidation"
    WORK = "work"
    EMBEDDING = "embedding"


CHAT_ROLES = (Role.CONVERSATION, Role.MONOLOGUE, Role.CONSOLIDATION, Role.WORK)
"""Those that ask a language model; the fifth turns text into vectors."""


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call. `messages` go stable part first, what changes last, so that a prompt cache can serve."""

    role: Role
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    temperature: float = 0.7
    stop: tuple[str, ...] = ()
    schema: Mapping[str, object] | None = None
    """A JSON schema that the answer must follow; the adapter constrains generation to it where it can."""
    project_id: str = ""
    """Whose work it is: the ledger keeps it with the call, and holds the limit that the project's goal carries."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them. `cached_tokens` is the part of the prompt that it had read before."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of text: one token or a few. Never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end mark. `usage` is None when the provider did not say: unknown, not free."""

    reason: FinishReason
    usage: Usage | None


StreamEvent = Delta | Finished


class ChatModel(Protocol):
    """A language model that streams."""

    @property
    def name(self) -> str:
        """For people and the ledger, e.g. "embedded/qwen2.5-coder-1.5b-instruct"."""
        ...

    @property
    def context_tokens(self) -> int:
        """Prompt and answer together may have so many tokens."""
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """Generate. Raises ModelUnavailableError; cancellation takes effect within 200 ms."""
        ...

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the model's own tokenizer, or a careful over-estimate."""
        ...

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Let the model read a prompt's beginning now, so that the next call with it starts sooner.

        Does nothing where there is no prompt cache. May be cancelled at any time.
        """
        ...

    async def aclose(self) -> None:
        """Give everything back. Idempotent."""
        ...


class Embedder(Protocol):
    """Text to vectors, on this machine."""

    @property
    def model_id(self) -> str:
        """Stored with each vector: vectors of different models are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, one row a text, shape (len(texts), dimensions). Never runs on the event loop's thread."""
        ...

    async def aclose(self) -> None: ...
