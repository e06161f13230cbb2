"""The record of a turn: what it may use and what it leaves behind. `OnRecord` keeps everything, `OffRecord` nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import structlog

from reveries.daemon.talk.code_replies import CodeReply
from reveries.daemon.talk.last_turns import LastTurns
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.daemon.talk.reply_generation import ReplyDraft, TurnEvents
from reveries.db.database import Transaction
from reveries.db.failpoints import Step, reach_step
from reveries.errors import ReveriesError, StorageLostError
from reveries.knowledge.citation_store import put_citations
from reveries.knowledge.citations import Citation
from reveries.llm.base import Prompt
from reveries.memory.conversations import RecordedExchange
from reveries.memory.memory import Memory
from reveries.memory.model import Recall, RecallContext, Turn
from reveries.safety.verdict import Verdict

log = structlog.get_logger("conversation")


class ConversationHost(Protocol):
    """What a conversation needs of the rest of the mind."""

    def conversation_began(self, *, is_private: bool) -> None:
        """Stop thinking and sleeping at once: the owner speaks (R-38). `is_private`: off the record."""
        ...

    def turn_stored(self, turn: Turn) -> None:
        """Notify the attached clients of a stored turn."""
        ...

    async def conversation_rested(self, conversation_id: str, goes_on_seconds: float) -> None:
        """The conversation became idle: the gap starts, sleep and thinking go on (R-95). For `goes_on_seconds` more
        words may come, so it is not thought about as one that ended."""
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

    async def answer_status(self, words: str) -> CodeReply | None:
        """Return the whole reply to a question how a project stands; None if `words` ask none."""
        ...

    async def answer_wish(self, words: str) -> CodeReply | None:
        """Return the whole reply to a yes or no to a change of a project that the last reply asked about."""
        ...

    async def propose_wish(self, words: str) -> CodeReply | None:
        """Return the question about a change of a project that `words` want; None if they want none."""
        ...

    async def turns_folded(self) -> None:
        """Turns were folded out of the prompt: from now on only recall brings them back."""
        ...

    async def reply_tripped(self, verdict: Verdict, so_far: str) -> None: ...


@dataclass(slots=True)
class OnRecord:
    """The record of a usual turn: the words are stored before the model is asked, the reply with its experience at the
    end. Each `stored` event follows its COMMIT."""

    memory: Memory
    host: ConversationHost
    events: TurnEvents
    last_turns: LastTurns
    """Keeps the prompt for `reveries context`."""
    owner_turn: Turn = field(init=False)
    ends_rest: ClassVar[bool] = True

    async def store_words(self, conversation_id: str, words: str) -> None:
        """Store the owner's words as `owner_turn`. Raises StorageError; then nothing was acknowledged."""
        self.owner_turn = await self.memory.conversations.append_owner_turn(conversation_id, words)
        reach_step(Step.WORDS_STORED)
        self.events.stored("words", self.owner_turn.id)
        reach_step(Step.WORDS_TOLD)
        self.host.turn_stored(self.owner_turn)

    async def recall(self, words: str, context: RecallContext) -> Recall | None:
        """Recall memories for `words`; None if that fails, because the reply must not fail with it (R-94)."""
        try:
            return await self.memory.recall(words, context, may_wake=True)
        except StorageLostError:
            raise
        except ReveriesError:
            log.warning("recall.failed", exc_info=True)
            return None

    async def gather_notes(self, words: str, room_tokens: int) -> tuple[str, Sequence[PromptMemory]]:
        """Return what the silence before `words` means, and notes on the project that they name."""
        silence = self.memory.describe_silence_before(self.owner_turn)
        return silence, await self.host.project_notes(words, room_tokens)

    async def answer_status(self, words: str) -> CodeReply | None:
        """Return the reply to a question how a project stands."""
        return await self.host.answer_status(words)

    async def answer_wish(self, words: str) -> CodeReply | None:
        """Return the reply to a yes or no to a change that was asked about."""
        return await self.host.answer_wish(words)

    async def propose_wish(self, words: str) -> CodeReply | None:
        """Return the question about a change that `words` want."""
        return await self.host.propose_wish(words)

    async def store_reply(
        self,
        recall: Recall | None,
        draft: ReplyDraft,
        prompt: Prompt,
        citations: Sequence[Citation],
        *,
        is_tainted: bool,
    ) -> Turn | None:
        """Store the exchange with what it cites, and the reinforcement of `recall`; return the reply's turn, None for
        an empty reply."""

        async def put_cited(transaction: Transaction, exchange: RecordedExchange) -> None:
            if exchange.reply is not None:
                await put_citations(transaction, exchange.reply.id, citations)

        if draft.verdict is not None:
            await self.host.reply_tripped(draft.verdict, draft.text)
        reach_step(Step.REPLY_SAID)
        exchange = await self.memory.conversations.record_exchange(
            self.owner_turn,
            draft.text,
            recall=recall,
            end_reason="" if draft.reason == "stop" else draft.reason,
            is_stopped=draft.verdict is not None,
            shown=tuple(message.text for message in prompt.messages),
            is_tainted=is_tainted,
            also=put_cited if citations else None,
        )
        if exchange.reply is not None:
            reach_step(Step.EXCHANGE_STORED)
            self.events.stored("exchange", exchange.reply.id)
            reach_step(Step.EXCHANGE_TOLD)
            self.host.turn_stored(exchange.reply)
        return exchange.reply


@dataclass(frozen=True, slots=True)
class OffRecord:
    """The record of a turn of which nothing is stored, reinforced, logged, or known to the next turn. An idle
    conversation stays idle."""

    memory: Memory
    may_embed: bool
    """Not with a remote embedder, whose calls are recorded because they cost money: recall then uses words alone."""
    last_turns: LastTurns = field(default_factory=LastTurns)
    """Its own: the prompt is forgotten with the turn."""
    owner_turn: ClassVar[None] = None
    ends_rest: ClassVar[bool] = False

    async def store_words(self, conversation_id: str, words: str) -> None:
        """Do nothing."""

    async def recall(self, words: str, context: RecallContext) -> Recall:
        """Recall memories for `words` without reading the database, and without waking any."""
        return await self.memory.recall(words, context, by_words_alone=not self.may_embed)

    async def gather_notes(self, words: str, room_tokens: int) -> tuple[str, Sequence[PromptMemory]]:
        """Return no notes."""
        return "", ()

    async def answer_status(self, words: str) -> None:
        """Do nothing: nothing of a project is looked up."""

    async def answer_wish(self, words: str) -> None:
        """Do nothing: what is off the record changes nothing."""

    async def propose_wish(self, words: str) -> None:
        """Do nothing."""

    async def store_reply(
        self,
        recall: Recall | None,
        draft: ReplyDraft,
        prompt: Prompt,
        citations: Sequence[Citation],
        *,
        is_tainted: bool,
    ) -> None:
        """Do nothing."""
