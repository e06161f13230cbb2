"""What happened on the other side of the socket, as Textual messages. Posted by the link, handled by the app."""

from textual.message import Message

from reveries import protocol
from reveries.client.tui.words import Words


class AttachedToMind(Message):
    """The mind answers, and this is the conversation as it stands. `unheard`: what waited then; `is_heard`: whether a
    reply was coming to what does not wait any more. What the link tells next begins there."""

    def __init__(
        self,
        mind: str,
        attached: protocol.Attached,
        status: protocol.Status,
        unheard: list[Words],
        *,
        is_heard: bool,
    ) -> None:
        super().__init__()
        self.mind = mind
        self.attached = attached
        self.status = status
        self.unheard = unheard
        self.is_heard = is_heard


class WentAway(Message):
    """Nobody answers any more (or not yet). The link goes on trying; what was not acknowledged it has returned.
    `sentence`: what is wrong, with what to do."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


class WordsStored(Message):
    """The owner's words are on the disk."""

    def __init__(self, turn_id: str) -> None:
        super().__init__()
        self.turn_id = turn_id


class MemoriesRecalled(Message):
    """What surfaced for this turn."""

    def __init__(self, items: list[protocol.RecalledItem]) -> None:
        super().__init__()
        self.items = items


class HelpOffered(Message):
    """Whoever wrote seems to be in danger: a text to show beside the reply."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ReplyGrew(Message):
    """The next piece of the reply, as it came: not yet made plain."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ReplyEnded(Message):
    """The reply is whole, or was cut."""

    def __init__(self, replied: protocol.Replied) -> None:
        super().__init__()
        self.replied = replied


class SayFailed(Message):
    """The mind is there but refused this turn; words that it did not store the link has returned."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence


class TurnSpoken(Message):
    """A turn was stored in the conversation, by whichever client."""

    def __init__(self, turn: protocol.SaidTurn) -> None:
        super().__init__()
        self.turn = turn


class StateMoved(Message):
    """The mind does something else now."""

    def __init__(self, state: str, detail: str) -> None:
        super().__init__()
        self.state = state
        self.detail = detail


class WorkMoved(Message):
    """Long work that somebody else began goes on."""

    def __init__(self, progress: protocol.Progress) -> None:
        super().__init__()
        self.progress = progress


class StatusArrived(Message):
    """How it is, asked for every few seconds."""

    def __init__(self, status: protocol.Status) -> None:
        super().__init__()
        self.status = status


class ThoughtMoved(Message):
    """The monologue began, went on or ended."""

    def __init__(self, frame: protocol.ThoughtBegan | protocol.ThoughtToken | protocol.ThoughtEnded) -> None:
        super().__init__()
        self.frame = frame
