"""The history of a conversation in its prompt: built from stored turns, counted in tokens, folded to stay within the
model's context."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from reveries import gates
from reveries.daemon.talk.chat_context import PreparedTurn, SentExchange, TalkForm, shown_turn_ids
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.errors import ModelError
from reveries.knowledge.citations import OfferedPlace
from reveries.llm.base import ChatMessage, ChatModel
from reveries.llm.tokens import estimate_tokens
from reveries.memory.memory import Memory
from reveries.memory.model import Turn
from reveries.safe_text import one_line

MARK_TOKENS = 6
"""Of a chat template around each message."""
SUMMARY_LINE_CHARS = 160
FOLD_TO_SHARE = 0.5
"""Share of its budget that the history keeps after a fold, so that folds are rare."""
EARLIER_TURNS = 400
"""More do not fit into any context that is read on a small machine."""
CARRIED_SECONDS = 14 * 86400.0
"""Earlier conversations older than this are not carried over; recall finds them."""
_FOLD_TRIES = 8
_CHARS_PER_TOKEN = 3
_SHORTEST_CUT_CHARS = 200


@dataclass(slots=True)
class TalkState:
    """What of the current conversation is in its prompts."""

    conversation_id: str
    began_at: float
    summary: str = ""
    exchanges: tuple[SentExchange, ...] = ()
    offered: dict[str, OfferedPlace] = field(default_factory=dict)
    """The places in documents that its prompts offered, by their short ids."""

    @property
    def shown_turn_ids(self) -> frozenset[str]:
        """The ids of all turns that are verbatim in the prompt."""
        return shown_turn_ids(self.exchanges)

    @property
    def history_tokens(self) -> int:
        return sum(exchange.tokens for exchange in self.exchanges)

    def drop(self, turn_ids: AbstractSet[str]) -> None:
        self.exchanges = tuple(exchange for exchange in self.exchanges if not turn_ids & set(exchange.turn_ids))


@dataclass(frozen=True, slots=True)
class FoldedHistory:
    """A history that fits its budget, and the exchanges that were folded into the summary."""

    summary: str
    exchanges: tuple[SentExchange, ...]
    folded: tuple[SentExchange, ...]


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Counts the tokens of prompt parts with the model's own tokenizer, and selects what fits."""

    model: ChatModel

    async def count(self, text: str) -> int:
        """Count the tokens of `text` with the model's tokenizer; if that fails, overestimate (R-94)."""
        try:
            return await self.model.count_tokens(text)
        except ModelError:
            return estimate_tokens(text)

    async def count_messages(self, messages: Sequence[ChatMessage]) -> int:
        """Count the tokens of all texts with the marks around them."""
        return sum([await self.count(message.text) + MARK_TOKENS for message in messages])

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

    async def newest_fitting(
        self, exchanges: Sequence[SentExchange], room_tokens: int, form: TalkForm
    ) -> tuple[SentExchange, ...]:
        """Return the newest of `exchanges` that fit into `room_tokens` together, counted, in the form's history."""
        first, left_tokens = len(exchanges), room_tokens
        while first:
            left_tokens -= await self._count_exchange(exchanges[first - 1])
            if left_tokens < 0:
                break
            first -= 1
        return await self.recount(form.mark_times(exchanges[first:]))

    async def recount(self, exchanges: Sequence[SentExchange]) -> tuple[SentExchange, ...]:
        """Return the exchanges with their tokens counted again."""
        return tuple([replace(item, tokens=await self._count_exchange(item)) for item in exchanges])

    async def _count_exchange(self, exchange: SentExchange) -> int:
        texts = (exchange.asked, exchange.replied, *(message.text for message in exchange.recalled))
        return sum([await self.count(text) + MARK_TOKENS for text in texts])


def pair_exchanges(turns: Sequence[Turn]) -> list[SentExchange]:
    """Build exchanges from stored turns: each turn of the owner with its reply. Their tokens are not counted yet."""
    exchanges: list[SentExchange] = []
    for asked, replied in itertools.pairwise(turns):
        if asked.origin == "owner" and replied.origin == "self":
            ids = (asked.id, replied.id)
            is_tainted = asked.tainted or replied.tainted
            place = replied.position + 1
            exchanges.append(
                SentExchange(asked.text, replied.text, asked.text, 0, ids, place, is_tainted, said_at=asked.said_at)
            )
    return exchanges


def sent_exchange(prepared: PreparedTurn, owner_turn: Turn, reply_turn: Turn) -> SentExchange:
    """Build the exchange as the model saw it; its tokens are not counted yet."""
    return SentExchange(
        asked=prepared.asked,
        replied=reply_turn.prompt_text,
        owner_words=owner_turn.text,
        tokens=0,
        turn_ids=(owner_turn.id, reply_turn.id),
        until_position=reply_turn.position + 1,
        is_tainted=reply_turn.tainted,
        recalled=prepared.recalled,
        recalled_turn_ids=prepared.recalled_turn_ids,
        noted_ids=prepared.noted_ids,
        said_at=owner_turn.said_at,
    )


async def carried_exchanges(
    memory: Memory,
    tokens: TokenCounts,
    before: Sequence[SentExchange],
    conversation_id: str,
    form: TalkForm,
    room_tokens: int,
    now: float,
) -> tuple[SentExchange, ...]:
    """Return the end of earlier conversations, so that yesterday's talk continues today.

    Exchanges in the model's cache (`before`) stay unchanged; after a wake, as many are loaded as fit `room_tokens`.
    Tainted exchanges are left to recall: they would taint everything said after them.
    """
    since = now - CARRIED_SECONDS
    if in_cache := [exchange for exchange in before if not exchange.is_tainted and exchange.said_at >= since]:
        return tuple(replace(exchange, is_carried=True) for exchange in in_cache)
    turns = await memory.conversations.earlier_turns(conversation_id, EARLIER_TURNS)
    earlier = pair_exchanges([turn for turn in turns if not turn.tainted and turn.said_at >= since])
    fitting = await tokens.newest_fitting(earlier, room_tokens, form)
    return tuple(replace(exchange, is_carried=True) for exchange in fitting)


async def fold_to_fit(
    memory: Memory,
    tokens: TokenCounts,
    state: TalkState,
    count_system: Callable[[str], Awaitable[int]],
    form: TalkForm,
    *,
    limit_tokens: int,
    context_tokens: int,
) -> int:
    """Fold the oldest of `state`'s exchanges into its summary until system message and history fit `limit_tokens`, and
    store the progress. Return how many were folded. `count_system` counts the system message with a given summary."""
    summary_tokens = int(context_tokens * form.summary_share)
    folded: list[SentExchange] = []
    for _ in range(_FOLD_TRIES):
        if await count_system(state.summary) + state.history_tokens <= limit_tokens:
            break
        room = limit_tokens - await count_system("")
        budget, summary_chars = max(0, room - summary_tokens), summary_tokens * _CHARS_PER_TOKEN
        result = fold(state.summary, state.exchanges, budget, summary_chars, form)
        # Some languages have more tokens per character: the next try leaves less for the summary.
        summary_tokens //= 2
        folded += result.folded
        state.summary = result.summary
        state.exchanges = await tokens.recount(result.exchanges)
    if own := [exchange for exchange in folded if not exchange.is_carried]:
        await memory.conversations.fold(state.conversation_id, state.summary, own[-1].until_position)
    return len(folded)


def fold(
    summary: str, exchanges: tuple[SentExchange, ...], budget_tokens: int, summary_chars: int, form: TalkForm
) -> FoldedHistory:
    """Fold the oldest exchanges into `summary` when all of them take more than `budget_tokens`.

    The summary keeps its newest lines, `summary_chars` at most. Recalled memories are removed from the exchanges that
    stay, because the model has to read those again anyway.
    """
    recent = list(exchanges)
    folded: list[SentExchange] = []
    is_over = sum(exchange.tokens for exchange in exchanges) > budget_tokens
    while is_over and recent and sum(exchange.tokens for exchange in recent) > budget_tokens * FOLD_TO_SHARE:
        folded.append(recent.pop(0))
    lines = [line for line in summary.split("\n") if line]
    lines += [
        f"- They said: {one_line(gone.owner_words, SUMMARY_LINE_CHARS)} You answered{_shorten_reply(gone)}"
        for gone in folded
        if not gone.is_carried
    ]
    while len("\n".join(lines)) > summary_chars:
        lines.pop(0)
    left = form.mark_times([_strip_recalled(exchange) for exchange in recent]) if folded else exchanges
    return FoldedHistory("\n".join(lines), tuple(left), tuple(folded))


def _strip_recalled(exchange: SentExchange) -> SentExchange:
    return replace(exchange, asked=exchange.owner_words, recalled=(), recalled_turn_ids=(), noted_ids=())


def _shorten_reply(gone: SentExchange) -> str:
    """Shorten a reply for the summary, which is among the instructions: no untrusted text may be in it (F1)."""
    if gone.is_tainted and gates.is_enforced(gates.Gate.FOLD):
        return " with something that others had written."
    return f": {one_line(gone.replied, SUMMARY_LINE_CHARS)}"


def cut_middle(text: str, limit_chars: int) -> str:
    """Return `text` with a note in place of its middle if it is longer than `limit_chars`."""
    if len(text) <= limit_chars:
        return text
    half = max(1, limit_chars // 2)
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
