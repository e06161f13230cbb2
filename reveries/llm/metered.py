"""Budget control for chat models: a ChatModel that reserves before each call and settles after it.

Reported usage is a claim. It is accepted when it is plausible; implausible usage, and usage from a custom endpoint,
never lowers the reserved worst case (docs/explain/money.md).
"""

import contextlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from reveries.errors import DiskFullError, ModelAnswerError, ModelError, ModelMissingError, ModelUnavailableError
from reveries.llm.base import CHAT_ROLES, ChatMessage, ChatModel, Delta, Finished, Prompt, Role, StreamEvent, Usage
from reveries.llm.budget import Ledger, Reservation
from reveries.llm.caps import PlannedCall
from reveries.llm.faults import NOT_BILLED
from reveries.llm.image_tokens import count_message
from reveries.llm.prices import Price, price_of
from reveries.llm.tokens import estimate_tokens, template_tokens

_WORDS_A_TOKEN = 2
"""Tokenizers split at spaces, so a word is at least one token. Half of that leaves a margin."""
_WORD = re.compile(r"\S+")


@dataclass(slots=True)
class _CallProgress:
    """What a call has returned so far."""

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
        prepare: Callable[[], Awaitable[None]] | None = None,
        find_reasoning_tokens: Callable[[Role], int] = lambda _: 0,
    ) -> None:
        """`believes_usage` False: reported usage can raise the charge, never lower it. `prepare`: what takes time
        before a call is sent; a caller that leaves meanwhile owes nothing. `find_reasoning_tokens` returns what a call
        of a role may use besides its answer."""
        self._model = model
        self._ledger = ledger
        self._believes_usage = believes_usage
        self._find_price = find_price
        self._prepare = prepare
        self._find_reasoning_tokens = find_reasoning_tokens

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def tells_probabilities(self) -> bool:
        return self._model.tells_probabilities

    @property
    def context_tokens(self) -> int:
        return self._model.context_tokens

    @property
    def price(self) -> Price:
        """What its calls are charged at."""
        return self._find_price(self._model.name)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[StreamEvent, None]:
        """See ChatModel. Raises BudgetExceededError before the model is called."""
        if self._prepare is not None:
            await self._prepare()
        # Passed on: what the model is expected to use may change before the call is sent.
        prompt = replace(prompt, reasoning_tokens=self._find_reasoning_tokens(prompt.role))
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
                        if event.has_reasoned and not seen.pieces:
                            raise _only_reasoned(self.name, prompt.role, event)
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
        """Free of charge: only local models do it, and the tokens are counted with the following call."""
        await self._model.read_ahead(messages, role)

    async def aclose(self) -> None:
        """Do nothing: `model` is owned elsewhere."""

    async def _ask_for(self, prompt: Prompt) -> PlannedCall:
        tokens = template_tokens(prompt.messages)
        for message in prompt.messages:
            tokens += await count_message(self._model, message)
        price = self.price
        if prompt.schema is not None and not price.is_free:
            # A hosted model reads the schema too, and bills it.
            tokens += estimate_tokens(msgspec.json.encode(prompt.schema).decode())
        most = prompt.max_tokens + (prompt.reasoning_tokens or 0)
        return PlannedCall(prompt.role, self._model.name, price, tokens, most, prompt.project_id)

    async def _close_call(self, reservation: Reservation, seen: _CallProgress, prompt: Prompt) -> None:
        """Settle the call. On a full disk the reserved worst case stays (A5)."""
        with contextlib.suppress(DiskFullError):
            await self._settle(reservation, seen, prompt)

    async def _settle(self, reservation: Reservation, seen: _CallProgress, prompt: Prompt) -> None:
        """Settle with the reported usage; else, if it is free, with our own count; else leave the worst case."""
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
    """Return a lower bound on the tokens of `text`; at least 1."""
    return max(1, len(_WORD.findall(text)) // _WORDS_A_TOKEN)


def _is_plausible(reported: Usage, pieces: Sequence[str], messages: Sequence[ChatMessage]) -> bool:
    least_read = sum(least_tokens(message.text) for message in messages)
    return reported.prompt_tokens >= least_read and reported.completion_tokens >= least_tokens("".join(pieces))


def _worst_case_usage(ask: PlannedCall, reported: Usage) -> Usage:
    """Return the larger of the reserved and the reported usage."""
    return Usage(max(ask.prompt_tokens, reported.prompt_tokens), max(ask.completion_tokens, reported.completion_tokens))


def _only_reasoned(name: str, role: Role, end: Finished) -> ModelAnswerError:
    tokens = f" {end.usage.completion_tokens:,}" if end.usage else ""
    setting = f"llm.{role if role in CHAT_ROLES else Role.WORK}_reasoning_effort"
    return ModelAnswerError(
        f"{name} used all{tokens} tokens for reasoning, which is not shown, and came to no answer.",
        advice=f"Let it reason less: reveries config set {setting} low (or minimal, none).",
    )


def was_not_billed(error: ModelError) -> bool:
    """Whether a call that failed without any text was never sent or is not billed."""
    if isinstance(error, ModelUnavailableError):
        return error.fault in NOT_BILLED
    return isinstance(error, ModelMissingError)
