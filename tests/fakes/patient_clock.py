"""A hand-turned clock that waits, at every stop, for what has real time: threads, the database, calls in flight."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar, cast

from reveries.db.database import Database
from reveries.llm.base import Usage
from reveries.llm.budget import Ledger, Reservation
from reveries.llm.caps import PlannedCall
from tests.fakes.clock import HandClock, settle

_QUIET_ROUNDS = 2
_MOST_TURNS = 200
"""A model that answers piece by piece takes many turns of the loop; whoever turns for ever holds nothing up."""
_NAP_SECONDS = 0.0002
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


class WatchedStatements:
    """How many statements the thread of a database has not answered yet, and how many there were."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watched: object = None
        self.count = 0
        self.in_flight = 0

    def watch(self) -> None:
        """Count the statements of the connection, which the database may have opened anew."""
        connection = self._database._connection
        if connection is self._watched:
            return
        execute: Callable[..., Awaitable[object]] = connection._execute

        async def count(function: Callable[..., object], *given: object, **named: object) -> object:
            self.count += 1
            self.in_flight += 1
            try:
                return await execute(function, *given, **named)
            finally:
                self.in_flight -= 1

        # Every statement goes through it.
        connection._execute = count  # type: ignore[method-assign, assignment]
        self._watched = connection


class PatientClock(HandClock):
    """Turned by hand. At every stop it waits until nobody waits for a thread or a model any more, however busy the
    machine is: time that went on meanwhile would put off what is due, and change how often that happens."""

    def __init__(self, start: float = 1_750_000_000.0) -> None:
        super().__init__(start)
        self._workers = Workers()
        self._ledger: WatchedLedger | None = None
        self._statements: WatchedStatements | None = None
        self._asked: set[asyncio.Future[object]] = set()

    async def watch(self, database: Database, ledger: WatchedLedger | None = None) -> None:
        """Wait for the thread of `database`, too, and for the calls of `ledger`, from now on."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(self._workers)
        run: Callable[..., asyncio.Future[object]] = loop.run_in_executor

        def run_watched(*given: object) -> asyncio.Future[object]:
            # A thread has done its work some time before the loop hears of it, on a busy machine a long time.
            asked = run(*given)
            self._asked.add(asked)
            asked.add_done_callback(self._asked.discard)
            return asked

        loop.run_in_executor = run_watched  # type: ignore[method-assign, assignment]
        self._statements, self._ledger = WatchedStatements(database), ledger

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
            before = self._statement_count
            await settle(_MOST_TURNS)
            if self._is_busy:
                await asyncio.sleep(_NAP_SECONDS)
            quiet = 0 if self._is_busy or self._statement_count != before else quiet + 1

    @property
    def _is_busy(self) -> bool:
        waits_for_database = self._statements is not None and self._statements.in_flight > 0
        waits_for_model = self._ledger is not None and self._ledger.in_flight > 0
        return bool(self._workers.busy or self._asked) or waits_for_database or waits_for_model

    @property
    def _statement_count(self) -> int:
        if self._statements is None:
            return 0
        self._statements.watch()
        return self._statements.count
