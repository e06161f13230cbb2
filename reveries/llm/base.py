"""The model ports: what a caller may ask, and what every adapter promises.

An adapter's `stream` yields `Delta`s and then exactly one `Finished`; a stream that ends without it is an error (the
adapter raises ModelUnavailableError). Closing the generator, or cancelling the task that reads it, stops the
generation. Every adapter runs the same contract tests (tests/llm/contract.py).
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Rows of unit length, float32, shape (n, dimensions)."""

Vector = NDArray[np.float32]
"""One unit-length row, float32, shape (dimensions,)."""


class Role(StrEnum):
    """What a call is for. Each role has its own budget; the first four and the last have a model of their own."""

    CONVERSATION = "conversation"
    MONOLOGUE = "monologue"
    CONSOLIDATION = "consolidation"
    WORK = "work"
    LEARNING = "learning"
    """Judging what a project learns: the audit of an outcome, what an answer says, which of two things holds."""
    READING = "reading"
    """Looking for an answer in the notes, files and pages of a project."""
    EMBEDDING = "embedding"


CHAT_ROLES = (Role.CONVERSATION, Role.MONOLOGUE, Role.CONSOLIDATION, Role.WORK)
"""The roles with a language model of their own."""

PROJECT_ROLES = (Role.WORK, Role.LEARNING, Role.READING)
"""What is done for a project. All three use the model of work; each is charged apart."""

MODEL_ROLES = (*CHAT_ROLES, Role.EMBEDDING)
"""The roles with a model of their own; that of the last turns text into vectors."""


class FinishReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture in a message: the bytes of its file, and its size in pixels."""

    media_type: Literal["image/png", "image/jpeg", "image/webp"]
    data: bytes = field(repr=False)
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[ImagePart, ...] = ()
    """They stand before the text. Only for a model that sees (`RoleModels.sees`): others refuse the call."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call. `messages` begin with the stable part and end with what changes, so that a prompt cache can be used."""

    role: Role
    messages: tuple[ChatMessage, ...]
    max_tokens: int
    temperature: float = 0.7
    stop: tuple[str, ...] = ()
    schema: Mapping[str, object] | None = None
    """A JSON schema that the answer must follow; the adapter constrains generation to it where it can."""
    is_aside: bool = False
    """A question beside a conversation: a local model answers it without evicting what it read for that, and tells the
    probabilities of its answer."""
    project_id: str = ""
    """The project the call is for: stored in the ledger, and checked against the limit of the project's goal."""
    reasoning_tokens: int | None = None
    """The tokens reserved for reasoning, besides `max_tokens`; None: as many as the model is expected to use."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them. `cached_tokens` is the part of the prompt that came from its cache,
    `reasoning_tokens` the part of the completion that is not in the answer."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of text: one token or a few. Never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The end mark. `usage` is None when the provider did not report it: unknown, not free. `has_reasoned`: the model
    wrote reasoning, which is not part of the answer."""

    reason: FinishReason
    usage: Usage | None
    has_reasoned: bool = False
    first_token: Mapping[str, float] | None = None
    """The probabilities of what the answer could begin with, for an `is_aside` prompt, of a model that tells them."""


StreamEvent = Delta | Finished


class ChatModel(Protocol):
    """A language model that streams its answer."""

    @property
    def name(self) -> str:
        """For display and the ledger, e.g. "embedded/qwen2.5-coder-1.5b-instruct"."""
        ...

    @property
    def tells_probabilities(self) -> bool:
        """Whether `Finished.first_token` is filled for a prompt that `is_aside`."""
        ...

    @property
    def context_tokens(self) -> int:
        """Limit on the tokens of prompt and answer together."""
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """Generate an answer. Raises ModelUnavailableError; cancellation takes effect within 200 ms."""
        ...

    async def count_tokens(self, text: str) -> int:
        """Return the tokens of `text` by the model's own tokenizer, or a safe over-estimate."""
        ...

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Process the beginning of a prompt now, so that the next call with it starts sooner.

        Does nothing where there is no prompt cache. May be cancelled at any time.
        """
        ...

    async def aclose(self) -> None:
        """Release all resources. Idempotent."""
        ...


class Embedder(Protocol):
    """Text to vectors."""

    @property
    def model_id(self) -> str:
        """Stored with each vector: vectors of different models are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, one row for each text, shape (len(texts), dimensions). Never runs on the event loop's
        thread."""
        ...

    async def aclose(self) -> None: ...
