"""Streams one reply from the model to the client, watched by the breaker, until it ends or is stopped."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from reveries.clock import Clock
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.errors import ModelError, StorageError
from reveries.llm.base import Finished, Prompt, StreamEvent, Usage
from reveries.memory.model import Recall
from reveries.safe_text import plain
from reveries.safety.verdict import Verdict

log = structlog.get_logger("conversation")

CUT_AT_LIMIT = "It was cut here: a reply has no room for more (llm.limits.reply_tokens). Ask it to go on."


class ReplyWatch(Protocol):
    """The circuit breaker that watches a reply, with the same detectors as for a thought."""

    def observe(self, piece: str, now: float) -> Verdict: ...


class ReplyModel(Protocol):
    """What writes the reply; see ChatModel."""

    @property
    def name(self) -> str: ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]: ...


class TurnEvents(Protocol):
    """Receives the events of one turn; implemented by the connection of the client that asked."""

    def recalled(self, recall: Recall, memories: Sequence[PromptMemory]) -> None: ...

    def help(self, text: str) -> None: ...  # The person may be in danger: shown next to the reply (S2).

    def token(self, text: str) -> None: ...

    def stored(self, what: str, turn_id: str) -> None: ...


@dataclass(slots=True)
class ReplyDraft:
    """A reply while it is generated, and how it ended."""

    text: str = ""
    reason: str = "failed"
    explanation: str = ""
    usage: Usage | None = None
    first_token_at: float | None = None
    verdict: Verdict | None = None


class ReplyStop:
    """A request to stop one reply; it may come before the reply begins."""

    def __init__(self) -> None:
        self.is_requested = False
        self.why = ""
        """The explanation that clients are shown; the first of several requests wins."""
        self.reply: asyncio.Task[None] | None = None
        """The task that a request cancels."""

    def request(self, why: str = "You stopped this reply.") -> None:
        self.is_requested, self.why = True, self.why or why
        if self.reply is not None:
            self.reply.cancel()


@dataclass(frozen=True, slots=True)
class ReplyGeneration:
    """One reply, from the model's stream to the client."""

    model: ReplyModel
    clock: Clock
    watch: ReplyWatch
    events: TurnEvents
    draft: ReplyDraft = field(default_factory=ReplyDraft)

    async def generate(self, prompt: Prompt, stop: ReplyStop) -> ReplyDraft:
        """Generate the reply; the model is not asked if `stop` came first. Raises StorageError."""
        draft, is_cut = self.draft, stop.is_requested
        if not is_cut:
            try:
                async with asyncio.TaskGroup() as tasks:
                    stop.reply = tasks.create_task(self._stream(prompt), name="reply")
                    await asyncio.wait((stop.reply,))
                is_cut = stop.reply.cancelled()
            except ExceptionGroup as errors:
                raise _storage_error_in(errors) or errors from None
        draft.text = plain(draft.text).strip()
        if is_cut:
            draft.reason, draft.explanation = "cancelled", stop.why
        elif draft.reason in ("stop", "length") and not draft.text:
            draft.reason, draft.explanation = "failed", f"{self.model.name} answered without a word. Ask again."
        elif draft.reason == "length":
            draft.explanation = CUT_AT_LIMIT
        return draft

    async def _stream(self, prompt: Prompt) -> None:
        draft = self.draft
        try:
            async with contextlib.aclosing(self.model.stream(prompt)) as stream:
                async for event in stream:
                    if isinstance(event, Finished):
                        draft.reason, draft.usage = event.reason.value, event.usage
                        return
                    if draft.first_token_at is None:
                        draft.first_token_at = self.clock.monotonic()
                    draft.text += event.text
                    self.events.token(event.text)
                    verdict = self.watch.observe(event.text, self.clock.monotonic())
                    if verdict.stops:
                        draft.reason, draft.explanation, draft.verdict = "tripped", verdict.explanation, verdict
                        return
        except ModelError as error:
            draft.reason, draft.explanation = "failed", str(error)
            log.warning("reply.failed", why=error.for_log)


def _storage_error_in(errors: BaseExceptionGroup[BaseException]) -> StorageError | None:
    """Return the StorageError within a task group's errors, so that the caller sees it and not the group."""
    group = errors.subgroup(StorageError)
    return next((error for error in group.exceptions if isinstance(error, StorageError)), None) if group else None
