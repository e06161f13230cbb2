"""Collects the lines that may answer a personal question, for the check of what a small model says by itself.

They are what recall finds, and what was said since memory was last brought up to date.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from reveries.daemon.talk.answer_reading import AnswerReading, read_lines
from reveries.daemon.talk.chat_context import PreparedTurn, SentExchange
from reveries.daemon.talk.checked_answer import CheckedModel
from reveries.daemon.talk.personal_questions import is_question, read_personal_question
from reveries.daemon.talk.prompt_memories import QUOTE_CHARS, PromptMemory, choose_memories
from reveries.daemon.talk.relatives import asks_for_unmentioned_relative
from reveries.daemon.talk.reply_generation import ReplyModel
from reveries.llm.base import ChatMessage, ChatModel, Vector
from reveries.memory.memory import Memory
from reveries.memory.model import Origin, Recall
from reveries.memory.text.quoting import quote_around

BEST_RECALLED: Final = 2
"""They stay, because recall weighs more than nearness in meaning."""
MOST_EMBEDDED: Final = 24
"""The newest lines of a conversation that are compared with the question: 7 ms each, in one call."""


async def checked_model(
    model: ChatModel, memory: Memory, words: str, prepared: PreparedTurn, exchanges: Sequence[SentExchange]
) -> ReplyModel:
    """Return what writes the reply to `words`: for a personal question `model` with its answer checked."""
    recall = prepared.recall
    if recall is None or not model.tells_probabilities:
        return model
    # In a thread: what was said may be a megabyte.
    question = await asyncio.to_thread(read_personal_question, words, [exchange.owner_words for exchange in exchanges])
    if question is None:
        return model

    async def read() -> AnswerReading | None:
        lines = await lines_for(recall, exchanges, memory.embed_cues, prepared.context.now)
        return await read_lines(model, question.words, lines)

    is_untold = await asyncio.to_thread(asks_for_unmentioned_relative, words, told_texts(recall, exchanges))
    return CheckedModel(model, question, read, is_untold)


def told_texts(recall: Recall, exchanges: Sequence[SentExchange]) -> list[str]:
    """Return what the owner and others said, as far as it is in the conversation or was recalled. Not summaries: the
    mind's own words are in them."""
    recalled = itertools.chain(recall.turns, recall.nearest, *(episode.turns for episode in recall.episodes))
    others = [ranked.turn.text for ranked in recalled if ranked.turn.origin is not Origin.SELF]
    return [*(exchange.owner_words for exchange in exchanges), *others]


async def lines_for(
    recall: Recall,
    exchanges: Sequence[SentExchange],
    embed: Callable[[Sequence[str]], Awaitable[Sequence[Vector]]],
    now: float,
) -> list[PromptMemory]:
    """Return the lines that may answer the words of `recall`, best first; those that are in the prompt, too.

    The mind's own words answer nothing: they may be made up. Questions answer nothing either.
    """
    recalled, statements = await asyncio.to_thread(_lines_and_statements, recall, exchanges, now)
    # What is off the record is not sent to an embedder of others: then the question has no vector.
    vectors = (
        await embed([exchange.owner_words for exchange in statements]) if statements and recall.vector.any() else ()
    )
    matches = [float(recall.vector @ vector) for vector in vectors] or [0.0] * len(statements)
    lines = await asyncio.to_thread(_lines_of, statements, matches, recall.cue)
    nearest = sorted((*recalled[BEST_RECALLED:], *lines), key=lambda line: line.match, reverse=True)
    return [*recalled[:BEST_RECALLED], *nearest]


def _lines_and_statements(
    recall: Recall, exchanges: Sequence[SentExchange], now: float
) -> tuple[list[PromptMemory], list[SentExchange]]:
    """Return the owner's recalled lines, best first, and the newest exchanges that memory does not have yet."""
    owner_items = [item for item in choose_memories(recall, frozenset(), now) if item.is_owners or not item.messages]
    recalled = [item for item in owner_items if item.quote and not is_question(item.quote)]
    in_memory = {match.turn.id for match in (*recall.turns, *recall.nearest)}
    new = [exchange for exchange in exchanges[-MOST_EMBEDDED:] if in_memory.isdisjoint(exchange.turn_ids)]
    return recalled, [exchange for exchange in new if not is_question(exchange.owner_words)]


def _lines_of(statements: Sequence[SentExchange], matches: Sequence[float], cue: str) -> list[PromptMemory]:
    return [_line_of(exchange, cue, match) for exchange, match in zip(statements, matches, strict=True)]


def _line_of(exchange: SentExchange, cue: str, match: float) -> PromptMemory:
    quote, turn_id = quote_around(exchange.owner_words, cue, QUOTE_CHARS), exchange.turn_ids[0]
    messages = ChatMessage("user", quote), ChatMessage("assistant", "…")
    return PromptMemory(
        "", turn_id, f"- {quote}", messages, exchange.said_at, (turn_id,), quote=quote, match=match, is_owners=True
    )
