"""Thinking between conversations (R-30..R-44): when it begins, pauses, settles, and what woke it.

`run` goes on for the life of the daemon. `pause` and `resume` come from the conversation and never wait. Whatever a
thought ends by, it is recorded with the reason (R-43); with nothing to process, nothing is generated (RA-9).
"""

import asyncio
import random
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import structlog

from reveries.clock import Clock, Deadline
from reveries.config import MonologueSettings
from reveries.errors import BudgetExceededError, ModelError, ModelUnavailableError
from reveries.llm.base import ChatModel
from reveries.monologue.context import thinking_messages
from reveries.monologue.observers import Observers
from reveries.monologue.thinking import Draft, Thinker, Watch
from reveries.monologue.thought import (
    FinishedThought,
    Reactivation,
    Reason,
    ThoughtBegan,
    ThoughtEnded,
    ThoughtEvent,
    ThoughtInputs,
    ThoughtPiece,
)
from reveries.monologue.triggers import Waiter, after_seconds, first_of, when_set
from reveries.plaintext import plain
from reveries.safety.verdict import Action, Verdict

log = structlog.get_logger("monologue")

_WAIT_SECONDS = 900.0
"""Until the next look at a budget that is used up, or at a model of which nobody says when it may come again."""
_LONGEST_WAIT_SECONDS = 24 * 3600.0
_FOR_EVER_SECONDS = 10 * 365 * 86400.0
_COMFORT_SECONDS = 30.0
_MOST_DOUBLINGS = 10
_CONTEXT_SHARE = 0.5
"""What a thought is told takes at most this share of the model's context; the rest is for the thought."""
_SAME_OUTCOMES = 3
"""So many thoughts in a row that came to the same, word for word, and the next waits twice as long, and twice again."""
_LONGEST_PACE_SECONDS = 6 * 3600.0
_FRESH_SECONDS = 600.0
"""A thought older than this is no longer "what I was just thinking"."""


class ThoughtState(StrEnum):
    OFF = "not thinking"
    WAITING = "waiting"
    THINKING = "thinking"
    SETTLED = "settled"
    PAUSED = "paused"
    QUIET = "quiet"
    """Its budget for today is used up."""
    TRIPPED = "tripped"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class SavedState:
    """What survives a restart (R-151): the last buffer, as the next thought's "previous" (R-172)."""

    last_buffer: str = ""
    is_quiescent: bool = True


class ThoughtSources(Protocol):
    """Where thoughts get their inputs and leave their results: the daemon's side of the monologue."""

    async def restore(self) -> SavedState: ...

    async def has_something_to_process(self) -> bool:
        """The free question before every thought: no model is asked (RA-9)."""
        ...

    async def gather(self, why: Reactivation, previous: str, *, comfort: bool) -> ThoughtInputs:
        """R-32's five inputs; with `comfort`, a calming ambient text beside them (R-138)."""
        ...

    async def record(self, thought: FinishedThought, state: SavedState) -> None:
        """Keep the thought as a raw experience with its log entry (R-41), and the state for a restart."""
        ...

    async def record_trip(self, verdict: Verdict, so_far: str, response: str) -> None: ...

    async def association(self) -> Reactivation:
        """Waits until a memory comes up by itself (R-61); may wait for ever."""
        ...

    async def calendar(self) -> Reactivation:
        """Waits until something in the calendar is near (R-60); for ever without a calendar."""
        ...


class Monologue:
    """The loop. Not running until `run` is awaited; `configure` takes effect with the next thought."""

    def __init__(
        self,
        *,
        model: ChatModel,
        sources: ThoughtSources,
        breaker: Watch,
        clock: Clock,
        settings: MonologueSettings,
        chance: random.Random,
        slice_tokens: int | None = None,
    ) -> None:
        self._model = model
        self._sources = sources
        self._breaker = breaker
        self._clock = clock
        self._settings = settings
        self._chance = chance
        self._slice_tokens = slice_tokens
        self._observers = Observers()
        self._free = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._resumed: Reactivation | None = None
        self._running: asyncio.Task[None] | None = None
        self._draft: Draft | None = None
        self._previous = ""
        self._is_unfinished = False
        self._waits_for_model = False
        self._next_at = 0.0
        """Monotonic: no event begins a thought before it (G3)."""
        self._last_outcome = ("", "")
        self._same_outcomes = 0
        self._quiet = Deadline()
        self.quiet_reason = ""
        """Why it is quiet and when it goes on, while it is."""
        self.last_thought_at = 0.0
        self.state = ThoughtState.WAITING
        self.state_detail = ""
        self._free.set()

    # --- what the conversation calls ---------------------------------------------------------------------------------

    def pause(self) -> None:
        """A conversation came: stop at once; what was thought so far is recorded by the loop (R-38)."""
        self._same_outcomes = 0
        self._free.clear()
        self._interrupted.set()
        if self._running is not None:
            self._running.cancel()

    def resume(self, why: Reactivation | None = None) -> None:
        """Thinking may go on, with `why` as its first occasion."""
        if why is not None:
            self._resumed = why
        self._interrupted.set()
        self._free.set()

    def try_again(self) -> None:
        """Whatever kept it from thinking may be over."""
        if self._waits_for_model:
            self._waits_for_model = False
            self._next_at = 0.0
            self._interrupted.set()

    def configure(self, settings: MonologueSettings) -> None:
        """New settings, from the next thought on; switching thinking off ends the running one."""
        self._settings = settings
        self._quiet = Deadline()  # There may be more to spend now.
        self._interrupted.set()
        if not settings.enabled and self._running is not None:
            self._running.cancel()

    def recent_thought(self) -> str:
        """What it was just thinking, for a reply (R-90); empty when that is not fresh."""
        if self._draft is not None and self._draft.pieces:
            return self._draft.text
        is_fresh = self._clock.now() - self.last_thought_at < _FRESH_SECONDS
        return self._previous if is_fresh else ""

    def observe(self) -> AsyncGenerator[ThoughtEvent, None]:
        """Watch without influence (R-39)."""
        return self._observers.watch()

    # --- the loop ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Think, settle, wait for something, for ever."""
        saved = await self._sources.restore()
        self._previous, self._is_unfinished = saved.last_buffer, not saved.is_quiescent
        why = Reactivation(Reason.WAKING)
        while True:
            if not self._free.is_set():
                self._become(ThoughtState.PAUSED)
                await self._free.wait()
            self._interrupted.clear()
            why = self._take_resumed() or why
            if not self._settings.enabled:
                self._become(ThoughtState.OFF)
                why = await self._idle(self._settings.idle_check_seconds)
            elif (quiet := self._quiet.seconds_left(self._clock)) > 0:
                self._become(ThoughtState.QUIET, self.quiet_reason)
                why = await self._idle(min(quiet, _WAIT_SECONDS))
            elif (early := self._early_seconds(why)) > 0:
                if self.state is not ThoughtState.FAILING:
                    self._become(ThoughtState.SETTLED, self.state_detail)
                # What woke it waits with it: an occasion is not lost because it came too early.
                came = await self._idle(early, lets_surface=False)
                why = why if came.reason is Reason.TIMER else came
            elif await self._is_worth_a_thought(why):
                why = await self._think_once(why)
            else:
                self._become(ThoughtState.SETTLED)
                why = await self._idle(self._settings.idle_check_seconds)

    def _early_seconds(self, why: Reactivation) -> float:
        """How long the next thought must wait, whatever woke it: no event gets past the pace (G3)."""
        is_new_beginning = why.reason in (Reason.COMFORT, Reason.FRESH_START)
        return 0.0 if is_new_beginning else self._next_at - self._clock.monotonic()

    def _pace_seconds(self) -> float:
        """From the beginning of one thought to that of the next, at least."""
        doublings = max(0, min(_MOST_DOUBLINGS, self._same_outcomes - _SAME_OUTCOMES + 1))
        pace = self._settings.idle_check_seconds
        return max(pace, min(_LONGEST_PACE_SECONDS, pace * 2.0**doublings))

    async def _is_worth_a_thought(self, why: Reactivation) -> bool:
        if why.reason in (Reason.ASSOCIATION, Reason.CALENDAR, Reason.COMFORT, Reason.FRESH_START):
            return True
        if self._is_unfinished:
            # A thought that was cut short is taken up again, once.
            self._is_unfinished = False
            return True
        return await self._sources.has_something_to_process()

    async def _think_once(self, why: Reactivation) -> Reactivation:
        """One cycle, recorded; then what comes next: an occasion at once, or whatever ends the idleness."""
        draft, began = Draft(), self._clock.now()
        thought_id = uuid.UUID(int=self._chance.getrandbits(128)).hex[:16]
        inputs = await self._sources.gather(why, self._previous, comfort=why.reason is Reason.COMFORT)
        self._become(ThoughtState.THINKING, why.reason.value)
        self._draft = draft
        began_monotonic = self._clock.monotonic()
        self._observers.tell(ThoughtBegan(thought_id, why.reason.value, ""))
        log.info("thought.began", reason=why.reason.value)
        try:
            await self._generate(inputs, why, draft)
        finally:
            self._draft = None
        thought = FinishedThought(
            id=thought_id,
            began_at=began,
            ended_at=self._clock.now(),
            why_began=why.reason.value,
            why_ended=draft.why_ended,
            explanation=draft.explanation,
            text=plain(draft.text),
            tokens=len(draft.pieces),
            model=self._model.name,
            memories=inputs.memories,
        )
        await self._keep(thought, draft, why)
        self._note_outcome(draft)
        self._next_at = began_monotonic + self._pace_seconds()
        return await self._after(why, draft)

    async def _generate(self, inputs: ThoughtInputs, why: Reactivation, draft: Draft) -> None:
        thinker = Thinker(self._model, self._breaker, self._clock, self._settings, self._slice_tokens)
        messages = thinking_messages(inputs, why, int(self._model.context_tokens * _CONTEXT_SHARE))
        try:
            async with asyncio.TaskGroup() as tasks:
                thinking = thinker.think(messages, draft, lambda text: self._observers.tell(ThoughtPiece(text)))
                self._running = tasks.create_task(thinking, name="thought")
                if not (self._free.is_set() and self._settings.enabled):
                    # A conversation came while the inputs were gathered.
                    self._running.cancel()
            if self._running.cancelled() and not draft.why_ended:
                draft.end("paused", "It was paused." if self._settings.enabled else "Thinking was switched off.")
        except* BudgetExceededError as errors:
            self._fall_quiet(_first(errors))
            draft.end("budget", self.quiet_reason)
        except* ModelError as errors:
            error = _first(errors)
            draft.end("failed", str(error))
            draft.retry_after_seconds = _retry_after_seconds(error)
        finally:
            self._running = None

    async def _keep(self, thought: FinishedThought, draft: Draft, why: Reactivation) -> None:
        self._observers.tell(ThoughtEnded(thought.id, thought.why_ended, thought.explanation, thought.tokens))
        log.info("thought.ended", reason=thought.why_ended, tokens=thought.tokens)
        if thought.text.strip():
            # What tripped is kept, but it must not lead the next thought, after a restart neither.
            self._previous = "" if thought.why_ended == "tripped" else thought.text
            self._is_unfinished = thought.why_ended == "paused"
            self.last_thought_at = thought.ended_at
        if thought.why_ended == "budget" and not thought.text:
            # Nothing was thought: what there was to think about still waits.
            return
        for trip in draft.trips:
            await self._sources.record_trip(trip.verdict, trip.so_far, _response(trip.verdict, why))
        await self._sources.record(thought, SavedState(self._previous, not self._is_unfinished))

    async def _after(self, why: Reactivation, draft: Draft) -> Reactivation:
        """What follows a thought (R-136 for a trip; back-off for a failure, R-40; else idleness)."""
        match draft.why_ended:
            case "paused":
                return Reactivation(Reason.TIMER)
            case "failed":
                self._become(ThoughtState.FAILING, draft.explanation)
                self._next_at = self._clock.monotonic() + draft.retry_after_seconds
                self._waits_for_model = True
                return await self._idle(draft.retry_after_seconds)
            case "budget":
                return Reactivation(Reason.TIMER)
            case "tripped":
                return await self._after_trip(why, draft.trips[-1].verdict)
            case _:
                self._become(ThoughtState.SETTLED, draft.explanation)
                return Reactivation(Reason.TIMER)

    def _note_outcome(self, draft: Draft) -> None:
        outcome = (draft.why_ended, draft.text)
        if draft.why_ended in ("paused", "budget", "failed"):  # A failure has a back-off of its own.
            return
        self._same_outcomes = self._same_outcomes + 1 if outcome == self._last_outcome else 1
        self._last_outcome = outcome

    def _fall_quiet(self, error: ModelError) -> None:
        """Wait until there is something to spend again; for a limit that no day fulfils, until a setting changes."""
        seconds = error.goes_on_after_seconds if isinstance(error, BudgetExceededError) else None
        self._quiet = Deadline.after(
            seconds or (_WAIT_SECONDS if seconds is not None else _FOR_EVER_SECONDS), self._clock
        )
        self.quiet_reason = str(error)

    async def _after_trip(self, why: Reactivation, verdict: Verdict) -> Reactivation:
        self._become(ThoughtState.TRIPPED, verdict.explanation)
        anew = _new_beginning(verdict, why)
        if anew is None:
            return await self._idle(self._settings.idle_check_seconds)
        await self._pause_or_seconds(_COMFORT_SECONDS)
        return Reactivation(anew)

    async def _idle(self, seconds: float, *, lets_surface: bool = True) -> Reactivation:
        """Wait for the first of R-57's four; a failing model is waited for longer, whatever comes to mind."""
        waiters: list[Waiter] = [
            when_set(self._interrupted, lambda: self._take_resumed() or Reactivation(Reason.TIMER)),
            after_seconds(self._clock, seconds),
        ]
        if lets_surface and self._settings.enabled and self.state is ThoughtState.SETTLED:
            waiters += [self._sources.calendar, self._sources.association]
        return await first_of(waiters)

    async def _pause_or_seconds(self, seconds: float) -> None:
        await first_of([when_set(self._interrupted, lambda: Reactivation(Reason.TIMER)),
                        after_seconds(self._clock, seconds)])  # fmt: skip

    def _take_resumed(self) -> Reactivation | None:
        why, self._resumed = self._resumed, None
        return why

    def _become(self, state: ThoughtState, detail: str = "") -> None:
        if (state, detail) != (self.state, self.state_detail):
            self.state, self.state_detail = state, detail
            log.info("monologue.state", state=state.value)


def _first(errors: BaseExceptionGroup[ModelError]) -> ModelError:
    """The first error of a group of groups: each task group on the way up wrapped it once."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, ModelError)
    return error


def _retry_after_seconds(error: ModelError) -> float:
    """When thinking may come again: as the model's circuit says (`llm.circuit`), which is the one that counts."""
    asked = error.retry_after_seconds if isinstance(error, ModelUnavailableError) else None
    return min(_LONGEST_WAIT_SECONDS, asked) if asked is not None else _WAIT_SECONDS


def _new_beginning(verdict: Verdict, why: Reactivation) -> Reason | None:
    """How thinking begins again after a trip (R-136). None: it rests, as it does when a new beginning tripped."""
    if why.reason in (Reason.COMFORT, Reason.FRESH_START):
        return None
    match verdict.action:
        case Action.INTERRUPT_AND_COMFORT:
            return Reason.COMFORT
        case Action.SNAPSHOT_AND_RESET:
            return Reason.FRESH_START
        case _:
            return None


def _response(verdict: Verdict, why: Reactivation) -> str:
    """What is done about a trip, in plain words for the journal (R-135)."""
    if verdict.action is Action.THROTTLE:
        return "thinking was slowed down"
    match _new_beginning(verdict, why):
        case Reason.COMFORT:
            return "the thought was ended; the next begins with something calming"
        case Reason.FRESH_START:
            return "the thought was ended and kept; the next begins without it"
        case _:
            return "the thought was ended"
