"""The thinking loop between conversations (R-30..R-44): when a thought begins, pauses and may go on, and why.

`run` runs for the life of the daemon. The conversation calls `pause` and `resume`, which never wait. The thought itself
is made by the `cycle`; with nothing to process, nothing is generated (RA-9).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from reveries.clock import Deadline
from reveries.monologue.cool_down import RESTART_REASONS, CoolDown, choose_restart_reason
from reveries.monologue.cycle import CONVERSATION_BEGAN, WAIT_SECONDS, ThoughtCycle
from reveries.monologue.permission import ThinkingHold
from reveries.monologue.ports import ThoughtState
from reveries.monologue.thinking import ThoughtDraft
from reveries.monologue.thought import OWNERS_WORD, Reactivation, ThinkingReason
from reveries.monologue.triggers import Waiter, after_seconds, wait_for_first, when_set
from reveries.notifier import Notifier

log = structlog.get_logger("monologue")

_MOST_REQUESTS = 8
_MOST_TRIES = 5
_WAITING_REASONS = (ThinkingReason.CALENDAR, *OWNERS_WORD)
"""Occasions that wait if thinking is not possible yet."""
_PASSING_STATES = (ThoughtState.HELD, ThoughtState.QUIET, ThoughtState.OFF, ThoughtState.TRIPPED)
"""States whose detail is outdated once it only waits for its pace."""


class Monologue:
    """The thinking loop. It does nothing until `run` is awaited."""

    def __init__(
        self,
        cycle: ThoughtCycle,
        *,
        find_hold: Callable[[], ThinkingHold | None] = lambda: None,
        cool_down_seconds: float,
    ) -> None:
        self.cycle = cycle
        self._clock, self._sources = cycle.clock, cycle.sources
        self._find_hold = find_hold
        self.cool_down = CoolDown(cycle.clock, cool_down_seconds)
        self._requests: deque[Reactivation] = deque()
        self._is_halted = False
        self.thinking_lock = asyncio.Lock()  # Held from the preparation of a thought until it is recorded.
        self.pulse = cycle.pulse
        self._free = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._resumed: Reactivation | None = None
        self._waits_for_model = False
        self._next_at = 0.0
        """Monotonic: no event begins a thought before this (G3)."""
        self._settled_until = 0.0
        """Monotonic: until then only a conversation, the owner, or the calendar begins a thought."""
        self._talk_goes_on_until = 0.0
        """Monotonic: more words are expected until then. Unlike `_settled_until`, a turn off the record does not reset
        it."""
        self._quiet = Deadline()
        self.quiet_reason = ""
        """While it is quiet: why, and when it continues."""
        self.state = ThoughtState.WAITING
        self.state_detail = ""
        self.state_changed: Notifier[[]] = Notifier()
        self._free.set()

    # --- calls from outside ------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop at once for a conversation; the loop records the thought so far (R-38)."""
        self._reopen_outcomes()
        self._free.clear()
        self._interrupted.set()
        self.cycle.stop()

    def resume(self, why: Reactivation | None = None, after_seconds: float = 0.0) -> None:
        """Allow thinking again, with `why` as its first occasion, by itself only after `after_seconds`."""
        if why is not None:
            self._resumed = why
            self._settled_until = 0.0
            self._talk_goes_on_until = self._clock.monotonic() + after_seconds
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

    def forget_all(self, holds: Callable[[str], bool]) -> None:
        """After an erasure: continue from no earlier thought, and drop requests that contain (`holds`) erased text."""
        self.cycle.forget_all()
        self._requests = deque(why for why in self._requests if not holds(why.detail))

    def apply_settings(self) -> None:
        """Apply changed settings: switching thinking off ends the running thought."""
        self._quiet = Deadline()  # The budget may be larger now.
        if not self._waits_for_model:
            now, pace = self._clock.monotonic(), self.cycle.settings.idle_check_seconds
            self._next_at = min(self._next_at, now + pace)
            self._settled_until = min(self._settled_until, now + self.cycle.outcomes.pace_seconds(pace))
        self.reconsider()

    # --- the loop ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Think, settle and wait for a trigger, forever."""
        saved = await self._sources.restore()
        self.cycle.restore(saved)
        why = Reactivation(ThinkingReason.WAKING)
        if saved.cool_down is not None:
            self.cool_down.restore(saved.cool_down)
            why = Reactivation(saved.cool_down.then or ThinkingReason.WAKING)
        while True:
            await self._until_free()
            self._interrupted.clear()
            why = self._next_occasion(why)
            if not self.cycle.settings.enabled:
                self._change_state(ThoughtState.OFF)
                why = await self._idle(self.cycle.settings.idle_check_seconds)
            elif (cool_down := self.cool_down.current_hold()) is not None:
                self._change_state(ThoughtState.TRIPPED, cool_down.why)
                why = _keep_unless_new(why, await self._wait_for_reason(min(cool_down.seconds, WAIT_SECONDS), []))
            elif (hold := self._hold_for(why)) is not None:
                self._change_state(ThoughtState.HELD, hold.why)
                why = _keep_unless_new(why, await self._idle(min(hold.seconds, WAIT_SECONDS)))
            elif (quiet := self._quiet.seconds_left(self._clock)) > 0:
                self._change_state(ThoughtState.QUIET, self.quiet_reason)
                next_why = await self._idle(min(quiet, WAIT_SECONDS))
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
                why = await self._idle(self.cycle.settings.idle_check_seconds)

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
        begins_at = self._next_at
        if why.reason is not ThinkingReason.CALENDAR:
            begins_at = max(begins_at, self._settled_until, self._talk_goes_on_until)
        return begins_at - self._clock.monotonic()

    async def _is_worth_a_thought(self, why: Reactivation) -> bool:
        if why.reason in (ThinkingReason.ASSOCIATION, ThinkingReason.CALENDAR, *RESTART_REASONS, *OWNERS_WORD):
            return True
        if self.cycle.take_unfinished():
            return True
        return await self._sources.has_something_to_process()

    async def _think_once(self, why: Reactivation) -> Reactivation:
        """Run and record one cycle; return the next occasion."""
        prepared = await self.cycle.prepare(why)
        self._change_state(ThoughtState.THINKING, why.reason.value)
        began = self._clock.monotonic()
        # A conversation or the owner's pause may have begun while the inputs were gathered.
        draft = await self.cycle.generate(prepared, self._stop_reason(why))
        if draft.why_ended == "budget":
            self._quiet = Deadline.after(draft.retry_after_seconds, self._clock)
            self.quiet_reason = draft.explanation
        await self.cycle.finish(prepared, draft)
        self._next_at = began + self.cycle.settings.idle_check_seconds
        self._settled_until = began + self.cycle.outcomes.pace_seconds(self.cycle.settings.idle_check_seconds)
        self._requeue_occasion(why, draft)
        return await self._after_thought(why, draft)

    def _reopen_outcomes(self) -> None:
        """Treat nothing as settled any more, because someone spoke to the mind."""
        self.cycle.outcomes.reopen()
        self._settled_until = 0.0

    def _stop_if_held(self) -> None:
        """End the running thought if it may not continue."""
        if (thought := self.cycle.prepared) is not None and (reason := self._stop_reason(thought.why)):
            self.cycle.stop(reason)

    def _stop_reason(self, why: Reactivation) -> str:
        """Return why a thought with the occasion `why` may not continue; empty if it may."""
        if not self._free.is_set():
            return CONVERSATION_BEGAN
        if not self.cycle.settings.enabled:
            return "Thinking was switched off."
        if self._is_halted:
            return "You paused it."
        hold = self._hold_for(why)
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

    async def _idle(self, seconds: float) -> Reactivation:
        """Wait for the first of R-57's four triggers; while the model fails, memories and the calendar do not count."""
        can_surface = self.cycle.settings.enabled and self.state is ThoughtState.SETTLED
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
            self.state_changed.notify()


def _keep_unless_new(why: Reactivation, next_why: Reactivation) -> Reactivation:
    """Return `why` after a wait that only timed out, else the new occasion."""
    return why if next_why.reason is ThinkingReason.TIMER else next_why
