"""What a prompt of a conversation is made of, whatever the model's tier. Pure.

The prompt only grows at its end, so that the model's prompt cache stays valid: the system message; then the history
exactly as it was sent; then the memories recalled for the new words, as the messages that they once were; then the new
words. The form of the model's tier decides what stands in it: `plain_talk` for a small one, else `capable_talk`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.llm.base import ChatMessage
from reveries.memory.model import Recall, RecallContext, SelfModel

SAID_NOTE: Final = "[From memory:"
THOUGHT_NOTE: Final = "[Nobody spoke, and you were thinking.]"
NOTED: Final = "I remember."
"""The assistant message after a note to a small model: its template requires alternating roles."""
STOPS: Final = (f"\n{SAID_NOTE}", f"\n{THOUGHT_NOTE}")
"""Stop sequences: a small model goes on to invent the notes of the next message."""


@dataclass(frozen=True, slots=True)
class SentExchange:
    """One turn of the owner with its reply, as the model saw them."""

    asked: str
    """As it was sent: less than `owner_words` where those were too long, more where a small model was reminded."""
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
    noted_ids: tuple[str, ...] = ()
    """The ids of episodes and of knowledge that were told before it as notes, without their turns."""
    said_at: float = 0.0
    is_carried: bool = False
    """Whether it is from an earlier conversation: it is dropped from the history without entering the summary."""


@dataclass(frozen=True, slots=True)
class ContextSource:
    """One thing that a prompt tells besides the history and the words, as it stands there."""

    name: str
    lines: str = ""
    """What it tells in the message where it stands: the system message if it is stable, else above the words."""
    messages: tuple[ChatMessage, ...] = ()
    """What it tells in messages of its own, between the history and the words."""
    share_tokens: int = 0
    """The most that it may take; 0: no limit of its own."""
    is_stable: bool = False
    """Its bytes change seldom, so that the model's prompt cache holds it."""
    is_tainted: bool = False
    """Whether untrusted text is in it that recall does not answer for: the reply inherits that."""
    note: str = ""
    """For the owner who looks at the context."""

    @property
    def text(self) -> str:
        """All that it tells."""
        return "\n".join(filter(None, (*(message.text for message in self.messages), self.lines)))


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What may be told with the words of a turn."""

    exchanges: Sequence[SentExchange]
    """The history."""
    now: float
    memories: Sequence[PromptMemory] = ()
    is_off_record: bool = False
    """Nothing of the turn is kept."""
    others: Sequence[ContextSource] = ()
    """What parts of the mind other than memory tell."""


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """What the prompt contains for the owner's words, in addition to the history."""

    context: RecallContext
    recall: Recall | None
    """None if recall failed."""
    told: TurnContext
    sources: Sequence[ContextSource]
    """What is told of it, in the order of the prompt."""
    candidates: tuple[PromptMemory, ...]
    """All that could have been told, best first; some may have had no room."""
    read_words: str
    """The words, with the middle cut out where they were too long for the model."""
    asked: str
    """The last message."""
    recalled: tuple[ChatMessage, ...]
    folded: int
    """Number of exchanges folded to make room."""

    @property
    def memories(self) -> Sequence[PromptMemory]:
        """The memories that are told."""
        return self.told.memories

    @property
    def recalled_turn_ids(self) -> tuple[str, ...]:
        """The ids of all turns that were recalled into the prompt for these words."""
        return tuple(turn_id for item in self.memories for turn_id in item.turn_ids)

    @property
    def noted_ids(self) -> tuple[str, ...]:
        """The ids of what was told without turns."""
        return tuple(item.episode_id for item in self.memories if item.turn_id is None)


@dataclass(frozen=True, slots=True)
class TurnMaterial:
    """What may be told before the words of a turn."""

    words: str
    now: float
    recall: Recall | None
    """None if recall failed."""
    project_notes: Sequence[PromptMemory]
    thought: str
    """The thought that the words interrupted; empty if it is long ago."""
    exchanges: Sequence[SentExchange]
    beginning: Sequence[ChatMessage]
    """The prompt so far: the system message and the history."""
    episode_of: Callable[[str], str | None]
    """Returns the episode of a turn; None if it has none yet."""


@dataclass(frozen=True, slots=True)
class ChosenMaterial:
    """What is to be told of it: notes on a project, as many of the memories as have room, and a thought."""

    project_notes: Sequence[PromptMemory]
    memories: Sequence[PromptMemory]
    """Best first."""
    thought: str = ""


class TalkForm(Protocol):
    """How the prompt of a turn is built for a tier of models."""

    @property
    def recalled_tokens(self) -> int:
        """Token limit of the memories for a turn."""
        ...

    @property
    def summary_share(self) -> float:
        """Share of the model's context that a summary of the folded history may use."""
        ...

    @property
    def tells_thoughts(self) -> bool:
        """Whether the mind's last thought, and what a silence meant, stand before the words."""
        ...

    @property
    def reads_before_telling(self) -> bool:
        """Whether the model is told only the memory that answers the words in its own judgement."""
        ...

    def carried_tokens(self, room_tokens: int) -> int:
        """Token limit of the talk before a start in the history, out of `room_tokens` for a whole prompt."""
        ...

    def resumed_tokens(self, room_tokens: int) -> int:
        """Token limit of the conversation itself in the history after a start or when it is resumed."""
        ...

    def rest_tokens(self, room_tokens: int) -> int:
        """Token limit of the history while the conversation is idle."""
        ...

    @property
    def separator(self) -> str:
        """What stands between two sources in one message."""
        ...

    def stable_sources(
        self, mind_name: str, owner_name: str, self_model: SelfModel, folded_summary: str
    ) -> Sequence[ContextSource]:
        """Return what the system message is made of."""
        ...

    def mark_times(self, exchanges: Sequence[SentExchange]) -> list[SentExchange]:
        """Return the history as its words were sent, with whatever says when that was."""
        ...

    def unrecalled_turn_ids(self, exchanges: Sequence[SentExchange]) -> frozenset[str]:
        """Return the ids of the turns that recall leaves out."""
        ...

    def choose(self, material: TurnMaterial) -> ChosenMaterial:
        """Choose what is told before the words."""
        ...

    def sources(self, context: TurnContext) -> Sequence[ContextSource]:
        """Return what is told between the history and the words, in the order of the prompt."""
        ...


def shown_turn_ids(exchanges: Sequence[SentExchange]) -> frozenset[str]:
    """Return the ids of all turns that are verbatim in the history."""
    return frozenset(turn_id for exchange in exchanges for turn_id in (*exchange.turn_ids, *exchange.recalled_turn_ids))


def system_message(sources: Iterable[ContextSource]) -> str:
    """Build the stable part of the prompt."""
    return "\n\n".join(source.lines for source in sources if source.lines)


def messages_before_words(sources: Iterable[ContextSource]) -> tuple[ChatMessage, ...]:
    """Return the messages between the history and the last message."""
    return tuple(message for source in sources for message in source.messages)


def last_message(form: TalkForm, sources: Iterable[ContextSource], words: str) -> str:
    """Return the last message: `words` below what is told in the same message."""
    return form.separator.join([*(source.lines for source in sources if source.lines), words])


def messages_for(
    system: str,
    exchanges: Sequence[SentExchange],
    asked: str | None = None,
    recalled: Sequence[ChatMessage] = (),
) -> tuple[ChatMessage, ...]:
    """Build the whole prompt; without `asked`, the beginning that is known before the next words."""
    messages = [ChatMessage("system", system)]
    for exchange in exchanges:
        messages += (
            *exchange.recalled,
            ChatMessage("user", exchange.asked),
            ChatMessage("assistant", exchange.replied or "…"),
        )
    messages += recalled
    if asked is not None:
        messages.append(ChatMessage("user", asked))
    return tuple(messages)


def note_messages(memories: Sequence[PromptMemory]) -> tuple[ChatMessage, ...]:
    """Return what is told as a note, never as somebody's words: untrusted text (F1), a summary, a project's state."""
    text = note_text(memories)
    return (ChatMessage("user", text), ChatMessage("assistant", NOTED)) if text else ()


def note_text(memories: Sequence[PromptMemory]) -> str:
    """Return one note with the lines of `memories` that are no messages, the last first; empty if there are none."""
    lines = [item.line for item in reversed(memories) if not item.messages]
    return f"{SAID_NOTE}\n" + "\n".join(lines) + "]" if lines else ""


def recalled_source(
    context: TurnContext, share_tokens: int, messages: tuple[ChatMessage, ...], lines: str
) -> ContextSource:
    """Return what the memories of a turn tell; recall answers for the taint of all but notes on projects."""
    is_tainted = any(memory.is_tainted for memory in context.memories if memory.project)
    note = f"{len(context.memories)} told"
    return ContextSource("recalled", lines, messages, share_tokens, is_tainted=is_tainted, note=note)


def exchange_messages(memories: Sequence[PromptMemory]) -> tuple[ChatMessage, ...]:
    """Return recalled exchanges as the messages that they were, in order of time."""
    in_order = sorted((item for item in memories if item.messages), key=lambda item: item.said_at)
    return tuple(message for item in in_order for message in item.messages)


def local_time(at: float) -> str:
    """Format a time in the local time zone: Saturday 21 November 2026, 14:05."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y, %H:%M")


def local_day(at: float) -> str:
    """Format a day in the local time zone: Saturday 21 November 2026."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y")


def local_clock_time(at: float) -> str:
    """Format a time of day in the local time zone: 14:05."""
    return datetime.fromtimestamp(at).strftime("%H:%M")
