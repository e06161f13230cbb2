"""Talk requests: attach, say, past conversations, and switching between them."""

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass

import msgspec

from reveries import protocol
from reveries.daemon.notices import attach_notices
from reveries.daemon.requests.clients import named_conversation
from reveries.daemon.requests.frames import citation_entries, recalled_frame, said_turns
from reveries.daemon.requests.registry import Call, handles
from reveries.daemon.server import Session
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.daemon.talk.reply_generation import ReplyStop
from reveries.daemon.talk.turn import TurnResult
from reveries.errors import DiskFullError
from reveries.knowledge.citation_store import read_citations
from reveries.llm.base import Usage
from reveries.memory.model import Recall
from reveries.safe_text import one_line, plain

_SCROLLBACK_TURNS = 200
_LINE_CHARS = 240


@handles(protocol.Attach)
async def attach_client(call: Call, request: protocol.Attach) -> None:
    mind, conversation = call.mind, call.mind.conversations.named(request.conversation)
    with contextlib.suppress(DiskFullError):  # The current conversation goes on then.
        await conversation.open()
    # Attach first, so that the client is notified of a turn that is stored while earlier turns are read.
    call.clients.attach(call.session, conversation)
    async with call.clients.scrolling_back:
        turns = await mind.memory.conversations.recent_turns(conversation.conversation_id, _SCROLLBACK_TURNS)
        call.send(
            protocol.Attached(
                request_id=request.request_id,
                conversation_id=conversation.conversation_id,
                began_at=conversation.began_at,
                turns=said_turns(turns, await read_citations(mind.database, [turn.id for turn in turns])),
                earlier_count=turns[0].position if turns else 0,
                notices=await attach_notices(mind),
                conversation=named_conversation(conversation),
            )
        )


@handles(protocol.Detach)
async def detach_client(call: Call, request: protocol.Detach) -> protocol.Ok:
    call.clients.detach(call.session)
    return protocol.Ok(request.request_id)


@handles(protocol.Say)
async def say_words(call: Call, request: protocol.Say) -> protocol.Replied:
    mind, conversation = call.mind, call.mind.conversations.named(request.conversation)
    events, stop = _TurnToSession(call.session, request.request_id), ReplyStop()

    def turn() -> Coroutine[None, None, TurnResult]:
        return conversation.say(request.text, events, off_record=request.off_record is True, stop=stop)

    reply = call.detached.start(call.session, turn, "turn")
    try:
        await asyncio.wait((reply,))
    except asyncio.CancelledError:
        # Cancelled by the client: stop the reply. Disconnected: let it go on and be stored.
        if call.session.is_gone:
            raise
        stop.request()
        await asyncio.wait((reply,))
    result = reply.result()
    if isinstance(result, Exception):
        raise result
    return _replied_frame(request.request_id, result, mind.models.conversation.name)


@handles(protocol.NoteWriting)
async def note_writing(call: Call, request: protocol.NoteWriting) -> protocol.Ok:
    call.mind.activity.note_writing()
    call.mind.conversations.named(request.conversation).request_read_ahead()
    return protocol.Ok(request.request_id)


@handles(protocol.AskConversations)
async def list_conversations(call: Call, request: protocol.AskConversations) -> protocol.Conversations:
    current_id = call.mind.conversation.conversation_id
    matches = await call.mind.memory.past_talk.find_conversations(request.words, request.limit)
    return protocol.Conversations(
        request.request_id, [_past_frame(match, is_held=match.conversation_id == current_id) for match in matches]
    )


@handles(protocol.AskTurns)
async def show_turns(call: Call, request: protocol.AskTurns) -> protocol.Turns:
    past, wanted = call.mind.memory.past_talk, request.conversation_id
    name = await past.resolve_id(wanted) if wanted else call.mind.conversation.conversation_id
    turns = await past.turns(name, request.before, request.limit)
    said = said_turns(turns, await read_citations(call.mind.database, [turn.id for turn in turns]))
    return protocol.Turns(request.request_id, name, said, turns[0].position if turns else 0)


@handles(protocol.AskPastWords)
async def find_past_words(call: Call, request: protocol.AskPastWords) -> protocol.PastWords:
    texts = await call.mind.memory.past_talk.find_owner_words(request.words, request.limit)
    return protocol.PastWords(request.request_id, [plain(text) for text in texts])


@handles(protocol.NewConversation)
async def begin_conversation(call: Call, request: protocol.NewConversation) -> None:
    conversation = call.mind.conversations.named(request.conversation)
    await conversation.begin_new()
    call.send(protocol.Ok(request.request_id))
    call.clients.notify_switched(conversation)


@handles(protocol.ResumeConversation)
async def resume_conversation(call: Call, request: protocol.ResumeConversation) -> None:
    conversation = call.mind.conversations.named(request.conversation)
    await conversation.go_back_to(request.conversation_id)
    call.send(protocol.Ok(request.request_id))
    call.clients.notify_switched(conversation)


@handles(protocol.TakeBack)
async def take_back_words(call: Call, request: protocol.TakeBack) -> None:
    conversation = call.mind.conversations.named(request.conversation)
    call.send(protocol.TakenBack(request.request_id, plain(await conversation.take_back())))
    call.clients.notify_switched(conversation)


@dataclass(frozen=True, slots=True)
class _TurnToSession:
    """Sends the events of one turn as frames to the client that asked."""

    session: Session
    request_id: int

    def recalled(self, recall: Recall, memories: Sequence[PromptMemory]) -> None:
        self.session.outbox.send(recalled_frame(self.request_id, recall, memories))

    def help(self, text: str) -> None:
        self.session.outbox.send(protocol.Help(self.request_id, text))

    def token(self, text: str) -> None:
        # Not sanitised here: a token may end within an escape sequence. The client sanitises the whole text.
        self.session.outbox.send_piece(protocol.Token(self.request_id, text))

    def stored(self, what: str, turn_id: str) -> None:
        self.session.outbox.send(protocol.Stored(self.request_id, what, turn_id))


def _replied_frame(request_id: int, result: TurnResult, model: str) -> protocol.Replied:
    draft = result.draft
    usage = draft.usage or Usage(0, 0)
    return protocol.Replied(
        request_id=request_id,
        turn_id=result.reply_turn.id if result.reply_turn else "",
        text=draft.text,
        reason=draft.reason,
        explanation=plain(draft.explanation),
        model=model,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        first_token_seconds=result.first_token_seconds,
        seconds=result.seconds,
        citations=citation_entries(result.citations),
    )


def _past_frame(conversation: protocol.PastConversation, *, is_held: bool) -> protocol.PastConversation:
    return msgspec.structs.replace(
        conversation,
        source=one_line(conversation.source, 80),
        opening=one_line(conversation.opening, _LINE_CHARS),
        found=one_line(conversation.found, _LINE_CHARS),
        is_held=is_held,
    )
