"""The clients attached to the conversation, and tasks that outlive the client that asked for them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

import structlog

from reveries import protocol
from reveries.daemon.conversation import Conversation, falling_asleep_error
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.server import Session
from reveries.errors import StorageLostError
from reveries.memory.model import Turn
from reveries.memory.views.episodes import said_turn
from reveries.safe_text import one_line, plain

log = structlog.get_logger("requests")

T = TypeVar("T")
_MOST_SCROLLBACKS = 4
"""Scrollbacks built at a time: a hundred at once took megabytes that the process kept (E4)."""


class AttachedClients:
    """The clients that show the conversation and are notified of its events."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._sessions: dict[int, Session] = {}
        self.scrolling_back = asyncio.Semaphore(_MOST_SCROLLBACKS)

    def follow(self, events: MindEvents) -> None:
        """Forward the events of the mind to the clients."""
        events.turn_stored.subscribe(self.notify_turn)
        events.state_changed.subscribe(self.notify_state)
        events.problems_changed.subscribe(self.notify_problems)
        events.work_progressed.subscribe(self.report_progress)

    def attach(self, session: Session) -> None:
        self._sessions[session.number] = session
        self._conversation.attach(session.number)

    def detach(self, session: Session) -> None:
        """Remove a client, which may have disconnected; do nothing if it was not attached."""
        if self._sessions.pop(session.number, None) is not None:
            self._conversation.detach(session.number)

    def broadcast(self, frame: protocol.Frame) -> None:
        for session in list(self._sessions.values()):
            session.outbox.send_broadcast(frame)

    def notify_turn(self, turn: Turn) -> None:
        self.broadcast(protocol.Spoken(0, said_turn(turn)))

    def notify_state(self, state: str, detail: str) -> None:
        self.broadcast(protocol.StateChanged(0, state, one_line(detail)))

    def notify_problems(self, problems: list[str]) -> None:
        self.broadcast(protocol.Trouble(0, [plain(problem) for problem in problems]))

    def notify_switched(self) -> None:
        """Notify the clients that the conversation or its turns changed, so that they reload it."""
        self.broadcast(protocol.Switched(0, self._conversation.conversation_id))

    def report_progress(self, what: str, done: int, total: int, but: int | None = None) -> None:
        """Report the progress of long work to all clients but number `but`. A slow client gets fewer reports."""
        for number, session in list(self._sessions.items()):
            if number != but:
                session.outbox.send_piece(protocol.Progress(0, what, done, total))


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
