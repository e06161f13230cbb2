"""Lets a small model say which recalled exchange answers the words, before it is told that one alone.

A small model that is told three exchanges mistakes one for the answer whether it is there or not. Asked which line
answers, it spreads its probability over the lines where none does. That and the nearness in meaning decide together, so
no wording of any language is involved. Measured in docs/benchmarks/talk.md.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from reveries.daemon.prompt_memories import PromptMemory
from reveries.errors import ModelError
from reveries.llm.base import ChatMessage, ChatModel, Finished, Prompt, Role
from reveries.prompts import prompt

MOST_LINES: Final = 4
"""Of 50 facts of thirty days 47 are in the first four lines, 39 in the first."""
MOST_OF_TIME: Final = 7
"""Told of a time that the words name, and nothing else: a week has seven days."""
SURE: Final = 0.85
"""From this sum of the model's probability and the match a line answers. Of twelve questions about things never said
none reaches it (at most 0.81), of fourteen about facts eleven do with the right line and one with a wrong one."""
_ANSWER_BEGINS: Final = '{"line": '


def reading_prompt(words: str, memories: Sequence[PromptMemory]) -> Prompt:
    """Build the question: numbered lines, then the words; the answer is begun, so that its next token is a number.
    Pure."""
    lines = "\n".join(f"{number}. {item.quote}" for number, item in enumerate(memories, 1))
    messages = (
        ChatMessage("system", prompt("which_line")),
        ChatMessage("user", f"{lines}\n\nQuestion: {words}"),
        ChatMessage("assistant", _ANSWER_BEGINS),
    )
    return Prompt(Role.CONVERSATION, messages, max_tokens=1, temperature=0.0, is_aside=True)


def pick_line(probabilities: Mapping[str, float], memories: Sequence[PromptMemory]) -> list[PromptMemory]:
    """Return the memory that answers by `probabilities` of the numbers and its match; none if no line is sure. Pure."""
    sums = [probabilities.get(str(number), 0.0) + item.match for number, item in enumerate(memories, 1)]
    best = max(range(len(sums)), key=sums.__getitem__, default=None)
    return [memories[best]] if best is not None and sums[best] >= SURE else []


async def find_answer(model: ChatModel, words: str, memories: Sequence[PromptMemory]) -> list[PromptMemory]:
    """Return the memory that answers `words` in the judgement of `model`; none if it fails.

    A model that does not tell its probabilities is not asked: it is told the best match.
    """
    lines = [item for item in memories if item.quote][:MOST_LINES]
    if not lines or not model.tells_probabilities:
        return list(lines[:1] or memories[:1])
    try:
        async for event in model.stream(reading_prompt(words, lines)):
            if isinstance(event, Finished) and event.first_token is not None:
                return pick_line(event.first_token, lines)
    except ModelError:
        return []
    return lines[:1]
