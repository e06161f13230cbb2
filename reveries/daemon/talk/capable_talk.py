"""The prompt for a capable model: who the mind is, what it knows of its owner, what it remembers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from reveries.daemon.talk.capable_memories import StandingText, choose_untold, drop_told
from reveries.daemon.talk.chat_context import (
    THOUGHT_NOTE,
    ChosenMaterial,
    ContextSource,
    SentExchange,
    TurnContext,
    TurnMaterial,
    exchange_messages,
    local_clock_time,
    local_day,
    local_time,
    note_text,
    recalled_source,
    shown_turn_ids,
)
from reveries.llm.base import ChatMessage
from reveries.memory.model import SelfModel
from reveries.memory.self_model import expected_in_order, limit_statements, with_days
from reveries.memory.text.quoting import whole_sentences
from reveries.prompts import prompt
from reveries.safe_text import format_record, one_line

THOUGHT_CHARS: Final = 800
SILENCE_CHARS: Final = 160
MAX_OWNER_FACTS: Final = 12
_SMALL_ROOM_TOKENS: Final = 16_384
OFF_RECORD_NOTE: Final = (
    "[Off the record: neither these words nor your reply are kept, and later you know nothing of them.]"
)


@dataclass(frozen=True, slots=True)
class CapableTalk:
    """See TalkForm."""

    recalled_tokens: int = 1500
    summary_share: float = 0.1
    tells_thoughts: bool = True
    reads_before_telling: bool = False
    separator: str = "\n"

    def carried_tokens(self, room_tokens: int) -> int:
        """The end of the talk before; recall finds the rest."""
        return min(1500, room_tokens)

    def resumed_tokens(self, room_tokens: int) -> int:
        """Half of the room: what was said in it so far is what the talk is about."""
        return room_tokens // 2

    def rest_tokens(self, room_tokens: int) -> int:
        """Half of a small context: it is folded while no client waits. With a larger one that saves nothing."""
        return room_tokens if room_tokens > _SMALL_ROOM_TOKENS else room_tokens // 2

    def stable_sources(
        self, mind_name: str, owner_name: str, self_model: SelfModel, folded_summary: str
    ) -> list[ContextSource]:
        """Return rules, self-model and summary."""
        rules = prompt("conversation", mind=mind_name)
        rules += f"\nThe person's name is {owner_name}." if owner_name else ""
        folded = f"Earlier in this conversation, in short:\n{folded_summary}" if folded_summary else ""
        return [
            ContextSource("rules", rules, is_stable=True),
            ContextSource("self-model", describe_self(self_model), is_stable=True),
            ContextSource("folded history", folded, is_stable=True),
        ]

    def mark_times(self, exchanges: Sequence[SentExchange]) -> list[SentExchange]:
        """Put the time before all words of the owner, as it stood when they were sent."""
        return mark_times(exchanges)

    def unrecalled_turn_ids(self, exchanges: Sequence[SentExchange]) -> frozenset[str]:
        """Return those in the history: what else has to do with the words is wanted."""
        return shown_turn_ids(exchanges)

    def choose(self, material: TurnMaterial) -> ChosenMaterial:
        """Choose whatever has to do with the words and does not stand in the prompt. A thought is told once."""
        standing = StandingText.of(
            [*(message.text for message in material.beginning), material.words],
            shown_turn_ids(material.exchanges),
            [name for exchange in material.exchanges for name in exchange.noted_ids],
            material.episode_of,
        )
        thought = whole_sentences(material.thought, THOUGHT_CHARS)
        thought = "" if standing.text.mostly_has(thought) else thought
        standing.text.add(thought)
        notes = drop_told(material.project_notes, standing)
        recall = material.recall
        return ChosenMaterial(notes, choose_untold(recall, standing, material.now) if recall else (), thought)

    def sources(self, context: TurnContext) -> list[ContextSource]:
        """Return time, memories and the rest. All that is no message of its own stands above the words in theirs: a
        message would need an answer that the mind never gave. Notes are in order of time, those on a project last."""
        before = context.exchanges[-1].said_at if context.exchanges else None
        project_notes = [item for item in context.memories if item.project]
        others = sorted((item for item in context.memories if not item.project), key=lambda item: -item.said_at)
        recalled = recalled_source(
            context, self.recalled_tokens, exchange_messages(context.memories), note_text([*project_notes, *others])
        )
        above = [source for source in context.others if not source.messages]
        sources = [ContextSource("time", time_mark(context.now, before)), *above, recalled]
        sources += [source for source in context.others if source.messages]
        return [*sources, ContextSource("off the record", OFF_RECORD_NOTE)] if context.is_off_record else sources


def thought_source(thought: str, *, is_tainted: bool) -> ContextSource:
    """Return the thought that the words interrupted, as the mind's own message."""
    messages = ChatMessage("user", THOUGHT_NOTE), ChatMessage("assistant", format_record(thought, len(thought)))
    return ContextSource("thought", messages=messages, is_tainted=is_tainted)


def silence_source(silence: str) -> ContextSource:
    """Return what the silence before the words means."""
    return ContextSource("silence", f"[{format_record(silence, SILENCE_CHARS)}]")


def describe_self(self_model: SelfModel) -> str:
    """Return what the mind is and knows of its owner; empty if nothing. Its bytes change only with the self-model."""
    parts = []
    if self_model.narrative:
        parts.append(f"What you are, in your own words: {one_line(self_model.narrative, 600)}")
    known = limit_statements(self_model.owner_facts, self_model.pinned, MAX_OWNER_FACTS)
    for title, statements in (
        ("What you know about the person", known),
        ("Still open", self_model.unresolved_threads),
        ("Expected, the next first (what lies before today is over)", expected_in_order(self_model)),
    ):
        if dated := with_days(self_model, statements, 200):
            parts.append(f"{title}:\n" + "\n".join(f"- {statement}" for statement in dated))
    return "\n\n".join(parts)


def time_mark(at: float, before: float | None) -> str:
    """Return what says when words were said: the time, and the day where it is not that of the words `before`."""
    is_same_day = before is not None and local_day(before) == local_day(at)
    return f"[{local_clock_time(at) if is_same_day else local_time(at)}]"


def mark_times(exchanges: Sequence[SentExchange]) -> list[SentExchange]:
    """Return the exchanges with their words below the time at which they were said."""
    before = [None, *(exchange.said_at for exchange in exchanges)]
    return [
        replace(exchange, asked=_below(time_mark(exchange.said_at, earlier), exchange.owner_words))
        for exchange, earlier in zip(exchanges, before, strict=False)
    ]


def _below(*parts: str) -> str:
    return "\n".join(filter(None, parts))
