"""Which recalled line answers the words: a small model is told that one alone, or none."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from reveries.daemon.talk.answer_reading import LINE_CHARS, find_answer, read_probabilities, reading_prompt
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.errors import ModelUnavailableError
from reveries.llm.base import ChatMessage, Prompt, Role, StreamEvent
from tests.daemon.kit import talking

FACT = "My sister Marta moved to Lisbon in May."


def _lines(*matches: float) -> list[PromptMemory]:
    return [
        PromptMemory(f"e{number}", f"t{number}", f"- {number}", quote=f"words {number}", match=match, is_owners=True)
        for number, match in enumerate(matches)
    ]


def _picked(probabilities: dict[str, float], *matches: float) -> list[str | None]:
    return [item.turn_id for item in read_probabilities(probabilities, _lines(*matches)).told]


def test_a_line_answers_if_the_model_and_the_nearness_are_sure_together() -> None:
    assert _picked({"1": 0.9, "0": 0.02}, 0.4, 0.3) == ["t0"]
    assert _picked({"3": 0.43, "1": 0.33}, 0.72, 0.4, 0.36) == ["t0"], "near in meaning, and second in its judgement"
    assert _picked({"3": 0.42, "4": 0.4, "2": 0.08}, 0.46, 0.3, 0.24, 0.2) == [], "it spreads where none answers"
    assert _picked({"0": 0.9}, 0.6) == []
    assert _picked({}, 0.4) == _picked({"1": 0.9}) == []


def test_the_question_has_the_words_as_they_were_and_asks_for_one_number() -> None:
    prompt = reading_prompt("Where is Marta?", _lines(0.5, 0.4))
    assert prompt.messages[1] == ChatMessage("user", "1. words 0\n2. words 1\n\nQuestion: Where is Marta?")
    assert (prompt.role, prompt.is_aside, prompt.max_tokens) == (Role.CONVERSATION, True, 1)


LONG = (
    "We spent the whole of Saturday clearing out the loft with my cousins, who had brought sandwiches and a van. "
    "Nobody had been up there since my grandfather died, and there were wasps behind the chimney as well. "
    "In the end the only thing worth keeping was an old violin, which my aunt Rosalind valued at about 900 euros."
)


def test_of_a_long_line_the_piece_that_the_question_asks_for_is_shown_in_whole_words() -> None:
    line = PromptMemory("e", "t", "- long", quote=LONG, match=0.5, is_owners=True)
    shown = reading_prompt("What was the violin valued at?", [line]).messages[1].text.partition("\n")[0]
    assert "valued at about 900 euros" in shown
    assert set(shown.removeprefix("1. ").split()) <= {"…", *LONG.split()}, "no word is cut"
    assert len(shown) <= len("1. ") + LINE_CHARS


async def test_a_long_message_of_an_older_day_is_told_with_the_piece_that_answers(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say(LONG)
        await talk.memory.light_sleep()
        talk.clock.step_wall(20 * 86400)
        talk.conversation.forget_context()
        await talk.conversation.open()
        talk.model.first_token = {"1": 0.9}
        await talk.say("What was the violin valued at?")
        assert "valued at about 900 euros" in talk.model.prompts[-1].messages[-1].text


@pytest.mark.parametrize("probabilities", [{"1": 0.9}, None])
async def test_a_small_model_is_told_what_answers_in_its_own_judgement_or_is_nearest(
    tmp_path: Path, probabilities: dict[str, float] | None
) -> None:
    async with talking(tmp_path) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        talk.clock.step_wall(20 * 86400)
        talk.conversation.forget_context()
        await talk.conversation.open()
        talk.model.first_token = probabilities
        await talk.say("Where did Marta move, and when?")
        assert any(FACT in message.text for message in talk.model.prompts[-1].messages)


async def test_a_model_that_cannot_be_asked_is_told_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:

        def fail(prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
            raise ModelUnavailableError("gone")

        talk.model.first_token = {}
        talk.model.stream = fail  # type: ignore[method-assign]
        assert await find_answer(talk.model, "Where?", _lines(0.9)) == []


async def test_a_model_that_tells_no_probabilities_is_not_asked(tmp_path: Path) -> None:
    """Ollama and hosted models: the question would cost a call and say nothing."""
    async with talking(tmp_path) as talk:
        lines = _lines(0.9)
        assert await find_answer(talk.model, "Where?", lines) == lines[:1]
        assert not talk.model.prompts


@pytest.mark.requirement("R-88")
async def test_statements_tasks_and_common_knowledge_are_not_answered_from_memory(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say(FACT)
        await talk.memory.light_sleep()
        talk.clock.step_wall(20 * 86400)
        talk.conversation.forget_context()
        await talk.conversation.open()
        for words in ("My cat is asleep.", "Write two lines on rain.", "What is seven times eight?"):
            await talk.say(words)
            assert talk.model.prompts[-1].messages[-1].text == words
