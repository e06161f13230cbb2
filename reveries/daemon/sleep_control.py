"""Sleep in the daemon: when a pass begins, what ends it early, and the owner's word on passes."""

import asyncio
from functools import partial

import structlog

from reveries.clock import Deadline, wait_for_event
from reveries.daemon.activity import Activity
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.room_keeper import RoomKeeper
from reveries.daemon.sleep_pressure import SleepPressure, why_sleep_is_due
from reveries.daemon.watchdog import Watchdog
from reveries.daemon.watched_model import WatchedModel
from reveries.errors import BudgetExceededError
from reveries.memory.sleep.consolidation import DeepSleepResult
from reveries.memory.sleep.light_sleep import LightSleepResult
from reveries.memory.sleep.preview import Preview
from reveries.memory.sleep.undo import UndonePass
from reveries.monologue.loop import Monologue
from reveries.monologue.ports import ThoughtState
from reveries.progress import CountCallback
from reveries.safety.verdict import Verdict

log = structlog.get_logger("mind")

_ASK_AGAIN_SECONDS = 86400.0
_TIME_PASSES_SECONDS = 86400.0


class SleepControl:
    """Begins passes and what else is done to memory while nobody talks."""

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
        self._time_is_due = Deadline()  # When time is to do all its work again; of an earlier life nobody knows.
        self._budget_returns = Deadline()
        self._why_no_budget = ""
        self._is_wanted, self._was_slept = asyncio.Event(), asyncio.Event()
        """Of light sleep for somebody who does not wait until its end."""

    @property
    def why_waiting(self) -> str:
        """Why deep sleep waits for its budget; empty when it does not."""
        return self._why_no_budget if self._budget_returns.seconds_left(self._clock) > 0 else ""

    def try_budget_again(self) -> None:
        """The limits may be others now."""
        self._budget_returns = Deadline()

    async def light_sleep(self, progress: CountCallback | None = None) -> LightSleepResult:
        """Make everything that was not slept on recallable; no model call."""
        if self._parts.safe_because:
            return LightSleepResult(0, 0)
        return await self._memory.light_sleep(progress)

    async def take_up_leftovers(self) -> None:
        """What was not slept on yet: after waking, and whenever somebody wants it. Until cancelled."""
        while True:
            self._is_wanted.clear()
            await self.light_sleep()
            self._was_slept.set()
            await self._is_wanted.wait()

    async def want_light_sleep(self, most_seconds: float) -> None:
        """For somebody who waits `most_seconds` for it and no longer: it goes on all the same."""
        self._was_slept.clear()
        self._is_wanted.set()
        await wait_for_event(self._was_slept, most_seconds, self._clock)

    async def consolidate(
        self, limit: int | None, *, trigger: str, progress: CountCallback | None = None
    ) -> DeepSleepResult:
        """One pass of deep sleep (R-99). Thinking rests meanwhile; a word of the owner ends the pass early (R-102)."""
        async with self._activity.during_sleep(trigger):
            report, stop, model = self._pulse.heard(progress), self._activity.words_came, self._watched_model()
            try:
                slept = await self._memory.deep_sleep(model, limit=limit, trigger=trigger, progress=report, stop=stop)
                await self._parts.knowledge.clean()
            finally:
                self._last_pass_ended = Deadline.after(0, self._clock)
            if not slept.was_interrupted and not slept.question:
                self._time_is_due = Deadline.after(_TIME_PASSES_SECONDS, self._clock)
            return slept

    async def preview(self, limit: int | None, progress: CountCallback | None = None) -> Preview:
        """What a pass would do. The model is asked, nothing is changed."""
        async with self._activity.during_sleep("dry run"):
            report, stop = self._pulse.heard(progress), self._activity.words_came
            try:
                return await self._memory.dry_run(self._watched_model(), limit=limit, progress=report, stop=stop)
            finally:
                self._last_pass_ended = Deadline.after(0, self._clock)

    async def take_back(self, run: str, *, through: bool) -> list[UndonePass]:
        """Undo a pass of sleep. Raises NotFoundError, UndoError."""
        before = self._memory.self_model
        try:
            return await self._memory.take_back(run, through=through)
        finally:
            self._activity.note_self_model(before)

    async def answer(self, run: str, *, do_it: bool) -> str:
        """The owner's word on what a pass asks. Raises NotFoundError."""
        before = self._memory.self_model
        try:
            return await self._memory.answer_sleep(run, do_it=do_it)
        finally:
            self._activity.note_self_model(before)

    async def why_due(self, *, is_working: bool = False) -> str | None:
        """Why a pass is due now; None where none is. `is_working`: a project is worked on, and would make room."""
        if self._room.why_to_rest():
            return None
        pressure = SleepPressure(
            unprocessed=await self._memory.unprocessed_count(),
            seconds_since_last=self._last_pass_ended.seconds_since(self._clock),
            is_talking=self._activity.is_talking or (self._activity.is_busy and not is_working),
            is_thinking=self._monologue.state is ThoughtState.THINKING,
            is_out_of_budget=bool(self.why_waiting),
            asks_owner=await self._memory.sleep_question() is not None,
        )
        return why_sleep_is_due(pressure, self._parts.settings.memory)

    async def consolidate_if_due(self) -> str | None:
        """The automatic pass: when idle, after some hours or many experiences (R-97, R-98), while the disk has room."""
        settings = self._parts.settings.memory
        why = await self.why_due()
        if why is None:
            return None
        progress = partial(self._events.work_progressed.notify, "sleeping on it")
        try:
            report = await self.consolidate(settings.consolidation_volume, trigger=why, progress=progress)
        except BudgetExceededError as error:
            # What happened is recallable already (light sleep); what it means is asked when there is room again.
            self._why_no_budget = str(error)
            self._budget_returns = Deadline.after(error.goes_on_after_seconds or _ASK_AGAIN_SECONDS, self._clock)
            return "light sleep only: the budget is used up"
        return f"{report.processed} processed, {report.left} left"

    async def let_time_pass(self) -> str | None:
        """Once a day where no deep pass came to its end meanwhile, for want of a model, of the owner's word or of
        anything new: what nobody thinks of fades all the same (R-104)."""
        is_due = self._time_is_due.seconds_left(self._clock) <= 0
        if not is_due or self._activity.is_busy or self._room.why_to_rest():
            return None
        async with self._activity.during_pass():
            self._activity.ignore_earlier_words()
            done = await self._memory.decay_and_prune(self._activity.words_came)
        if not self._activity.words_came.is_set():
            self._time_is_due = Deadline.after(_TIME_PASSES_SECONDS, self._clock)
        return f"{len(done.fadings)} faded, {len(done.dormant)} to the disk"

    async def leave_snapshot(self) -> None:
        """While nobody talks: what the next wake reads instead of every row. A word of the owner ends it."""
        if self._activity.is_busy or self._room.why_to_rest():
            return
        self._activity.ignore_earlier_words()
        await self._memory.save_snapshot(self._activity.words_came)

    async def warm_up(self) -> None:
        """Compiled loops for recall; without them it is right too, only slower. Then a snapshot, where the one on the
        disk is stale: a large mind that is killed in its first minutes need not read every row again."""
        log.info("recall.loops", compiled=await self._memory.warm_up())
        await self.leave_snapshot()

    def _watched_model(self) -> WatchedModel:
        """Sleep's model, cut where it goes round; what was asked about then falls back, as after any bad answer."""
        settings, embedder = self._parts.settings.circuit_breaker, self._parts.models.embedding.bare
        return WatchedModel(self._parts.models.consolidation, settings, self._record_trip, embedder, self._pulse.beat)

    async def _record_trip(self, verdict: Verdict, so_far: str) -> None:
        await self._parts.journal.record_trip("consolidation", verdict, so_far, "the answer was cut and not used")
