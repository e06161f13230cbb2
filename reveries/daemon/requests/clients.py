"""The clients attached to conversations, which are notified of their events."""

import asyncio
from dataclasses import dataclass

import msgspec

from reveries import protocol
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.server import Session
from reveries.daemon.talk.conversation import Conversation
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.memory.conversations import MAIN_CHANNEL
from reveries.memory.model import Turn
from reveries.memory.views.episodes import said_turn
from reveries.safe_text import one_line, plain

_MOST_SCROLLBACKS = 4
"""Scrollbacks built at a time: a hundred at once took megabytes that the process kept (E4)."""


@dataclass(frozen=True, slots=True)
class _Attached:
    session: Session
    conversation: Conversation


class AttachedClients:
    """The clients that show a conversation. Each is notified of the turns of its own, and of the mind's state."""

    def __init__(self, conversations: ConversationRegistry) -> None:
        self._conversations = conversations
        self._clients: dict[int, _Attached] = {}
        self.scrolling_back = asyncio.Semaphore(_MOST_SCROLLBACKS)

    def follow(self, events: MindEvents) -> None:
        """Forward the events of the mind to the clients."""
        events.turn_stored.subscribe(self.notify_turn)
        events.state_changed.subscribe(self.notify_state)
        events.problems_changed.subscribe(self.notify_problems)
        events.work_progressed.subscribe(self.report_progress)

    def attach(self, session: Session, conversation: Conversation) -> None:
        """Show a client this conversation, in the place of another."""
        attached = self._clients.get(session.number)
        if attached is not None and attached.conversation is not conversation:
            self.detach(session)
        self._clients[session.number] = _Attached(session, conversation)
        conversation.attach(session.number)

    def detach(self, session: Session) -> None:
        """Remove a client, which may have disconnected; do nothing if it was not attached."""
        if (attached := self._clients.pop(session.number, None)) is not None:
            attached.conversation.detach(session.number)

    def broadcast(self, frame: protocol.Frame, conversation: Conversation | None = None) -> None:
        """Send a frame to the clients that show a conversation, or to all."""
        for attached in list(self._clients.values()):
            if conversation is None or attached.conversation is conversation:
                attached.session.outbox.send_broadcast(frame)

    def notify_turn(self, turn: Turn) -> None:
        conversation = self._conversations.holding(turn.conversation_id)
        self.broadcast(protocol.Spoken(0, said_turn(turn), named_conversation(conversation)), conversation)

    def notify_state(self, state: str, detail: str) -> None:
        self.broadcast(protocol.StateChanged(0, state, one_line(detail)))

    def notify_problems(self, problems: list[str]) -> None:
        self.broadcast(protocol.Trouble(0, [plain(problem) for problem in problems]))

    def notify_switched(self, conversation: Conversation) -> None:
        """Notify the clients that the conversation or its turns changed, so that they reload it."""
        frame = protocol.Switched(0, conversation.conversation_id, named_conversation(conversation))
        self.broadcast(frame, conversation)

    def report_progress(self, what: str, done: int, total: int, but: int | None = None) -> None:
        """Report the progress of long work to all clients but number `but`. A slow client gets fewer reports."""
        for number, attached in list(self._clients.items()):
            if number != but:
                attached.session.outbox.send_piece(protocol.Progress(0, what, done, total))


def named_conversation(conversation: Conversation) -> str | msgspec.UnsetType:
    """Return the name of a conversation in a frame, which the plain chat has not."""
    return msgspec.UNSET if conversation.channel == MAIN_CHANNEL else conversation.channel
