"""A model whose answers are watched: for deep sleep, whose answers no client sees grow (R-129).

As it comes, an answer is cut where it goes round. Answers of a known form repeat their keys by nature, so that only
what comes back word for word counts there. When it is whole, its texts are weighed by what watches replies; one that
would have been cut there is no answer.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reveries.config import BreakerSettings
from reveries.errors import ModelAnswerError
from reveries.llm.base import ChatModel, Delta, Finished, Message, Prompt, Role, StreamEvent
from reveries.llm.structured import parse
from reveries.safety.breaker import loop_verdict
from reveries.safety.kept_text import kept_verdict
from reveries.safety.repetition import LoopFinder
from reveries.safety.verdict import CONTINUE, Reason, Verdict
from reveries.safety.word_order import WordOrder, load_word_order

_WHAT_IT_WROTE: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.LOOP_DETECTED: "wrote the same over and over",
        Reason.SUSTAINED_DISTRESS: "wrote of a distress of its own",
        Reason.INCOHERENCE: "wrote what is no language",
    }
)


class WatchedModel:
    """The ChatModel port around another. `tell` gets the verdict and the text so far, before the call fails."""

    def __init__(
        self, model: ChatModel, settings: BreakerSettings, tell: Callable[[Verdict, str], Awaitable[None]]
    ) -> None:
        self._model = model
        self._settings = settings
        self._tell = tell
        self._order: WordOrder | None = None

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """As the model's. Raises ModelAnswerError where the answer goes round, the call is ended there; and at the
        end of one whose texts are not fit to be kept."""
        finder = LoopFinder(self._settings.loop_window_tokens, word_for_word=True)
        text = ""
        async with contextlib.aclosing(self._model.stream(prompt)) as events:
            async for event in events:
                if isinstance(event, Delta) and self._settings.enabled:
                    text += event.text
                    if (verdict := loop_verdict(finder.feed(event.text))) is not None:
                        await self._refuse(verdict, text, "was cut")
                elif isinstance(event, Finished) and (verdict := await self._weigh(text)).stops:
                    await self._refuse(verdict, text, "is not believed")
                yield event

    async def _weigh(self, text: str) -> Verdict:
        """What the breaker says of the texts in a whole answer; of one in no form nobody makes anything."""
        try:
            answer = parse(text, dict[str, object])
        except ValueError:
            return CONTINUE
        if self._order is None:
            self._order = await asyncio.to_thread(load_word_order)
        return kept_verdict(answer, self._settings, self._order)

    async def _refuse(self, verdict: Verdict, text: str, what_became: str) -> None:
        await self._tell(verdict, text)
        raise ModelAnswerError(
            f"{self.name} {_WHAT_IT_WROTE[verdict.reason]} and {what_became}.",
            advice="What was asked about is kept; it is asked again later.",
        )

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[Message], role: Role) -> None:
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        await self._model.aclose()
