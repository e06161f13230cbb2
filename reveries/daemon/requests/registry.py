"""Who answers which request: `@handles(Message)` on a function is all that a new one needs here."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.requests.clients import AttachedClients, DetachedTasks
from reveries.daemon.server import Session
from reveries.progress import CountCallback

_Handler = Callable[["Call", Any], Awaitable[protocol.Frame | None]]
_H = TypeVar("_H", bound=_Handler)


@dataclass(frozen=True, slots=True)
class Call:
    """A request under way: the mind, who asked, and whom to tell how far the work is."""

    mind: Mind
    session: Session
    request_id: int
    clients: AttachedClients
    detached: DetachedTasks
    """Work that goes on when the client that asked for it has left."""
    fall_asleep: Callable[[CountCallback], Awaitable[None]]

    def send(self, frame: protocol.Frame) -> None:
        """Before the last frame, which a handler returns."""
        self.session.outbox.send(frame)

    def report_progress(self, what: str, done: int, total: int) -> None:
        """To the client that asked. A slow one is told less."""
        self.session.outbox.send_piece(protocol.Progress(self.request_id, what, done, total))

    def progress_for_all(self, what: str) -> CountCallback:
        """For work that concerns every attached client: a callback that tells the one that asked, and the others."""

        def report(done: int, total: int) -> None:
            self.report_progress(what, done, total)
            self.clients.report_progress(what, done, total, but=self.session.number)

        return report


_HANDLERS: Final[dict[type[protocol.Request], _Handler]] = {}


def handles(message: type[protocol.Request]) -> Callable[[_H], _H]:
    """Register what answers `message`: it returns the last frame, or None where it has sent that itself."""

    def register(handler: _H) -> _H:
        assert message not in _HANDLERS, f"{message.__name__} has two handlers."
        _HANDLERS[message] = handler
        return handler

    return register


async def answer_request(call: Call, request: protocol.Request) -> protocol.Frame | None:
    """The last frame of `request`. Raises ReveriesError."""
    return await _HANDLERS[type(request)](call, request)


def handled_requests() -> frozenset[type[protocol.Request]]:
    """Those that have a handler."""
    return frozenset(_HANDLERS)
