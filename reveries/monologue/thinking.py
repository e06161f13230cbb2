"""One thought, from the first token to the reason of its end (R-31). The loop decides when; this does it."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from reveries.clock import Clock
from reveries.config import MonologueSettings
from reveries.llm.base import ChatModel, Finished, FinishReason, Message, Prompt, Role
from reveries.monologue.pacing import Pace
from reveries.monologue.quiescence import find_settled
from reveries.plaintext import plain
from reveries.safety.verdict import Action, Verdict

QUEUE_PIECES = 64
_TEMPERATURE = 0.7
_SENTENCE_ENDS = (".", "!", "?", "…", "\n")
_CLOSERS = " \"'”’)*_"
_CONTEXT_MARGIN_TOKENS = 64
"""What a template may add to the messages."""
_LEAST_TOKENS = 32


class Watch(Protocol):
    """The circuit breaker, as a thought needs it."""

    def observe(self, piece: str, now: float) -> Verdict: ...

    def reset(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Tripped:
    """One word of the breaker, and the thought as far as it had come."""

    verdict: Verdict
    so_far: str


@dataclass(slots=True)
class Draft:
    """A thought as it grows, and why it ended."""

    pieces: list[str] = field(default_factory=list)
    why_ended: str = ""
    explanation: str = ""
    retry_after_seconds: float = 0.0
    """After a failure: when the model may be asked again."""
    trips: list[Tripped] = field(default_factory=list)
    """All of them (R-135); only the last can have ended the thought."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def end(self, why: str, explanation: str) -> None:
        self.why_ended, self.explanation = why, explanation


@dataclass(frozen=True, slots=True)
class Thinker:
    """Thinks with `model`, watched by `watch`, at the settings' pace.

    `slice_tokens`: a local model thinks in slices on its cached slot, so that between them the machine rests and a
    pause takes effect at once; None lets a hosted model stream in one call, for which every slice would cost anew.
    """

    model: ChatModel
    watch: Watch
    clock: Clock
    settings: MonologueSettings
    slice_tokens: int | None

    async def think(self, messages: Sequence[Message], draft: Draft, tell: Callable[[str], None]) -> None:
        """Grow `draft` until it ends; `tell` hears each piece once it has come through. Raises ModelError.

        May be cancelled at any point: `draft` then holds what came through.
        """
        self.watch.reset()
        pace = Pace(self.settings.target_tokens_per_second)
        most = await self._most_tokens(messages)
        while not draft.why_ended:
            left = most - len(draft.pieces)
            wanted = min(left, self.slice_tokens) if self.slice_tokens else left
            so_far = (Message("assistant", draft.text),) if draft.pieces else ()
            prompt = Prompt(Role.MONOLOGUE, (*messages, *so_far), wanted, temperature=_TEMPERATURE)
            before = len(draft.pieces)
            reason = await self._slice(prompt, draft, pace, tell)
            if reason is None:
                return
            if reason is FinishReason.STOP or len(draft.pieces) == before:
                draft.end("finished", "It had no more to say.")
            elif len(draft.pieces) >= most or not self.slice_tokens:
                draft.end("capped", f"It reached its {most} tokens.")
            pace.rested()

    async def _most_tokens(self, messages: Sequence[Message]) -> int:
        """How long the thought may become: its cap (R-37), or what the model's context leaves."""
        read = 0
        for message in messages:
            read += await self.model.count_tokens(message.text)
        room = self.model.context_tokens - read - _CONTEXT_MARGIN_TOKENS
        return min(self.settings.max_tokens_per_cycle, max(_LEAST_TOKENS, room))

    async def _slice(
        self, prompt: Prompt, draft: Draft, pace: Pace, tell: Callable[[str], None]
    ) -> FinishReason | None:
        """One call to the model, its pieces let through at the pace. Why the call ended; None: the thought did."""
        pieces: asyncio.Queue[str | FinishReason] = asyncio.Queue(QUEUE_PIECES)
        async with asyncio.TaskGroup() as tasks:
            producer = tasks.create_task(self._produce(prompt, pieces), name="thought-tokens")
            while not isinstance(piece := await _next(pieces, producer), FinishReason):
                await self.clock.sleep(pace.wait_seconds(self.clock.monotonic()))
                pace.passed(self.clock.monotonic())
                self._let_through(piece, draft, pace, tell)
                if draft.why_ended:
                    producer.cancel()
                    return None
            return piece

    async def _produce(self, prompt: Prompt, pieces: "asyncio.Queue[str | FinishReason]") -> None:
        async with contextlib.aclosing(self.model.stream(prompt)) as stream:
            async for event in stream:
                await pieces.put(event.reason if isinstance(event, Finished) else event.text)

    def _let_through(self, piece: str, draft: Draft, pace: Pace, tell: Callable[[str], None]) -> None:
        """R-31 for one piece: buffer, observers, breaker; and quiescence at the end of a sentence."""
        draft.pieces.append(piece)
        tell(piece)
        verdict = self.watch.observe(piece, self.clock.monotonic())
        if verdict.action is not Action.CONTINUE:
            draft.trips.append(Tripped(verdict, draft.text))
        if verdict.stops:
            draft.end("tripped", plain(verdict.explanation))
            return
        if verdict.action is Action.THROTTLE:
            pace.halve()
        if piece.rstrip(_CLOSERS).endswith(_SENTENCE_ENDS):
            settled = find_settled(draft.pieces, pace.velocity(), self.settings)
            if settled is not None:
                draft.end(settled.by.value, settled.explanation)


async def _next(pieces: "asyncio.Queue[str | FinishReason]", producer: "asyncio.Task[None]") -> str | FinishReason:
    """The next piece; STOP when the producer ended without a word. Its error ends the task group by itself."""
    if not pieces.empty():
        return pieces.get_nowait()
    async with asyncio.TaskGroup() as tasks:
        getter = tasks.create_task(pieces.get(), name="next-piece")
        await asyncio.wait((getter, producer), return_when=asyncio.FIRST_COMPLETED)
        if not getter.done():
            getter.cancel()
    if getter.cancelled():
        return pieces.get_nowait() if not pieces.empty() else FinishReason.STOP
    return getter.result()
