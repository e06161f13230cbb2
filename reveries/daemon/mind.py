"""The mind as a whole: what one part does when another changes. Built by `app`; asked by `handlers`.

Who speaks goes first: a word of the owner pauses thinking at once and stops a sleep pass after the experience in hand.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import structlog

from reveries import __version__, protocol
from reveries.clock import Clock
from reveries.config import Home, Settings
from reveries.daemon.conversation import Conversation
from reveries.daemon.loop_lag import LoopLag
from reveries.daemon.models import Models
from reveries.daemon.settings_in_force import reread
from reveries.daemon.thoughts import ThoughtsOfMemory
from reveries.daemon.when_to_sleep import SleepPressure, why_sleep_is_due
from reveries.daemon.wire import stats_frame, thought_frame
from reveries.db.database import Database
from reveries.errors import ReveriesError
from reveries.llm.budget import Ledger
from reveries.memory.consolidation import DeepSlept
from reveries.memory.light_sleep import LightSlept
from reveries.memory.memory import Memory
from reveries.memory.model import Turn
from reveries.monologue.loop import Monologue, ThoughtState
from reveries.monologue.thought import Reactivation, Reason
from reveries.safety.journal import SafetyJournal
from reveries.safety.verdict import Verdict

log = structlog.get_logger("mind")

Progress = Callable[[int, int], None]

_FINAL_SLEEP_SECONDS = 60.0
_LAST_REPLY_SECONDS = 20.0
_KEPT_BACKUPS = 7


class Mind:
    """Everything that is awake. `Surroundings` of the conversation; `tell_*` are set by the handlers."""

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
        journal: SafetyJournal,
        lag: LoopLag,
    ) -> None:
        self.settings = settings
        self.config_file = config_file
        self.home = home
        self.clock = clock
        self.database = database
        self.ledger = ledger
        self.models = models
        self.memory = memory
        self.journal = journal
        self.lag = lag
        self.awake_since = clock.now()
        self.tell_turn: Callable[[Turn], None] = lambda turn: None
        self.tell_state: Callable[[str, str], None] = lambda state, detail: None
        self._pass_lock = asyncio.Lock()
        self._words_came = asyncio.Event()
        self._last_pass_ended = clock.now()

    def join(self, conversation: Conversation, monologue: Monologue, sources: ThoughtsOfMemory) -> None:
        """The parts that need the mind itself around them."""
        self.conversation = conversation
        self.monologue = monologue
        self.sources = sources

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
        if self.conversation.is_talking:
            return
        self.monologue.resume(Reactivation(Reason.CONVERSATION, conversation_id))
        self.tell_state(*self.state())

    def recent_thought(self) -> str:
        return self.monologue.recent_thought()

    async def turns_folded(self) -> None:
        await self.light_sleep()

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None:
        await self.journal.record_trip("conversation", verdict, so_far, "the reply was cut and its reason told")

    # --- sleep ---

    async def light_sleep(self, progress: Progress | None = None) -> LightSlept:
        """Make everything that was not slept on recallable; no model call."""
        return await self.memory.light_sleep(progress)

    async def warm_up(self) -> None:
        """Compiled loops for recall; without them it is right too, only slower."""
        log.info("recall.loops", compiled=await self.memory.warm_up())

    async def take_up_leftovers(self) -> None:
        """After waking: what was not slept on yet."""
        await self.light_sleep()

    async def consolidate(self, limit: int | None, *, trigger: str, progress: Progress | None = None) -> DeepSlept:
        """One pass of deep sleep (R-99). Thinking rests meanwhile; a word of the owner ends the pass early (R-102)."""
        async with self._pass_lock:
            self._words_came.clear()
            self.monologue.pause()
            self.tell_state("consolidating", trigger)
            before = self.memory.self_model
            try:
                return await self.memory.deep_sleep(
                    self.models.consolidation,
                    limit=limit,
                    trigger=trigger,
                    progress=progress,
                    stop=self._words_came,
                )
            finally:
                self._last_pass_ended = self.clock.now()
                if self.memory.self_model is not before:
                    self.conversation.want_warmth()
                if not self.conversation.is_talking:
                    self.monologue.resume()
                self.tell_state(*self.state())

    async def consolidate_if_due(self) -> str | None:
        """The automatic pass: when idle, after some hours or many experiences (R-97, R-98)."""
        stats = await self.memory.stats()
        pressure = SleepPressure(
            unprocessed=stats.unprocessed,
            seconds_since_last=self.clock.now() - self._last_pass_ended,
            is_talking=self.conversation.is_talking or self._pass_lock.locked(),
            is_thinking=self.monologue.state is ThoughtState.THINKING,
        )
        why = why_sleep_is_due(pressure, self.settings.memory)
        if why is None:
            return None
        report = await self.consolidate(self.settings.memory.consolidation_volume, trigger=why)
        return f"{report.processed} processed, {report.left} left"

    async def back_up(self) -> str:
        """A verified copy of the memory; the newest few are kept."""
        name = f"memory-{int(self.clock.now())}.db"
        await self.database.backup_to(self.home.backups / name)
        await asyncio.to_thread(_keep_newest, self.home.backups)
        return name

    async def prepare_to_close(self, *, politely: bool, progress: Progress | None = None) -> None:
        """Before the end. `politely` (`reveries sleep`): the reply under way may finish, then the last consolidation
        (60 s at most) and a backup. Otherwise (a signal): no model call, and quickly (RA-1)."""
        self.monologue.pause()
        if not politely:
            await self.conversation.stop_reply()
            await self.conversation.wait_until_quiet(2.0)
            return
        await self.conversation.wait_until_quiet(_LAST_REPLY_SECONDS)
        with contextlib.suppress(TimeoutError, ReveriesError):
            async with asyncio.timeout(_FINAL_SLEEP_SECONDS):
                await self.consolidate(None, trigger="sleep", progress=progress)
        self.monologue.pause()
        with contextlib.suppress(ReveriesError):
            await self.back_up()

    # --- being asked ---

    def apply_settings(self) -> tuple[list[str], list[str]]:
        """Read config.toml again; what changed, and what of it waits for the next wake. Raises ConfigError."""
        self.settings, changed, needs_restart = reread(self.config_file, self.settings)
        self.conversation.settings = self.settings
        self.monologue.configure(self.settings.monologue)
        return changed, needs_restart

    def state(self) -> tuple[str, str]:
        """What the mind does now, and a few words more."""
        if self.conversation.is_talking:
            return "talking", ""
        if self._pass_lock.locked():
            return "consolidating", ""
        return self.monologue.state.value, self.monologue.state_detail

    async def watch_thought(self, request_id: int) -> AsyncIterator[protocol.Frame]:
        """The monologue as it goes, until the watcher stops. A slow watcher skips, the thought never waits (R-39)."""
        async with contextlib.aclosing(self.monologue.observe()) as events:
            async for event in events:
                yield thought_frame(request_id, event)

    async def thoughts(self, since: float, limit: int) -> list[protocol.ThoughtEntry]:
        """The log of the monologue (RA-5), oldest first."""
        return await self.sources.entries(since, limit)

    async def notices(self) -> list[str]:
        """What the owner should see when attaching: wellbeing (RA-40), and whatever is degraded."""
        return [*await self.journal.notices(), *self.models.problems()]

    async def status(self, request_id: int) -> protocol.Status:
        """R-18, R-49, R-146. "ok" only while what is acknowledged is also stored (H3)."""
        stats = await self.memory.stats()
        state, detail = self.state()
        problems = self.models.problems()
        return protocol.Status(
            request_id=request_id,
            reveries=__version__,
            pid=os.getpid(),
            home=str(self.home.path),
            awake_since=self.awake_since,
            health="degraded" if problems else "ok",
            problems=problems,
            state=state,
            state_detail=detail,
            conversation_turns=self.conversation.turn_count,
            attached_clients=self.conversation.attached_count,
            thinking_enabled=self.settings.monologue.enabled,
            last_thought_at=self.monologue.last_thought_at,
            last_consolidation=stats.last_consolidation,
            memory=stats_frame(0, stats),
            models=[protocol.ModelUse(*use) for use in self.models.uses()],
            usage=[
                protocol.UsageToday(
                    role=use.role,
                    calls=use.calls,
                    prompt_tokens=use.prompt_tokens,
                    completion_tokens=use.completion_tokens,
                    dollars=use.dollars,
                    token_limit=use.token_limit,
                )
                for use in await self.ledger.usage_today()
            ],
            dollars_month=await self.ledger.dollars_this_month(),
            tripwire=await self.journal.tripwire_counts(),
            notices=await self.journal.notices(),
            sqlite_version=self.database.sqlite_version,
            loop_lag_p99_ms=self.lag.p99_ms(),
            loop_lag_max_ms=self.lag.max_ms(),
        )


def _keep_newest(folder: Path) -> None:
    copies = sorted(folder.glob("memory-*.db"))
    for old in copies[:-_KEPT_BACKUPS]:
        old.unlink(missing_ok=True)
