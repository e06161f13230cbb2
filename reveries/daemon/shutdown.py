"""How the mind ends: what asks for it, what is waited for, and how long (docs/explain/shutdown.md)."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import structlog

from reveries.daemon.mind import Mind
from reveries.daemon.service_manager import tell_at_length
from reveries.errors import ReveriesError
from reveries.progress import CountCallback

log = structlog.get_logger("daemon")

_SIGNAL_DEADLINE_SECONDS = 4.0
_SLEEP_DEADLINE_SECONDS = 120.0
_LAST_REPLY_SECONDS = 20.0
_STORED_SECONDS = 2.0
"""So long a reply that was cut has to be stored."""
_FINAL_SLEEP_SECONDS = 60.0
_FAREWELL_SECONDS = 0.2
"""So long the last frames have to leave."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WHY_CUT = "The mind is falling asleep."


@dataclass(slots=True)
class Ending:
    """Why and how the daemon ends. Set once; the first reason counts, but for a disk that fails: that always does."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    wound_down: asyncio.Event = field(default_factory=asyncio.Event)
    politely: bool = False
    exit_code: int = 0
    progress: CountCallback | None = None
    is_waking: bool = True
    """Whether there is nothing yet to wind down: who is told to end then leaves whatever it is at."""
    _patience: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def waiting(self, seconds: float) -> AsyncIterator[None]:
        """What is within has so long, and no time at all once the storage is lost."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds) as self._patience:
                try:
                    yield
                finally:
                    self._patience = None

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """SIGTERM, SIGINT and SIGHUP end the task that is in here, from its waking to its last step; a second one
        changes nothing, and none does afterwards: the process only has to go."""
        loop, living = asyncio.get_running_loop(), asyncio.current_task()

        def told() -> None:
            if not self.asked.is_set():
                self.ask(politely=False)
                if self.is_waking and living is not None:
                    living.cancel()

        for number in _SIGNALS:
            loop.add_signal_handler(number, told)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
                # Its own action would end with a failure what has ended well.
                signal.signal(number, signal.SIG_IGN)

    def ask(self, *, politely: bool, exit_code: int = 0) -> None:
        if not self.asked.is_set():
            self.politely, self.exit_code = politely, exit_code
            self.asked.set()

    def storage_lost(self, exit_code: int) -> None:
        """Nothing more can be stored: end, and wait for nothing that was to be stored (A4)."""
        self.ask(politely=False, exit_code=exit_code)
        self.exit_code = exit_code
        if self._patience is not None and not self._patience.expired():
            self._patience.reschedule(0)

    async def fall_asleep(self, progress: CountCallback) -> None:
        """`reveries sleep`: ask, and wait until only the closing is left."""
        self.progress = progress
        self.ask(politely=True)
        await self.wound_down.wait()


async def wind_down(mind: Mind, ending: Ending) -> None:
    """What comes before the closing, in the time there is for it. Afterwards nothing need be waited for."""
    await tell_at_length("STOPPING=1")
    log.info("falling_asleep", politely=ending.politely)
    deadline = _SLEEP_DEADLINE_SECONDS if ending.politely else _SIGNAL_DEADLINE_SECONDS
    if mind.database.is_lost:
        # Nothing that comes of the reply or the thought under way could be stored: nobody waits for a model (A4).
        mind.monologue.pause()
    else:
        async with ending.waiting(deadline):
            await _prepare_to_close(mind, ending)
    ending.wound_down.set()
    await mind.clock.sleep(_FAREWELL_SECONDS)


async def _prepare_to_close(mind: Mind, ending: Ending) -> None:
    """Politely (`reveries sleep`): the reply under way may finish, then the last consolidation and a backup. Otherwise
    (a signal): no model call, and quickly (RA-1). Either way no other turn begins, and a reply that is cut is stored
    as far as it went."""
    mind.monologue.pause()
    mind.conversations.refuse_turns()
    if ending.politely:
        await mind.conversations.wait_until_quiet(_LAST_REPLY_SECONDS)
    await mind.conversations.stop_replies(_WHY_CUT)
    await mind.conversations.wait_until_quiet(_STORED_SECONDS)
    if ending.politely and not mind.safe_because:
        await _sleep_a_last_time(mind, ending.progress)


async def _sleep_a_last_time(mind: Mind, progress: CountCallback | None) -> None:
    with contextlib.suppress(TimeoutError, ReveriesError):
        async with asyncio.timeout(_FINAL_SLEEP_SECONDS):
            await mind.sleep.consolidate(None, trigger="sleep", progress=progress)
    mind.monologue.pause()
    if mind.database.is_lost:
        return
    # First: a backup of a large mind may take all the time there is.
    await mind.memory.save_snapshot()
    with contextlib.suppress(ReveriesError):
        await mind.backups.back_up()
