"""How many tokens the parts of a prompt take, by the model's own tokenizer, and what of them fits."""

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

    async def of(self, text: str) -> int:
        """By the model's own tokenizer; when it cannot be asked, too many rather than too few (R-94)."""
        try:
            return await self.model.count_tokens(text)
        except ModelError:
            return estimate_tokens(text)

    async def of_messages(self, messages: Sequence[ChatMessage]) -> int:
        """Of all their texts together."""
        return sum([await self.of(message.text) for message in messages])

    async def fitting(self, told: Sequence[PromptMemory], room_tokens: int) -> list[PromptMemory]:
        """Those of `told`, best first, that fit into the room together."""
        fitting: list[PromptMemory] = []
        for item in told:
            tokens = await self.of("\n".join(message.text for message in item.messages) or item.line)
            if tokens <= room_tokens:
                fitting.append(item)
                room_tokens -= tokens
        return fitting

    async def cut(self, words: str, room_tokens: int) -> str:
        """`words` without their middle when they take more than the room, though never less than a few lines."""
        cut = words
        while len(cut) > _SHORTEST_CUT_CHARS and await self.of(cut) > room_tokens:
            cut = cut_middle(words, len(cut) * 2 // 3)
        return cut

    async def exchanges_of(self, turns: Sequence[Turn]) -> tuple[SentExchange, ...]:
        """Stored turns as the model is to see them: what the owner said, each with its reply."""
        exchanges: list[SentExchange] = []
        for asked, replied in itertools.pairwise(turns):
            if asked.origin == "owner" and replied.origin == "self":
                ids = (asked.id, replied.id)
                is_tainted = asked.tainted or replied.tainted
                place = replied.position + 1
                exchanges.append(
                    SentExchange(asked.text, replied.text, asked.text, 0, ids, place, is_tainted, said_at=asked.said_at)
                )
        return await self.recounted(with_days(exchanges))

    async def recounted(self, exchanges: Sequence[SentExchange]) -> tuple[SentExchange, ...]:
        """The same exchanges with their tokens counted anew."""
        counted: list[SentExchange] = []
        for item in exchanges:
            tokens = await self.of(item.asked) + await self.of(item.replied) + await self.of_messages(item.recalled)
            counted.append(replace(item, tokens=tokens))
        return tuple(counted)
