"""What a client may ask about what was said: past conversations, their turns, the owner's own words; and the owner's
hand on the conversation: a new one, an earlier one, the last exchange taken back."""

from typing import Annotated

import msgspec

from reveries.protocol.frames import SaidTurn
from reveries.protocol.message import Message, RequestId

ConversationId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Words = Annotated[str, msgspec.Meta(max_length=500)]


class AskConversations(Message, frozen=True):
    """Conversations in which something was said, the latest first; with `words` only those that hold them. Answered by
    `Conversations`."""

    request_id: RequestId
    words: Words = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


class PastConversation(msgspec.Struct, frozen=True):
    """`source` is "chat", or the name of an import. `opening` begins the first words of the owner, or of whoever spoke
    first; `found` is a piece of the last turn that holds the words looked for. `is_held`: it goes on now."""

    conversation_id: str
    began_at: float
    last_said_at: float
    source: str
    turns: int
    opening: str
    found: str
    is_held: bool


class Conversations(Message, frozen=True):
    request_id: int
    conversations: list[PastConversation]


class AskTurns(Message, frozen=True):
    """The last `limit` turns of a conversation before its turn number `before`; without it, to its end. The id may be
    the beginning of one; empty is the conversation that is held. Answered by `Turns`."""

    request_id: RequestId
    conversation_id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    before: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 200


class Turns(Message, frozen=True):
    """Oldest first; `earlier_count` more came before them."""

    request_id: int
    conversation_id: str
    turns: list[SaidTurn]
    earlier_count: int


class AskPastWords(Message, frozen=True):
    """What the owner said before in any conversation here that holds `words`. Answered by `PastWords`."""

    request_id: RequestId
    words: Words = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


class PastWords(Message, frozen=True):
    """Each text once, the latest first."""

    request_id: int
    texts: list[str]


class NewConversation(Message, frozen=True):
    """Let the conversation rest, and begin another. Answered by `Ok`; all who are attached are told `Switched`."""

    request_id: RequestId


class ResumeConversation(Message, frozen=True):
    """Let the conversation rest, and go on with this one; it must be one of here, not an imported one. The id may be
    the beginning of one. Answered by `Ok`; all who are attached are told `Switched`."""

    request_id: RequestId
    conversation_id: ConversationId


class TakeBack(Message, frozen=True):
    """Take the last words of the owner and the reply to them out of the conversation and out of memory: only while
    sleep has made nothing of them. Answered by `TakenBack`; all who are attached are told `Switched`."""

    request_id: RequestId


class TakenBack(Message, frozen=True):
    """The owner's words that were taken back."""

    request_id: int
    words: str


class Switched(Message, frozen=True):
    """request_id 0: the conversation is another one now, or has fewer turns. Attach again to see it."""

    request_id: int
    conversation_id: str


TalkRequest = (
    AskConversations | AskTurns | AskPastWords | NewConversation | ResumeConversation | TakeBack
)  # fmt: skip
