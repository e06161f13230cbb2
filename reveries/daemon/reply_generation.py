"""One reply, from the model to whoever asked: word by word, watched, and ended when nobody wants it any more."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import structlog

from reveries.clock import Clock
from reveries.daemon.turn import ReplyDraft, ReplyWatch, TurnEvents, storage_error_in
from reveries.errors import ModelError
from reveries.llm.base import ChatModel, Finished, Prompt
from reveries.safe_text import plain

log = structlog.get_logger("conversation")


class ReplyStop:
    """The word that one reply is not wanted any more; it may come before the reply begins."""

    def __init__(self) -> None:
        self.is_asked = False
        self.why = ""
        """What whoever hears the reply is told; of several words the first."""
        self._speaking: asyncio.Task[None] | None = None

    def ask(self, why: str = "You stopped this reply.") -> None:
        self.is_asked, self.why = True, self.why or why
        if self._speaking is not None:
            self._speaking.cancel()

    @contextlib.contextmanager
    def ends(self, speaking: "asyncio.Task[None]") -> Iterator[None]:
        """Within it, `speaking` is what ends."""
        self._speaking = speaking
        try:
            yield
        finally:
            self._speaking = None


@dataclass(frozen=True, slots=True)
class ReplyGeneration:
    """How `draft` comes to be."""

    model: ChatModel
    clock: Clock
    watch: ReplyWatch
    draft: ReplyDraft
    events: TurnEvents

    async def speak(self, prompt: Prompt, stop: ReplyStop) -> None:
        """Ask the model, and no one when `stop` came first. Raises StorageError."""
        draft, is_cut = self.draft, stop.is_asked
        if not is_cut:
            try:
                async with asyncio.TaskGroup() as tasks:
                    speaking = tasks.create_task(self._stream(prompt), name="reply")
                    with stop.ends(speaking):
                        await asyncio.wait((speaking,))
                is_cut = speaking.cancelled()
            except ExceptionGroup as errors:
                raise storage_error_in(errors) or errors from None
        draft.text = plain(draft.text).strip()
        if is_cut:
            draft.reason, draft.explanation = "cancelled", stop.why
        elif draft.reason in ("stop", "length") and not draft.text:
            draft.reason, draft.explanation = "failed", f"{self.model.name} answered without a word. Ask again."

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
