"""The prompt context of the last turn of each conversation, kept in memory for `reveries context`.

Pure except for counting tokens, which is done on request, never before a reply.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from reveries import protocol
from reveries.daemon.talk.chat_context import (
    ContextSource,
    PreparedTurn,
    SentExchange,
    TalkForm,
)
from reveries.daemon.talk.chat_history import MARK_TOKENS
from reveries.memory.model import SelfModel
from reveries.safe_text import one_line, plain

KEPT_CONVERSATIONS: Final = 8


@dataclass(frozen=True, slots=True)
class LastTurn:
    """Everything that was in the prompt of a turn."""

    conversation_id: str
    words: str
    prepared: PreparedTurn = field(repr=False)
    form: TalkForm
    names: tuple[str, str]
    """Of the mind and of the owner."""
    self_model: SelfModel = field(repr=False)
    summary: str
    exchanges: tuple[SentExchange, ...] = field(repr=False)
    context_tokens: int
    reply_tokens: int

    @property
    def summary_tokens(self) -> int:
        """Token limit of the folded history."""
        return int(self.context_tokens * self.form.summary_share)


class LastTurns:
    """The last turns of the latest conversations."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, LastTurn] = OrderedDict()

    def keep(self, turn: LastTurn) -> None:
        """Replace the last turn of its conversation; drop the oldest conversation if there are too many."""
        self._turns[turn.conversation_id] = turn
        self._turns.move_to_end(turn.conversation_id)
        while len(self._turns) > KEPT_CONVERSATIONS:
            self._turns.popitem(last=False)

    def drop(self, conversation_id: str) -> None:
        """Forget the last turn of this conversation, because it was taken back."""
        self._turns.pop(conversation_id, None)

    def of(self, id_or_prefix: str) -> LastTurn | None:
        """Return the last turn of a conversation; without an id, the latest of all."""
        if not id_or_prefix:
            return next(reversed(self._turns.values()), None)
        return next((turn for name, turn in self._turns.items() if name.startswith(id_or_prefix)), None)


Count = Callable[[str], Awaitable[int]]


async def context_parts(turn: LastTurn, count: Count) -> list[protocol.ContextPart]:
    """Return the parts of the prompt of `turn` in the model's order, each with its tokens by `count`."""
    exchanges = turn.exchanges
    stable = turn.form.stable_sources(*turn.names, turn.self_model, turn.summary)
    history = _context_part(
        "history",
        sum(exchange.tokens - MARK_TOKENS * (2 + len(exchange.recalled)) for exchange in exchanges),
        0,
        _format_history(exchanges),
        _history_note(turn),
    )
    words = ContextSource("your words", turn.prepared.read_words)
    return [
        *[await _source_part(_with_fold(source, turn), count) for source in stable],
        history,
        *[await _source_part(source, count) for source in (*turn.prepared.sources, words)],
    ]


def _with_fold(source: ContextSource, turn: LastTurn) -> ContextSource:
    """Return the source, with what a fold of this turn did to it."""
    if source.name != "folded history":
        return source
    return replace(source, share_tokens=turn.summary_tokens, note=_folded_note(turn))


async def _source_part(source: ContextSource, count: Count) -> protocol.ContextPart:
    tokens = sum([await count(text) for text in (*(item.text for item in source.messages), source.lines) if text])
    return _context_part(source.name, tokens, source.share_tokens, source.text, source.note)


def _context_part(name: str, tokens: int, budget: int, text: str, note: str = "") -> protocol.ContextPart:
    return protocol.ContextPart(name, tokens, budget, plain(text), note)


def _context_memory(
    episode_id: str, turn_id: str, line: str, tokens: int, was_told: bool, why_not: str = ""
) -> protocol.ContextMemory:
    return protocol.ContextMemory(episode_id, turn_id, plain(line), tokens, was_told, one_line(why_not))


async def surfaced_memories(turn: LastTurn, count: Count) -> list[protocol.ContextMemory]:
    """Return the memories in the prompt in their order, then those left out, best first."""
    included = [
        _context_memory(item.episode_id, item.turn_id or "", item.line, await count(item.line), True)
        for item in turn.prepared.memories
    ]
    if turn.prepared.recall is None:
        return included
    in_prompt = set(turn.prepared.memories)
    left: list[protocol.ContextMemory] = []
    candidates = turn.prepared.candidates
    used = sum(item.tokens for item in included)
    for item in candidates:
        if item not in in_prompt:
            tokens = await count(item.line)
            room = turn.form.recalled_tokens
            why = f"no room: {tokens} tokens, and {max(0, room - used)} of {room} were left"
            if turn.form.reads_before_telling and not turn.prepared.recall.names_only_time:
                why = "the model did not take it for what answers"
            left.append(_context_memory(item.episode_id, item.turn_id or "", item.line, tokens, False, why))
    named = {item.episode_id for item in candidates}
    left += [
        _context_memory(
            recalled.episode.id,
            "",
            one_line(recalled.episode.summary, 160),
            0,
            False,
            "its words are in the history already" if recalled.turns else "nothing of it to quote",
        )
        for recalled in turn.prepared.recall.episodes
        if recalled.episode.id not in named
    ]
    return [*included, *left]


def _format_history(exchanges: Sequence[SentExchange]) -> str:
    return "\n".join(
        f"> {one_line(exchange.owner_words, 200)}\n  {one_line(exchange.replied, 200)}" for exchange in exchanges
    )


def _history_note(turn: LastTurn) -> str:
    return f"{_format_exchange_count(len(turn.exchanges))} word for word" if turn.exchanges else ""


def _folded_note(turn: LastTurn) -> str:
    return f"{_format_exchange_count(turn.prepared.folded)} folded for this turn" if turn.prepared.folded else ""


def _format_exchange_count(number: int) -> str:
    return "1 exchange" if number == 1 else f"{number} exchanges"


def turn_notes(turn: LastTurn) -> list[str]:
    """Return notes for the owner on the turn: a failed recall, words that were cut."""
    notes: list[str] = []
    if turn.prepared.recall is None:
        notes.append("Recall failed for this turn, so the reply used no memories.")
    elif not turn.prepared.recall.episodes and not turn.prepared.recall.turns:
        notes.append("Nothing came to mind.")
    if len(turn.prepared.read_words) < len(turn.words):
        notes.append(
            f"Your words were too long for the model: it read {len(turn.prepared.read_words)} of {len(turn.words)}."
        )
    return notes
