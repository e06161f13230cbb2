"""Lets a small model say which line answers the words, before it is told that one alone.

A small model that is told three exchanges mistakes one for the answer whether it is there or not. Asked which line
answers, it spreads its probability over the lines where none does. That and the nearness in meaning decide together, so
no wording of any language is involved. Measured in docs/benchmarks/talk.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.errors import ModelError
from reveries.llm.base import ChatMessage, ChatModel, Finished, Prompt, Role
from reveries.memory.text.quoting import quote_around
from reveries.prompts import prompt

MOST_LINES: Final = 4
"""Of 50 facts of thirty days 47 are in the first four lines, 39 in the first."""
LINE_CHARS: Final = 160
"""The owner waits while the lines are read: about a second for two of them on two idle cores."""
MOST_OF_TIME: Final = 7
"""Told of a time that the words name, and nothing else: a week has seven days."""
SURE: Final = 0.85
"""From this sum of the model's probability and the match a line answers. Of 70 questions that one of six to nine lines
answers 65 reach it, of 84 about things never said 34, with a line about the same person or thing. Of the fifty facts of
thirty days, with the best four lines of recall: eleven of fourteen with the right line, none of twelve never told."""
_ANSWER_BEGINS: Final = '{"line": '


@dataclass(frozen=True, slots=True)
class AnswerReading:
    """Which line answers best, and how sure that is."""

    line: PromptMemory | None
    sure: float
    """Its probability and its match, added up."""

    @property
    def told(self) -> list[PromptMemory]:
        """The line, if it answers."""
        return [self.line] if self.line is not None and self.sure >= SURE else []


def reading_prompt(words: str, memories: Sequence[PromptMemory]) -> Prompt:
    """Build the question: numbered lines, then the words; the answer is begun, so that its next token is a number.
    Pure."""
    lines = "\n".join(
        f"{number}. {quote_around(item.quote, words, LINE_CHARS)}" for number, item in enumerate(memories, 1)
    )
    messages = (
        ChatMessage("system", prompt("which_line")),
        ChatMessage("user", f"{lines}\n\nQuestion: {words}"),
        ChatMessage("assistant", _ANSWER_BEGINS),
    )
    return Prompt(Role.CONVERSATION, messages, max_tokens=1, temperature=0.0, is_aside=True)


def read_probabilities(probabilities: Mapping[str, float], lines: Sequence[PromptMemory]) -> AnswerReading:
    """Return which line answers best by `probabilities` of the numbers and its match. Pure."""
    sums = [probabilities.get(str(number), 0.0) + line.match for number, line in enumerate(lines, 1)]
    best = max(range(len(sums)), key=sums.__getitem__, default=None)
    return AnswerReading(None, 0.0) if best is None else AnswerReading(lines[best], sums[best])


async def read_lines(model: ChatModel, words: str, memories: Sequence[PromptMemory]) -> AnswerReading | None:
    """Return which of the first `memories` answers `words` in the judgement of `model`; None if it cannot be asked."""
    lines = [item for item in memories if item.quote][:MOST_LINES]
    if not lines:
        return AnswerReading(None, 0.0)
    try:
        async for event in model.stream(reading_prompt(words, lines)):
            if isinstance(event, Finished) and event.first_token is not None:
                return read_probabilities(event.first_token, lines)
    except ModelError:
        pass
    return None


async def find_answer(model: ChatModel, words: str, memories: Sequence[PromptMemory]) -> list[PromptMemory]:
    """Return the memory that answers `words` in the judgement of `model`; none if it fails.

    A model that does not tell its probabilities is not asked: it is told the best match.
    """
    if not model.tells_probabilities:
        quoted = [item for item in memories if item.quote]
        return list(quoted[:1] or memories[:1])
    if memories and not any(item.quote for item in memories):
        return list(memories[:1])
    reading = await read_lines(model, words, memories)
    return [] if reading is None else reading.told
