"""The history that the model reads: what it begins with, and how it is kept within the model's context."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from reveries.daemon.chat_context import SUMMARY_SHARE, SentExchange, fold
from reveries.daemon.token_counts import TokenCounts
from reveries.daemon.turn import TalkState
from reveries.llm.base import ChatMessage
from reveries.memory.memory import Memory
from reveries.memory.model import Turn

EARLIER_TURNS = 40
CARRIED_SECONDS = 14 * 86400.0
"""What was said before is left to recall."""
_REST_SHARE = 0.5
"""What may stand of a history that rests, as a share of what fits: it is folded while nobody waits for it."""
_REST_CONTEXT_TOKENS = 16_384
"""A model with a larger context is none of a small machine: nothing is spared by folding its history ahead."""
_FOLD_TRIES = 8
_CHARS_PER_TOKEN = 3


def sent_exchange(
    asked: str,
    recalled_turn_ids: tuple[str, ...],
    recalled: tuple[ChatMessage, ...],
    owner_turn: Turn,
    reply_turn: Turn,
) -> SentExchange:
    """A turn as the model saw it; its tokens are not counted yet."""
    return SentExchange(
        asked=asked,
        replied=reply_turn.text,
        owner_words=owner_turn.text,
        tokens=0,
        turn_ids=(owner_turn.id, reply_turn.id),
        until_position=reply_turn.position + 1,
        is_tainted=reply_turn.tainted,
        recalled=recalled,
        recalled_turn_ids=recalled_turn_ids,
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
    """The end of the conversations before this one: yesterday's talk goes on today.

    What the model has in its cache (`before`) stays as it is; after a wake it is as much as there is room for. What
    others had a hand in is left to recall: it would taint whatever is said after it.
    """
    since = now - CARRIED_SECONDS
    if in_cache := [one for one in before if not one.is_tainted and one.said_at >= since]:
        return tuple(replace(one, is_carried=True) for one in in_cache)
    turns = await memory.conversations.earlier_turns(conversation_id, EARLIER_TURNS)
    earlier = await tokens.exchanges_of([turn for turn in turns if not turn.tainted and turn.said_at >= since])
    carried: list[SentExchange] = []
    for one in reversed(earlier):
        room_tokens -= one.tokens
        if room_tokens < 0:
            break
        carried.insert(0, replace(one, is_carried=True))
    return tuple(carried)


def rest_limit_tokens(context_tokens: int, room_tokens: int) -> int:
    """What a history may take while the conversation rests."""
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
    """Fold the oldest of `state`'s exchanges into its summary until system message and history take at most
    `limit_tokens`, and store how far; how many were folded. `count_system` counts the system message with a summary."""
    summary_tokens = int(context_tokens * SUMMARY_SHARE)
    folded: list[SentExchange] = []
    for _ in range(_FOLD_TRIES):
        if await count_system(state.summary) + state.history_tokens <= limit_tokens:
            break
        room = limit_tokens - await count_system("")
        result = fold(state.summary, state.exchanges, max(0, room - summary_tokens), summary_tokens * _CHARS_PER_TOKEN)
        # In a language with more tokens than that, the next try leaves less to the summary.
        summary_tokens //= 2
        folded += result.folded
        state.summary = result.summary
        state.exchanges = await tokens.recounted(result.exchanges)
    if own := [one for one in folded if not one.is_carried]:
        await memory.conversations.fold(state.conversation_id, state.summary, own[-1].until_position)
    return len(folded)
