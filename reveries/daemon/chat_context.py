"""Builds the prompt for a turn, in the form that suits the model's tier. Pure.

The prompt only grows at its end, so that the model's prompt cache stays valid: rules, self-model and folded summary in
the system message; then the history exactly as it was sent; then the memories recalled for the new words, as the
messages that they once were; then the new words.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reveries.daemon.prompt_memories import PromptMemory
from reveries.llm.base import ChatMessage
from reveries.llm.tier import Tier
from reveries.memory.model import Recall, RecallContext, SelfModel
from reveries.memory.self_model import limit_statements, with_days
from reveries.prompts import prompt
from reveries.safe_text import format_record, one_line

THOUGHT_CHARS = 240
SILENCE_CHARS = 160
MAX_OWNER_FACTS = 12
QUESTION_MARKS: Final = frozenset("?\u037e\u061f\uff1f")
"""Latin, Greek, Arabic and Chinese."""

_SAID_NOTE = "[From memory:"
_THOUGHT_NOTE = "[Nobody spoke, and you were thinking.]"
_NOTED = "I remember."
_GREETED = "Hello."
"""The assistant messages after a note and after a new day: every model's template requires alternating roles."""


@dataclass(frozen=True, slots=True)
class SentExchange:
    """One turn of the owner with its reply, as the model saw them (`asked` includes recalled notes)."""

    asked: str
    replied: str
    owner_words: str
    tokens: int
    turn_ids: tuple[str, ...]
    until_position: int = 0
    """The position in the conversation after its last turn."""
    is_tainted: bool = False
    """Whether untrusted text influenced it: everything said after it inherits that."""
    recalled: tuple[ChatMessage, ...] = ()
    """The messages of earlier exchanges that were recalled and placed before it."""
    recalled_turn_ids: tuple[str, ...] = ()
    said_at: float = 0.0
    is_carried: bool = False
    """Whether it is from an earlier conversation: it is dropped from the history without entering the summary."""


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """What the prompt contains for the owner's words, in addition to the history."""

    context: RecallContext
    recall: Recall | None
    """None if recall failed."""
    memories: tuple[PromptMemory, ...]
    thought: str
    silence: str
    read_words: str
    """The words, with the middle cut out where they were too long for the model."""
    notes: str
    """Memories placed before a question in the same message; empty if they are in `recalled`."""
    recalled: tuple[ChatMessage, ...]
    folded: int
    """Number of exchanges folded to make room."""

    @property
    def recalled_turn_ids(self) -> tuple[str, ...]:
        """The ids of all turns that were recalled into the prompt for these words."""
        return tuple(
            name
            for item in self.memories
            for name in (item.noted_turn_ids if self.notes and item.messages else item.turn_ids)
        )

    @property
    def asked(self) -> str:
        """The last message."""
        return f"{self.notes}{self.read_words}"


@dataclass(frozen=True, slots=True)
class TalkStyle:
    """The parameters of a conversation prompt."""

    rules: Callable[[str], str]
    """Returns the rules for a mind's name."""
    recalled_tokens: int
    """Token limit of the memories for a turn: a small machine reads them in a few seconds."""
    carried_tokens: int
    """Token limit of earlier conversations in the history after a start: a small model on two cores reads them ahead in
    five seconds."""
    asks_from_notes: bool
    """Whether memories for a question are a note right before it; otherwise they are earlier messages."""


def _small_rules(mind_name: str) -> str:
    return prompt("conversation_small", mind=mind_name)


def _capable_rules(mind_name: str) -> str:
    return prompt("conversation", mind=mind_name)


TALK_STYLES: Final[Mapping[Tier, TalkStyle]] = {
    Tier.LOOSE: TalkStyle(_small_rules, recalled_tokens=100, carried_tokens=150, asks_from_notes=True),
    Tier.SMALL: TalkStyle(_small_rules, recalled_tokens=200, carried_tokens=300, asks_from_notes=True),
    Tier.CAPABLE: TalkStyle(_capable_rules, recalled_tokens=1000, carried_tokens=1500, asks_from_notes=False),
}
"""A capable model gets more memories and fewer rules: who it is, what its notes are and how far they can be trusted. A
small one gets confused by many messages, and repeats rules about answering in its answer (docs/benchmarks/talk.md)."""


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
    if folded_summary:
        text += f"\n\nEarlier in this conversation, in short:\n{folded_summary}"
    return text


def messages_for(
    system: str,
    exchanges: Sequence[SentExchange],
    asked: str | None = None,
    recalled: Sequence[ChatMessage] = (),
) -> tuple[ChatMessage, ...]:
    """Build the whole prompt; without `asked`, the beginning that is known before the next words."""
    messages = [ChatMessage("system", system)]
    for one in exchanges:
        messages += (*one.recalled, ChatMessage("user", one.asked), ChatMessage("assistant", one.replied or "…"))
    messages += recalled
    if asked is not None:
        messages.append(ChatMessage("user", asked))
    return tuple(messages)


def day_messages(at: float) -> tuple[ChatMessage, ...]:
    """Return the messages before the first words of a day."""
    return ChatMessage("user", f"[{local_day(at)}]"), ChatMessage("assistant", _GREETED)


def recalled_messages(
    memories: Sequence[PromptMemory], thought: str = "", silence: str = ""
) -> tuple[ChatMessage, ...]:
    """Return the messages before the new words: notes on untrusted text and on a silence, earlier exchanges in order of
    time, and the thought that the words interrupted."""
    messages: list[ChatMessage] = []
    if notes := [item.line for item in reversed(memories) if not item.messages]:
        messages += (ChatMessage("user", f"{_SAID_NOTE}\n" + "\n".join(notes) + "]"), ChatMessage("assistant", _NOTED))
    for item in sorted((item for item in memories if item.messages), key=lambda item: item.said_at):
        messages += item.messages
    if silence:
        messages += (
            ChatMessage("user", f"[{format_record(silence, SILENCE_CHARS)}]"),
            ChatMessage("assistant", _NOTED),
        )
    if thought:
        messages += (
            ChatMessage("user", _THOUGHT_NOTE),
            ChatMessage("assistant", format_record(thought, THOUGHT_CHARS)),
        )
    return tuple(messages)


def messages_before_words(
    exchanges: Sequence[SentExchange], memories: Sequence[PromptMemory], now: float, thought: str, silence: str = ""
) -> tuple[ChatMessage, ...]:
    """Return the messages between the history and the new words: a new day, then the memories."""
    is_new_day = not exchanges or local_day(exchanges[-1].said_at) != local_day(now)
    return (*(day_messages(now) if is_new_day else ()), *recalled_messages(memories, thought, silence))


def split_notes(words: str, memories: Sequence[PromptMemory]) -> tuple[str, Sequence[PromptMemory]]:
    """Return earlier talk and project knowledge as one note for the same message as a question, and the memories left
    over. Without a question mark in the last line of `words` there is no note.

    A small model answers from a note right before the question more often than from the same lines as earlier messages,
    but takes statements for questions then (docs/benchmarks/talk.md).
    """
    exchanges = sorted((item for item in memories if item.messages), key=lambda item: item.said_at)
    project_notes = [item for item in memories if item.project]
    if not (exchanges or project_notes) or QUESTION_MARKS.isdisjoint(words.strip().rpartition("\n")[2]):
        return "", memories
    # Project notes come last, nearest to the question about the project.
    lines = [line for item in (*exchanges, *reversed(project_notes)) for line in (item.line, item.partner_line) if line]
    note = f"{_SAID_NOTE}\n" + "\n".join(lines) + "]\n"
    return note, [item for item in memories if not item.messages and not item.project]


STOPS = (f"\n{_SAID_NOTE}", f"\n{_THOUGHT_NOTE}")
"""Stop sequences: a small model goes on to invent the notes of the next message."""


def local_time(at: float) -> str:
    """Format a time in the local time zone: Saturday 21 November 2026, 14:05."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y, %H:%M")


def local_day(at: float) -> str:
    """Format a day in the local time zone: Saturday 21 November 2026."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y")
