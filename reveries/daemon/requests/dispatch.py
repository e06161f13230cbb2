"""Passes requests from the server to their handlers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.requests import (
    admin,
    knowledge,
    memory,
    projects,
    sleep,
    talk,
    thought,
    tools,
    views,
)
from reveries.daemon.requests.clients import AttachedClients, DetachedTasks
from reveries.daemon.requests.registry import Call, answer_request
from reveries.daemon.safe_mode import require_allowed
from reveries.daemon.server import Session
from reveries.progress import CountCallback

SUBJECTS = (admin, knowledge, memory, projects, sleep, talk, thought, tools, views)
"""Imported so that their handlers are registered."""


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
