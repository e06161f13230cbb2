"""Messages about the conversation and past conversations."""

from typing import Annotated

import msgspec

from reveries.protocol.documents import CitationEntry
from reveries.protocol.message import Answer, Ok, Request, Text
from reveries.protocol.registry import request

ConversationId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Words = Annotated[str, msgspec.Meta(max_length=500)]
InConversation = Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | msgspec.UnsetType
"""Which of the open conversations is meant, by its channel. Omitted for the plain chat, as by earlier versions."""


class SaidTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn as it is stored. `citations`: what a reply rests on in documents, as it was shown."""

    turn_id: str
    speaker: str
    is_owner: bool
    text: str
    said_at: float
    is_partial: bool
    citations: tuple[CitationEntry, ...] = ()


class Attached(Answer, frozen=True):
    """`turns` are the last ones of the conversation, oldest first; `earlier_count` more came before them."""

    conversation_id: str
    began_at: float
    turns: list[SaidTurn]
    earlier_count: int
    notices: list[str]
    conversation: InConversation = msgspec.UNSET


class RecalledItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An episode that surfaced for this turn. `was_told`: whether it fitted into the model's context. With a `project`,
    a part of that project's knowledge: then `episode_id` is the id of a chunk, or of the project."""

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
    """The owner's words (`what` "words") or the whole exchange (`what` "exchange") are stored: sent after COMMIT has
    returned, never before."""

    what: str
    turn_id: str


class Replied(Answer, frozen=True, omit_defaults=True):
    """The end of a `Say`. `reason`: stop, length, cancelled, tripped or failed. `explanation` is for the owner;
    `citations`: what it rests on in documents, checked by code."""

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
    citations: tuple[CitationEntry, ...] = ()


class Spoken(Answer, frozen=True):
    """request_id 0: a turn was stored in the conversation, from any client."""

    turn: SaidTurn
    conversation: InConversation = msgspec.UNSET


class Help(Answer, frozen=True):
    """Sent before the reply ends if the writer seems to be in danger from themselves. `text` is static, with the
    contacts from the settings; a client shows it at once and keeps it next to the reply."""

    text: str


class PastConversation(msgspec.Struct, frozen=True):
    """`source` is "chat", or the name of an import. `opening` is the beginning of the owner's first turn, or of the
    first turn if the owner said nothing; `found` is an excerpt of the last turn that contains the words searched for.
    `is_held`: it is the current conversation."""

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
    """Each text once, latest first."""

    texts: list[str]


class TakenBack(Answer, frozen=True):
    """The owner's words that were removed."""

    words: str


class Switched(Answer, frozen=True):
    """request_id 0: another conversation is current now, or the conversation has fewer turns. Attach again to see
    it."""

    conversation_id: str
    conversation: InConversation = msgspec.UNSET


@request(answer=Attached, safe=True, large=True)
class Attach(Request, frozen=True):
    """Join the conversation. Answered by `Attached`; from then on its events are sent with request_id 0."""

    conversation: InConversation = msgspec.UNSET


@request(answer=Ok, safe=True)
class Detach(Request, frozen=True):
    """Leave the conversation and keep the connection. Answered by `Ok`."""


@request(answer=Replied, before=(Recalled, Help, Token, Stored), safe=True)
class Say(Request, frozen=True):
    """One turn of the owner. Answered by `Recalled`, `Token`s, `Stored`, and finally `Replied`."""

    text: Text
    # Omitted if not set, so that the bytes of a turn on the record stay the same as in earlier versions.
    off_record: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: neither these words nor the reply are stored, recalled, thought about or logged. No `Stored` is
    sent."""
    conversation: InConversation = msgspec.UNSET


@request(answer=Ok, safe=True)
class NoteWriting(Request, frozen=True):
    """The owner is writing: project work makes room on a local model, which reads the next prompt ahead, so that the
    words need not wait. Repeated while they write. Says nothing of the text. Answered by `Ok`."""

    conversation: InConversation = msgspec.UNSET


@request(answer=Conversations, safe=True, large=True)
class AskConversations(Request, frozen=True):
    """Conversations that have turns, latest first; with `words` only those that contain them. Answered by
    `Conversations`."""

    words: Words = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


@request(answer=Turns, safe=True, large=True)
class AskTurns(Request, frozen=True):
    """The last `limit` turns of a conversation before its turn number `before`; without it, to its end. The id may be a
    unique prefix; empty: the current conversation. Answered by `Turns`."""

    conversation_id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    before: Annotated[int, msgspec.Meta(ge=0)] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 200


@request(answer=PastWords, safe=True, large=True)
class AskPastWords(Request, frozen=True):
    """Earlier turns of the owner that contain `words`, without imported ones. Answered by `PastWords`."""

    words: Words = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50


@request(answer=Ok)
class NewConversation(Request, frozen=True):
    """Let the current conversation rest and begin a new one. Answered by `Ok`; all attached clients get `Switched`."""

    conversation: InConversation = msgspec.UNSET


@request(answer=Ok)
class ResumeConversation(Request, frozen=True):
    """Let the current conversation rest and continue this one, which must not be an imported one. The id may be a
    unique prefix. Answered by `Ok`; all attached clients get `Switched`."""

    conversation_id: ConversationId
    conversation: InConversation = msgspec.UNSET


@request(answer=TakenBack)
class TakeBack(Request, frozen=True):
    """Remove the owner's last turn and the reply to it from the conversation and from memory; possible only until sleep
    has processed them. Answered by `TakenBack`; all attached clients get `Switched`."""

    conversation: InConversation = msgspec.UNSET
