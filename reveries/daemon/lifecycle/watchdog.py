"""Detects parts of the mind that hang while the event loop still runs (B7). The service manager is notified only while
all of them, except backups, make progress.

A working part must show progress within `patience_seconds`; a waiting one within that time after the end of its wait.
Time is counted in checks, not by a clock, so that a suspended machine or stopped process does not count as a hang.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

import structlog

from reveries.clock import Clock
from reveries.config import LlmSettings
from reveries.daemon.models.role_models import longest_call_seconds
from reveries.daemon.process.service_manager import notify_service_manager
from reveries.heartbeat import Pulse
from reveries.notifier import Notifier

POLL_SECONDS = 10.0
_LONGEST_CALLS = 6
"""Multiple of the longest call: one step may call twice, with fallbacks, and wait for its turn before."""
LEAST_PATIENCE_SECONDS = 3600.0
"""At least this, because SQLite reports no progress while it checks a large backup or rewrites a large memory."""
_TASKS_IN_LOG = 40
_OF_CLIENTS = ("client-", "request-")

THINKING: Final = "thinking"
REPLY: Final = "reply"
REST: Final = "rest"
SCHEDULE: Final = "schedule"
SLEEP: Final = "sleep"
LIGHT_SLEEP: Final = "light_sleep"
BACKUP: Final = "backup"
STORAGE: Final = "storage"

_IN_WORDS: Final = {
    THINKING: "thinking",
    REPLY: "answering you",
    REST: "closing the idle conversation",
    SCHEDULE: "scheduled sleep and backups",
    SLEEP: "sleep",
    LIGHT_SLEEP: "light sleep",
    BACKUP: "making a backup (scheduled sleep waits for it)",
    STORAGE: "writing to the memory",
}

_CAN_DO_WITHOUT: Final = frozenset({BACKUP})
"""Not worth a restart: a hanging backup disk would hang after it, too."""

log = structlog.get_logger("watchdog")


@dataclass(slots=True)
class _WatchedPart:
    name: str
    pulse: Pulse
    is_waited_for: bool
    beats: int = -1
    """At the last check."""
    silent_seconds: float = 0.0
    is_hung: bool = False

    def has_beaten(self) -> bool:
        """Whether it made progress since the last check."""
        return self.pulse.beats != self.beats

    def is_progressing(self) -> bool:
        """Whether it works, or did since the last check, and does not hang."""
        return self.has_beaten() or (self.pulse.is_at_work and not self.is_hung)


class Watchdog:
    """Watches parts: `watch` each, then `run`. `changed` is notified when one begins or ceases to hang."""

    def __init__(self, llm: LlmSettings) -> None:
        self.patience_seconds = max(LEAST_PATIENCE_SECONDS, _LONGEST_CALLS * longest_call_seconds(llm))
        self.sleep = Pulse()
        self.changed: Notifier[[]] = Notifier()
        self._parts: list[_WatchedPart] = []
        self.watch(SLEEP, self.sleep, is_waited_for=True)

    @property
    def hung(self) -> list[str]:
        """The names of the parts that hang."""
        return [part.name for part in self._parts if part.is_hung]

    @property
    def must_restart(self) -> bool:
        """Whether a part hangs that the mind cannot do without."""
        return not _CAN_DO_WITHOUT.issuperset(self.hung)

    def watch(self, name: str, pulse: Pulse, *, is_waited_for: bool = False) -> None:
        """Watch `pulse` from now on. `is_waited_for`: other parts may wait for it for long; while it makes progress,
        their time does not count."""
        self._parts.append(_WatchedPart(name, pulse, is_waited_for))

    async def run(self, clock: Clock) -> None:
        """Check the parts and notify the service manager while they make progress, until cancelled."""
        while True:
            self.check(POLL_SECONDS)
            if not self.must_restart:
                notify_service_manager("WATCHDOG=1")
            await clock.sleep(POLL_SECONDS)

    def check(self, seconds: float) -> None:
        """Check once; the last check was `seconds` ago."""
        before = self.hung
        others_wait = any(part.is_waited_for and part.is_progressing() for part in self._parts)
        for part in self._parts:
            pulse = part.pulse
            if not pulse.is_at_work or part.has_beaten():
                part.silent_seconds = 0.0
            elif part.is_waited_for or not others_wait:
                part.silent_seconds += seconds
            part.beats = pulse.beats
            is_hung = part.silent_seconds > self.patience_seconds + pulse.wait_seconds
            if is_hung and not part.is_hung:
                log.error(
                    "part.hung", part=part.name, seconds=round(part.silent_seconds), tasks=describe_waiting_tasks()
                )
            elif part.is_hung and not is_hung:
                log.info("part.recovered", part=part.name)
            part.is_hung = is_hung
        if self.hung != before:
            self.changed.notify()

    def problems(self) -> list[str]:
        """Return what the owner should know; empty if no part hangs."""
        return [
            f"No progress for {part.silent_seconds / 60:.0f} minutes in {_IN_WORDS[part.name]}. "
            "To restart: reveries sleep, then reveries wake."
            for part in self._parts
            if part.is_hung
        ]


def describe_waiting_tasks() -> list[str]:
    """Return name and innermost code locations of each task, except those of clients: "schedule: schedule.py:62
    mind.py:310"."""
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    ours = [task for task in tasks if not task.get_name().startswith(_OF_CLIENTS)]
    return [f"{task.get_name()}: {' '.join(_stack_places(task)[-3:])}" for task in ours[:_TASKS_IN_LOG]]


def _stack_places(task: "asyncio.Task[object]") -> list[str]:
    """Return the code locations from the outermost awaited coroutine inwards."""
    places: list[str] = []
    awaited: object = task.get_coro()
    while isinstance(frame := getattr(awaited, "cr_frame", None), FrameType):
        places.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        awaited = getattr(awaited, "cr_await", None)
    return places
