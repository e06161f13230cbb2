"""The clients that are attached to the conversation, and work that outlives the client that asked for it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

import structlog

from reveries import protocol
from reveries.daemon.conversation import Conversation
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.server import Session
from reveries.daemon.turn import falls_asleep
from reveries.errors import StorageLostError
from reveries.memory.model import Turn
from reveries.memory.views.episodes import said_turn
from reveries.safe_text import one_line, plain

log = structlog.get_logger("requests")

T = TypeVar("T")
_MOST_SCROLLBACKS = 4
"""Made at a time: a hundred at once took megabytes that the process kept (E4)."""


class AttachedClients:
    """Everybody who shows the conversation, and is told what happens in it."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._sessions: dict[int, Session] = {}
        self.scrolling_back = asyncio.Semaphore(_MOST_SCROLLBACKS)

    def follow(self, events: MindEvents) -> None:
        """From now on, tell the clients what happens."""
        events.turn_stored.subscribe(self.tell_turn)
        events.state_changed.subscribe(self.tell_state)
        events.problems_changed.subscribe(self.tell_trouble)
        events.work_progressed.subscribe(self.report_progress)

    def attach(self, session: Session) -> None:
        self._sessions[session.number] = session
        self._conversation.attach(session.number)

    def detach(self, session: Session) -> None:
        """A client left, with or without a word; nothing where it was not attached."""
        if self._sessions.pop(session.number, None) is not None:
            self._conversation.detach(session.number)

    def tell(self, frame: protocol.Frame) -> None:
        for session in list(self._sessions.values()):
            session.outbox.tell(frame)

    def tell_turn(self, turn: Turn) -> None:
        self.tell(protocol.Spoken(0, said_turn(turn)))

    def tell_state(self, state: str, detail: str) -> None:
        self.tell(protocol.StateChanged(0, state, one_line(detail)))

    def tell_trouble(self, problems: list[str]) -> None:
        self.tell(protocol.Trouble(0, [plain(problem) for problem in problems]))

    def tell_switched(self) -> None:
        """Another conversation, or the same with other turns: clients read it anew."""
        self.tell(protocol.Switched(0, self._conversation.conversation_id))

    def report_progress(self, what: str, done: int, total: int, but: int | None = None) -> None:
        """Long work goes on: all but client number `but` may show how far it is. A slow client is told less."""
        for number, session in list(self._sessions.items()):
            if number != but:
                session.outbox.send_piece(protocol.Progress(0, what, done, total))


class DetachedTasks:
    """Tasks in the daemon's own group: a client that leaves does not end them."""

    def __init__(self, tasks: asyncio.TaskGroup, on_storage_lost: Callable[[StorageLostError], None]) -> None:
        self._tasks = tasks
        self._on_storage_lost = on_storage_lost

    def start(
        self, session: Session, work: Callable[[], Coroutine[None, None, T]], name: str
    ) -> "asyncio.Task[T | Exception]":
        """Begin `work`; its task ends with what came of it, or with what it raised. Raises AsleepError."""
        outcome = self._outcome(session, work)
        try:
            return self._tasks.create_task(outcome, name=name)
        except RuntimeError as error:  # The daemon's tasks are ending: they take nothing more in.
            outcome.close()
            raise falls_asleep() from error

    async def _outcome(self, session: Session, work: Callable[[], Coroutine[None, None, T]]) -> T | Exception:
        """What came of it, or what it raised: the request hands that on, and if the client is gone nobody does."""
        try:
            return await work()
        except StorageLostError as error:
            self._on_storage_lost(error)
            return error
        except Exception as error:  # A named boundary: handed to the request, which reports it ...
            if session.is_gone:  # ... and who left asks nobody.
                log.exception("task.failed")
            return error
