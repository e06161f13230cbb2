"""Builds the conversation history for the prompt and folds it to stay within the model's context."""

import math
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from reveries.daemon.chat_context import SUMMARY_SHARE, PreparedTurn, SentExchange, fold
from reveries.daemon.token_counts import TokenCounts
from reveries.memory.memory import Memory
from reveries.memory.model import Turn

EARLIER_TURNS = 40
CARRIED_SECONDS = 14 * 86400.0
"""Earlier conversations older than this are not carried over; recall finds them."""
_REST_SHARE = 0.5
"""Share of the available tokens that an idle history may keep: it is folded while no client waits."""
_REST_CONTEXT_TOKENS = 16_384
"""With a larger context (not a small machine), folding ahead saves nothing."""
_FOLD_TRIES = 8
_CHARS_PER_TOKEN = 3


@dataclass(slots=True)
class TalkState:
    """The state of the current conversation."""

    conversation_id: str
    began_at: float
    summary: str = ""
    exchanges: tuple[SentExchange, ...] = ()
    is_resting: bool = True
    last_word_monotonic: float = 0.0
    chosen_monotonic: float = -math.inf
    """When the owner chose this conversation; for a while it is continued even if another had the last turn."""
    attached: set[int] = field(default_factory=set)

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

    def copy_rest_state(self, before: "TalkState") -> None:
        """Take over the idle state of `before`, when the same conversation was reloaded."""
        self.is_resting, self.chosen_monotonic = before.is_resting, before.chosen_monotonic
        self.last_word_monotonic = before.last_word_monotonic


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
