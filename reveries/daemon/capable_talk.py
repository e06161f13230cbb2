"""The prompt for a capable model: who the mind is, what it knows of its owner, what it remembers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from reveries.daemon.capable_memories import StandingText, choose_untold, drop_told
from reveries.daemon.chat_context import (
    NOTED,
    THOUGHT_NOTE,
    ChosenMaterial,
    SentExchange,
    TurnMaterial,
    exchange_messages,
    local_day,
    note_messages,
    shown_turn_ids,
)
from reveries.daemon.prompt_memories import PromptMemory
from reveries.llm.base import ChatMessage
from reveries.memory.model import SelfModel
from reveries.memory.self_model import limit_statements, with_days
from reveries.memory.text.quoting import whole_sentences
from reveries.prompts import prompt
from reveries.safe_text import format_record, one_line

THOUGHT_CHARS: Final = 800
SILENCE_CHARS: Final = 160
MAX_OWNER_FACTS: Final = 12
_SMALL_ROOM_TOKENS: Final = 16_384
_GREETED: Final = "Hello."
"""The assistant message after a new day."""


@dataclass(frozen=True, slots=True)
class CapableTalk:
    """See TalkForm."""

    recalled_tokens: int = 1500
    summary_share: float = 0.1
    tells_thoughts: bool = True
    reads_before_telling: bool = False

    def carried_tokens(self, room_tokens: int) -> int:
        """The end of the talk before; recall finds the rest."""
        return min(1500, room_tokens)

    def resumed_tokens(self, room_tokens: int) -> int:
        """Half of the room: what was said in it so far is what the talk is about."""
        return room_tokens // 2

    def rest_tokens(self, room_tokens: int) -> int:
        """Half of a small context: it is folded while no client waits. With a larger one that saves nothing."""
        return room_tokens if room_tokens > _SMALL_ROOM_TOKENS else room_tokens // 2

    def system(self, mind_name: str, owner_name: str, self_model: SelfModel, folded_summary: str) -> str:
        """Build rules, self-model and summary. Its bytes change only with them."""
        return system_text(prompt("conversation", mind=mind_name), owner_name, self_model, folded_summary)

    def mark_days(self, exchanges: Sequence[SentExchange]) -> list[SentExchange]:
        """Put the date before the first exchange of each day."""
        return mark_days(exchanges)

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

    def before_words(
        self,
        exchanges: Sequence[SentExchange],
        memories: Sequence[PromptMemory],
        now: float,
        thought: str,
        silence: str,
    ) -> tuple[ChatMessage, ...]:
        """Return a new day, then the memories, the silence and the thought."""
        is_new_day = not exchanges or local_day(exchanges[-1].said_at) != local_day(now)
        return (*(day_messages(now) if is_new_day else ()), *recalled_messages(memories, thought, silence))

    def ask(self, words: str, memories: Sequence[PromptMemory]) -> str:
        """Return the words as they are."""
        return words


def system_text(rules: str, owner_name: str, self_model: SelfModel, folded_summary: str) -> str:
    """Build the stable part of the prompt. Its bytes change only with the model's tier, the self-model and the fold."""
    text = rules
    if owner_name:
        text += f"\nThe person's name is {owner_name}."
    if self_model.narrative:
        text += f"\n\nWhat you are, in your own words: {one_line(self_model.narrative, 600)}"
    if facts := limit_statements(self_model.owner_facts, self_model.pinned, MAX_OWNER_FACTS):
        text += "\n\nWhat you know about the person:\n" + "\n".join(
            f"- {fact}" for fact in with_days(self_model, facts, 200)
        )
    if threads := with_days(self_model, self_model.unresolved_threads, 200):
        text += "\n\nStill open:\n" + "\n".join(f"- {thread}" for thread in threads)
    if expected := with_days(self_model, self_model.anticipations, 200):
        text += "\n\nExpected, by what was known then (some of it may be over):\n" + "\n".join(
            f"- {event}" for event in expected
        )
    if folded_summary:
        text += f"\n\nEarlier in this conversation, in short:\n{folded_summary}"
    return text


def day_messages(at: float) -> tuple[ChatMessage, ...]:
    """Return the messages before the first words of a day."""
    return ChatMessage("user", f"[{local_day(at)}]"), ChatMessage("assistant", _GREETED)


def recalled_messages(
    memories: Sequence[PromptMemory], thought: str = "", silence: str = ""
) -> tuple[ChatMessage, ...]:
    """Return the messages before the new words: notes on untrusted text and on a silence, earlier exchanges in order of
    time, and the thought that the words interrupted."""
    project_notes = [item for item in memories if item.project]
    others = sorted((item for item in memories if not item.project), key=lambda item: -item.said_at)
    # Notes are written from the last to the first: in order of time, then those on a project.
    messages = [*note_messages([*project_notes, *others]), *exchange_messages(memories)]
    if silence:
        messages += (
            ChatMessage("user", f"[{format_record(silence, SILENCE_CHARS)}]"),
            ChatMessage("assistant", NOTED),
        )
    if thought:
        messages += (
            ChatMessage("user", THOUGHT_NOTE),
            ChatMessage("assistant", format_record(thought, len(thought))),
        )
    return tuple(messages)


def mark_days(exchanges: Sequence[SentExchange]) -> list[SentExchange]:
    """Return the exchanges with the date put before the first of each day."""
    dated: list[SentExchange] = []
    for at, one in enumerate(exchanges):
        is_first = not at or local_day(exchanges[at - 1].said_at) != local_day(one.said_at)
        dated.append(replace(one, recalled=day_messages(one.said_at)) if is_first else one)
    return dated
