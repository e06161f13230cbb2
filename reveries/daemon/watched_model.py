"""A model whose answers are watched: for deep sleep, whose answers no client sees grow (R-129).

As it comes, an answer is cut where it goes round. Answers of a known form repeat their keys by nature, so that only
what comes back word for word counts there. When it is whole, its texts are weighed by what watches replies, by rules
and by meaning; one that would have been cut there is no answer.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reveries.config import BreakerSettings
from reveries.errors import ModelAnswerError, ReveriesError
from reveries.llm.base import ChatMessage, ChatModel, Delta, Embedder, Finished, Prompt, Role, StreamEvent
from reveries.llm.structured import parse
from reveries.safety.breaker import loop_verdict
from reveries.safety.kept_text import answer_sentences, kept_verdict, meaning_verdict
from reveries.safety.likeness import Likeness, load_likeness
from reveries.safety.repetition import LoopFinder
from reveries.safety.verdict import CONTINUE, TripReason, Verdict
from reveries.safety.word_order import WordOrder, load_word_order

_WHAT_IT_WROTE: Final[Mapping[TripReason, str]] = MappingProxyType(
    {
        TripReason.LOOP_DETECTED: "wrote the same over and over",
        TripReason.SUSTAINED_DISTRESS: "wrote of a distress of its own",
        TripReason.INCOHERENCE: "wrote what is no language",
    }
)


class WatchedModel:
    """The ChatModel port around another. `tell` gets the verdict and the text so far, before the call fails.
    `embedder` is the one on this machine, nothing is sent anywhere for it; without the one that likeness was learned
    for, rules stand alone. `heard` is called for each piece that comes."""

    def __init__(
        self,
        model: ChatModel,
        settings: BreakerSettings,
        tell: Callable[[Verdict, str], Awaitable[None]],
        embedder: Embedder | None = None,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        self._model = model
        self._settings = settings
        self._tell = tell
        self._embedder = embedder
        self._heard = heard
        self._known: tuple[WordOrder, Likeness] | None = None

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
                self._heard()
                if isinstance(event, Delta) and self._settings.enabled:
                    text += event.text
                    if (verdict := loop_verdict(finder.feed(event.text))) is not None:
                        await self._refuse(verdict, text, "was cut")
                elif isinstance(event, Finished) and (verdict := await self._weigh_text(text)).stops:
                    await self._refuse(verdict, text, "is not believed")
                yield event

    async def _weigh_text(self, text: str) -> Verdict:
        """What the breaker says of the texts in a whole answer; of one in no form nobody makes anything."""
        try:
            answer = parse(text, dict[str, object])
        except ValueError:
            return CONTINUE
        if self._known is None:
            self._known = await asyncio.to_thread(load_word_order), await asyncio.to_thread(load_likeness)
        order, likeness = self._known
        verdict = kept_verdict(answer, self._settings, order)
        return verdict if verdict.stops else await self._weigh_meaning(answer, likeness)

    async def _weigh_meaning(self, answer: object, likeness: Likeness) -> Verdict:
        if self._embedder is None or self._embedder.model_id != likeness.model_id or not self._settings.enabled:
            return CONTINUE
        for sentences in answer_sentences(answer):
            try:
                vectors = await self._embedder.embed(sentences)
            except ReveriesError:  # What cannot be embedded now was weighed by its words.
                return CONTINUE
            verdict = meaning_verdict(sentences, vectors, self._settings, likeness)
            if verdict.stops:
                return verdict
        return CONTINUE

    async def _refuse(self, verdict: Verdict, text: str, what_became: str) -> None:
        await self._tell(verdict, text)
        raise ModelAnswerError(
            f"{self.name} {_WHAT_IT_WROTE[verdict.reason]} and {what_became}.",
            advice="What was asked about is kept; it is asked again later.",
        )

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        await self._model.aclose()
