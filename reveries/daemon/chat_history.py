"""The history of a conversation in its prompt: built from stored turns, counted in tokens, folded to stay within the
model's context."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from reveries import gates
from reveries.daemon.chat_context import PreparedTurn, SentExchange, day_messages, local_day
from reveries.daemon.prompt_memories import PromptMemory
from reveries.errors import ModelError
from reveries.llm.base import ChatMessage, ChatModel
from reveries.llm.tokens import estimate_tokens
from reveries.memory.memory import Memory
from reveries.memory.model import Turn
from reveries.safe_text import one_line

SUMMARY_LINE_CHARS = 160
SUMMARY_SHARE = 0.1
"""Share of the model's context that the folded summary may use."""
FOLD_TO_SHARE = 0.5
"""Share of its budget that the history keeps after a fold, so that folds are rare."""
EARLIER_TURNS = 40
CARRIED_SECONDS = 14 * 86400.0
"""Earlier conversations older than this are not carried over; recall finds them."""
_REST_SHARE = 0.5
"""Share of the available tokens that an idle history may keep: it is folded while no client waits."""
_REST_CONTEXT_TOKENS = 16_384
"""With a larger context (not a small machine), folding ahead saves nothing."""
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

    @property
    def shown_turn_ids(self) -> frozenset[str]:
        """The ids of all turns that are verbatim in the prompt."""
        return frozenset(
            turn_id for exchange in self.exchanges for turn_id in (*exchange.turn_ids, *exchange.recalled_turn_ids)
        )

    @property
    def history_tokens(self) -> int:
        return sum(exchange.tokens for exchange in self.exchanges)

    def drop(self, turn_ids: AbstractSet[str]) -> None:
        self.exchanges = tuple(one for one in self.exchanges if not turn_ids & set(one.turn_ids))


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


def sent_exchange(prepared: PreparedTurn, owner_turn: Turn, reply_turn: Turn) -> SentExchange:
    """Build the exchange as the model saw it; its tokens are not counted yet."""
    return SentExchange(
        asked=prepared.asked,
        replied=reply_turn.text,
        owner_words=owner_turn.text,
        tokens=0,
        turn_ids=(owner_turn.id, reply_turn.id),
        until_position=reply_turn.position + 1,
        is_tainted=reply_turn.tainted,
        recalled=prepared.recalled,
        recalled_turn_ids=prepared.recalled_turn_ids,
        said_at=owner_turn.said_at,
    )


async def carried_exchanges(
    memory: Memory,
    tokens: TokenCounts,
    before: Sequence[SentExchange],
    conversation_id: str,
    room_tokens: int,
    now: float,
) -> tuple[SentExchange, ...]:
    """Return the end of earlier conversations, so that yesterday's talk continues today.

    Exchanges in the model's cache (`before`) stay unchanged; after a wake, as many are loaded as fit `room_tokens`.
    Tainted exchanges are left to recall: they would taint everything said after them.
    """
    since = now - CARRIED_SECONDS
    if in_cache := [one for one in before if not one.is_tainted and one.said_at >= since]:
        return tuple(replace(one, is_carried=True) for one in in_cache)
    turns = await memory.conversations.earlier_turns(conversation_id, EARLIER_TURNS)
    earlier = await tokens.build_exchanges([turn for turn in turns if not turn.tainted and turn.said_at >= since])
    carried: list[SentExchange] = []
    for one in reversed(earlier):
        room_tokens -= one.tokens
        if room_tokens < 0:
            break
        carried.insert(0, replace(one, is_carried=True))
    return tuple(carried)


def rest_limit_tokens(context_tokens: int, room_tokens: int) -> int:
    """Token limit for the history while the conversation is idle."""
    return room_tokens if context_tokens > _REST_CONTEXT_TOKENS else int(room_tokens * _REST_SHARE)


async def fold_to_fit(
    memory: Memory,
    tokens: TokenCounts,
    state: TalkState,
    count_system: Callable[[str], Awaitable[int]],
    *,
    limit_tokens: int,
    context_tokens: int,
) -> int:
    """Fold the oldest of `state`'s exchanges into its summary until system message and history fit `limit_tokens`, and
    store the progress. Return how many were folded. `count_system` counts the system message with a given summary."""
    summary_tokens = int(context_tokens * SUMMARY_SHARE)
    folded: list[SentExchange] = []
    for _ in range(_FOLD_TRIES):
        if await count_system(state.summary) + state.history_tokens <= limit_tokens:
            break
        room = limit_tokens - await count_system("")
        result = fold(state.summary, state.exchanges, max(0, room - summary_tokens), summary_tokens * _CHARS_PER_TOKEN)
        # Some languages have more tokens per character: the next try leaves less for the summary.
        summary_tokens //= 2
        folded += result.folded
        state.summary = result.summary
        state.exchanges = await tokens.recount(result.exchanges)
    if own := [one for one in folded if not one.is_carried]:
        await memory.conversations.fold(state.conversation_id, state.summary, own[-1].until_position)
    return len(folded)


def fold(summary: str, exchanges: tuple[SentExchange, ...], budget_tokens: int, summary_chars: int) -> FoldedHistory:
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
    left = with_days([_strip_recalled(exchange) for exchange in recent]) if folded else exchanges
    return FoldedHistory("\n".join(lines), tuple(left), tuple(folded))


def _strip_recalled(exchange: SentExchange) -> SentExchange:
    return replace(exchange, asked=exchange.owner_words, recalled=(), recalled_turn_ids=())


def with_days(exchanges: Sequence[SentExchange]) -> list[SentExchange]:
    """Return the exchanges with the date put before the first of each day."""
    dated: list[SentExchange] = []
    for at, one in enumerate(exchanges):
        is_first = not at or local_day(exchanges[at - 1].said_at) != local_day(one.said_at)
        dated.append(replace(one, recalled=day_messages(one.said_at)) if is_first else one)
    return dated


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
