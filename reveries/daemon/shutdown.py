"""Shutdown: what requests it, what it waits for, and how long (docs/explain/shutdown.md)."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import structlog

from reveries.daemon.mind import Mind
from reveries.daemon.process.service_manager import notify_waiting
from reveries.errors import ReveriesError
from reveries.progress import CountCallback

log = structlog.get_logger("daemon")

_SIGNAL_DEADLINE_SECONDS = 4.0
_SLEEP_DEADLINE_SECONDS = 120.0
_LAST_REPLY_SECONDS = 20.0
_STORED_SECONDS = 2.0
"""Time to store a reply that was cut."""
_FINAL_SLEEP_SECONDS = 60.0
_FAREWELL_SECONDS = 0.2
"""Time to send the last frames."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WHY_CUT = "The mind is falling asleep."


@dataclass(slots=True)
class Shutdown:
    """The state of the shutdown. The first request counts; only a failed disk overrides it."""

    requested: asyncio.Event = field(default_factory=asyncio.Event)
    wound_down: asyncio.Event = field(default_factory=asyncio.Event)
    is_graceful: bool = False
    exit_code: int = 0
    progress: CountCallback | None = None
    is_waking: bool = True
    """Whether the daemon still starts: then a signal cancels the start, because there is nothing to wind down."""
    _patience: asyncio.Timeout | None = None

    @contextlib.asynccontextmanager
    async def time_limit(self, seconds: float) -> AsyncIterator[None]:
        """Limit the block to `seconds`, and end it at once when the storage is lost."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds) as self._patience:
                try:
                    yield
                finally:
                    self._patience = None

    @contextlib.contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Let SIGTERM, SIGINT and SIGHUP request the shutdown; a second signal changes nothing. Afterwards signals are
        ignored, because the process only has to exit."""
        loop, living = asyncio.get_running_loop(), asyncio.current_task()

        def on_signal() -> None:
            if not self.requested.is_set():
                self.request(is_graceful=False)
                if self.is_waking and living is not None:
                    living.cancel()

        for number in _SIGNALS:
            loop.add_signal_handler(number, on_signal)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
                # The default action would turn a clean exit into a failure.
                signal.signal(number, signal.SIG_IGN)

    def request(self, *, is_graceful: bool, exit_code: int = 0) -> None:
        if not self.requested.is_set():
            self.is_graceful, self.exit_code = is_graceful, exit_code
            self.requested.set()

    def storage_lost(self, exit_code: int) -> None:
        """Shut down without waiting for anything to be stored, because nothing can be (A4)."""
        self.request(is_graceful=False, exit_code=exit_code)
        self.exit_code = exit_code
        if self._patience is not None and not self._patience.expired():
            self._patience.reschedule(0)

    async def fall_asleep(self, progress: CountCallback) -> None:
        """Shut down for `reveries sleep`; wait until only closing is left."""
        self.progress = progress
        self.request(is_graceful=True)
        await self.wound_down.wait()


async def wind_down(mind: Mind, ending: Shutdown) -> None:
    """Do what comes before closing, within the time limit. Afterwards nothing needs to be waited for."""
    await notify_waiting("STOPPING=1")
    log.info("shutdown.began", is_graceful=ending.is_graceful)
    deadline = _SLEEP_DEADLINE_SECONDS if ending.is_graceful else _SIGNAL_DEADLINE_SECONDS
    if mind.database.is_lost:
        # The running reply or thought could not be stored, so do not wait for a model (A4).
        mind.monologue.pause()
    else:
        async with ending.time_limit(deadline):
            await _prepare_to_close(mind, ending)
    ending.wound_down.set()
    await mind.clock.sleep(_FAREWELL_SECONDS)


async def _prepare_to_close(mind: Mind, ending: Shutdown) -> None:
    """If graceful (`reveries sleep`), finish the running reply, then consolidate and back up. Otherwise (a signal) be
    quick and call no model (RA-1). Either way no other turn begins, and a reply that is cut is stored as far as it
    is."""
    mind.monologue.pause()
    mind.conversations.refuse_turns()
    if ending.is_graceful:
        await mind.conversations.wait_until_quiet(_LAST_REPLY_SECONDS)
    await mind.conversations.stop_replies(_WHY_CUT)
    await mind.conversations.wait_until_quiet(_STORED_SECONDS)
    if ending.is_graceful and not mind.safe_because:
        await _run_final_sleep(mind, ending.progress)


async def _run_final_sleep(mind: Mind, progress: CountCallback | None) -> None:
    with contextlib.suppress(TimeoutError, ReveriesError):
        async with asyncio.timeout(_FINAL_SLEEP_SECONDS):
            with mind.activity.displacing_work(_WHY_CUT):
                await mind.sleep.consolidate(None, trigger="sleep", progress=progress)
    mind.monologue.pause()
    if mind.database.is_lost:
        return
    # Before the backup, which may use up all the time for a large mind.
    await mind.memory.save_snapshot()
    with contextlib.suppress(ReveriesError):
        await mind.backups.back_up()
