"""Runs sleep in the daemon: when a pass begins, what ends it early, and the owner's decisions on passes."""

import asyncio
from functools import partial

import structlog

from reveries.clock import Deadline, wait_for_event
from reveries.daemon.lifecycle.room_keeper import RoomKeeper
from reveries.daemon.lifecycle.watchdog import Watchdog
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.models.watched_model import WatchedModel
from reveries.daemon.occupations.activity import Activity
from reveries.daemon.occupations.sleep_pressure import SleepPressure, why_sleep_is_due
from reveries.errors import BudgetExceededError, DiskFullError
from reveries.llm.base import Role
from reveries.llm.tier import Tier
from reveries.memory.sleep.light_sleep import LightSleepResult
from reveries.memory.sleep.undo import UndonePass
from reveries.monologue.loop import Monologue
from reveries.monologue.ports import ThoughtState
from reveries.progress import CountCallback
from reveries.protocol import Consolidated, SleepPreview
from reveries.safety.verdict import Verdict

log = structlog.get_logger("mind")

_ASK_AGAIN_SECONDS = 86400.0
_TIME_PASSES_SECONDS = 86400.0
_COMPILE_AGAIN_SECONDS = 86400.0
_THOUGHTS_WAIT_SECONDS = 86400.0
"""Thoughts wait so long for a conversation to be read with; after that they are read by themselves."""


class SleepControl:
    """Runs passes of sleep and other memory upkeep while no one talks."""

    def __init__(
        self,
        parts: MindParts,
        *,
        monologue: Monologue,
        activity: Activity,
        room: RoomKeeper,
        watchdog: Watchdog,
        events: MindEvents,
    ) -> None:
        self._parts = parts
        self._memory = parts.memory
        self._clock = parts.clock
        self._monologue = monologue
        self._activity = activity
        self._room = room
        self._pulse = watchdog.sleep
        self._events = events
        self._last_pass_ended = Deadline.after(0, self._clock)
        self._time_is_due = Deadline()  # When decay is due next; unknown after a start, so at once.
        self._budget_returns = Deadline()
        self._why_no_budget = ""
        self._compiling_is_due = Deadline()
        self._is_wanted, self._was_slept = asyncio.Event(), asyncio.Event()
        """Requests for light sleep whose callers do not wait for its end."""

    @property
    def why_waiting(self) -> str:
        """Return why deep sleep waits for its budget; empty if it does not."""
        return self._why_no_budget if self._budget_returns.seconds_left(self._clock) > 0 else ""

    def try_budget_again(self) -> None:
        """Check the budget again at the next pass, because the limits may have changed."""
        self._budget_returns = Deadline()

    async def light_sleep(self, progress: CountCallback | None = None) -> LightSleepResult:
        """Make all new experiences recallable, without a model call."""
        if self._parts.safe_because:
            return LightSleepResult(0, 0)
        return await self._memory.light_sleep(progress)

    async def run_light_sleep(self) -> None:
        """Run light sleep after a start and on request, until cancelled."""
        while True:
            self._is_wanted.clear()
            await self.light_sleep()
            self._was_slept.set()
            await self._is_wanted.wait()

    async def request_light_sleep(self, most_seconds: float) -> None:
        """Request light sleep and wait `most_seconds` at most; it goes on after that."""
        self._was_slept.clear()
        self._is_wanted.set()
        await wait_for_event(self._was_slept, most_seconds, self._clock)

    async def consolidate(
        self, limit: int | None, *, trigger: str, progress: CountCallback | None = None
    ) -> Consolidated:
        """Run one pass of deep sleep (R-99). Thinking is paused; words of the owner end the pass early (R-102)."""
        async with self._activity.during_sleep(trigger):
            report, stop, model = self._pulse.beat_on_call(progress), self._activity.words_came, self._watched_model()
            try:
                slept = await self._memory.deep_sleep(
                    model, tier=self._tier, limit=limit, trigger=trigger, progress=report, stop=stop
                )
            finally:
                self._last_pass_ended = Deadline.after(0, self._clock)
            if not slept.was_interrupted and not slept.question:
                self._time_is_due = Deadline.after(_TIME_PASSES_SECONDS, self._clock)
            try:
                await self._parts.knowledge.clean()
            except DiskFullError as error:  # The pass is stored, and its caller must hear of it.
                log.warning("knowledge.not_cleaned", why=error.message)
            return slept

    async def preview(self, limit: int | None, progress: CountCallback | None = None) -> SleepPreview:
        """Return what a pass would do. The model is called, but nothing is changed."""
        async with self._activity.during_sleep("dry run"):
            report, stop = self._pulse.beat_on_call(progress), self._activity.words_came
            try:
                model = self._watched_model()
                return await self._memory.dry_run(model, tier=self._tier, limit=limit, progress=report, stop=stop)
            finally:
                self._last_pass_ended = Deadline.after(0, self._clock)

    async def take_back(self, run: str, *, through: bool) -> list[UndonePass]:
        """Undo a pass of sleep. Raises NotFoundError, UndoError."""
        before = self._memory.self_model
        try:
            return await self._memory.undo_pass(run, through=through)
        finally:
            self._activity.note_self_model(before)

    async def answer(self, run: str, *, do_it: bool) -> str:
        """Apply the owner's answer to the question of a pass. Raises NotFoundError."""
        before = self._memory.self_model
        try:
            return await self._memory.answer_sleep_question(run, do_it=do_it)
        finally:
            self._activity.note_self_model(before)

    async def why_due(self, *, is_working: bool = False) -> str | None:
        """Return why a pass is due now, or None. `is_working`: project work runs, and would stop for it."""
        if self._room.why_to_rest():
            return None
        pressure = SleepPressure(
            unprocessed=await self._memory.unprocessed_count(),
            seconds_since_last=self._last_pass_ended.seconds_since(self._clock),
            is_talking=self._activity.is_talking or (self._activity.is_busy and not is_working),
            is_thinking=self._monologue.state is ThoughtState.THINKING,
            is_out_of_budget=bool(self.why_waiting),
            asks_owner=await self._memory.sleep_question() is not None,
            is_only_thoughts=self._tier() >= Tier.CAPABLE
            and await self._memory.only_thoughts_wait(self._clock.now() - _THOUGHTS_WAIT_SECONDS),
        )
        return why_sleep_is_due(pressure, self._parts.settings.memory)

    async def consolidate_if_due(self) -> str | None:
        """Run the automatic pass if it is due: when idle, after some hours or many experiences (R-97, R-98), with disk
        space."""
        settings = self._parts.settings.memory
        why = await self.why_due()
        if why is None:
            return None
        progress = partial(self._events.work_progressed.notify, "sleeping on it")
        try:
            report = await self.consolidate(settings.consolidation_volume, trigger=why, progress=progress)
        except BudgetExceededError as error:
            # Experiences are recallable already (light sleep); the model is asked when there is budget again.
            self._why_no_budget = str(error)
            self._budget_returns = Deadline.after(error.goes_on_after_seconds or _ASK_AGAIN_SECONDS, self._clock)
            return "light sleep only: the budget is used up"
        return f"{report.processed} processed, {report.left} left"

    async def apply_decay(self) -> str | None:
        """Apply decay once a day if no deep pass did, for lack of a model, an answer or new experiences (R-104)."""
        is_due = self._time_is_due.seconds_left(self._clock) <= 0
        if not is_due or self._activity.is_busy or self._room.why_to_rest():
            return None
        async with self._activity.during_pass():
            self._activity.ignore_earlier_words()
            changes = await self._memory.decay_and_prune(self._activity.words_came)
        if not self._activity.words_came.is_set():
            self._time_is_due = Deadline.after(_TIME_PASSES_SECONDS, self._clock)
        return f"{len(changes.fadings)} faded, {len(changes.dormant)} to the disk"

    async def save_snapshot_if_idle(self) -> None:
        """Save a snapshot for the next start while no one talks. Words of the owner stop it."""
        if self._activity.is_busy or self._room.why_to_rest():
            return
        self._activity.ignore_earlier_words()
        await self._memory.save_snapshot(self._activity.words_came)

    async def warm_up(self) -> None:
        """Compile the loops of recall for a large memory. Then replace a stale snapshot, so that a large mind that is
        killed in its first minutes need not read every row again."""
        if await self._compile_loops() is None:
            log.info("recall.loops", compiled=False)
        await self.save_snapshot_if_idle()

    async def compile_loops_if_idle(self) -> str | None:
        """Compile the loops of recall of a memory that has grown large since the wake, while no one talks."""
        if self._activity.is_busy or self._room.why_to_rest():
            return None
        return await self._compile_loops()

    async def _compile_loops(self) -> str | None:
        """Compile the loops, which only make recall faster, if the memory is so large that it shows. At most once a
        day: an overdue job comes with the wake, and what keeps them from being compiled seldom passes quickly."""
        is_soon = self._compiling_is_due.seconds_left(self._clock) > 0
        if is_soon or not self._memory.wants_compiled_loops:
            return None
        self._compiling_is_due = Deadline.after(_COMPILE_AGAIN_SECONDS, self._clock)
        is_compiled = await self._memory.warm_up()
        log.info("recall.loops", compiled=is_compiled)
        return "compiled" if is_compiled else "not compiled"

    def _tier(self) -> Tier:
        return self._parts.models.tier(Role.CONSOLIDATION)

    def _watched_model(self) -> WatchedModel:
        """Return the model of sleep, watched for loops; a cut answer is handled like any bad answer."""
        settings, embedder = self._parts.settings.circuit_breaker, self._parts.models.embedding.bare
        return WatchedModel(self._parts.models.consolidation, settings, self._record_trip, embedder, self._pulse.beat)

    async def _record_trip(self, verdict: Verdict, so_far: str) -> None:
        await self._parts.journal.record_trip("consolidation", verdict, so_far, "the answer was cut and not used")
