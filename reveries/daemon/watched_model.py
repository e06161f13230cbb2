"""A model whose answers are watched for loops as they come: for deep sleep, whose answers no client sees grow (R-129).

Answers of a known form repeat their keys by nature, so that only what comes back word for word counts here.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from reveries.config import BreakerSettings
from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatModel, Delta, Message, Prompt, Role, StreamEvent
from reveries.safety.breaker import loop_verdict
from reveries.safety.repetition import LoopFinder
from reveries.safety.verdict import Verdict


class WatchedModel:
    """The ChatModel port around another. `tell` gets the verdict and the text so far, before the call fails."""

    def __init__(
        self, model: ChatModel, settings: BreakerSettings, tell: Callable[[Verdict, str], Awaitable[None]]
    ) -> None:
        self._model = model
        self._settings = settings
        self._tell = tell

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """As the model's. Raises ModelAnswerError where the answer goes round; the call is ended there."""
        finder = LoopFinder(self._settings.loop_window_tokens, word_for_word=True)
        text = ""
        async with contextlib.aclosing(self._model.stream(prompt)) as events:
            async for event in events:
                if isinstance(event, Delta) and self._settings.enabled:
                    text += event.text
                    if (verdict := loop_verdict(finder.feed(event.text))) is not None:
                        await self._tell(verdict, text)
                        raise ModelAnswerError(
                            f"{self.name} wrote the same over and over and was cut.",
                            advice="What was asked about is kept; it is asked again later.",
                        )
                yield event

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[Message], role: Role) -> None:
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        await self._model.aclose()
