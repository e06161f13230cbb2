"""Events of the daemon as Textual messages: posted by the link, handled by the app."""

from textual.message import Message

from reveries import protocol
from reveries.client.tui.outgoing_text import OutgoingText


class AttachedToMind(Message):
    """The link has attached, with the conversation so far; later messages continue from there. `unheard`: the
    unacknowledged messages at that time; `is_heard`: whether a reply to an acknowledged one was coming."""

    def __init__(
        self,
        mind: str,
        attached: protocol.Attached,
        status: protocol.Status,
        unacknowledged: list[OutgoingText],
        *,
        is_acknowledged: bool,
    ) -> None:
        super().__init__()
        self.mind = mind
        self.attached = attached
        self.status = status
        self.unacknowledged = unacknowledged
        self.is_acknowledged = is_acknowledged


class ConnectionDropped(Message):
    """The connection was lost or refused. The link keeps trying; it has returned the unacknowledged messages.
    `sentence`: what is wrong, and what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


class WordsStored(Message):
    """The owner's message is stored on disk."""

    def __init__(self, turn_id: str) -> None:
        super().__init__()
        self.turn_id = turn_id


class MemoriesRecalled(Message):
    """The memories that surfaced for this turn."""

    def __init__(self, items: list[protocol.RecalledItem]) -> None:
        super().__init__()
        self.items = items


class HelpOffered(Message):
    """A help text to show next to the reply, for a person who may be in danger."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ReplyPieceArrived(Message):
    """The next piece of the reply, not yet sanitised."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ReplyEnded(Message):
    """The reply is complete, or was cut off."""

    def __init__(self, replied: protocol.Replied) -> None:
        super().__init__()
        self.replied = replied


class SayFailed(Message):
    """The daemon refused this turn; the link has returned the message unless it was stored."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


class TurnSpoken(Message):
    """A turn was stored in the conversation, sent by any client."""

    def __init__(self, turn: protocol.SaidTurn) -> None:
        super().__init__()
        self.turn = turn


class MindStateChanged(Message):
    """The daemon's state changed."""

    def __init__(self, state: str, detail: str) -> None:
        super().__init__()
        self.state = state
        self.detail = detail


class JobProgressed(Message):
    """Progress of a long job that another client started."""

    def __init__(self, progress: protocol.Progress) -> None:
        super().__init__()
        self.progress = progress


class StatusArrived(Message):
    """The daemon's status, requested every few seconds."""

    def __init__(self, status: protocol.Status) -> None:
        super().__init__()
        self.status = status


class ThoughtProgressed(Message):
    """A thought of the monologue began, went on or ended."""

    def __init__(self, frame: protocol.ThoughtBegan | protocol.ThoughtToken | protocol.ThoughtEnded) -> None:
        super().__init__()
        self.frame = frame
