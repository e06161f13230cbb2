"""A hand-turned clock that waits, at every stop, for what has real time: threads, the database, calls in flight."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar, cast

from reveries.db.database import Database
from reveries.llm.base import Usage
from reveries.llm.budget import Ledger, Reservation
from reveries.llm.caps import PlannedCall
from tests.fakes.clock import HandClock, settle

_QUIET_ROUNDS = 5
"""A statement takes three: it is run, its rows are fetched, it is closed; then the next may come."""
_NAP_SECONDS = 0.0005
T = TypeVar("T")


class Workers(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`, and how many calls they have not answered yet."""

    def __init__(self) -> None:
        super().__init__(max_workers=4)
        self.busy: set[Future[object]] = set()

    def submit(self, fn: Callable[..., T], /, *args: object, **kwargs: object) -> Future[T]:
        future = super().submit(fn, *args, **kwargs)
        self.busy.add(cast("Future[object]", future))
        future.add_done_callback(self.busy.discard)
        return future


class WatchedLedger(Ledger):
    """A ledger that knows whether a call is in flight: what was reserved, and is neither settled nor given back."""

    in_flight = 0

    async def reserve(self, ask: PlannedCall) -> Reservation:
        reservation = await super().reserve(ask)
        self.in_flight += 1
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, outcome: str = "answered") -> None:
        self.in_flight -= 1
        await super().settle(reservation, usage, outcome)

    async def release(self, reservation: Reservation) -> None:
        self.in_flight -= 1
        await super().release(reservation)

    async def leave_reserved(self, reservation: Reservation) -> None:
        self.in_flight -= 1
        await super().leave_reserved(reservation)


class PatientClock(HandClock):
    """Turned by hand. At every stop it waits until nobody waits for a thread or a model any more, however busy the
    machine is: time that went on meanwhile would put off what is due, and change how often that happens."""

    def __init__(self, start: float = 1_750_000_000.0) -> None:
        super().__init__(start)
        self._workers = Workers()
        self._database: Database | None = None
        self._ledger: WatchedLedger | None = None
        self._statements = 0

    async def watch(self, database: Database, ledger: WatchedLedger | None = None) -> None:
        """Wait for the thread of `database`, too, and for the calls of `ledger`, from now on."""
        asyncio.get_running_loop().set_default_executor(self._workers)
        self._database, self._ledger = database, ledger
        await database._connection.set_trace_callback(self._count)

    async def advance(self, seconds: float) -> None:
        end = self.monotonic() + seconds
        while (now := self.monotonic()) < end:
            await self._rest()
            due = min((when for when, _, future in self._sleepers if not future.done()), default=end)
            await super().advance(max(0.0, min(due, now + 60, end) - now))
        await self._rest()

    async def _rest(self) -> None:
        quiet = 0
        while quiet < _QUIET_ROUNDS:
            before = self._statements
            await settle()
            if self._database is not None:
                # The thread works in order: what was asked before this is answered after it.
                await self._database._connection.set_progress_handler(lambda: None, 0)
            await settle()
            if self._is_busy:
                await asyncio.sleep(_NAP_SECONDS)
            quiet = 0 if self._is_busy or self._statements != before else quiet + 1

    @property
    def _is_busy(self) -> bool:
        return bool(self._workers.busy) or (self._ledger is not None and self._ledger.in_flight > 0)

    def _count(self, _: str) -> None:
        self._statements += 1
