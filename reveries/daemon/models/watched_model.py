"""A model whose answers are checked: for deep sleep and project work, whose answers no client watches (R-129).

While it is streamed, an answer is cut where it loops. Structured answers repeat their keys, so that only verbatim
repetitions count. When it is complete, its texts are checked like replies, by rules and by meaning; an answer that
fails is rejected. What a step of project work hands to a tool is neither: programs, tables and commands repeat by
nature, and a model that loops in them is stopped by the length of its answer.
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
from reveries.safety.kept_text import answer_sentences, is_step, kept_verdict, meaning_verdict, stated_by
from reveries.safety.likeness import TextLikeness, load_likeness
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
    """The ChatModel port around another model. `tell` gets the verdict and the text so far before the call fails.
    `embedder` is local, so that no text is sent away; without the one that likeness was trained for, only rules are
    used. `heard` is called for each streamed piece."""

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
        self._known: tuple[WordOrder, TextLikeness] | None = None

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def tells_probabilities(self) -> bool:
        return self._model.tells_probabilities

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """Stream the model's answer. Raises ModelAnswerError, and ends the call, when it loops, and at the end if its
        texts must not be stored."""
        finder = LoopFinder(self._settings.loop_window_tokens, word_for_word=True)
        text = ""
        async with contextlib.aclosing(self._model.stream(prompt)) as events:
            async for event in events:
                self._heard()
                if isinstance(event, Delta) and self._settings.enabled:
                    text += event.text
                    if not is_step(text) and (verdict := loop_verdict(finder.feed(event.text))) is not None:
                        await self._reject(verdict, text, "was cut")
                elif isinstance(event, Finished) and (verdict := await self._check_text(text)).stops:
                    await self._reject(verdict, text, "is not believed")
                yield event

    async def _check_text(self, text: str) -> Verdict:
        """Return the breaker's verdict on the texts of a complete answer; an unparsable one is not used anyway."""
        try:
            answer = stated_by(parse(text, dict[str, object]))
        except ValueError:
            return CONTINUE
        if self._known is None:
            self._known = await asyncio.to_thread(load_word_order), await asyncio.to_thread(load_likeness)
        order, likeness = self._known
        verdict = kept_verdict(answer, self._settings, order)
        return verdict if verdict.stops else await self._check_meaning(answer, likeness)

    async def _check_meaning(self, answer: object, likeness: TextLikeness) -> Verdict:
        if self._embedder is None or self._embedder.model_id != likeness.model_id or not self._settings.enabled:
            return CONTINUE
        for sentences in answer_sentences(answer):
            try:
                vectors = await self._embedder.embed(sentences)
            except ReveriesError:  # The rules have checked it already.
                return CONTINUE
            verdict = meaning_verdict(sentences, vectors, self._settings, likeness)
            if verdict.stops:
                return verdict
        return CONTINUE

    async def _reject(self, verdict: Verdict, text: str, what_became: str) -> None:
        await self._tell(verdict, text)
        raise ModelAnswerError(
            f"{self.name} {_WHAT_IT_WROTE[verdict.reason]} and {what_became}.",
            advice="Nothing is lost; the model is asked again later.",
        )

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        await self._model.aclose()
