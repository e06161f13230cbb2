"""The only way a model is called: a ChatModel that reserves before each call and settles after it.

What a provider says it used is a claim. It is taken when it can be true; what cannot be true, and what comes from an
endpoint that nobody vouches for, never lowers the worst case that was reserved (docs/explain/money.md).
"""

import contextlib
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from reveries.errors import DiskFullError, ModelError, ModelMissingError, ModelUnavailableError
from reveries.llm.base import ChatMessage, ChatModel, Delta, Prompt, Role, StreamEvent, Usage
from reveries.llm.budget import Ledger, Reservation
from reveries.llm.caps import PlannedCall
from reveries.llm.faults import NOT_BILLED
from reveries.llm.prices import Price, price_of
from reveries.llm.tokens import estimate_tokens, template_tokens

_WORDS_A_TOKEN = 2
"""Tokenizers split at spaces: a word is a token or more. Half of that leaves room for one that does not."""
_WORD = re.compile(r"\S+")


@dataclass(slots=True)
class _CallProgress:
    """What came of a call so far."""

    pieces: list[str] = field(default_factory=list)
    usage: Usage | None = None
    is_finished: bool = False


class MeteredModel:
    """`model` behind `ledger`. Closing it does not close `model`, which several roles may share."""

    def __init__(
        self,
        model: ChatModel,
        ledger: Ledger,
        *,
        believes_usage: bool = True,
        find_price: Callable[[str], Price] = price_of,
    ) -> None:
        """`believes_usage` False: what `model` says it used can raise what is charged, never lower it."""
        self._model = model
        self._ledger = ledger
        self._believes_usage = believes_usage
        self._find_price = find_price

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel. Raises BudgetExceededError before anything is asked of the model."""
        reservation = await self._ledger.reserve(await self._ask_for(prompt))
        seen = _CallProgress()
        try:
            async with contextlib.aclosing(self._model.stream(prompt)) as events:
                async for event in events:
                    if isinstance(event, Delta):
                        seen.pieces.append(event.text)
                    else:
                        seen.usage, seen.is_finished = event.usage, True
                        await self._close_call(reservation, seen, prompt)
                    yield event
        except ModelError as error:
            if not seen.pieces and not seen.is_finished and was_not_billed(error):
                with contextlib.suppress(DiskFullError):
                    await self._ledger.release(reservation)
                seen.is_finished = True
            raise
        finally:
            if not seen.is_finished:
                await self._close_call(reservation, seen, prompt)

    async def count_tokens(self, text: str) -> int:
        return await self._model.count_tokens(text)

    async def read_ahead(self, messages: Sequence[ChatMessage], role: Role) -> None:
        """Free of charge: only local models do it, and what they read is counted with the call that follows."""
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        """Nothing of its own to give back."""

    async def _ask_for(self, prompt: Prompt) -> PlannedCall:
        tokens = template_tokens(prompt.messages)
        for message in prompt.messages:
            tokens += await self._model.count_tokens(message.text)
        price = self._find_price(self._model.name)
        if prompt.schema is not None and not price.is_free:
            # A hosted model reads the form of its answer too, and bills it.
            tokens += estimate_tokens(msgspec.json.encode(prompt.schema).decode())
        return PlannedCall(prompt.role, self._model.name, price, tokens, prompt.max_tokens, prompt.project_id)

    async def _close_call(self, reservation: Reservation, seen: _CallProgress, prompt: Prompt) -> None:
        """As `_settle` does. Where the disk has no room for it, the worst case that was reserved stands (A5)."""
        with contextlib.suppress(DiskFullError):
            await self._settle(reservation, seen, prompt)

    async def _settle(self, reservation: Reservation, seen: _CallProgress, prompt: Prompt) -> None:
        """Settle with what the provider said; else, where it is free, with our own count; else leave the worst case."""
        ask, outcome = reservation.ask, "answered" if seen.is_finished else "broken off"
        if seen.usage is None and ask.price.is_free:
            own_count = Usage(ask.prompt_tokens if seen.pieces else 0, len(seen.pieces))
            await self._ledger.settle(reservation, own_count, outcome)
        elif seen.usage is None:
            await self._ledger.leave_reserved(reservation)
        elif ask.price.is_free or (self._believes_usage and _is_plausible(seen.usage, seen.pieces, prompt.messages)):
            await self._ledger.settle(reservation, seen.usage, outcome)
        else:
            await self._ledger.settle(reservation, _worst_case_usage(ask, seen.usage), "not believed")


def least_tokens(text: str) -> int:
    """Fewer tokens than this no tokenizer makes of `text`, and nothing that was asked or answered is none."""
    return max(1, len(_WORD.findall(text)) // _WORDS_A_TOKEN)


def _is_plausible(told: Usage, pieces: Sequence[str], messages: Sequence[ChatMessage]) -> bool:
    least_read = sum(least_tokens(message.text) for message in messages)
    return told.prompt_tokens >= least_read and told.completion_tokens >= least_tokens("".join(pieces))


def _worst_case_usage(ask: PlannedCall, told: Usage) -> Usage:
    """What was reserved, or what was told where that is more."""
    return Usage(max(ask.prompt_tokens, told.prompt_tokens), max(ask.completion_tokens, told.completion_tokens))


def was_not_billed(error: ModelError) -> bool:
    """Whether a call that failed so, without a word, was never sent or is billed by nobody."""
    if isinstance(error, ModelUnavailableError):
        return error.fault in NOT_BILLED
    return isinstance(error, ModelMissingError)
