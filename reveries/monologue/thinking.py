"""One thought, from the first token to the reason of its end (R-31). The loop decides when; this does it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from reveries.clock import Clock
from reveries.config import MonologueSettings
from reveries.errors import BudgetExceededError, ModelError
from reveries.llm.base import ChatMessage, ChatModel, Finished, FinishReason, Prompt, Role
from reveries.monologue.quiescence import Pace, SettledBy, find_settled, may_ask_model
from reveries.prompts import prompt as prompt_text
from reveries.safe_text import plain
from reveries.safety.verdict import Action, Verdict

QUEUE_PIECES = 64
_TEMPERATURE = 0.7
_SENTENCE_ENDS = (".", "!", "?", "…", "\n", "\u3002", "\uff01", "\uff1f")
_CLOSERS = " \"'”’)*_"
_CONTEXT_MARGIN_TOKENS = 64
"""What a template may add to the messages."""
_LEAST_TOKENS = 32
CHECKPOINT_SECONDS = 10.0
"""At the most about so much of a thought is lost with the machine's power (R-9, R-151)."""
_ASSESSMENT_TOKENS = 12
_ASSESSMENT_CHARS = 200
_ASSESSMENT: Mapping[str, object] = {
    "type": "object",
    "properties": {"settled": {"type": "boolean"}},
    "required": ["settled"],
    "additionalProperties": False,
}
_HEAR_OUT_SECONDS = 2.0


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
class ThoughtDraft:
    """A thought as it grows, and why it ended."""

    pieces: list[str] = field(default_factory=list)
    shown: tuple[str, ...] = ()
    """What the model had before it."""
    why_ended: str = ""
    explanation: str = ""
    retry_after_seconds: float = 0.0
    """After a failure: when the model may be asked again."""
    trips: list[Tripped] = field(default_factory=list)
    """All of them (R-135); only the last can have ended the thought."""
    kept_at: float = 0.0
    """When it was last kept for a restart (monotonic)."""
    unkept_because: str = ""
    """Why it is no experience; empty when it is one."""
    asked_at: int = 0
    """How many tokens it had when a model was last asked whether it has settled (R-54)."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def end(self, why: str, explanation: str) -> None:
        self.why_ended, self.explanation = why, explanation


@dataclass(frozen=True, slots=True)
class Thinker:
    """Thinks with `model`, watched by `watch`, at the settings' pace.

    `slice_tokens`: the embedded model thinks in slices on its cached slot, so that between them the machine rests and a
    pause takes effect at once; None lets any other stream in one call, for each slice would be read, or paid, anew. It
    is asked before each call: a fallback may have taken over.
    """

    model: ChatModel
    watch: Watch
    clock: Clock
    settings: MonologueSettings
    slice_tokens: Callable[[], int | None]
    enough_tokens: int | None = None
    """A model that rambles ends at the end of the sentence in which it has so many; None: where the thought does."""

    async def think(
        self,
        messages: Sequence[ChatMessage],
        draft: ThoughtDraft,
        tell: Callable[[str], None],
        keep: Callable[[], Awaitable[None]],
    ) -> None:
        """Grow `draft` until it ends; `tell` hears each piece once it has come through, and `keep` is called every few
        seconds. Raises ModelError.

        May be cancelled at any point: `draft` then holds what came through.
        """
        self.watch.reset()
        draft.kept_at = self.clock.monotonic()
        pace = Pace(self.settings.target_tokens_per_second)
        most = await self._most_tokens(messages)
        while not draft.why_ended:
            left = most - len(draft.pieces)
            slice_tokens = self.slice_tokens()
            wanted = min(left, slice_tokens) if slice_tokens else left
            so_far = (ChatMessage("assistant", draft.text),) if draft.pieces else ()
            prompt = Prompt(Role.MONOLOGUE, (*messages, *so_far), wanted, temperature=_TEMPERATURE)
            before = len(draft.pieces)
            reason = await self._slice(prompt, draft, pace, tell, keep)
            if reason is None:
                return
            if reason is FinishReason.STOP or len(draft.pieces) == before:
                draft.end("finished", "It had no more to say.")
            elif len(draft.pieces) >= most or not slice_tokens:
                draft.end("capped", f"It reached its {most} tokens.")
            elif may_ask_model(len(draft.pieces), draft.asked_at, self.settings):
                draft.asked_at = len(draft.pieces)
                if await self._is_settled(messages, draft):
                    draft.end(SettledBy.ASSESSED.value, "It was asked whether the thought is done, and it was.")
            pace.rested()

    async def _is_settled(self, messages: Sequence[ChatMessage], draft: ThoughtDraft) -> bool:
        """Ask the model (R-54). Only between slices, where all but the question stands in the prompt cache; of any
        other model each question would be a second reading of the whole. What cannot be read is a no."""
        asked = (*messages, ChatMessage("assistant", draft.text), ChatMessage("user", prompt_text("settled")))
        question = Prompt(Role.MONOLOGUE, asked, _ASSESSMENT_TOKENS, temperature=0.0, schema=_ASSESSMENT)
        answer = ""
        try:
            async with contextlib.aclosing(self.model.stream(question)) as stream:
                async for event in stream:
                    if not isinstance(event, Finished) and len(answer) < _ASSESSMENT_CHARS:
                        answer += event.text
            return msgspec.json.decode(answer, type=_Assessment).settled
        except BudgetExceededError:
            raise
        except (ModelError, msgspec.MsgspecError):
            return False

    async def _most_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """How long the thought may become: its cap (R-37), or what the model's context leaves."""
        read = 0
        for message in messages:
            read += await self.model.count_tokens(message.text)
        room = self.model.context_tokens - read - _CONTEXT_MARGIN_TOKENS
        return min(self.settings.max_tokens_per_cycle, max(_LEAST_TOKENS, room))

    async def _slice(
        self,
        prompt: Prompt,
        draft: ThoughtDraft,
        pace: Pace,
        tell: Callable[[str], None],
        keep: Callable[[], Awaitable[None]],
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
                    if not self.slice_tokens():
                        await self._hear_out(pieces, producer)
                    producer.cancel()
                    return None
                if self.clock.monotonic() - draft.kept_at >= CHECKPOINT_SECONDS:
                    draft.kept_at = self.clock.monotonic()
                    await keep()
            return piece

    async def _hear_out(self, pieces: "asyncio.Queue[str | FinishReason]", producer: "asyncio.Task[None]") -> None:
        """Read on for a moment, unheard: a hosted model that is at its end anyway then says what it used.

        A call that is broken off says nothing, and would count with all the tokens that it might have had.
        """

        async def read_on() -> None:
            for _ in range(QUEUE_PIECES):
                if isinstance(await _next(pieces, producer), FinishReason):
                    return

        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(read_on(), name="hear-out")
            timer = tasks.create_task(self.clock.sleep(_HEAR_OUT_SECONDS), name="hear-out-timer")
            await asyncio.wait((reading, timer), return_when=asyncio.FIRST_COMPLETED)
            reading.cancel()
            timer.cancel()

    async def _produce(self, prompt: Prompt, pieces: "asyncio.Queue[str | FinishReason]") -> None:
        async with contextlib.aclosing(self.model.stream(prompt)) as stream:
            async for event in stream:
                await pieces.put(event.reason if isinstance(event, Finished) else event.text)

    def _let_through(self, piece: str, draft: ThoughtDraft, pace: Pace, tell: Callable[[str], None]) -> None:
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
            elif self.enough_tokens is not None and len(draft.pieces) >= self.enough_tokens:
                draft.end("capped", f"A sentence ended after {len(draft.pieces)} tokens: that is long for this model.")


class _Assessment(msgspec.Struct, frozen=True):
    settled: bool


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
