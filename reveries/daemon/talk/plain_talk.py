"""The prompt for a small model: a plain chat, and nothing that a plain chat does not have. Pure.

One system line; the conversation and the days before it as they were said, as far as the context reaches; exchanges of
older days, where they match the new words better than anything in the context, as earlier messages. Rules about memory,
the self-model, dates, silences and thoughts cost such a model more replies than they bring (docs/benchmarks/talk.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reveries.daemon.talk.chat_context import (
    ChosenMaterial,
    ContextSource,
    SentExchange,
    TurnContext,
    TurnMaterial,
    exchange_messages,
    note_messages,
    recalled_source,
    shown_turn_ids,
)
from reveries.daemon.talk.personal_questions import QUESTION_MARKS
from reveries.daemon.talk.prompt_memories import TURNS_FIRST, choose_memories
from reveries.index.terms import terms_of
from reveries.memory.model import Recall, SelfModel, Turn
from reveries.prompts import prompt

MOST_HISTORY_TOKENS: Final = 8192
"""More history than this is paid for with each turn and hardly used by a model of this size."""
ASKED_MATCH: Final = 0.35
"""Cosine, or share of the words, from which a question asks for what was said. Of 50 questions about facts of
thirty days 47 reach it, of 15 about common knowledge none (docs/benchmarks/talk.md)."""
TOLD_COVERAGE: Final = 0.3
"""Share of the words, by weight, that words without a question mark must have in common with what was said: statements
are near in meaning to many others."""
_CARRIED_SHARE: Final = 0.75
"""Share of the room that the talk before a start may use, so that the day has room before anything must go."""


@dataclass(frozen=True, slots=True)
class PlainTalk:
    """See TalkForm."""

    recalled_tokens: int = 200
    summary_share: float = 0.0
    tells_thoughts: bool = False
    reads_before_telling: bool = True
    separator: str = "\n\n"

    def carried_tokens(self, room_tokens: int) -> int:
        """As much as the context holds."""
        return int(min(MOST_HISTORY_TOKENS, room_tokens) * _CARRIED_SHARE)

    def resumed_tokens(self, room_tokens: int) -> int:
        """As much as the context holds."""
        return self.carried_tokens(room_tokens)

    def rest_tokens(self, room_tokens: int) -> int:
        """Something goes only when the context is full."""
        return room_tokens

    def stable_sources(
        self, mind_name: str, owner_name: str, self_model: SelfModel, folded_summary: str
    ) -> list[ContextSource]:
        """Return the one line of the system message: its bytes never change."""
        return [ContextSource("rules", prompt("conversation_small", mind=mind_name), is_stable=True)]

    def mark_times(self, exchanges: Sequence[SentExchange]) -> list[SentExchange]:
        """Return the history as it is."""
        return list(exchanges)

    def unrecalled_turn_ids(self, exchanges: Sequence[SentExchange]) -> frozenset[str]:
        """Return none: if the best match is in the history, nothing is wanted beside it."""
        return frozenset()

    def choose(self, material: TurnMaterial) -> ChosenMaterial:
        """Choose what was said before the history, if the words ask for that."""
        recall, exchanges = material.recall, material.exchanges
        if recall is None or not asks_for_earlier_talk(material.words, recall, exchanges):
            return ChosenMaterial(material.project_notes, ())
        memories = choose_memories(recall, shown_turn_ids(exchanges), material.now)
        return ChosenMaterial(material.project_notes, memories)

    def sources(self, context: TurnContext) -> list[ContextSource]:
        """Return what is recalled: notes on untrusted text and projects, and what the mind itself said on older days,
        as messages; the owner's own words of older days above the new ones.

        So the default model answered 15 of 16 questions, with those words as an earlier message about 12.
        """
        memories = context.memories
        messages = (*note_messages(memories), *exchange_messages([item for item in memories if not item.is_owners]))
        lines = self.separator.join(item.quote for item in memories if item.is_owners)
        return [recalled_source(context, self.recalled_tokens, messages, lines), *context.others]


def asks_for_earlier_talk(words: str, recall: Recall, exchanges: Sequence[SentExchange]) -> bool:
    """Whether `words` ask for something said before the history: memory has a match, and the history no better one; or
    they name only a time, of which something is not in the history."""
    if recall.names_only_time:
        told = [match.turn.id for match in recall.turns if match.is_in_time]
        return not shown_turn_ids(exchanges).issuperset(told)
    matches = (*recall.turns[:TURNS_FIRST], *recall.nearest[:1])
    if not matches or (recall.turns and recall.turns[0].turn.id in shown_turn_ids(exchanges)):
        return False
    coverage = max(match.coverage for match in matches)
    if QUESTION_MARKS.isdisjoint(words.strip().rpartition("\n")[2]):
        is_asked = coverage >= TOLD_COVERAGE
    else:
        is_asked = max(coverage, *(match.cosine for match in matches)) >= ASKED_MATCH
    return is_asked and not _has_better_match(words, [match.turn for match in matches], exchanges)


def _has_better_match(words: str, recalled: Sequence[Turn], exchanges: Sequence[SentExchange]) -> bool:
    """Whether the history has more of the words than anything recalled: memory has the newest talk only after sleep."""
    asked = frozenset(terms_of(words))
    in_history = max((len(asked.intersection(terms_of(one.owner_words))) for one in exchanges), default=0)
    return in_history > max(len(asked.intersection(terms_of(turn.text))) for turn in recalled)
