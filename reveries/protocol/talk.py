"""What a client asks of the conversation and of past ones, and what it is told of them."""

from typing import Annotated

import msgspec

from reveries.protocol.message import Answer, Ok, Request, Text
from reveries.protocol.registry import request

ConversationId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Words = Annotated[str, msgspec.Meta(max_length=500)]


class SaidTurn(msgspec.Struct, frozen=True):
    """A turn as it is stored."""

    turn_id: str
    speaker: str
    is_owner: bool
    text: str
    said_at: float
    is_partial: bool


class Attached(Answer, frozen=True):
    """`turns` are the last ones of the conversation, oldest first; `earlier_count` more came before them."""

    conversation_id: str
    began_at: float
    turns: list[SaidTurn]
    earlier_count: int
    notices: list[str]


class RecalledItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An episode that surfaced for this turn. `was_told` says whether it fitted into the model's context. With a
    `project`, something that this project knows: then `episode_id` is the id of a chunk, or of the project."""

    episode_id: str
    summary: str
    energy: float
    happened_at: float
    quote: str
    quote_speaker: str
    was_told: bool
    project: str = ""


class Recalled(Answer, frozen=True):
    items: list[RecalledItem]


class Token(Answer, frozen=True):
    """The next piece of the reply."""

    text: str


class Stored(Answer, frozen=True):
    """The owner's words (`what` "words") or the whole exchange (`what` "exchange") are on the disk: sent after COMMIT
    returned, never before."""

    what: str
    turn_id: str


class Replied(Answer, frozen=True):
    """The end of a `Say`. `reason`: stop, length, cancelled, tripped or failed. `explanation` is for the owner."""

    turn_id: str
    text: str
    reason: str
    explanation: str
    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    first_token_seconds: float
    seconds: float


class Spoken(Answer, frozen=True):
    """request_id 0: a turn was stored in the conversation, by whichever client."""

    turn: SaidTurn


class Help(Answer, frozen=True):
    """On the way to a reply: whoever wrote seems to be in danger from themselves. `text` is static, with the contacts
    of the settings; a client shows it at once, and leaves it beside the reply."""

    text: str


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


class Conversations(Answer, frozen=True):
    conversations: list[PastConversation]


class Turns(Answer, frozen=True):
    """Oldest first; `earlier_count` more came before them."""

    conversation_id: str
    turns: list[SaidTurn]
    earlier_count: int


class PastWords(Answer, frozen=True):
    """Each text once, the latest first."""

    texts: list[str]


class TakenBack(Answer, frozen=True):
    """The owner's words that were taken back."""

    words: str


class Switched(Answer, frozen=True):
    """request_id 0: the conversation is another one now, or has fewer turns. Attach again to see it."""

    conversation_id: str


@request(answer=Attached, safe=True, large=True)
class Attach(Request, frozen=True):
    """Join the conversation: answered by `Attached`, then told (request_id 0) whatever happens in it."""


@request(answer=Ok, safe=True)
class Detach(Request, frozen=True):
    """Leave the conversation but keep the connection. Answered by `Ok`."""


@request(answer=Replied, safe=True)
class Say(Request, frozen=True):
    """One turn of the owner. Answered by `Recalled`, `Token`s, `Stored`, and `Replied` as the last."""

    text: Text
    # Left out where not given: the bytes of a turn on the record stay what they were.
    off_record: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: neither these words nor the reply are stored, recalled, thought of or logged. No `Stored` comes."""


@request(answer=Conversations, safe=True, large=True)
class AskConversations(Request, frozen=True):
    """Conversations in which something was said, the latest first; with `words` only those that hold them. Answered by
    `Conversations`."""

    words: Words = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


@request(answer=Turns, safe=True, large=True)
class AskTurns(Request, frozen=True):
    """The last `limit` turns of a conversation before its turn number `before`; without it, to its end. The id may be
    the beginning of one; empty is the conversation that is held. Answered by `Turns`."""

    conversation_id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    before: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 200


@request(answer=PastWords, safe=True, large=True)
class AskPastWords(Request, frozen=True):
    """What the owner said before in any conversation here that holds `words`. Answered by `PastWords`."""

    words: Words = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


@request(answer=Ok)
class NewConversation(Request, frozen=True):
    """Let the conversation rest, and begin another. Answered by `Ok`; all who are attached are told `Switched`."""


@request(answer=Ok)
class ResumeConversation(Request, frozen=True):
    """Let the conversation rest, and go on with this one; it must be one of here, not an imported one. The id may be
    the beginning of one. Answered by `Ok`; all who are attached are told `Switched`."""

    conversation_id: ConversationId


@request(answer=TakenBack)
class TakeBack(Request, frozen=True):
    """Take the last words of the owner and the reply to them out of the conversation and out of memory: only while
    sleep has made nothing of them. Answered by `TakenBack`; all who are attached are told `Switched`."""
