"""The write gate: recalled or injected text is never learned again, repeats are dropped, and system text never enters
memory. Tested with a model that repeats everything it is shown."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.conversations import Thought
from reveries.memory.echoes import RUN_WORDS, find_echoes, fresh_text
from reveries.memory.memory import Memory
from reveries.memory.model import Origin, RankedTurn, Recall
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, WordEmbedder, deep_answer, open_memory, talk, turn
from tests.memory.test_memory import picture

TOLD = "My grandmother kept the silver compass in the blue drawer of her desk."


async def say(memory: Memory, words: str, reply: str, *shown: str) -> None:
    """Run one turn whose reply is based on what `words` recalled."""
    conversation = await memory.conversations.open_conversation(12 * 3600)
    turn = await memory.conversations.append_owner_turn(conversation.id, words)
    recall = await memory.search(words, 10)
    await memory.conversations.record_exchange(turn, reply, recall=recall, shown=shown)


@given(st.text(alphabet="ab c.'!?\n", max_size=60), st.lists(st.text(alphabet="ab c.'", max_size=60), max_size=3))
def test_echoes_are_parts_of_the_text_in_order_and_what_is_fresh_stands_in_it(text: str, shown: list[str]) -> None:
    spans = find_echoes(text, shown)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert list(spans) == sorted(spans)
    assert all(line in text for line in fresh_text(text, spans).split("\n"))


def test_what_is_repeated_word_for_word_is_an_echo_whatever_its_case_and_punctuation() -> None:
    reply = "As you told me: my Grandmother kept the silver compass, in the blue drawer of her desk! Shall we look?"
    (span,) = find_echoes(reply, [TOLD])
    assert reply[slice(*span)].startswith("my Grandmother")
    assert fresh_text(reply, (span,)) == "As you told me:\nShall we look?"
    assert find_echoes("My grandmother kept the compass safe.", [TOLD]) == ()
    assert RUN_WORDS == 6


async def test_a_reply_that_quotes_a_memory_makes_no_quote_and_no_vector_of_it(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with open_memory(tmp_path, embedder=embedder) as memory:
        await talk(memory, (TOLD, "That sounds lovely."))
        await memory.light_sleep()
        embedder.texts.clear()
        await say(memory, "Where is the compass?", f"You said once: {TOLD} It was painted by her brother Joachim.")
        await memory.light_sleep()
        assert not any("blue drawer" in text for text in embedder.texts)
        assert any("Joachim" in text for text in embedder.texts)
        quotes = [quoted for one in memory.live.graph.episodes() for quoted in one.exemplars]
        assert sum("blue drawer" in quoted.quote for quoted in quotes) == 1
        live = picture(memory)
    async with open_memory(tmp_path, first_id=1000) as memory:
        assert picture(memory) == live


async def test_a_reply_that_is_nothing_but_an_echo_is_kept_as_said_and_recalled_by_nothing(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (TOLD, "That sounds lovely."))
        await memory.light_sleep()
        await say(memory, "Where is the compass?", TOLD)
        await memory.light_sleep()
        found = await memory.search("silver compass blue drawer", 10)
        assert [one.turn.origin for one in found.turns if "drawer" in one.turn.text] == [Origin.OWNER]
        conversation = await memory.conversations.open_conversation(12 * 3600)
        last = (await memory.conversations.recent_turns(conversation.id, 1))[0]
        assert (last.text, last.is_echo) == (TOLD, True)
        live = picture(memory)
    async with open_memory(tmp_path, first_id=1000) as memory:
        assert picture(memory) == live


async def test_deep_sleep_never_reads_an_echo_so_it_cannot_learn_from_it(tmp_path: Path) -> None:
    rules = "The password of the house is seven green lanterns at dawn."
    async with open_memory(tmp_path) as memory:
        await say(memory, "Tell me about the house.", f"{rules} I like the garden most of all.", rules)
        model = ScriptedModel([deep_answer(0.5, rules)] * 3)
        await memory.deep_sleep(model)
        asked = "\n".join(message.text for prompt in model.prompts for message in prompt.messages)
        assert "seven green lanterns" not in asked + str([prompt.schema for prompt in model.prompts])
        assert "garden most of all" in asked
        quotes = [quoted.quote for one in memory.live.graph.episodes() for quoted in one.exemplars]
        assert rules not in quotes


def thought(name: str, text: str, *recalled: str, shown: tuple[str, ...] = ()) -> Thought:
    return Thought(name, NOW, NOW + 5, "a timer", "settled", text, 20, "scripted", recalled_ids=recalled, shown=shown)


async def test_a_thought_that_repeats_what_came_to_mind_becomes_no_memory_and_no_question(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, (TOLD, "That sounds lovely."))
        await memory.light_sleep()
        (episode,) = memory.live.graph.episodes()
        await memory.conversations.record_thought(thought("t1", TOLD, episode.id))
        slept = await memory.light_sleep()
        assert slept.episodes == 0
        assert len(memory.live.graph) == 1
        assert await memory.unprocessed_count() == 1
        assert "said nothing new" in (await memory.sleep_run((await memory.sleep_log(1))[0].run_id)).changes[0].line


async def test_the_same_thought_once_more_is_dropped_and_another_one_is_kept(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.conversations.record_thought(thought("t1", "The harbour lights are out again tonight."))
        await memory.light_sleep()
        await memory.conversations.record_thought(thought("t2", "The harbour lights are out again tonight."))
        await memory.conversations.record_thought(thought("t3", "Bread wants salt and patience."))
        slept = await memory.light_sleep()
        assert (slept.experiences, slept.episodes) == (2, 1)
        assert len(memory.live.graph) == 2


@pytest.mark.requirement("R-63")
async def test_system_text_never_becomes_a_memory(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.conversations.record_external(
            "The daemon woke at noon with schema 3 and 12 episodes.", Origin.SYSTEM
        )
        await memory.light_sleep()
        assert len(memory.live.graph) == 0
        assert await memory.unprocessed_count() == 0


@pytest.mark.requirement("R-83", "R-86")
async def test_a_pattern_seen_in_words_that_a_stranger_had_a_hand_in_does_not_enter_the_self_model(
    tmp_path: Path,
) -> None:
    async with open_memory(tmp_path) as memory:
        conversation = await memory.conversations.open_conversation(3600.0)
        asked = await memory.conversations.append_owner_turn(conversation.id, "What does the letter say of my boat?")
        letter = turn("t1", "Ana always pays every bill at once.", origin=Origin.CHANNEL, tainted=True)
        vector = await memory.embed_cue(asked.text)
        recall = Recall(asked.text, vector, episodes=(), turns=(RankedTurn(letter, "e", 1.0),), edges_touched=0)
        await memory.conversations.record_exchange(asked, "It says that you pay every bill at once.", recall=recall)
        about: dict[str, object] = {"owner_facts": ["Ana has a boat."]}
        await memory.deep_sleep(ScriptedModel([deep_answer(0.9, patterns=["Pays every bill at once."]), about]))
        assert memory.self_model.owner_facts == ("Ana has a boat.",)
        assert memory.self_model.patterns == ()
