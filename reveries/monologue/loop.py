"""The thinking loop between conversations (R-30..R-44): when it begins, pauses and settles, and why.

`run` runs for the life of the daemon. The conversation calls `pause` and `resume`, which never wait. However a thought
ends, it is recorded with the reason (R-43); with nothing to process, nothing is generated (RA-9).
"""

import asyncio
import contextlib
import random
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace

import structlog

from reveries.clock import Clock, Deadline
from reveries.config import MonologueSettings
from reveries.errors import BudgetExceededError, DiskFullError, ModelError
from reveries.gates import Gate, inherits_taint
from reveries.heartbeat import Pulse
from reveries.llm.base import ChatModel
from reveries.llm.tier import Tier
from reveries.monologue.context import thinking_messages
from reveries.monologue.cool_down import RESTART_REASONS, CoolDown, choose_restart_reason, describe_response
from reveries.monologue.observers import Observers
from reveries.monologue.outcomes import Outcomes, first_error, pause_after_error
from reveries.monologue.permission import ThinkingHold
from reveries.monologue.ports import SavedState, ThoughtSources, ThoughtState
from reveries.monologue.thinking import Thinker, ThoughtBreaker, ThoughtDraft
from reveries.monologue.thought import (
    OWNERS_WORD,
    FinishedThought,
    Reactivation,
    ThinkingReason,
    ThoughtEnd,
    ThoughtEvent,
    ThoughtInputs,
    ThoughtPiece,
    ThoughtStart,
)
from reveries.monologue.triggers import Waiter, after_seconds, wait_for_first, when_set
from reveries.safe_text import plain

log = structlog.get_logger("monologue")

_WAIT_SECONDS = 900.0
"""Until an exhausted budget is checked again, or a model that does not say when to retry."""
_FOREVER_SECONDS = 10 * 365 * 86400.0
_CONTEXT_SHARE = 0.5
"""The prompt of a thought takes at most this share of the model's context; the rest is for the thought."""
_ENOUGH_TOKENS = 80
"""After this many tokens a small model drifts from its subject."""
_MOST_REQUESTS = 8
_MOST_TRIES = 5
_WAITING_REASONS = (ThinkingReason.CALENDAR, *OWNERS_WORD)
"""Occasions that wait if thinking is not possible yet."""
_CONVERSATION_BEGAN = "A conversation or sleep began."
_DISK_FULL = "The disk is full."
_PASSING_STATES = (ThoughtState.HELD, ThoughtState.QUIET, ThoughtState.OFF, ThoughtState.TRIPPED)
"""States whose detail is outdated once it only waits for its pace."""
_FRESH_SECONDS = 600.0
"""A thought older than this is no longer "what I was just thinking"."""


class Monologue:
    """The thinking loop. It does nothing until `run` is awaited; `configure` takes effect with the next thought."""

    def __init__(
        self,
        *,
        model: ChatModel,
        sources: ThoughtSources,
        breaker: ThoughtBreaker,
        clock: Clock,
        settings: MonologueSettings,
        chance: random.Random,
        slice_tokens: Callable[[], int | None] = lambda: None,
        find_hold: Callable[[], ThinkingHold | None] = lambda: None,
        cool_down_seconds: float,
        tier: Callable[[], int] = lambda: Tier.SMALL,
    ) -> None:
        self._model = model
        self._sources = sources
        self._breaker = breaker
        self._clock = clock
        self._settings = settings
        self._chance = chance
        self._slice_tokens = slice_tokens
        self._find_hold = find_hold
        self._tier = tier
        self.cool_down = CoolDown(clock, cool_down_seconds)
        self._requests: deque[Reactivation] = deque()
        self._is_halted = self._is_draft_tainted = False
        self._current_occasion: Reactivation | None = None
        self._cancel_reason = self._previous_id = ""
        self._is_tainted = False
        self.thinking_lock = asyncio.Lock()  # Held from the preparation of a thought until it is recorded.
        self._observers = Observers()
        self.pulse = Pulse()
        self._free = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._resumed: Reactivation | None = None
        self._running: asyncio.Task[None] | None = None
        self._draft: ThoughtDraft | None = None
        self._previous = ""
        self._unrecorded: tuple[FinishedThought, SavedState] | None = None
        self._is_unfinished = self._was_cut = False
        self._waits_for_model = False
        self._next_at = 0.0
        """Monotonic: no event begins a thought before this (G3)."""
        self._settled_until = 0.0
        """Monotonic: until then only a conversation, the owner, or the calendar begins a thought."""
        self._outcomes = Outcomes()
        self._quiet = Deadline()
        self.quiet_reason = ""
        """While it is quiet: why, and when it continues."""
        self.last_thought_at = 0.0
        self.state = ThoughtState.WAITING
        self.state_detail = ""
        self._free.set()

    # --- calls from outside ------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop at once for a conversation; the loop records the thought so far (R-38)."""
        self._reopen_outcomes()
        self._free.clear()
        self._interrupted.set()
        if self._running is not None:
            self._running.cancel()

    def resume(self, why: Reactivation | None = None) -> None:
        """Allow thinking again, with `why` as its first occasion."""
        if why is not None:
            self._resumed = why
        self._interrupted.set()
        self._free.set()

    def try_again(self) -> None:
        """Retry a model that failed, because the cause may be gone."""
        if self._waits_for_model:
            self._waits_for_model = False
            self._next_at = 0.0
            self._interrupted.set()

    def ask(self, why: Reactivation) -> bool:
        """Queue a request of the owner to think about something. It starts as soon as no conversation and no thought is
        running, regardless of pace, quiet hours and battery, but within the budget. False: too many requests wait."""
        if len(self._requests) >= _MOST_REQUESTS:
            return False
        self._reopen_outcomes()
        self._requests.append(why)
        self._interrupted.set()
        return True

    def halt(self) -> None:
        """Stop thinking on the owner's request: end the running thought and drop earlier requests. Later requests are
        still thought about."""
        self._is_halted = True
        self._requests = deque(why for why in self._requests if why.reason not in OWNERS_WORD)
        self.reconsider()

    def reconsider(self) -> None:
        """Check the holds again: end a running thought that may not continue now, or go on."""
        self._interrupted.set()
        self._stop_if_held()

    def release(self) -> None:
        """End the cool-down on the owner's request."""
        self.cool_down.release()
        self._interrupted.set()

    def forget(self, thought_id: str) -> None:
        """Do not continue from a thought that the owner dropped."""
        if thought_id == self._previous_id:
            self._previous, self._is_unfinished, self._is_tainted = "", False, False

    def forget_all(self, holds: Callable[[str], bool]) -> None:
        """After an erasure: continue from no earlier thought, and drop requests that contain (`holds`) erased text."""
        self._was_cut = False
        self._outcomes.forget()
        self.forget(self._previous_id)
        self._requests = deque(why for why in self._requests if not holds(why.detail))

    def configure(self, settings: MonologueSettings) -> None:
        """Use new settings from the next thought on; switching thinking off ends the running one."""
        self._settings = settings
        self._quiet = Deadline()  # The budget may be larger now.
        self.reconsider()

    def recent_thought(self) -> str:
        """Return what it was just thinking, for a reply (R-90); empty if that is too long ago."""
        if self._draft is not None and self._draft.pieces:
            return self._draft.text
        is_fresh = self._clock.now() - self.last_thought_at < _FRESH_SECONDS
        return self._previous if is_fresh else ""

    def is_recent_thought_tainted(self) -> bool:
        """Whether untrusted text influenced `recent_thought`."""
        return self._is_draft_tainted if self._draft is not None and self._draft.pieces else self._is_tainted

    def observe(self) -> AsyncGenerator[ThoughtEvent, None]:
        """Watch without influence (R-39)."""
        return self._observers.watch()

    # --- the loop ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Think, settle and wait for a trigger, forever."""
        saved = await self._sources.restore()
        self._previous = saved.last_buffer
        self._is_unfinished = self._was_cut = not saved.is_quiescent
        self._is_tainted, self._previous_id = saved.is_tainted, saved.thought_id
        self._outcomes.remember("" if self._was_cut else saved.last_buffer)
        why = Reactivation(ThinkingReason.WAKING)
        if saved.cool_down is not None:
            self.cool_down.restore(saved.cool_down)
            why = Reactivation(saved.cool_down.then or ThinkingReason.WAKING)
        while True:
            await self._until_free()
            self._interrupted.clear()
            why = self._next_occasion(why)
            if not self._settings.enabled:
                self._change_state(ThoughtState.OFF)
                why = await self._idle(self._settings.idle_check_seconds)
            elif (cool_down := self.cool_down.current_hold()) is not None:
                self._change_state(ThoughtState.TRIPPED, cool_down.why)
                why = _keep_unless_new(why, await self._wait_for_reason(min(cool_down.seconds, _WAIT_SECONDS), []))
            elif (hold := self._hold_for(why)) is not None:
                self._change_state(ThoughtState.HELD, hold.why)
                why = _keep_unless_new(why, await self._idle(min(hold.seconds, _WAIT_SECONDS)))
            elif (quiet := self._quiet.seconds_left(self._clock)) > 0:
                self._change_state(ThoughtState.QUIET, self.quiet_reason)
                next_why = await self._idle(min(quiet, _WAIT_SECONDS))
                why = _keep_unless_new(why, next_why) if why.reason in _WAITING_REASONS else next_why
            elif (early := self._early_seconds(why)) > 0:
                if self.state is not ThoughtState.FAILING:
                    self._change_state(ThoughtState.SETTLED, "" if self.state in _PASSING_STATES else self.state_detail)
                # The occasion is kept during the wait: it must not be lost because it came too early.
                why = _keep_unless_new(why, await self._idle_early(early))
            elif await self._is_worth_a_thought(why):
                async with self.thinking_lock:
                    why = await self._think_once(why)
            else:
                self._change_state(ThoughtState.SETTLED)
                why = await self._idle(self._settings.idle_check_seconds)

    async def _until_free(self) -> None:
        while not self._free.is_set():  # In a loop: it may be paused again before this task runs.
            self._change_state(ThoughtState.PAUSED)
            with self.pulse.waiting():
                await self._free.wait()

    def _hold_for(self, why: Reactivation) -> ThinkingHold | None:
        """Return what holds a thought with this reason; only absolute holds apply to requests of the owner."""
        hold = self._find_hold()
        return None if hold is None or (why.reason in OWNERS_WORD and not hold.is_absolute) else hold

    def _early_seconds(self, why: Reactivation) -> float:
        """Return how long the next thought must wait for its pace, which holds for every event (G3)."""
        if why.reason in (*RESTART_REASONS, *OWNERS_WORD):
            return 0.0
        begins_at = self._next_at if why.reason is ThinkingReason.CALENDAR else max(self._next_at, self._settled_until)
        return begins_at - self._clock.monotonic()

    async def _is_worth_a_thought(self, why: Reactivation) -> bool:
        if why.reason in (ThinkingReason.ASSOCIATION, ThinkingReason.CALENDAR, *RESTART_REASONS, *OWNERS_WORD):
            return True
        if self._is_unfinished:
            # A thought that was cut short is continued once.
            self._is_unfinished = False
            return True
        return await self._sources.has_something_to_process()

    async def _think_once(self, why: Reactivation) -> Reactivation:
        """Run and record one cycle; return the next occasion."""
        await self._record_pending()
        draft, began = ThoughtDraft(), self._clock.now()
        thought_id = uuid.UUID(int=self._chance.getrandbits(128)).hex[:16]
        # A tainted thought leads only to its own continuation, or one event would taint all later thoughts.
        may_lead = self._was_cut or not inherits_taint(Gate.LAST_THOUGHT, self._is_tainted)
        previous = self._previous if may_lead else ""
        inputs = await self._sources.gather(why, previous, comfort=why.reason is ThinkingReason.COMFORT)
        self._change_state(ThoughtState.THINKING, why.reason.value)
        self._draft, self._current_occasion = draft, why
        began_monotonic = self._clock.monotonic()
        is_tainted = inputs.is_tainted or inherits_taint(Gate.THOUGHT, why.is_tainted)
        is_tainted = is_tainted or inherits_taint(Gate.LAST_THOUGHT, bool(previous) and self._is_tainted)
        self._is_draft_tainted = is_tainted

        def build_thought() -> FinishedThought:
            return FinishedThought(
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
                occasion=plain(why.detail),
                is_tainted=is_tainted,
                shown=draft.shown,
                unkept_because=draft.unkept_because,
            )

        self._observers.notify(ThoughtStart(thought_id, why.reason.value, ""))
        log.info("thought.began", reason=why.reason.value)
        try:
            await self._generate(inputs, why, draft, build_thought)
        finally:
            self._draft = self._current_occasion = None
        self._judge_thought(draft, inputs)
        await self._finish_thought(build_thought(), draft, why)
        self._next_at = began_monotonic + self._settings.idle_check_seconds
        self._settled_until = began_monotonic + self._outcomes.pace_seconds(self._settings.idle_check_seconds)
        self._requeue_occasion(why, draft)
        return await self._after_thought(why, draft)

    async def _generate(
        self, inputs: ThoughtInputs, why: Reactivation, draft: ThoughtDraft, so_far: Callable[[], FinishedThought]
    ) -> None:
        tier = self._tier()
        enough = None if tier >= Tier.CAPABLE else _ENOUGH_TOKENS
        thinker = Thinker(self._model, self._breaker, self._clock, self._settings, self._slice_tokens, enough)

        async def save() -> None:
            self.pulse.beat()
            await self._sources.checkpoint(so_far())

        messages = thinking_messages(inputs, why, int(self._model.context_tokens * _CONTEXT_SHARE), tier)
        draft.shown = tuple(message.text for message in messages)
        try:
            async with asyncio.TaskGroup() as tasks:
                thinking = thinker.think(messages, draft, lambda text: self._observers.notify(ThoughtPiece(text)), save)
                self._running = tasks.create_task(thinking, name="thought")
                # A conversation or the owner's pause may have begun while the inputs were gathered.
                self._stop_if_held()
            if self._running.cancelled() and not draft.why_ended:
                draft.end("paused", self._cancel_reason or _CONVERSATION_BEGAN)
        except* BudgetExceededError as errors:
            self._wait_for_budget(first_error(errors))
            draft.end("budget", self.quiet_reason)
        except* DiskFullError:
            draft.end("paused", _DISK_FULL)
        except* ModelError as errors:
            error = first_error(errors)
            draft.end("failed", str(error))
            draft.retry_after_seconds = pause_after_error(error, _WAIT_SECONDS)
        finally:
            self._running = None
            self._cancel_reason = ""

    def _judge_thought(self, draft: ThoughtDraft, inputs: ThoughtInputs) -> None:
        """Add to the explanation of an ended thought whether it is a repetition."""
        repetition = self._outcomes.count(draft.text, draft.why_ended)
        read = (*draft.shown, *(memory.text for memory in inputs.memories))
        draft.unkept_because = self._outcomes.reason_not_kept(draft.text, draft.why_ended, read)
        draft.explanation = " ".join(filter(None, (draft.explanation, repetition, draft.unkept_because)))
        if not draft.unkept_because:
            self._outcomes.remember(draft.text)

    async def _finish_thought(self, thought: FinishedThought, draft: ThoughtDraft, why: Reactivation) -> None:
        self._observers.notify(ThoughtEnd(thought.id, thought.why_ended, thought.explanation, thought.tokens))
        log.info("thought.ended", reason=thought.why_ended, tokens=thought.tokens, why_not_kept=thought.unkept_because)
        if thought.unkept_because:
            self._is_unfinished = self._was_cut = False
        elif thought.text.strip():
            # A tripped thought is stored but must not lead to the next one, also not after a restart.
            self._previous = "" if thought.why_ended == "tripped" else thought.text
            self._is_unfinished = self._was_cut = thought.why_ended == "paused"
            self._is_tainted, self._previous_id = thought.is_tainted, thought.id
            self.last_thought_at = thought.ended_at
        if thought.why_ended == "budget" and not thought.text:
            # Nothing was thought, so there is nothing to record.
            return
        for trip in draft.trips:
            response = describe_response(trip.verdict, why)
            await self._sources.record_trip(trip.verdict, trip.so_far, response, is_tainted=thought.is_tainted)
        is_tainted, leads = (self._is_tainted, self._previous_id) if self._previous else (False, "")
        self._unrecorded = thought, SavedState(self._previous, not self._is_unfinished, is_tainted, leads)
        with contextlib.suppress(DiskFullError):
            await self._record_pending()

    async def _record_pending(self) -> None:
        """Record the last thought if that is still to be done, because the disk was full."""
        if self._unrecorded is not None:
            await self._sources.record(*self._unrecorded)
            self._unrecorded = None

    def _reopen_outcomes(self) -> None:
        """Treat nothing as settled any more, because someone spoke to the mind."""
        self._outcomes.reopen()
        self._settled_until = 0.0

    def _stop_if_held(self) -> None:
        """End the running thought if it may not continue."""
        stop_reason = self._stop_reason()
        if stop_reason and self._running is not None:
            self._cancel_reason = stop_reason
            self._running.cancel()

    def _stop_reason(self) -> str:
        """Return why the running thought may not continue; empty if it may."""
        if not self._free.is_set():
            return _CONVERSATION_BEGAN
        if not self._settings.enabled:
            return "Thinking was switched off."
        if self._is_halted:
            return "You paused it."
        hold = self._hold_for(self._current_occasion or Reactivation(ThinkingReason.TIMER))
        return hold.why if hold is not None else ""

    def _requeue_occasion(self, why: Reactivation, draft: ThoughtDraft) -> None:
        """Queue an occasion again if nothing could be thought about it, up to _MOST_TRIES times."""
        if draft.pieces or draft.why_ended not in ("paused", "failed", "budget") or why.tries >= _MOST_TRIES:
            return
        if why.reason in OWNERS_WORD and self._is_halted:
            return
        again = why if draft.why_ended == "paused" else replace(why, tries=why.tries + 1)
        if why.reason in _WAITING_REASONS:
            self._requests.appendleft(again)
        elif why.reason is ThinkingReason.CONVERSATION:
            self._resumed = self._resumed or again

    async def _after_thought(self, why: Reactivation, draft: ThoughtDraft) -> Reactivation:
        """Return the occasion after a thought (R-136 after a trip; after back-off for a failure, R-40)."""
        match draft.why_ended:
            case "paused":
                return Reactivation(ThinkingReason.TIMER)
            case "failed":
                self._change_state(ThoughtState.FAILING, draft.explanation)
                self._next_at, self._settled_until = self._clock.monotonic() + draft.retry_after_seconds, 0.0
                self._waits_for_model = True
                return await self._idle(draft.retry_after_seconds)
            case "budget":
                return Reactivation(ThinkingReason.TIMER)
            case "tripped":
                verdict = draft.trips[-1].verdict
                self.cool_down.begin(verdict.explanation)
                return Reactivation(choose_restart_reason(verdict.action, why.reason) or ThinkingReason.TIMER)
            case _:
                self._change_state(ThoughtState.SETTLED, draft.explanation)
                return Reactivation(ThinkingReason.TIMER)

    def _wait_for_budget(self, error: ModelError) -> None:
        """Stay quiet until the budget allows more; if no day's budget suffices, until a setting changes."""
        seconds = error.goes_on_after_seconds if isinstance(error, BudgetExceededError) else None
        self._quiet = Deadline.after(
            seconds or (_WAIT_SECONDS if seconds is not None else _FOREVER_SECONDS), self._clock
        )
        self.quiet_reason = str(error)

    async def _idle(self, seconds: float) -> Reactivation:
        """Wait for the first of R-57's four triggers; while the model fails, memories and the calendar do not count."""
        can_surface = self._settings.enabled and self.state is ThoughtState.SETTLED
        return await self._wait_for_reason(
            seconds, [self._sources.calendar, self._sources.association] if can_surface else []
        )

    async def _idle_early(self, seconds: float) -> Reactivation:
        """Wait for the pace; once that has passed, the calendar can end a longer settled wait."""
        if (pace := self._next_at - self._clock.monotonic()) > 0 or self.state is not ThoughtState.SETTLED:
            return await self._wait_for_reason(min(pace, seconds) if pace > 0 else seconds, [])
        return await self._wait_for_reason(seconds, [self._sources.calendar])

    async def _wait_for_reason(self, seconds: float, others: Sequence[Waiter]) -> Reactivation:
        """Wait for `seconds`, an interruption, or one of the other waiters, whichever comes first."""
        interrupted = when_set(self._interrupted, lambda: Reactivation(ThinkingReason.TIMER))
        with self.pulse.waiting(seconds):
            return await wait_for_first([interrupted, after_seconds(self._clock, seconds), *others])

    def _next_occasion(self, why: Reactivation) -> Reactivation:
        """Return what to think about: `why` if the owner asked for it, else the conversation that ended, else the
        owner's next request, else `why`. A calendar event that is passed over comes again."""
        if self._is_halted and why.reason in OWNERS_WORD:
            why = Reactivation(ThinkingReason.TIMER)
        self._is_halted = False
        if why.reason in OWNERS_WORD or (self._resumed is None and not self._requests):
            return why
        if self._resumed is None and why.reason in RESTART_REASONS:  # The restart comes before requests.
            return why
        if self._resumed is None:
            return self._requests.popleft()
        why, self._resumed = self._resumed, None
        return why

    def _change_state(self, state: ThoughtState, detail: str = "") -> None:
        if (state, detail) != (self.state, self.state_detail):
            self.state, self.state_detail = state, detail
            log.info("monologue.state_changed", state=state.value)


def _keep_unless_new(why: Reactivation, next_why: Reactivation) -> Reactivation:
    """Return `why` after a wait that only timed out, else the new occasion."""
    return why if next_why.reason is ThinkingReason.TIMER else next_why
