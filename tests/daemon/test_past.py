"""Earlier conversations: search, read and resume; a new one; taking the last words back."""

from pathlib import Path

import pytest

from reveries import protocol
from reveries.errors import NotFoundError, UndoError
from reveries.memory.importing import PastTurn
from tests.daemon.asking import ask
from tests.daemon.kit import Talk, talking


async def _all(talk: Talk, words: str = "") -> list[protocol.PastConversation]:
    return (await ask(talk, protocol.AskConversations(1, words), protocol.Conversations)).conversations


async def test_a_new_conversation_begins_at_the_owners_word_and_the_old_one_rests(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.conversation.open()
        await talk.say("The pear tree stays.")
        old = talk.conversation.conversation_id
        await ask(talk, protocol.NewConversation(1), protocol.Ok)
        new = talk.conversation.conversation_id
        assert new != old
        assert talk.around.rested == [old]
        assert talk.conversation.turn_count == 0
        await talk.conversation.open()
        assert talk.conversation.conversation_id == new, "it stays the one to go on with"
        await ask(talk, protocol.NewConversation(2), protocol.Ok)
        assert talk.conversation.conversation_id == new, "of empty ones there is only one"
        assert [(one.opening, one.is_held) for one in await _all(talk)] == [("The pear tree stays.", False)]


async def test_an_earlier_conversation_goes_on_with_its_history(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", "Two.", "Three.") as talk:
        await talk.conversation.open()
        await talk.say("The pear tree stays.")
        old = talk.conversation.conversation_id
        await ask(talk, protocol.NewConversation(1), protocol.Ok)
        await talk.say("Something else.")
        await ask(talk, protocol.ResumeConversation(2, old[:8]), protocol.Ok)
        assert talk.conversation.conversation_id == old
        await talk.conversation.open()
        assert talk.conversation.conversation_id == old, "though another was spoken in last"
        talk.clock.step_wall(60)
        await talk.say("And the wall?")
        sent = [message.text for message in talk.model.prompts[-1].messages]
        assert "The pear tree stays." in "\n".join(sent)
        assert "Something else." not in "\n".join(sent)
        assert [one.is_held for one in await _all(talk)] == [True, False]


async def test_conversations_and_words_are_found_and_read_in_parts(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", "Two.", "Three.") as talk:
        await talk.conversation.open()
        await talk.say("The pear tree stays.")
        await talk.say("And the wall?")
        await ask(talk, protocol.NewConversation(1), protocol.Ok)
        await talk.say("Soup today.")
        (found,) = await _all(talk, "PEAR tree")
        assert (found.found, found.turns, found.source) == ("The pear tree stays.", 4, "chat")
        assert await _all(talk, "a hundred % of _") == []
        last = await ask(talk, protocol.AskTurns(1, found.conversation_id[:8], None, 2), protocol.Turns)
        assert ([turn.text for turn in last.turns], last.earlier_count) == (["And the wall?", "Two."], 2)
        first = await ask(talk, protocol.AskTurns(1, found.conversation_id, last.earlier_count), protocol.Turns)
        assert ([turn.text for turn in first.turns], first.earlier_count) == (["The pear tree stays.", "One."], 0)
        words = await ask(talk, protocol.AskPastWords(1, "the"), protocol.PastWords)
        assert words.texts == ["And the wall?", "The pear tree stays."]


async def test_an_imported_conversation_is_read_and_not_gone_on_with(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.memory.begin_import("letters").add(
            [PastTurn(1.0, "You", "Dear friend"), PastTurn(2.0, "Tom", "Yes?")]
        )
        (past,) = await _all(talk)
        assert past.source == "letters"
        read = await ask(talk, protocol.AskTurns(1, past.conversation_id), protocol.Turns)
        assert [turn.text for turn in read.turns] == ["Dear friend", "Yes?"]
        with pytest.raises(NotFoundError, match="was imported"):
            await ask(talk, protocol.ResumeConversation(1, past.conversation_id))
        with pytest.raises(NotFoundError):
            await ask(talk, protocol.AskTurns(1, "nothing"))


async def test_the_last_words_are_taken_back_before_sleep_and_not_after(tmp_path: Path) -> None:
    async with talking(tmp_path, "One.", "Two.", "Three.") as talk:
        await talk.conversation.open()
        await talk.say("The pear tree stays.")
        await talk.say("My password is swordfish.")
        taken = await ask(talk, protocol.TakeBack(1), protocol.TakenBack)
        assert taken.words == "My password is swordfish."
        assert talk.conversation.turn_count == 2
        assert await _all(talk, "swordfish") == []
        await talk.say("And the wall?")
        assert "swordfish" not in "\n".join(message.text for message in talk.model.prompts[-1].messages)
        await talk.memory.light_sleep()
        found = await talk.memory.search("password swordfish", 5)
        assert "swordfish" not in str([ranked.turn.text for ranked in found.turns])
        with pytest.raises(UndoError, match="nothing to take back"):
            await talk.conversation.take_back()


async def test_nothing_is_taken_back_where_nothing_was_said(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.conversation.open()
        with pytest.raises(UndoError):
            await talk.conversation.take_back()
