"""Observers of the running thought. Each has its own bounded queue; a slow one misses pieces, and the thought never
waits (R-39)."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

QUEUE_EVENTS = 256


@dataclass(frozen=True, slots=True)
class ThoughtStart:
    """Sent to observers when a thought begins; `so_far` is the text that a late observer missed."""

    thought_id: str
    reason: str
    so_far: str


@dataclass(frozen=True, slots=True)
class ThoughtPiece:
    text: str
    skipped: int = 0
    """How many pieces before this one the observer missed because it was too slow."""


@dataclass(frozen=True, slots=True)
class ThoughtEnd:
    thought_id: str
    reason: str
    explanation: str
    tokens: int


ThoughtEvent = ThoughtStart | ThoughtPiece | ThoughtEnd


class Observers:
    """Notifies all watchers; one that joins late first gets the running thought so far."""

    def __init__(self) -> None:
        self._watchers: dict[int, _Watcher] = {}
        self._count = 0
        self._running: ThoughtStart | None = None
        self._so_far: list[str] = []

    def notify(self, event: ThoughtEvent) -> None:
        """Send an event to all watchers. Never waits."""
        match event:
            case ThoughtStart():
                self._running, self._so_far = event, []
            case ThoughtPiece():
                self._so_far.append(event.text)
            case _:
                self._running = None
        for watcher in self._watchers.values():
            watcher.push(event)

    async def watch(self) -> AsyncGenerator[ThoughtEvent, None]:
        """Yield events until the caller stops iterating."""
        self._count += 1
        number, watcher = self._count, _Watcher()
        self._watchers[number] = watcher
        try:
            if self._running is not None:
                began = self._running
                yield ThoughtStart(began.thought_id, began.reason, "".join(self._so_far))
            while True:
                yield await watcher.get()
        finally:
            del self._watchers[number]


class _Watcher:
    def __init__(self) -> None:
        self._queue: asyncio.Queue[ThoughtEvent] = asyncio.Queue(QUEUE_EVENTS)
        self._skipped = 0

    def push(self, event: ThoughtEvent) -> None:
        if isinstance(event, ThoughtPiece):
            # The last slots are reserved for starts and ends, which must not be skipped for pieces.
            if self._queue.qsize() >= QUEUE_EVENTS - 16:
                self._skipped += 1
                return
            event = ThoughtPiece(event.text, self._skipped)
            self._skipped = 0
        if not self._queue.full():
            self._queue.put_nowait(event)

    async def get(self) -> ThoughtEvent:
        return await self._queue.get()
