"""The only way a model is called: a ChatModel that reserves before each call and settles after it."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from reveries.errors import ModelMissingError
from reveries.llm.base import ChatModel, Delta, Message, Prompt, Role, StreamEvent, Usage
from reveries.llm.budget import Ask, Ledger, Reservation
from reveries.llm.prices import price_of
from reveries.llm.tokens import template_tokens


@dataclass(slots=True)
class _Seen:
    """What came of a call so far."""

    deltas: int = 0
    usage: Usage | None = None
    is_finished: bool = False


class MeteredModel:
    """`model` behind `ledger`. Closing it does not close `model`, which several roles may share."""

    def __init__(self, model: ChatModel, ledger: Ledger) -> None:
        self._model = model
        self._ledger = ledger

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel. Raises BudgetExceededError before anything is asked of the model."""
        reservation = await self._ledger.reserve(await self._ask(prompt))
        seen = _Seen()
        try:
            async with contextlib.aclosing(self._model.stream(prompt)) as events:
                async for event in events:
                    if isinstance(event, Delta):
                        seen.deltas += 1
                    else:
                        seen.usage, seen.is_finished = event.usage, True
                        await self._close(reservation, seen)
                    yield event
        except ModelMissingError:
            await self._ledger.release(reservation)
            raise
        finally:
            if not seen.is_finished:
                await self._close(reservation, seen)

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[Message], role: Role) -> None:
        """Free of charge: only local models do it, and what they read is counted with the call that follows."""
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        """Nothing of its own to give back."""

    async def _ask(self, prompt: Prompt) -> Ask:
        tokens = template_tokens(prompt.messages)
        for message in prompt.messages:
            tokens += await self._model.count_tokens(message.text)
        return Ask(prompt.role, self._model.name, price_of(self._model.name), tokens, prompt.max_tokens)

    async def _close(self, reservation: Reservation, seen: _Seen) -> None:
        """Settle with what the provider said; else, where it is free, with our own count; else leave the worst case."""
        outcome = "answered" if seen.is_finished else "broken off"
        if seen.usage is not None:
            await self._ledger.settle(reservation, seen.usage, outcome)
        elif reservation.ask.price.is_free:
            own_count = Usage(reservation.ask.prompt_tokens if seen.deltas else 0, seen.deltas)
            await self._ledger.settle(reservation, own_count, outcome)
        else:
            await self._ledger.leave_reserved(reservation, f"{outcome}, usage unknown")
