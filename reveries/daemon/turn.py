"""One turn of the conversation: what watches it, whom it tells, what it comes to."""

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
    """The breaker over a reply: the same detectors as over a thought."""

    def observe(self, piece: str, now: float) -> Verdict: ...


class TurnEvents(Protocol):
    """Where the events of one turn go: the client that asked."""

    def recalled(self, recall: Recall, told: Sequence[PromptMemory]) -> None: ...

    def help(self, text: str) -> None: ...  # Whoever wrote may be in danger: shown beside whatever comes (S2).

    def token(self, text: str) -> None: ...

    def stored(self, what: str, turn_id: str) -> None: ...


class ConversationHost(Protocol):
    """What a conversation tells the rest of the mind, and asks of it."""

    def conversation_began(self) -> None:
        """Somebody speaks: stop thinking and sleeping, at once (R-38)."""
        ...

    def turn_stored(self, turn: Turn) -> None:
        """A turn is on the disk: tell whoever is attached."""
        ...

    async def conversation_rested(self, conversation_id: str) -> None:
        """Nobody speaks any more: the gap starts, sleep and thinking go on (R-95)."""
        ...

    def recent_thought(self) -> str:
        """What the mind was just thinking, while that is fresh (R-90); else empty."""
        ...

    def is_recent_thought_tainted(self) -> bool:
        """Whether somebody else than the owner and the mind had a hand in that thought: then so has it in the reply."""
        ...

    def nothing_was_said(self) -> None:
        """What began with somebody speaking left no trace - off the record, or it failed before it was stored - and the
        conversation rests as before: nothing of it is slept on, thinking goes on."""
        ...

    async def project_notes(self, words: str, room_tokens: int) -> list[PromptMemory]:
        """What is known of a project that these words name; nothing where they name none."""
        ...

    async def turns_folded(self) -> None:
        """Turns left the model's sight: from now on only recall brings them back."""
        ...

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None: ...


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """What the model is to read for the owner's words, beside what stands in its history."""

    context: RecallContext
    recall: Recall | None
    """None: recall failed."""
    told: tuple[PromptMemory, ...]
    thought: str
    silence: str
    read_words: str
    """The words, shorter where they were too long for the model."""
    notes: str
    """What was recalled for a question, right before it in the same message; empty where it stands in `recalled`."""
    recalled: tuple[ChatMessage, ...]
    folded: int
    """Exchanges that were folded away to make room."""

    @property
    def recalled_turn_ids(self) -> tuple[str, ...]:
        """Every turn that stands before the words because it was recalled for them."""
        return tuple(
            name
            for item in self.told
            for name in (item.noted_turn_ids if self.notes and item.messages else item.turn_ids)
        )

    @property
    def asked(self) -> str:
        """The last message."""
        return f"{self.notes}{self.read_words}"


@dataclass(slots=True)
class ReplyDraft:
    """A reply as it grows, and how it ended."""

    text: str = ""
    reason: str = "failed"
    explanation: str = ""
    usage: Usage | None = None
    first_token_at: float | None = None
    verdict: Verdict | None = None
    is_off_record: bool = False


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What became of one turn."""

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
        """One that began and ended at these monotonic times."""
        first = draft.first_token_at if draft.first_token_at is not None else ended
        return cls(owner_turn, reply_turn, draft, first - began, ended - began)


@dataclass(slots=True)
class TalkState:
    """Where the conversation stands."""

    conversation_id: str
    began_at: float
    summary: str = ""
    exchanges: tuple[SentExchange, ...] = ()
    is_resting: bool = True
    last_word_monotonic: float = 0.0
    chosen_monotonic: float = -math.inf
    """When the owner chose this one: for a while it is the one to go on with, though another was spoken in last."""
    attached: set[int] = field(default_factory=set)

    @property
    def shown_turn_ids(self) -> frozenset[str]:
        """Turns that the model has before it word for word."""
        return frozenset(
            turn_id for exchange in self.exchanges for turn_id in (*exchange.turn_ids, *exchange.recalled_turn_ids)
        )

    @property
    def history_tokens(self) -> int:
        return sum(exchange.tokens for exchange in self.exchanges)

    def drop(self, turn_ids: AbstractSet[str]) -> None:
        self.exchanges = tuple(one for one in self.exchanges if not turn_ids & set(one.turn_ids))

    def rests_as(self, before: "TalkState") -> None:
        """It is the same talk, read anew: its time of rest is as it was."""
        self.is_resting, self.chosen_monotonic = before.is_resting, before.chosen_monotonic
        self.last_word_monotonic = before.last_word_monotonic


def falls_asleep() -> AsleepError:
    """For whoever says something while the mind ends."""
    return AsleepError("The mind is falling asleep.", advice="Nothing was stored. reveries wake")


def storage_error_in(errors: BaseExceptionGroup[BaseException]) -> StorageError | None:
    """What the disk did while a task group was at work: whoever asked must hear of it, not of the group."""
    found = errors.subgroup(StorageError)
    return next((error for error in found.exceptions if isinstance(error, StorageError)), None) if found else None
