"""Types of one conversation turn: its observers, its prepared prompt, its reply and its result."""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Protocol

from reveries.daemon.chat_context import PromptMemory, SentExchange
from reveries.errors import AsleepError, StorageError
from reveries.llm.base import ChatMessage, Usage
from reveries.memory.model import Recall, RecallContext, Turn
from reveries.safety.verdict import Verdict


class ReplyWatch(Protocol):
    """The circuit breaker that watches a reply, with the same detectors as for a thought."""

    def observe(self, piece: str, now: float) -> Verdict: ...


class TurnEvents(Protocol):
    """Receives the events of one turn; implemented by the connection of the client that asked."""

    def recalled(self, recall: Recall, memories: Sequence[PromptMemory]) -> None: ...

    def help(self, text: str) -> None: ...  # The person may be in danger: shown next to the reply (S2).

    def token(self, text: str) -> None: ...

    def stored(self, what: str, turn_id: str) -> None: ...


class ConversationHost(Protocol):
    """What a conversation needs of the rest of the mind."""

    def conversation_began(self) -> None:
        """Stop thinking and sleeping at once: the owner speaks (R-38)."""
        ...

    def turn_stored(self, turn: Turn) -> None:
        """Notify the attached clients of a stored turn."""
        ...

    async def conversation_rested(self, conversation_id: str) -> None:
        """The conversation became idle: the gap starts, sleep and thinking go on (R-95)."""
        ...

    def recent_thought(self) -> str:
        """Return the thought that the turn interrupted, while it is fresh (R-90); else empty."""
        ...

    def is_recent_thought_tainted(self) -> bool:
        """Whether that thought is tainted by untrusted text; then the reply is, too."""
        ...

    def turn_left_no_trace(self) -> None:
        """A turn ended without being stored (off the record, or it failed first) and the conversation is still idle:
        resume thinking, with nothing to sleep on."""
        ...

    async def project_notes(self, words: str, room_tokens: int) -> list[PromptMemory]:
        """Return notes on the project that `words` name; empty if they name none."""
        ...

    async def turns_folded(self) -> None:
        """Turns were folded out of the prompt: from now on only recall brings them back."""
        ...

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None: ...


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


@dataclass(slots=True)
class ReplyDraft:
    """A reply while it is generated, and how it ended."""

    text: str = ""
    reason: str = "failed"
    explanation: str = ""
    usage: Usage | None = None
    first_token_at: float | None = None
    verdict: Verdict | None = None
    is_off_record: bool = False


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The outcome of one turn."""

    owner_turn: Turn | None
    """None for a turn off the record."""
    reply_turn: Turn | None
    draft: ReplyDraft
    first_token_seconds: float
    seconds: float

    @classmethod
    def timed(
        cls, owner_turn: Turn | None, reply_turn: Turn | None, draft: ReplyDraft, began: float, ended: float
    ) -> "TurnResult":
        """Create a result from monotonic start and end times."""
        first = draft.first_token_at if draft.first_token_at is not None else ended
        return cls(owner_turn, reply_turn, draft, first - began, ended - began)


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


def falling_asleep_error() -> AsleepError:
    """Return the error for words that arrive while the mind shuts down."""
    return AsleepError("The mind is falling asleep.", advice="Nothing was stored. reveries wake")


def storage_error_in(errors: BaseExceptionGroup[BaseException]) -> StorageError | None:
    """Return the StorageError within a task group's errors, so that the caller sees it and not the group."""
    group = errors.subgroup(StorageError)
    return next((error for error in group.exceptions if isinstance(error, StorageError)), None) if group else None
