"""The clients attached to the conversation, which are notified of its events."""

import asyncio

from reveries import protocol
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.server import Session
from reveries.daemon.talk.conversation import Conversation
from reveries.memory.model import Turn
from reveries.memory.views.episodes import said_turn
from reveries.safe_text import one_line, plain

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
