"""Generates one thought, from the first token to the reason of its end (R-31). The loop decides when."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from reveries.clock import Clock
from reveries.config import MonologueSettings
from reveries.errors import BudgetExceededError, ModelError
from reveries.llm.base import ChatMessage, ChatModel, Finished, FinishReason, Prompt, Role, StreamEvent, Usage
from reveries.monologue.observers import Observers, ThoughtPiece
from reveries.monologue.quiescence import Pace, SettledBy, find_settled, may_ask_model
from reveries.prompts import prompt as prompt_text
from reveries.safe_text import plain
from reveries.safety.verdict import Action, Verdict

_TEMPERATURE = 0.7
_SENTENCE_ENDS = (".", "!", "?", "…", "\n", "\u3002", "\uff01", "\uff1f")
_CLOSERS = " \"'”’)*_"
_CONTEXT_MARGIN_TOKENS = 64
"""Tokens that a chat template may add to the messages."""
_LEAST_TOKENS = 32
CHECKPOINT_SECONDS = 10.0
"""The most of a thought that a power failure can lose (R-9, R-151)."""
_ASSESSMENT_TOKENS = 12
_ASSESSMENT_CHARS = 200
_ASSESSMENT: Mapping[str, object] = {
    "type": "object",
    "properties": {"settled": {"type": "boolean"}},
    "required": ["settled"],
    "additionalProperties": False,
}
_DRAIN_SECONDS = 2.0


_HAD_NO_MORE = "It had no more to say."


class ThoughtBreaker(Protocol):
    """The circuit breaker, as far as a thought uses it."""

    def observe(self, piece: str, now: float) -> Verdict: ...

    def reset(self) -> None: ...


@dataclass(frozen=True, slots=True)
class BreakerTrip:
    """A verdict of the breaker, and the thought so far."""

    verdict: Verdict
    so_far: str


@dataclass(slots=True)
class ThoughtDraft:
    """A thought in progress, and why it ended."""

    pieces: list[str] = field(default_factory=list)
    shown: tuple[str, ...] = ()
    """The prompt that the model read."""
    why_ended: str = ""
    explanation: str = ""
    retry_after_seconds: float = 0.0
    """After a failure: how long to wait before asking the model again."""
    trips: list[BreakerTrip] = field(default_factory=list)
    """All trips (R-135); only the last can have ended the thought."""
    saved_at: float = 0.0
    """The time of the last checkpoint (monotonic)."""
    unkept_because: str = ""
    """Why it is not stored as an experience; empty if it is."""
    asked_at: int = 0
    """Its number of tokens when a model was last asked whether it has settled (R-54)."""

    reported_tokens: int = 0
    """The tokens of the text as the model counts them, for the calls that said so and whose text was accepted whole. A
    hosted model sends several at a time."""
    reported_pieces: int = 0
    """The pieces of those calls."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def tokens(self) -> int:
        """The tokens of the text; of calls without a report, a piece counts as one."""
        return self.reported_tokens + len(self.pieces) - self.reported_pieces

    def end(self, why: str, explanation: str) -> None:
        self.why_ended, self.explanation = why, explanation


@dataclass(frozen=True, slots=True)
class Thinker:
    """Thinks with `model`, watched by `breaker` and shown to `observers`, at the settings' pace.

    `slice_tokens`: the embedded model thinks in slices on its cached slot, so that the machine rests between them and a
    pause takes effect at once; None: any other model streams in one call, because each slice would be read, or paid
    for, again. It is checked before each call, since a fallback model may have taken over.
    """

    model: ChatModel
    breaker: ThoughtBreaker
    observers: Observers
    clock: Clock
    settings: MonologueSettings
    slice_tokens: Callable[[], int | None]
    enough_tokens: int | None = None
    """A rambling model is stopped at the end of the sentence in which it reaches this many tokens; None: no limit."""

    async def think(
        self,
        messages: Sequence[ChatMessage],
        draft: ThoughtDraft,
        save: Callable[[], Awaitable[None]],
    ) -> None:
        """Extend `draft` until the thought ends; call `save` every few seconds. Raises ModelError.

        May be cancelled at any point: `draft` then holds the pieces so far.
        """
        self.breaker.reset()
        draft.saved_at = self.clock.monotonic()
        pace = Pace(self.settings.target_tokens_per_second)
        most = await self._max_tokens(messages)
        while not draft.why_ended:
            left = most - len(draft.pieces)
            slice_tokens = self.slice_tokens()
            wanted = min(left, slice_tokens) if slice_tokens else left
            so_far = (ChatMessage("assistant", draft.text),) if draft.pieces else ()
            prompt = Prompt(Role.MONOLOGUE, (*messages, *so_far), wanted, temperature=_TEMPERATURE)
            before = len(draft.pieces)
            reason = await self._run_slice(prompt, draft, pace, save)
            if reason is None:
                return
            if reason is FinishReason.STOP or len(draft.pieces) == before:
                draft.end("finished", _HAD_NO_MORE)
            elif len(draft.pieces) >= most or not slice_tokens:
                draft.end("capped", f"It reached its limit of {most} tokens.")
            elif may_ask_model(len(draft.pieces), draft.asked_at, self.settings):
                draft.asked_at = len(draft.pieces)
                if await self._is_settled(messages, draft):
                    draft.end(
                        SettledBy.ASSESSED.value, "The model was asked whether the thought is done, and said yes."
                    )
            pace.begin_call()

    async def _is_settled(self, messages: Sequence[ChatMessage], draft: ThoughtDraft) -> bool:
        """Ask the model whether the thought is done (R-54); an unreadable answer counts as no. Only between slices,
        where everything but the question is in the prompt cache; other models would have to read everything again."""
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

    async def _max_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Return the length limit of the thought: its cap (R-37), or what the model's context leaves."""
        read = 0
        for message in messages:
            read += await self.model.count_tokens(message.text)
        room = self.model.context_tokens - read - _CONTEXT_MARGIN_TOKENS
        return min(self.settings.max_tokens_per_cycle, max(_LEAST_TOKENS, room))

    async def _run_slice(
        self,
        prompt: Prompt,
        draft: ThoughtDraft,
        pace: Pace,
        save: Callable[[], Awaitable[None]],
    ) -> FinishReason | None:
        """Make one call to the model and accept its pieces at the pace. Return why the call ended; None if the thought
        ended. When cancelled, it accepts what has arrived: the pace is for the eye, and what was paid for is kept."""
        received = _Received()
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(received.read(self.model.stream(prompt)), name="thought-tokens")
            try:
                while await received.has_more():
                    await self.clock.sleep(pace.wait_seconds(self.clock.monotonic()))
                    pace.count_piece(self.clock.monotonic())
                    self._accept_piece(received.pieces.popleft(), draft, pace)
                    if draft.why_ended:
                        if not self.slice_tokens():
                            await self._drain(reading)
                        reading.cancel()
                        return None
                    if self.clock.monotonic() - draft.saved_at >= CHECKPOINT_SECONDS:
                        draft.saved_at = self.clock.monotonic()
                        await save()
            except asyncio.CancelledError:
                self._accept_arrived(received, draft, pace)
                raise
            if received.usage is not None:
                draft.reported_tokens += received.usage.completion_tokens - received.usage.reasoning_tokens
                draft.reported_pieces += received.count
            return received.reason

    def _accept_arrived(self, received: "_Received", draft: ThoughtDraft, pace: Pace) -> None:
        """Accept the pieces that have arrived, at their pace for the breaker, which could take them for a burst."""
        now = self.clock.monotonic()
        while received.pieces and not draft.why_ended:
            now += pace.wait_seconds(now)
            pace.count_piece(now)
            self._watch_piece(received.pieces.popleft(), draft, pace, now)
        if draft.why_ended or not received.is_over:
            return
        if received.reason is FinishReason.STOP:
            draft.end("finished", _HAD_NO_MORE)
        elif not self.slice_tokens():
            draft.end("capped", f"It reached its limit of {len(draft.pieces)} tokens.")

    async def _drain(self, reading: "asyncio.Task[None]") -> None:
        """Let the call go on briefly without using its pieces: a hosted model that is about to end then reports its
        usage. A cancelled call reports nothing, and would be counted with the most tokens it might have used."""
        async with asyncio.TaskGroup() as tasks:
            timer = tasks.create_task(self.clock.sleep(_DRAIN_SECONDS), name="thought-drain-timer")
            await asyncio.wait((reading, timer), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()

    def _watch_piece(self, piece: str, draft: ThoughtDraft, pace: Pace, now: float) -> None:
        """Pass one piece to the buffer, the observers and the breaker (R-31)."""
        draft.pieces.append(piece)
        self.observers.notify(ThoughtPiece(piece))
        verdict = self.breaker.observe(piece, now)
        if verdict.action is not Action.CONTINUE:
            draft.trips.append(BreakerTrip(verdict, draft.text))
        if verdict.stops:
            draft.end("tripped", plain(verdict.explanation))
        elif verdict.action is Action.THROTTLE:
            pace.halve()

    def _accept_piece(self, piece: str, draft: ThoughtDraft, pace: Pace) -> None:
        """Accept one piece, and check for quiescence at the end of a sentence."""
        self._watch_piece(piece, draft, pace, self.clock.monotonic())
        if not draft.why_ended and piece.rstrip(_CLOSERS).endswith(_SENTENCE_ENDS):
            settled = find_settled(draft.pieces, pace.velocity(), self.settings)
            if settled is not None:
                draft.end(settled.by.value, settled.explanation)
            elif self.enough_tokens is not None and len(draft.pieces) >= self.enough_tokens:
                draft.end("capped", f"It ended after {len(draft.pieces)} tokens, which is long for this model.")


class _Assessment(msgspec.Struct, frozen=True):
    settled: bool


@dataclass(slots=True)
class _Received:
    """What a call has sent. It is read as fast as the model writes, within the call's own limits, however slowly it is
    shown: a provider cuts a stream that nobody reads."""

    pieces: deque[str] = field(default_factory=deque)
    """Not accepted yet."""
    count: int = 0
    reason: FinishReason = FinishReason.STOP
    usage: Usage | None = None
    is_over: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, stream: AsyncGenerator[StreamEvent, None]) -> None:
        """Read the call to its end. Raises ModelError, which ends the surrounding task group."""
        try:
            async with contextlib.aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self.reason, self.usage = event.reason, event.usage
                    else:
                        self.pieces.append(event.text)
                        self.count += 1
                    self._changed.set()
            self.is_over = True
        finally:
            self._changed.set()

    async def has_more(self) -> bool:
        """Wait for the next piece or the end; return whether there is a piece."""
        while not self.pieces and not self.is_over:
            self._changed.clear()
            await self._changed.wait()
        return bool(self.pieces)
