"""Counts the tokens of prompt parts with the model's tokenizer, and selects what fits."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reveries.daemon.chat_context import PromptMemory, SentExchange, cut_middle, with_days
from reveries.errors import ModelError
from reveries.llm.base import ChatMessage, ChatModel
from reveries.llm.tokens import estimate_tokens
from reveries.memory.model import Turn

_SHORTEST_CUT_CHARS = 200


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Counts for one model."""

    model: ChatModel

    async def count(self, text: str) -> int:
        """Count the tokens of `text` with the model's tokenizer; if that fails, overestimate (R-94)."""
        try:
            return await self.model.count_tokens(text)
        except ModelError:
            return estimate_tokens(text)

    async def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """Count the tokens of all texts together."""
        return sum([await self.count(message.text) for message in messages])

    async def select_fitting(self, memories: Sequence[PromptMemory], room_tokens: int) -> list[PromptMemory]:
        """Select from `memories`, best first, those that fit into `room_tokens` together."""
        fitting: list[PromptMemory] = []
        for item in memories:
            tokens = await self.count("\n".join(message.text for message in item.messages) or item.line)
            if tokens <= room_tokens:
                fitting.append(item)
                room_tokens -= tokens
        return fitting

    async def cut(self, words: str, room_tokens: int) -> str:
        """Cut the middle out of `words` that exceed `room_tokens`, but keep at least a few lines."""
        cut = words
        while len(cut) > _SHORTEST_CUT_CHARS and await self.count(cut) > room_tokens:
            cut = cut_middle(words, len(cut) * 2 // 3)
        return cut

    async def build_exchanges(self, turns: Sequence[Turn]) -> tuple[SentExchange, ...]:
        """Build exchanges from stored turns: each turn of the owner with its reply."""
        exchanges: list[SentExchange] = []
        for asked, replied in itertools.pairwise(turns):
            if asked.origin == "owner" and replied.origin == "self":
                ids = (asked.id, replied.id)
                is_tainted = asked.tainted or replied.tainted
                place = replied.position + 1
                exchanges.append(
                    SentExchange(asked.text, replied.text, asked.text, 0, ids, place, is_tainted, said_at=asked.said_at)
                )
        return await self.recount(with_days(exchanges))

    async def recount(self, exchanges: Sequence[SentExchange]) -> tuple[SentExchange, ...]:
        """Return the exchanges with their tokens counted again."""
        counted: list[SentExchange] = []
        for item in exchanges:
            tokens = (
                await self.count(item.asked) + await self.count(item.replied) + await self.count_messages(item.recalled)
            )
            counted.append(replace(item, tokens=tokens))
        return tuple(counted)
