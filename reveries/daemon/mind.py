"""The mind as a whole: what one part does when another changes. Built by `app`; asked by `requests`.

Who speaks goes first: a word of the owner pauses thinking at once and stops a sleep pass after the experience in hand.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from reveries import protocol
from reveries.clock import Clock, Deadline
from reveries.config import Home, Settings
from reveries.daemon.conversation import Conversation
from reveries.daemon.copying import make_copy, restoring_told
from reveries.daemon.loop_lag import LoopLag
from reveries.daemon.models import Models
from reveries.daemon.power import Power
from reveries.daemon.probing import Prober, roles_named
from reveries.daemon.room_keeper import RoomKeeper
from reveries.daemon.settings_in_force import reread
from reveries.daemon.thinking_control import Permission, ThinkingControl
from reveries.daemon.thoughts import ThoughtsOfMemory
from reveries.daemon.tier_testing import TierTester
from reveries.daemon.vitals import Vitals
from reveries.daemon.watched_model import WatchedModel
from reveries.daemon.when_to_sleep import SleepPressure, told_of, why_sleep_is_due
from reveries.db.backups import Looked, Tell, tell_nobody
from reveries.db.database import Database
from reveries.errors import BudgetExceededError, StorageError
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.tier_results import TierResults
from reveries.memory.memory import Memory
from reveries.memory.model import SelfModel, Turn
from reveries.memory.sleep.consolidation import DeepSlept
from reveries.memory.sleep.light_sleep import LightSlept
from reveries.memory.sleep.preview import Preview
from reveries.memory.sleep.undo import UndonePass
from reveries.monologue.loop import Monologue
from reveries.monologue.ports import ThoughtState
from reveries.monologue.thought import Reactivation, ThinkingReason
from reveries.pulse import WatchedLock
from reveries.safety.journal import SafetyJournal
from reveries.safety.verdict import Verdict

if TYPE_CHECKING:
    from reveries.memory.forgetting.forgetting import ForgetReport

log = structlog.get_logger("mind")

Progress = Callable[[int, int], None]

_ASK_AGAIN_SECONDS = 86400.0
_TIME_PASSES_SECONDS = 86400.0
_LOOKED_FOR = "Good morning."
_TRACES = (
    "What was erased is deleted, but traces of it may be left in the memory's file: it could not be written anew. Free "
    "some room, or end the program that reads it; the next wake tries again: reveries sleep, reveries wake"
)
_FIRST_LOOK_PAUSE_SECONDS = 30.0
_LONGEST_LOOK_PAUSE_SECONDS = 300.0


class Mind:
    """Everything that is awake. `Surroundings` of the conversation; `tell_*` are set by `app`."""

    def __init__(
        self,
        *,
        settings: Settings,
        config_file: Path,
        home: Home,
        clock: Clock,
        database: Database,
        ledger: Ledger,
        models: Models,
        memory: Memory,
        answers: AnswerCounts,
        tier_results: TierResults,
        journal: SafetyJournal,
        lag: LoopLag,
        read_power: Callable[[], bool] = lambda: False,
        safe_because: str = "",
    ) -> None:
        self.settings = settings
        self.config_file = config_file
        self.home = home
        self.clock = clock
        self.database = database
        self.ledger = ledger
        self.models = models
        self.memory = memory
        self.answers = answers
        self.tier_results = tier_results
        self.journal = journal
        self.lag = lag
        self.safe_because = safe_because
        """Why it is in safe mode, in words for the owner; empty when it is not."""
        self.awake_since = clock.now()
        self.power = Power(clock, read_power)
        self.room = RoomKeeper(database, clock, lambda: self.settings.storage)
        self.permission = Permission(
            lambda: self.settings, lambda: self.power.is_on_battery, clock, no_room=self.room.why_to_rest
        )
        self.tell_turn: Callable[[Turn], None] = lambda turn: None
        self.tell_state: Callable[[str, str], None] = lambda state, detail: None
        self.tell_trouble: Callable[[list[str]], None] = lambda problems: None
        self.tell_progress: Callable[[str, int, int], None] = lambda what, done, total: None
        self.vitals = Vitals(settings.llm)
        self._pass_lock = WatchedLock(self.vitals.sleep)
        self._words_came = asyncio.Event()
        self._last_pass_ended = Deadline.after(0, clock)
        self._time_is_due = Deadline()  # When time is to do all its work again; of an earlier life nobody knows.
        self._sleep_waits = Deadline()
        self._why_sleep_waits = ""
        self.erased_again: ForgetReport | None = memory.forgetting.came_back
        """What an old copy had brought back, while its traces in files are still to be taken out."""
        self._rotten: tuple[str, ...] = ()
        """Texts that were not what was written, at the last backup."""
        self._no_backup = ""
        """Why the last backup could not be made."""
        self.has_traces = False
        """Whether the memory's file may hold what was erased: it could not be written anew."""

    def join(self, conversation: Conversation, monologue: Monologue, sources: ThoughtsOfMemory) -> None:
        """The parts that need the mind itself around them."""
        self.conversation = conversation
        self.monologue = monologue
        self.sources = sources
        self.thinking = ThinkingControl(monologue, sources.log, sources.notes, self.permission, lambda: self.settings)
        self.power.when_changed = monologue.reconsider
        self.room.when_changed = self._room_changed
        self.vitals.when_changed = lambda: self.tell_trouble(self.problems())
        sources.is_running_normally = lambda: not self.problems()
        self.models.circuits.when_well = self._is_well_again

    def _room_changed(self) -> None:
        self.tell_trouble(self.problems())
        self.monologue.reconsider()
        if not self.room.why_to_rest():
            self.memory.reembedding.try_again()

    def _is_well_again(self, provider: str) -> None:
        log.info("trying_again", provider=provider)
        self.monologue.try_again()
        self.memory.reembedding.try_again()

    # --- what the conversation tells (Surroundings) ---

    def conversation_began(self) -> None:
        self.monologue.pause()
        self._words_came.set()
        self.tell_state("talking", "")

    def turn_stored(self, turn: Turn) -> None:
        self.tell_turn(turn)

    async def conversation_rested(self, conversation_id: str) -> None:
        """Light sleep at once, then thinking goes on with what was said (R-95)."""
        await self.light_sleep()
        # Not `is_talking`: the owner may be on the way to another conversation, and this one rests all the same.
        if self.conversation.has_words or self.conversation.is_over or not self.conversation.is_resting:
            return
        self.monologue.resume(Reactivation(ThinkingReason.CONVERSATION, conversation_id))
        self.tell_state(*self.state())

    def nothing_was_said(self) -> None:
        self.monologue.resume()
        self.tell_state(*self.state())

    def recent_thought(self) -> str:
        return self.monologue.recent_thought()

    def is_recent_thought_tainted(self) -> bool:
        return self.monologue.is_recent_thought_tainted()

    async def turns_folded(self) -> None:
        await self.light_sleep()

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None:
        await self.journal.record_trip("conversation", verdict, so_far, "the reply was cut and its reason told")

    # --- sleep ---

    async def light_sleep(self, progress: Progress | None = None) -> LightSlept:
        """Make everything that was not slept on recallable; no model call."""
        if self.safe_because:
            return LightSlept(0, 0)
        return await self.memory.light_sleep(progress)

    async def warm_up(self) -> None:
        """Compiled loops for recall; without them it is right too, only slower. Then a snapshot, where the one on the
        disk is stale: a large mind that is killed in its first minutes need not read every row again."""
        log.info("recall.loops", compiled=await self.memory.warm_up())
        await self.leave_snapshot()

    async def take_up_leftovers(self) -> None:
        """After waking: what was not slept on yet."""
        await self.light_sleep()

    async def look_at_embedder(self) -> None:
        """After waking: ask an embedder that is a service for a vector, until it gives one, so that `status` knows.

        One whose weights are on this machine is not loaded for this; `Models.problems` looks for the file.
        """
        pause = _FIRST_LOOK_PAUSE_SECONDS
        while not self.models.embedding.weights:
            await self.memory.embed_cue(_LOOKED_FOR)
            if not self.memory.by_words_because:
                return
            await self.clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK_PAUSE_SECONDS)

    async def consolidate(self, limit: int | None, *, trigger: str, progress: Progress | None = None) -> DeepSlept:
        """One pass of deep sleep (R-99). Thinking rests meanwhile; a word of the owner ends the pass early (R-102)."""
        async with self._asleep(trigger):
            told, stop, model = self.vitals.sleep.heard(progress), self._words_came, self._watched_sleep()
            slept = await self.memory.deep_sleep(model, limit=limit, trigger=trigger, progress=told, stop=stop)
            if not slept.was_interrupted and not slept.question:
                self._time_is_due = Deadline.after(_TIME_PASSES_SECONDS, self.clock)
            return slept

    async def preview_sleep(self, limit: int | None, progress: Progress | None = None) -> Preview:
        """What a pass would do. The model is asked, nothing is changed."""
        async with self._asleep("dry run"):
            told, stop = self.vitals.sleep.heard(progress), self._words_came
            return await self.memory.dry_run(self._watched_sleep(), limit=limit, progress=told, stop=stop)

    async def take_back(self, run: str, *, through: bool) -> list[UndonePass]:
        """Undo a pass of sleep. Raises NotFoundError, UndoError."""
        before = self.memory.self_model
        try:
            return await self.memory.take_back(run, through=through)
        finally:
            self._heed_self_model(before)

    async def answer_sleep(self, run: str, *, do_it: bool) -> str:
        """The owner's word on what a pass asks. Raises NotFoundError."""
        before = self.memory.self_model
        try:
            return await self.memory.answer_sleep(run, do_it=do_it)
        finally:
            self._heed_self_model(before)

    def _watched_sleep(self) -> WatchedModel:
        """Sleep's model, cut where it goes round; what was asked about then falls back, as after any bad answer."""
        settings, embedder = self.settings.circuit_breaker, self.models.embedding.bare
        return WatchedModel(self.models.consolidation, settings, self._sleep_tripped, embedder, self.vitals.sleep.beat)

    async def _sleep_tripped(self, verdict: Verdict, so_far: str) -> None:
        await self.journal.record_trip("consolidation", verdict, so_far, "the answer was cut and not used")

    @contextlib.asynccontextmanager
    async def _asleep(self, why: str) -> AsyncIterator[None]:
        """While a pass runs: one at a time, and thinking rests."""
        async with self._pass_lock:
            self._forget_earlier_words()
            self.monologue.pause()
            self.tell_state("consolidating", why)
            before = self.memory.self_model
            try:
                yield
            finally:
                self._last_pass_ended = Deadline.after(0, self.clock)
                self._heed_self_model(before)
                self._think_on()
                self.tell_state(*self.state())

    @contextlib.asynccontextmanager
    async def still(self) -> AsyncIterator[None]:
        """While nobody speaks, thinks or sleeps: what is under way ends first, and is stored."""
        self._words_came.set()
        async with self._pass_lock:
            self.monologue.pause()
            self.tell_state("forgetting", "")
            before = self.memory.self_model
            try:
                async with self.conversation.held(), self.monologue.under_way, self.memory.no_light_sleep():
                    yield
            finally:
                self._heed_self_model(before)
                self._think_on()
                self.tell_state(*self.state())

    def _think_on(self) -> None:
        """After work for which thinking rested. Not while somebody speaks, and not where the mind ends."""
        if not self.conversation.is_talking and not self.conversation.is_over:
            self.monologue.resume()

    def _forget_earlier_words(self) -> None:
        """Before work that words break off. Not those of a turn under way: it has set the sign, and will not again.
        Where none may come any more, there is nobody to make room for."""
        if self.conversation.is_over or not self.conversation.has_words:
            self._words_came.clear()

    def _heed_self_model(self, before: SelfModel) -> None:
        """The prompt of the conversation begins with the self-model: let a changed one be read ahead."""
        if self.memory.self_model is not before:
            self.conversation.want_warmth()

    async def consolidate_if_due(self) -> str | None:
        """The automatic pass: when idle, after some hours or many experiences (R-97, R-98), while the disk has room."""
        if self.room.why_to_rest():
            return None
        pressure = SleepPressure(
            unprocessed=await self.memory.unprocessed_count(),
            seconds_since_last=self._last_pass_ended.seconds_since(self.clock),
            is_talking=self.conversation.is_talking or self._pass_lock.locked(),
            is_thinking=self.monologue.state is ThoughtState.THINKING,
            is_out_of_budget=self._sleep_waits.seconds_left(self.clock) > 0,
            asks_owner=await self.memory.sleep_question() is not None,
        )
        why = why_sleep_is_due(pressure, self.settings.memory)
        if why is None:
            return None
        try:
            volume = self.settings.memory.consolidation_volume
            report = await self.consolidate(volume, trigger=why, progress=partial(self.tell_progress, "sleeping on it"))
        except BudgetExceededError as error:
            # What happened is recallable already (light sleep); what it means is asked when there is room again.
            self._why_sleep_waits = str(error)
            self._sleep_waits = Deadline.after(error.goes_on_after_seconds or _ASK_AGAIN_SECONDS, self.clock)
            return "light sleep only: the budget is used up"
        return f"{report.processed} processed, {report.left} left"

    async def let_time_pass(self) -> str | None:
        """Once a day where no deep pass came to its end meanwhile, for want of a model, of the owner's word or of
        anything new: what nobody thinks of fades all the same (R-104)."""
        is_busy = self.conversation.is_talking or self._pass_lock.locked() or self.room.why_to_rest()
        if is_busy or self._time_is_due.seconds_left(self.clock) > 0:
            return None
        async with self._pass_lock:
            self._forget_earlier_words()
            done = await self.memory.decay_and_prune(self._words_came)
        if not self._words_came.is_set():
            self._time_is_due = Deadline.after(_TIME_PASSES_SECONDS, self.clock)
        return f"{len(done.fadings)} faded, {len(done.dormant)} to the disk"

    async def leave_snapshot(self) -> None:
        """While nobody talks: what the next wake reads instead of every row. A word of the owner ends it."""
        if self.conversation.is_talking or self._pass_lock.locked() or self.room.why_to_rest():
            return
        self._forget_earlier_words()
        await self.memory.save_snapshot(self._words_came)

    async def back_up(self) -> str:
        """Make a copy; its name. Raises StorageError."""
        name, _ = await self.copy()
        return name

    async def copy(self, tell: Tell = tell_nobody) -> tuple[str, Looked]:
        """A verified copy of the memory, kept with those of 24 hours and of 7 days, as far as the disk has room for
        them (A9): its name, and what a look at it found. Raises StorageError."""
        try:
            name, looked = await make_copy(self.database, self.home.backups, self.settings.storage, self.clock, tell)
        except StorageError as error:
            self._no_backup = str(error)
            raise
        self.has_copy(looked)
        return name, looked

    def has_copy(self, looked: Looked) -> None:
        """A copy was made, and looked at."""
        self._no_backup, self._rotten = "", looked.rotten

    # --- being asked ---

    def apply_settings(self) -> tuple[list[str], list[str]]:
        """Read config.toml again; what changed, and what of it waits for the next wake. Raises ConfigError."""
        self.settings, changed, needs_restart = reread(self.config_file, self.settings)
        self.conversation.settings = self.settings
        self.ledger.budget = self.settings.budget
        self.sources.settings = self.settings
        self._sleep_waits = Deadline()
        self.monologue.configure(self.settings.monologue)
        return changed, needs_restart

    def state(self) -> tuple[str, str]:
        """What the mind does now, and a few words more."""
        if self.conversation.is_talking:
            return "talking", ""
        if self._pass_lock.locked():
            return "consolidating", ""
        if self.safe_because:
            return protocol.SAFE_MODE, ""
        return self.monologue.state.value, self.monologue.state_detail

    async def test_models(
        self, role: str, tell: Callable[[str, int, int], None], *, with_tiers: bool
    ) -> tuple[list[protocol.ModelProbe], list[protocol.TierTest]]:
        """One question to each role's model, and the tasks of the tiers. Thinking and sleep wait meanwhile."""
        roles_named(role)
        models, clock = self.models, self.clock
        prober = Prober(models.first, models.embedder, self.ledger, models.circuits, self.answers, clock, tell)
        tester = TierTester(models.first, models.tier, self.tier_results, models.circuits, clock, tell)
        if self._pass_lock.locked():
            tell("waiting for the sleep that is under way", 0, 0)
        async with self._pass_lock:
            self.monologue.pause()
            try:
                return await prober.probe(role), await tester.test(role) if with_tiers else []
            finally:
                # The question may have taken the conversation's place in the model's cache.
                self.conversation.want_warmth()
                self._think_on()

    async def thoughts(self, since: float, limit: int) -> list[protocol.ThoughtEntry]:
        """The log of the monologue (RA-5), oldest first."""
        return await self.sources.entries(since, limit)

    async def notices(self) -> list[str]:
        """What the owner should see when attaching: wellbeing (RA-40), whatever is degraded, what waits for money, and
        the notes that nobody has seen yet."""
        return [*await self.lasting_notices(), *self.problems(), *await self.thinking.notes_to_show()]

    def _waits_for_budget(self) -> list[str]:
        """What is quiet because a limit is reached, and when it goes on (G4)."""
        waits = []
        if self.monologue.state is ThoughtState.QUIET:
            waits.append(f"It does not think for now. {self.monologue.quiet_reason}")
        if self._sleep_waits.seconds_left(self.clock) > 0:
            waits.append(f"Deep sleep waits; nothing is lost. {self._why_sleep_waits}")
        return waits

    def problems(self) -> list[str]:
        """What is degraded, in words."""
        why, waits = self.memory.by_words_because, self.memory.reembedding.progress.waits
        found = [*([self.safe_because] if self.safe_because else []), *self.room.problems(), *self.models.problems()]
        if why and not self.safe_because:
            found.append(f"Recall goes by words alone. {why}")
        if waits and waits != why:
            found.append(f"What is new has no vectors yet. {waits}")
        if self.database.notice:
            found.append(self.database.notice)
        if self._no_backup:
            found.append(self._no_backup)
        if self.has_traces:
            found.append(_TRACES)
        if self._rotten:
            found.append(f"The disk changed what was written. {' '.join(self._rotten)} See: reveries backup verify")
        return [*found, *self.vitals.problems(), *self.sources.calendar_files.problems]

    async def lasting_notices(self) -> list[str]:
        """What the owner should see for as long as it is so."""
        changed = self.memory.reembedding.notice
        asks = await self._asks_about_sleep()
        told = [
            *restoring_told(self.database.path, self.clock.now()),
            *await self.journal.notices(),
            *([changed] if changed else []),
        ]
        return [*told, *asks, *self._waits_for_budget()]

    async def _asks_about_sleep(self) -> list[str]:
        question = await self.memory.sleep_question()
        return [] if question is None else [told_of(question)]
