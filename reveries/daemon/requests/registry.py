"""The registry of request handlers: `@handles(Message)` on a function registers it, and `RequestDispatcher` passes it
the requests that the server receives."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.process.safe_mode import require_allowed
from reveries.daemon.requests.clients import AttachedClients
from reveries.daemon.server import Session
from reveries.daemon.talk.conversation import falling_asleep_error
from reveries.errors import StorageLostError
from reveries.progress import CountCallback

log = structlog.get_logger("requests")

T = TypeVar("T")
_Handler = Callable[["Call", Any], Awaitable[protocol.Frame | None]]
_H = TypeVar("_H", bound=_Handler)


class DetachedTasks:
    """Tasks in the daemon's own task group, which do not end when a client disconnects."""

    def __init__(self, tasks: asyncio.TaskGroup, on_storage_lost: Callable[[StorageLostError], None]) -> None:
        self._tasks = tasks
        self._on_storage_lost = on_storage_lost

    def start(
        self, session: Session, work: Callable[[], Coroutine[None, None, T]], name: str
    ) -> "asyncio.Task[T | Exception]":
        """Start `work`; its task returns the result or the exception. Raises AsleepError."""
        outcome = self._outcome(session, work)
        try:
            return self._tasks.create_task(outcome, name=name)
        except RuntimeError as error:  # The task group is ending and takes no new task.
            outcome.close()
            raise falling_asleep_error() from error

    async def _outcome(self, session: Session, work: Callable[[], Coroutine[None, None, T]]) -> T | Exception:
        """Return the result of `work`, or its exception for the request to raise; logged if the client is gone."""
        try:
            return await work()
        except StorageLostError as error:
            self._on_storage_lost(error)
            return error
        except Exception as error:  # A named boundary: the request reports it, and without a client the log does.
            if session.is_gone:
                log.exception("task.failed")
            return error


@dataclass(frozen=True, slots=True)
class Call:
    """A running request: the mind, the session of the client that asked, and where to report progress."""

    mind: Mind
    session: Session
    request_id: int
    clients: AttachedClients
    detached: DetachedTasks
    """Starts tasks that go on when the client that asked has disconnected."""
    fall_asleep: Callable[[CountCallback], Awaitable[None]]

    def send(self, frame: protocol.Frame) -> None:
        """Send a frame before the last one, which the handler returns."""
        self.session.outbox.send(frame)

    def report_progress(self, what: str, done: int, total: int) -> None:
        """Report progress to the client that asked. A slow one gets fewer reports."""
        self.session.outbox.send_piece(protocol.Progress(self.request_id, what, done, total))

    def progress_for_all(self, what: str) -> CountCallback:
        """Return a callback that reports progress to the client that asked and to all attached clients."""

        def report(done: int, total: int) -> None:
            self.report_progress(what, done, total)
            self.clients.report_progress(what, done, total, but=self.session.number)

        return report


_HANDLERS: Final[dict[type[protocol.Request], _Handler]] = {}


def handles(message: type[protocol.Request]) -> Callable[[_H], _H]:
    """Register the handler of `message`. It returns the last frame, or None if it has sent that itself."""

    def register(handler: _H) -> _H:
        assert message not in _HANDLERS, f"{message.__name__} has two handlers."
        _HANDLERS[message] = handler
        return handler

    return register


async def answer_request(call: Call, request: protocol.Request) -> protocol.Frame | None:
    """Answer `request` and return its last frame. Raises ReveriesError."""
    return await _HANDLERS[type(request)](call, request)


def handled_requests() -> Mapping[type[protocol.Request], _Handler]:
    """Return the handler of each request type."""
    return _HANDLERS


@dataclass(frozen=True, slots=True)
class RequestDispatcher:
    """Answers requests, with the objects that handlers share."""

    mind: Mind
    clients: AttachedClients
    detached: DetachedTasks
    fall_asleep: Callable[[CountCallback], Awaitable[None]]

    async def handle(self, session: Session, request: protocol.Request) -> None:
        """Answer one request. Raises ReveriesError, which the server sends as `Failed`."""
        require_allowed(request, self.mind.safe_because)
        call = Call(self.mind, session, request.request_id, self.clients, self.detached, self.fall_asleep)
        if (answer := await answer_request(call, request)) is not None:
            call.send(answer)
