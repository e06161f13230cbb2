"""Answers about what was said before, and the owner's hand on the conversation. Nothing is decided here."""

from typing import assert_never

from reveries import protocol
from reveries.daemon.conversation import Conversation
from reveries.daemon.wire import said_turns
from reveries.memory.memory import Memory
from reveries.memory.past_talk import PastConversation
from reveries.plaintext import one_line, plain

_LINE_CHARS = 240


async def answer_about_talk(
    memory: Memory, conversation: Conversation, request: protocol.TalkRequest
) -> protocol.Frame:
    """The answer to one of these requests. Raises NotFoundError and UndoError."""
    number = request.request_id
    match request:
        case protocol.AskConversations():
            held = conversation.conversation_id
            found = await memory.past_talk.conversations(request.words, request.limit)
            return protocol.Conversations(number, [_past(one, is_held=one.id == held) for one in found])
        case protocol.AskTurns():
            return await _turns(memory, conversation, request)
        case protocol.AskPastWords():
            texts = await memory.past_talk.owner_words(request.words, request.limit)
            return protocol.PastWords(number, [plain(text) for text in texts])
        case protocol.NewConversation():
            await conversation.begin_new()
            return protocol.Ok(number)
        case protocol.ResumeConversation():
            await conversation.go_back_to(request.conversation_id)
            return protocol.Ok(number)
        case protocol.TakeBack():
            return protocol.TakenBack(number, plain(await conversation.take_back()))
        case _:
            assert_never(request)


async def _turns(memory: Memory, conversation: Conversation, request: protocol.AskTurns) -> protocol.Turns:
    wanted = request.conversation_id
    name = await memory.past_talk.any_conversation_id(wanted) if wanted else conversation.conversation_id
    turns = await memory.past_talk.turns(name, request.before, request.limit)
    return protocol.Turns(request.request_id, name, said_turns(turns), turns[0].position if turns else 0)


def _past(one: PastConversation, *, is_held: bool) -> protocol.PastConversation:
    return protocol.PastConversation(
        conversation_id=one.id,
        began_at=one.began_at,
        last_said_at=one.last_said_at,
        source=one_line(one.source, 80),
        turns=one.turn_count,
        opening=one_line(one.opening, _LINE_CHARS),
        found=one_line(one.found, _LINE_CHARS),
        is_held=is_held,
    )
