"""Thinking between conversations (R-30..R-44): when it begins, pauses, settles, and what woke it.

`run` goes on for the life of the daemon. `pause` and `resume` come from the conversation and never wait. Whatever a
thought ends by, it is recorded with the reason (R-43); with nothing to process, nothing is generated (RA-9).
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
from reveries.gates import Gate, inherited
from reveries.heartbeat import Pulse
from reveries.llm.base import ChatModel
from reveries.llm.tier import Tier
from reveries.monologue.context import thinking_messages
from reveries.monologue.cool_down import NEW_BEGINNINGS, CoolDown, new_beginning, response
from reveries.monologue.observers import Observers
from reveries.monologue.outcomes import Outcomes, first_error, pause_after_error
from reveries.monologue.permission import HeldBack
from reveries.monologue.ports import SavedState, ThoughtSources, ThoughtState
from reveries.monologue.thinking import Thinker, ThoughtDraft, Watch
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
from reveries.monologue.triggers import Waiter, after_seconds, first_of, when_set
from reveries.safe_text import plain

log = structlog.get_logger("monologue")

_WAIT_SECONDS = 900.0
"""Until the next look at a budget that is used up, or at a model of which nobody says when it may come again."""
_FOR_EVER_SECONDS = 10 * 365 * 86400.0
_CONTEXT_SHARE = 0.5
"""What a thought is told takes at most this share of the model's context; the rest is for the thought."""
_ENOUGH_TOKENS = 80
"""A small model that goes on after so many leaves what it thinks of."""
_MOST_ASKED = 8
_MOST_TRIES = 5
_KEPT = (ThinkingReason.CALENDAR, *OWNERS_WORD)
"""Occasions that wait where nothing can be thought yet."""
_CONVERSATION_CAME = "A conversation came, or sleep."
_NO_ROOM = "The disk is full."
_OVER = (ThoughtState.HELD, ThoughtState.QUIET, ThoughtState.OFF, ThoughtState.TRIPPED)
"""What is said of these does not hold any more when it waits for its pace."""
_FRESH_SECONDS = 600.0
"""A thought older than this is no longer "what I was just thinking"."""


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
        slice_tokens: Callable[[], int | None] = lambda: None,
        held: Callable[[], HeldBack | None] = lambda: None,
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
        self._held = held
        self._tier = tier
        self.cool_down = CoolDown(clock, cool_down_seconds)
        self._asked: deque[Reactivation] = deque()
        self._is_halted = self._drafts_tainted = False
        self._thinks_of: Reactivation | None = None
        self._why_cancelled = self._previous_id = ""
        self._is_tainted = False
        self.under_way = asyncio.Lock()  # From when a thought is prepared until it is recorded.
        self._observers = Observers()
        self.pulse = Pulse()
        self._free = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._resumed: Reactivation | None = None
        self._running: asyncio.Task[None] | None = None
        self._draft: ThoughtDraft | None = None
        self._previous = ""
        self._unkept: tuple[FinishedThought, SavedState] | None = None
        self._is_unfinished = self._was_cut = False
        self._waits_for_model = False
        self._next_at = 0.0
        """Monotonic: no event begins a thought before it (G3)."""
        self._rests_until = 0.0
        """Monotonic: as long as that it rests in what is settled, but for what is said to it, and for the calendar."""
        self._outcomes = Outcomes()
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
        self._forget_outcomes()
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

    def ask(self, why: Reactivation) -> bool:
        """The owner's word: think of this, as soon as no conversation is open and no thought is under way. It waits for
        no pace, no hour and no socket on the wall; the budget and the breaker stand. False: too much waits already."""
        if len(self._asked) >= _MOST_ASKED:
            return False
        self._forget_outcomes()
        self._asked.append(why)
        self._interrupted.set()
        return True

    def halt(self) -> None:
        """The owner wants no thinking: what is under way ends, and what was asked for before waits no more. What is
        asked for later is thought about."""
        self._is_halted = True
        self._asked = deque(why for why in self._asked if why.reason not in OWNERS_WORD)
        self.reconsider()

    def reconsider(self) -> None:
        """What holds thinking back may have changed: end a running thought that is held back now (it is kept, and taken
        up again), or go on."""
        self._interrupted.set()
        self._stop_if_held()

    def release(self) -> None:
        """The owner ends the rest after a trip."""
        self.cool_down.release()
        self._interrupted.set()

    def forget(self, thought_id: str) -> None:
        """The owner dropped a thought: it leads no later one."""
        if thought_id == self._previous_id:
            self._previous, self._is_unfinished, self._is_tainted = "", False, False

    def forget_all(self, holds: Callable[[str], bool]) -> None:
        """Something was erased: nothing that was thought until now leads on, no occasion that holds it comes."""
        self._was_cut = False
        self._outcomes.forget()
        self.forget(self._previous_id)
        self._asked = deque(why for why in self._asked if not holds(why.detail))

    def configure(self, settings: MonologueSettings) -> None:
        """New settings, from the next thought on; switching thinking off ends the running one."""
        self._settings = settings
        self._quiet = Deadline()  # There may be more to spend now.
        self.reconsider()

    def recent_thought(self) -> str:
        """What it was just thinking, for a reply (R-90); empty when that is not fresh."""
        if self._draft is not None and self._draft.pieces:
            return self._draft.text
        is_fresh = self._clock.now() - self.last_thought_at < _FRESH_SECONDS
        return self._previous if is_fresh else ""

    def is_recent_thought_tainted(self) -> bool:
        """Whether somebody else than the owner and the mind had a hand in `recent_thought`."""
        return self._drafts_tainted if self._draft is not None and self._draft.pieces else self._is_tainted

    def observe(self) -> AsyncGenerator[ThoughtEvent, None]:
        """Watch without influence (R-39)."""
        return self._observers.watch()

    # --- the loop ----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Think, settle, wait for something, for ever."""
        saved = await self._sources.restore()
        self._previous = saved.last_buffer
        self._is_unfinished = self._was_cut = not saved.is_quiescent
        self._is_tainted, self._previous_id = saved.is_tainted, saved.thought_id
        self._outcomes.remember("" if self._was_cut else saved.last_buffer)
        why = Reactivation(ThinkingReason.WAKING)
        if saved.rest is not None:
            self.cool_down.restore(saved.rest)
            why = Reactivation(saved.rest.then or ThinkingReason.WAKING)
        while True:
            await self._until_free()
            self._interrupted.clear()
            why = self._next_occasion(why)
            if not self._settings.enabled:
                self._change_state(ThoughtState.OFF)
                why = await self._idle(self._settings.idle_check_seconds)
            elif (rest := self.cool_down.held()) is not None:
                self._change_state(ThoughtState.TRIPPED, rest.why)
                why = _still(why, await self._wait_for_reason(min(rest.seconds, _WAIT_SECONDS), []))
            elif (held := self._holds(why)) is not None:
                self._change_state(ThoughtState.HELD, held.why)
                why = _still(why, await self._idle(min(held.seconds, _WAIT_SECONDS)))
            elif (quiet := self._quiet.seconds_left(self._clock)) > 0:
                self._change_state(ThoughtState.QUIET, self.quiet_reason)
                came = await self._idle(min(quiet, _WAIT_SECONDS))
                why = _still(why, came) if why.reason in _KEPT else came
            elif (early := self._early_seconds(why)) > 0:
                if self.state is not ThoughtState.FAILING:
                    self._change_state(ThoughtState.SETTLED, "" if self.state in _OVER else self.state_detail)
                # What woke it waits with it: an occasion is not lost because it came too early.
                why = _still(why, await self._idle_early(early))
            elif await self._is_worth_a_thought(why):
                async with self.under_way:
                    why = await self._think_once(why)
            else:
                self._change_state(ThoughtState.SETTLED)
                why = await self._idle(self._settings.idle_check_seconds)

    async def _until_free(self) -> None:
        while not self._free.is_set():  # Again: it may be paused anew before it hears that it was let go.
            self._change_state(ThoughtState.PAUSED)
            with self.pulse.waiting():
                await self._free.wait()

    def _holds(self, why: Reactivation) -> HeldBack | None:
        """What holds back a thought of that; little keeps the owner's word waiting."""
        held = self._held()
        return None if held is None or (why.reason in OWNERS_WORD and not held.is_absolute) else held

    def _early_seconds(self, why: Reactivation) -> float:
        """How long the next thought must wait, whatever woke it: no event gets past the pace (G3)."""
        if why.reason in (*NEW_BEGINNINGS, *OWNERS_WORD):
            return 0.0
        begins_at = self._next_at if why.reason is ThinkingReason.CALENDAR else max(self._next_at, self._rests_until)
        return begins_at - self._clock.monotonic()

    async def _is_worth_a_thought(self, why: Reactivation) -> bool:
        if why.reason in (ThinkingReason.ASSOCIATION, ThinkingReason.CALENDAR, *NEW_BEGINNINGS, *OWNERS_WORD):
            return True
        if self._is_unfinished:
            # A thought that was cut short is taken up again, once.
            self._is_unfinished = False
            return True
        return await self._sources.has_something_to_process()

    async def _think_once(self, why: Reactivation) -> Reactivation:
        """One cycle, recorded; then what comes next: an occasion at once, or whatever ends the idleness."""
        await self._keep_what_waits()
        draft, began = ThoughtDraft(), self._clock.now()
        thought_id = uuid.UUID(int=self._chance.getrandbits(128)).hex[:16]
        # What others had a hand in leads only the thought that takes it up: or one event would taint all there are.
        may_lead = self._was_cut or not inherited(Gate.LAST_THOUGHT, self._is_tainted)
        previous = self._previous if may_lead else ""
        inputs = await self._sources.gather(why, previous, comfort=why.reason is ThinkingReason.COMFORT)
        self._change_state(ThoughtState.THINKING, why.reason.value)
        self._draft, self._thinks_of = draft, why
        began_monotonic = self._clock.monotonic()
        is_tainted = inputs.is_tainted or inherited(Gate.THOUGHT, why.is_tainted)
        is_tainted = is_tainted or inherited(Gate.LAST_THOUGHT, bool(previous) and self._is_tainted)
        self._drafts_tainted = is_tainted

        def so_far() -> FinishedThought:
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

        self._observers.tell(ThoughtStart(thought_id, why.reason.value, ""))
        log.info("thought.began", reason=why.reason.value)
        try:
            await self._generate(inputs, why, draft, so_far)
        finally:
            self._draft = self._thinks_of = None
        self._judge_thought(draft, inputs)
        await self._keep_thought(so_far(), draft, why)
        self._next_at = began_monotonic + self._settings.idle_check_seconds
        self._rests_until = began_monotonic + self._outcomes.pace_seconds(self._settings.idle_check_seconds)
        self._put_off(why, draft)
        return await self._after(why, draft)

    async def _generate(
        self, inputs: ThoughtInputs, why: Reactivation, draft: ThoughtDraft, so_far: Callable[[], FinishedThought]
    ) -> None:
        tier = self._tier()
        enough = None if tier >= Tier.CAPABLE else _ENOUGH_TOKENS
        thinker = Thinker(self._model, self._breaker, self._clock, self._settings, self._slice_tokens, enough)

        async def keep() -> None:
            self.pulse.beat()
            await self._sources.checkpoint(so_far())

        messages = thinking_messages(inputs, why, int(self._model.context_tokens * _CONTEXT_SHARE), tier)
        draft.shown = tuple(message.text for message in messages)
        try:
            async with asyncio.TaskGroup() as tasks:
                thinking = thinker.think(messages, draft, lambda text: self._observers.tell(ThoughtPiece(text)), keep)
                self._running = tasks.create_task(thinking, name="thought")
                # A conversation, or the owner's pause, may have come while the inputs were gathered.
                self._stop_if_held()
            if self._running.cancelled() and not draft.why_ended:
                draft.end("paused", self._why_cancelled or _CONVERSATION_CAME)
        except* BudgetExceededError as errors:
            self._fall_quiet(first_error(errors))
            draft.end("budget", self.quiet_reason)
        except* DiskFullError:
            draft.end("paused", _NO_ROOM)
        except* ModelError as errors:
            error = first_error(errors)
            draft.end("failed", str(error))
            draft.retry_after_seconds = pause_after_error(error, _WAIT_SECONDS)
        finally:
            self._running = None
            self._why_cancelled = ""

    def _judge_thought(self, draft: ThoughtDraft, inputs: ThoughtInputs) -> None:
        """Say of a thought that ended what came of it beside its words: nothing new, or the same as before."""
        told = self._outcomes.note(draft.text, draft.why_ended)
        read = (*draft.shown, *(memory.text for memory in inputs.memories))
        draft.unkept_because = self._outcomes.why_not_kept(draft.text, draft.why_ended, read)
        draft.explanation = " ".join(filter(None, (draft.explanation, told, draft.unkept_because)))
        if not draft.unkept_because:
            self._outcomes.remember(draft.text)

    async def _keep_thought(self, thought: FinishedThought, draft: ThoughtDraft, why: Reactivation) -> None:
        self._observers.tell(ThoughtEnd(thought.id, thought.why_ended, thought.explanation, thought.tokens))
        log.info("thought.ended", reason=thought.why_ended, tokens=thought.tokens, why_not_kept=thought.unkept_because)
        if thought.unkept_because:
            self._is_unfinished = self._was_cut = False
        elif thought.text.strip():
            # What tripped is kept, but it must not lead the next thought, after a restart neither.
            self._previous = "" if thought.why_ended == "tripped" else thought.text
            self._is_unfinished = self._was_cut = thought.why_ended == "paused"
            self._is_tainted, self._previous_id = thought.is_tainted, thought.id
            self.last_thought_at = thought.ended_at
        if thought.why_ended == "budget" and not thought.text:
            # Nothing was thought: what there was to think about still waits.
            return
        for trip in draft.trips:
            told = response(trip.verdict, why)
            await self._sources.record_trip(trip.verdict, trip.so_far, told, is_tainted=thought.is_tainted)
        is_tainted, leads = (self._is_tainted, self._previous_id) if self._previous else (False, "")
        self._unkept = thought, SavedState(self._previous, not self._is_unfinished, is_tainted, leads)
        with contextlib.suppress(DiskFullError):
            await self._keep_what_waits()

    async def _keep_what_waits(self) -> None:
        """The thought that was thought last is in the log before the next begins, however long the disk was full."""
        if self._unkept is not None:
            await self._sources.record(*self._unkept)
            self._unkept = None

    def _forget_outcomes(self) -> None:
        """Something is said to it: what was settled is open again."""
        self._outcomes.stir()
        self._rests_until = 0.0

    def _stop_if_held(self) -> None:
        """End the running thought if it may not go on."""
        why_not = self._why_not()
        if why_not and self._running is not None:
            self._why_cancelled = why_not
            self._running.cancel()

    def _why_not(self) -> str:
        """Why the thought under way may not go on; empty when it may."""
        if not self._free.is_set():
            return _CONVERSATION_CAME
        if not self._settings.enabled:
            return "Thinking was switched off."
        if self._is_halted:
            return "You paused it."
        held = self._holds(self._thinks_of or Reactivation(ThinkingReason.TIMER))
        return held.why if held is not None else ""

    def _put_off(self, why: Reactivation, draft: ThoughtDraft) -> None:
        """An occasion of which nothing could be thought yet waits for the next time, a few times over."""
        if draft.pieces or draft.why_ended not in ("paused", "failed", "budget") or why.tries >= _MOST_TRIES:
            return
        if why.reason in OWNERS_WORD and self._is_halted:
            return
        again = why if draft.why_ended == "paused" else replace(why, tries=why.tries + 1)
        if why.reason in _KEPT:
            self._asked.appendleft(again)
        elif why.reason is ThinkingReason.CONVERSATION:
            self._resumed = self._resumed or again

    async def _after(self, why: Reactivation, draft: ThoughtDraft) -> Reactivation:
        """What follows a thought (R-136 for a trip; back-off for a failure, R-40; else idleness)."""
        match draft.why_ended:
            case "paused":
                return Reactivation(ThinkingReason.TIMER)
            case "failed":
                self._change_state(ThoughtState.FAILING, draft.explanation)
                self._next_at, self._rests_until = self._clock.monotonic() + draft.retry_after_seconds, 0.0
                self._waits_for_model = True
                return await self._idle(draft.retry_after_seconds)
            case "budget":
                return Reactivation(ThinkingReason.TIMER)
            case "tripped":
                verdict = draft.trips[-1].verdict
                self.cool_down.begin(verdict.explanation)
                return Reactivation(new_beginning(verdict.action, why.reason) or ThinkingReason.TIMER)
            case _:
                self._change_state(ThoughtState.SETTLED, draft.explanation)
                return Reactivation(ThinkingReason.TIMER)

    def _fall_quiet(self, error: ModelError) -> None:
        """Wait until there is something to spend again; for a limit that no day fulfils, until a setting changes."""
        seconds = error.goes_on_after_seconds if isinstance(error, BudgetExceededError) else None
        self._quiet = Deadline.after(
            seconds or (_WAIT_SECONDS if seconds is not None else _FOR_EVER_SECONDS), self._clock
        )
        self.quiet_reason = str(error)

    async def _idle(self, seconds: float) -> Reactivation:
        """Wait for the first of R-57's four; a failing model is waited for longer, whatever comes to mind."""
        can_surface = self._settings.enabled and self.state is ThoughtState.SETTLED
        return await self._wait_for_reason(
            seconds, [self._sources.calendar, self._sources.association] if can_surface else []
        )

    async def _idle_early(self, seconds: float) -> Reactivation:
        """Wait out the pace; what is settled for longer than that gives way to what stands in the calendar."""
        if (pace := self._next_at - self._clock.monotonic()) > 0 or self.state is not ThoughtState.SETTLED:
            return await self._wait_for_reason(min(pace, seconds) if pace > 0 else seconds, [])
        return await self._wait_for_reason(seconds, [self._sources.calendar])

    async def _wait_for_reason(self, seconds: float, others: Sequence[Waiter]) -> Reactivation:
        """Until then at the latest, or somebody interrupts, or one of the others fires."""
        interrupted = when_set(self._interrupted, lambda: Reactivation(ThinkingReason.TIMER))
        with self.pulse.waiting(seconds):
            return await first_of([interrupted, after_seconds(self._clock, seconds), *others])

    def _next_occasion(self, why: Reactivation) -> Reactivation:
        """What to think of: `why` if the owner asked for it, else the conversation that ended, else what the owner
        asked for since, else `why`. An event that has to give way comes again: no thought began for it yet."""
        if self._is_halted and why.reason in OWNERS_WORD:
            why = Reactivation(ThinkingReason.TIMER)
        self._is_halted = False
        if why.reason in OWNERS_WORD or (self._resumed is None and not self._asked):
            return why
        if self._resumed is None and why.reason in NEW_BEGINNINGS:  # The gentle beginning first, then what was asked.
            return why
        if self._resumed is None:
            return self._asked.popleft()
        why, self._resumed = self._resumed, None
        return why

    def _change_state(self, state: ThoughtState, detail: str = "") -> None:
        if (state, detail) != (self.state, self.state_detail):
            self.state, self.state_detail = state, detail
            log.info("monologue.state", state=state.value)


def _still(why: Reactivation, came: Reactivation) -> Reactivation:
    """What to think of after a wait: what woke it waits with it, unless something else came meanwhile."""
    return why if came.reason is ThinkingReason.TIMER else came
