"""One turn of a conversation: from the owner's words to the stored exchange (R-88..R-94).

`TurnPipeline.take_turn` is the sequence of steps of every turn. The turn's record decides what it may use and what it
leaves behind: `OnRecord` stores everything, `OffRecord` nothing.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import structlog

from reveries.clock import Clock
from reveries.config import Settings
from reveries.daemon.talk.answer_reading import MOST_OF_TIME, find_answer
from reveries.daemon.talk.capable_talk import CapableTalk, silence_source, thought_source
from reveries.daemon.talk.chat_context import (
    STOPS,
    PreparedTurn,
    TalkForm,
    TurnContext,
    TurnMaterial,
    last_message,
    messages_before_words,
    messages_for,
    system_message,
)
from reveries.daemon.talk.chat_history import TalkState, TokenCounts, fold_to_fit, sent_exchange
from reveries.daemon.talk.document_notes import cite_reply
from reveries.daemon.talk.last_turns import LastTurn
from reveries.daemon.talk.personal_answers import checked_model
from reveries.daemon.talk.plain_talk import PlainTalk
from reveries.daemon.talk.prompt_memories import PromptMemory
from reveries.daemon.talk.reply_generation import (
    ReplyDraft,
    ReplyGeneration,
    ReplyModel,
    ReplyStop,
    ReplyWatch,
    TurnEvents,
)
from reveries.daemon.talk.turn_records import ConversationHost, OffRecord, OnRecord
from reveries.db.failpoints import HangPlace, may_hang
from reveries.gates import Gate, inherits_taint
from reveries.knowledge.citations import Citation
from reveries.llm.base import ChatMessage, ChatModel, Prompt, Role
from reveries.llm.prices import price_of
from reveries.llm.reply_length import reply_tokens_for
from reveries.llm.tier import Tier
from reveries.memory.memory import Memory
from reveries.memory.model import Recall, RecallContext, Turn

log = structlog.get_logger("conversation")

TALK_FORMS: Final[Mapping[Tier, TalkForm]] = {
    Tier.LOOSE: PlainTalk(recalled_tokens=100),
    Tier.SMALL: PlainTalk(),
    Tier.CAPABLE: CapableTalk(),
}
_SAFETY_TOKENS = 64
_MOST_OFFERED = 100
"""Places in documents that may still be cited in a conversation."""
_TEMPERATURE = 0.3
"""Tried on the default model: at a higher temperature it slips into the owner's first person."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The outcome of one turn."""

    owner_turn: Turn | None
    """None for a turn off the record."""
    reply_turn: Turn | None
    draft: ReplyDraft
    first_token_seconds: float
    seconds: float
    citations: Sequence[Citation] = ()
    """What the reply rests on in documents."""


class ForgetRead(Protocol):
    """Has local models forget what they read for conversations."""

    def __call__(self, *, is_only_end: bool = False) -> None:
        """Forget all of it, or only what no longer stands at the end. Raises OSError."""
        ...


def keep_read(*, is_only_end: bool = False) -> None:
    """Do nothing: the model keeps nothing of what it reads."""


@dataclass(kw_only=True)
class TurnPipeline:
    """Prepares prompts and takes turns in the conversation whose current state is `state`."""

    memory: Memory
    model: ChatModel
    clock: Clock
    host: ConversationHost
    new_watch: Callable[[], ReplyWatch]
    read_settings: Callable[[], Settings]
    tier: Callable[[], Tier] = lambda: Tier.SMALL
    forget_read: ForgetRead = keep_read
    state: TalkState = field(default_factory=lambda: TalkState(conversation_id="", began_at=0.0))

    async def take_turn(
        self, words: str, record: OnRecord | OffRecord, events: TurnEvents, stop: ReplyStop, began: float
    ) -> TurnResult:
        """Take one turn, which `began` at that monotonic time. Raises StorageError."""
        await record.store_words(self.state.conversation_id, words)
        unrecalled = self.form.unrecalled_turn_ids(self.state.exchanges)
        context = self.memory.recall_context(words, self.settings.recall.limit, unrecalled)
        recall = await record.recall(words, context)
        silence, project_notes = await record.gather_notes(words, self.form.recalled_tokens)
        silence = silence if self.form.tells_thoughts else ""
        is_off_record = record.owner_turn is None
        prepared = await self._prepare(
            words, context, recall, events, silence, project_notes, is_off_record=is_off_record
        )
        is_tainted = self._is_tainted(prepared)
        record.last_turns.keep(self._last_turn(words, prepared))
        await may_hang(HangPlace.REPLY)
        prompt = self._prompt(prepared)
        model: ReplyModel = self.model
        if self.form.reads_before_telling:
            model = await checked_model(self.model, self.memory, words, prepared, self.state.exchanges)
        draft, is_quoting_foreign = await self._reply(words, record, model, prompt, events, stop)
        is_tainted = is_tainted or is_quoting_foreign
        citations = self._cite(words, draft, prepared)
        reply_turn = await record.store_reply(recall, draft, prompt, citations, is_tainted=is_tainted)
        if record.owner_turn is not None and reply_turn is not None:
            last = sent_exchange(prepared, record.owner_turn, reply_turn)
            self.state.exchanges = (*self.state.exchanges, *await self.tokens.recount([last]))
        ended = self.clock.monotonic()
        first_token_at = ended if draft.first_token_at is None else draft.first_token_at
        return TurnResult(record.owner_turn, reply_turn, draft, first_token_at - began, ended - began, citations)

    def _cite(self, words: str, draft: ReplyDraft, prepared: PreparedTurn) -> list[Citation]:
        """Return what the reply rests on in documents, and remember what was offered for the turns to come."""
        memories, offered = prepared.memories, self.state.offered
        citations = cite_reply(words, draft.text, memories, offered, self.tier()) if draft.verdict is None else []
        offered |= {memory.place.short_id: memory.place for memory in memories if memory.place is not None}
        for short_id in list(offered)[:-_MOST_OFFERED]:
            del offered[short_id]
        return citations

    async def _reply(
        self, words: str, record: OnRecord | OffRecord, model: ReplyModel, prompt: Prompt, events: TurnEvents,
        stop: ReplyStop,
    ) -> tuple[ReplyDraft, bool]:  # fmt: skip
        """Return the reply, and whether what code says in it quotes untrusted text: the model's, with the question
        whether to change a project if the words want that; to a yes or no to such a question what was done. How a
        project stands a small model is not asked."""
        answer = await record.answer_wish(words)
        if answer is None and self.tier() is not Tier.CAPABLE:
            answer = await record.answer_status(words)
        if answer is not None:
            events.token(answer.text)
            return ReplyDraft(answer.text, "stop"), answer.is_tainted
        draft = await ReplyGeneration(model, self.clock, self.new_watch(), events).generate(prompt, stop)
        if draft.reason != "stop" or draft.verdict is not None or (asked := await record.propose_wish(words)) is None:
            return draft, False
        text = f"\n\n{asked.text}" if draft.text.strip() else asked.text
        events.token(text)
        draft.text += text
        return draft, asked.is_tainted

    @property
    def settings(self) -> Settings:
        """The current settings."""
        return self.read_settings()

    @property
    def tokens(self) -> TokenCounts:
        return TokenCounts(self.model)

    @property
    def form(self) -> TalkForm:
        """How prompts are built for the model's tier."""
        return TALK_FORMS[self.tier()]

    @property
    def reply_tokens(self) -> int:
        """The most tokens of a reply of the current model."""
        setting = self.settings.llm.limits.reply_tokens
        budget = self.settings.budget
        dollars = min(budget.dollars_per_day, budget.conversation.dollars_per_day)
        price = price_of(self.model.name, self.settings.llm)
        return reply_tokens_for(setting, self.model.name, price, self.tier(), self.model.context_tokens, dollars)

    @property
    def room_tokens(self) -> int:
        """Tokens that a prompt may use."""
        return self.model.context_tokens - self.reply_tokens - _SAFETY_TOKENS

    def prompt_beginning(self) -> tuple[ChatMessage, ...]:
        """Return the part of the next prompt that is known before the next words."""
        return messages_for(self._system(), self.state.exchanges)

    async def fold(self, limit_tokens: int) -> int:
        """Fold the history to at most `limit_tokens`; return how many exchanges were folded."""
        folded = await fold_to_fit(
            self.memory,
            self.tokens,
            self.state,
            lambda summary: self.tokens.count(self._system(summary)),
            self.form,
            limit_tokens=limit_tokens,
            context_tokens=self.model.context_tokens,
        )
        if folded:
            await self.host.turns_folded()
            log.info("conversation.folded", exchanges=folded)
        return folded

    async def _prepare(
        self, words: str, context: RecallContext, recall: Recall | None, events: TurnEvents, silence: str,
        project_notes: Sequence[PromptMemory], *, is_off_record: bool,
    ) -> PreparedTurn:  # fmt: skip
        """Prepare the prompt for `words`, with notes on a project. Folds the history if it does not fit."""
        material = TurnMaterial(
            words,
            context.now,
            recall,
            project_notes,
            self.host.recent_thought(),
            self.state.exchanges,
            self.prompt_beginning(),
            self.memory.episode_of,
        )
        chosen = await asyncio.to_thread(self.form.choose, material)
        fitting = await self._select_told(words, recall, chosen.memories)
        memories, thought = (*chosen.project_notes, *fitting), chosen.thought
        if recall is not None:
            events.recalled(recall, memories)
        read_words = await self._cut_to_fit(words)
        others = [silence_source(silence)] if silence else []
        if thought:
            others.append(thought_source(thought, is_tainted=self.host.is_recent_thought_tainted()))
        told = TurnContext(self.state.exchanges, context.now, memories, is_off_record, others)
        sources = self.form.sources(told)
        added = (*messages_before_words(sources), ChatMessage("user", last_message(self.form, sources, read_words)))
        if folded := await self.fold(self.room_tokens - await self.tokens.count_messages(added)):
            told = replace(told, exchanges=self.state.exchanges)
            sources = self.form.sources(told)
        asked, recalled = last_message(self.form, sources, read_words), messages_before_words(sources)
        return PreparedTurn(context, recall, told, sources, tuple(chosen.memories), read_words, asked, recalled, folded)

    async def _select_told(
        self, words: str, recall: Recall | None, memories: Sequence[PromptMemory]
    ) -> Sequence[PromptMemory]:
        """Select what is told of `memories`: what fits; for a small model what answers, or all of a time asked for."""
        if self.form.reads_before_telling and recall is not None:
            is_of_time = recall.names_only_time
            memories = memories[:MOST_OF_TIME] if is_of_time else await find_answer(self.model, words, memories)
        return await self.tokens.select_fitting(memories, self.form.recalled_tokens)

    async def _cut_to_fit(self, words: str) -> str:
        """Cut the middle out of `words` that do not fit the model's context. They are stored in full."""
        left_tokens = self.room_tokens - self.form.recalled_tokens - 2 * _SAFETY_TOKENS
        return await self.tokens.cut(words, left_tokens - await self.tokens.count(self._system()))

    def _is_tainted(self, prepared: PreparedTurn) -> bool:
        """Whether untrusted text besides the recalled memories, which `record_exchange` looks at, is in the prompt: in
        one of its sources or the history. The reply inherits that."""
        told = [source.is_tainted for source in prepared.sources]
        return inherits_taint(Gate.TALK, *told, *(exchange.is_tainted for exchange in self.state.exchanges))

    def _prompt(self, turn: PreparedTurn) -> Prompt:
        return Prompt(
            role=Role.CONVERSATION,
            messages=messages_for(self._system(), self.state.exchanges, turn.asked, turn.recalled),
            max_tokens=self.reply_tokens,
            temperature=_TEMPERATURE,
            stop=STOPS,
        )

    def _system(self, summary: str | None = None) -> str:
        summary = self.state.summary if summary is None else summary
        names = self.settings.mind.name, self.settings.owner.name
        return system_message(self.form.stable_sources(*names, self.memory.self_model, summary))

    def _last_turn(self, words: str, prepared: PreparedTurn) -> LastTurn:
        return LastTurn(
            conversation_id=self.state.conversation_id,
            words=words,
            prepared=prepared,
            form=self.form,
            names=(self.settings.mind.name, self.settings.owner.name),
            self_model=self.memory.self_model,
            summary=self.state.summary,
            exchanges=self.state.exchanges,
            context_tokens=self.model.context_tokens,
            reply_tokens=self.reply_tokens,
        )
