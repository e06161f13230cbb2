"""Checks a small model's answer to a personal question of its owner before it is shown.

A small model makes up what it was never told: a husband, a dog, a date. It answers as in a plain chat, and the first
sentence is held back until it is clear that it has no number and no name of its own. Otherwise the question is answered
anew: with the line that answers before it, or, where none does, with an answer that is begun for the model ("You
haven't told me").
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

from reveries.daemon.talk.added_facts import adds_facts
from reveries.daemon.talk.answer_reading import AnswerReading
from reveries.daemon.talk.personal_questions import PersonalQuestion
from reveries.llm.base import ChatMessage, ChatModel, Delta, Finished, FinishReason, Prompt, StreamEvent
from reveries.memory.text.extracts import sentences_of

MOST_UNTOLD_TOKENS: Final = 40
"""For the rest of the sentence that says what was not told."""


@dataclass(slots=True)
class CheckedModel:
    """The model of one reply to `question`."""

    model: ChatModel
    question: PersonalQuestion
    read: Callable[[], Awaitable[AnswerReading | None]]
    """Returns which line answers the question; None if that cannot be known."""
    is_untold: bool = False
    """Whether code knows already that nothing was said of what is asked for."""
    reading: AnswerReading | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        return self.model.name

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel."""
        for attempt in () if self.is_untold else (prompt, None):
            asked = attempt or self._with_line(prompt)
            is_shown = False
            if asked is not None:
                async with contextlib.aclosing(self._stream_checked(asked, is_first=attempt is not None)) as events:
                    async for event in events:
                        is_shown = True
                        yield event
            if is_shown:
                return
        yield Delta(await self._say_untold(prompt))
        yield Finished(FinishReason.STOP, None)

    async def _stream_checked(self, prompt: Prompt, *, is_first: bool) -> AsyncGenerator[StreamEvent, None]:
        """Yield the reply once its beginning may be shown, or nothing."""
        unchecked: list[StreamEvent] = []
        text, is_checked = "", False
        async with contextlib.aclosing(self.model.stream(prompt)) as events:
            async for event in events:
                if is_checked:
                    yield event
                    continue
                unchecked.append(event)
                text += event.text if isinstance(event, Delta) else ""
                beginning = _beginning_of(text)
                if isinstance(event, Delta) and beginning == text.strip():
                    continue
                if await self._adds_facts(beginning, prompt) and not (is_first and await self._is_of_others()):
                    return
                is_checked = True
                for earlier in unchecked:
                    yield earlier

    async def _is_of_others(self) -> bool:
        """Read which line answers. Whether that is text of others, which is never told as the owner's words, or cannot
        be known: then the reply is shown as it is."""
        self.reading = await self.read()
        return self.reading is None or any(not line.is_owners for line in self.reading.told)

    def _with_line(self, prompt: Prompt) -> Prompt | None:
        """Return the prompt with the line that answers before the question; None if none does."""
        if self.reading is None or not self.reading.told:
            return None
        last = prompt.messages[-1]
        asked = f"{self.reading.told[0].quote}\n\n{last.text}"
        return replace(prompt, messages=(*prompt.messages[:-1], replace(last, text=asked)))

    async def _say_untold(self, prompt: Prompt) -> str:
        """Return one sentence that says that this was not told, without a fact of the model's own."""
        begun = (*prompt.messages, ChatMessage("assistant", self.question.untold))
        text = self.question.untold
        asked = replace(prompt, messages=begun, max_tokens=MOST_UNTOLD_TOKENS)
        async with contextlib.aclosing(self.model.stream(asked)) as events:
            async for event in events:
                text += event.text if isinstance(event, Delta) else ""
                sentences = sentences_of(text)
                is_cut = isinstance(event, Finished) and event.reason is FinishReason.LENGTH
                if len(sentences) > 1 or (isinstance(event, Finished) and not is_cut):
                    is_whole = sentences[0] != self.question.untold
                    adds = await self._adds_facts(sentences[0], prompt)
                    return sentences[0] if is_whole and not adds else self.question.untold_whole
        return self.question.untold_whole

    async def _adds_facts(self, sentence: str, prompt: Prompt) -> bool:
        """Whether it adds facts to what the owner said and to the mind's own name, which the system line says: the
        model's own words may be made up."""
        texts = [message.text for message in prompt.messages if message.role != "assistant"]
        return await asyncio.to_thread(adds_facts, sentence, texts, self.question.asked)


def _beginning_of(text: str) -> str:
    """Return the first sentence, with the second where the first is one word ("Sure.")."""
    sentences = sentences_of(text)
    count = 1 if sentences and " " in sentences[0] else 2
    return " ".join(sentences[:count])
