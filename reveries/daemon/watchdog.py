"""Whether each part that the mind needs gets on, though the event loop turns (B7). Who watches the process from outside
hears that it lives only while all of them do but the backups.

A part that does something must show progress within `patience_seconds`; one that waits, so long after it said that it
would. Time is counted in looks and not by a clock: a machine that was asleep, or a process that was stopped, has made
no part hang.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

import structlog

from reveries.clock import Clock
from reveries.config import LlmSettings
from reveries.daemon.models import longest_call_seconds
from reveries.daemon.service_manager import tell_service_manager
from reveries.heartbeat import Pulse
from reveries.notifier import Notifier

LOOK_SECONDS = 10.0
_LONGEST_CALLS = 6
"""One step may ask twice, of the first model and of those that stand in for it, and wait for its place before: but not
so long as so many calls that each take all the time they have."""
LEAST_PATIENCE_SECONDS = 3600.0
"""However quick the models are: SQLite's check of a large copy, and writing a large memory anew, say nothing of it."""
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
    REST: "letting the conversation rest",
    SCHEDULE: "sleep and backups at their times",
    SLEEP: "sleep",
    LIGHT_SLEEP: "light sleep",
    BACKUP: "making a backup (sleep at its times waits for it)",
    STORAGE: "writing to the memory",
}

_CAN_DO_WITHOUT: Final = frozenset({BACKUP})
"""A mind that talks and thinks is not ended for it: the disk of the backups would hang in its next life, too."""

log = structlog.get_logger("watchdog")


@dataclass(slots=True)
class _WatchedPart:
    name: str
    pulse: Pulse
    is_waited_for: bool
    beats: int = -1
    """At the last look."""
    silent_seconds: float = 0.0
    is_hung: bool = False

    def has_moved(self) -> bool:
        """Since the last look."""
        return self.pulse.beats != self.beats

    def gets_on(self) -> bool:
        """Whether it is at work, or was since the last look, and does not hang."""
        return self.has_moved() or (self.pulse.is_at_work and not self.is_hung)


class Watchdog:
    """`watch` each part, then `run`. `changed` is notified when one begins to hang, or gets on again."""

    def __init__(self, llm: LlmSettings) -> None:
        self.patience_seconds = max(LEAST_PATIENCE_SECONDS, _LONGEST_CALLS * longest_call_seconds(llm))
        self.sleep = Pulse()
        self.changed: Notifier[[]] = Notifier()
        self._parts: list[_WatchedPart] = []
        self.watch(SLEEP, self.sleep, is_waited_for=True)

    @property
    def hung(self) -> list[str]:
        """The parts that hang."""
        return [part.name for part in self._parts if part.is_hung]

    @property
    def must_begin_anew(self) -> bool:
        """Whether a part hangs without which it is no mind."""
        return not _CAN_DO_WITHOUT.issuperset(self.hung)

    def watch(self, name: str, pulse: Pulse, *, is_waited_for: bool = False) -> None:
        """From now on, `pulse` is looked at, too. `is_waited_for`: by others, and for long; while it gets on, their
        time stands still."""
        self._parts.append(_WatchedPart(name, pulse, is_waited_for))

    async def run(self, clock: Clock) -> None:
        """Look, and tell the service manager that it lives while it does, until cancelled."""
        while True:
            self.look(LOOK_SECONDS)
            if not self.must_begin_anew:
                tell_service_manager("WATCHDOG=1")
            await clock.sleep(LOOK_SECONDS)

    def look(self, seconds: float) -> None:
        """Once; the last look was `seconds` ago."""
        before = self.hung
        others_wait = any(part.is_waited_for and part.gets_on() for part in self._parts)
        for part in self._parts:
            pulse = part.pulse
            if not pulse.is_at_work or part.has_moved():
                part.silent_seconds = 0.0
            elif part.is_waited_for or not others_wait:
                part.silent_seconds += seconds
            part.beats = pulse.beats
            is_hung = part.silent_seconds > self.patience_seconds + pulse.wait_seconds
            if is_hung and not part.is_hung:
                log.error("part.hangs", part=part.name, seconds=round(part.silent_seconds), tasks=where_tasks_wait())
            elif part.is_hung and not is_hung:
                log.info("part.goes_on", part=part.name)
            part.is_hung = is_hung
        if self.hung != before:
            self.changed.notify()

    def problems(self) -> list[str]:
        """What the owner should know; empty when all get on."""
        return [
            f"For {part.silent_seconds / 60:.0f} minutes nothing has moved in {_IN_WORDS[part.name]}. "
            "To begin anew: reveries sleep, then reveries wake."
            for part in self._parts
            if part.is_hung
        ]


def where_tasks_wait() -> list[str]:
    """Name and innermost places of each task but those of clients: "schedule: schedule.py:62 mind.py:310"."""
    tasks = sorted(asyncio.all_tasks(), key=lambda task: task.get_name())
    ours = [task for task in tasks if not task.get_name().startswith(_OF_CLIENTS)]
    return [f"{task.get_name()}: {' '.join(_stack_places(task)[-3:])}" for task in ours[:_TASKS_IN_LOG]]


def _stack_places(task: "asyncio.Task[object]") -> list[str]:
    """From the outermost coroutine inwards, as far as one waits for the next."""
    places: list[str] = []
    awaited: object = task.get_coro()
    while isinstance(frame := getattr(awaited, "cr_frame", None), FrameType):
        places.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        awaited = getattr(awaited, "cr_await", None)
    return places
