"""The conversation; its state is in the daemon, not in a client (DESIGN, "Conversation"; R-88..R-96).

One turn at a time: thinking pauses, the owner's words are committed, memories are recalled, one call is streamed, one
transaction stores the reply. `Stored` is sent after COMMIT, never before. A disconnect does not stop a turn (R-93).
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Sequence

import structlog

from reveries.clock import Clock, wait_for_event, wait_for_lock
from reveries.config import LOCAL_EMBEDDERS, Settings
from reveries.daemon.chat_context import (
    STOPS,
    PromptMemory,
    choose_memories,
    messages_before_words,
    messages_for,
    split_notes,
    system_text,
)
from reveries.daemon.chat_history import carried_exchanges, fold_to_fit, rest_limit_tokens, sent_exchange
from reveries.daemon.crisis_help import CrisisDetector
from reveries.daemon.last_turns import LastTurn, LastTurns
from reveries.daemon.reply_generation import ReplyGeneration, ReplyStop
from reveries.daemon.talk_by_tier import TalkStyle, style_for
from reveries.daemon.token_counts import TokenCounts
from reveries.daemon.turn import (
    ConversationHost,
    PreparedTurn,
    ReplyDraft,
    ReplyWatch,
    TalkState,
    TurnEvents,
    TurnResult,
    falling_asleep_error,
)
from reveries.db.failpoints import HangPlace, Step, may_hang, reach_step
from reveries.errors import ModelError, ReveriesError, StorageLostError
from reveries.gates import Gate, inherits_taint
from reveries.heartbeat import Pulse, WatchedLock
from reveries.llm.base import ChatMessage, ChatModel, Prompt, Role
from reveries.llm.tier import Tier
from reveries.memory.conversations import MAIN_CHANNEL, OpenConversation
from reveries.memory.memory import Memory
from reveries.memory.model import Recall, RecallContext
from reveries.safe_text import plain

log = structlog.get_logger("conversation")

_RESUMED_TURNS = 12
_SAFETY_TOKENS = 64
_TEMPERATURE = 0.3
"""Tried on the default model: at a higher temperature it slips into the owner's first person."""


class Conversation:
    """The conversation of one channel. Call `open` first; `run` notices when it becomes idle."""

    def __init__(
        self,
        *,
        memory: Memory,
        model: ChatModel,
        clock: Clock,
        settings: Settings,
        host: ConversationHost,
        new_watch: Callable[[], ReplyWatch],
        danger: CrisisDetector | None = None,
        tier: Callable[[], Tier] = lambda: Tier.SMALL,
        channel: str = MAIN_CHANNEL,
    ) -> None:
        self._memory = memory
        self._model = model
        self._tokens = TokenCounts(model)
        self._clock = clock
        self.settings = settings
        self._host = host
        self._new_watch = new_watch
        self.danger = danger or CrisisDetector()
        self._tier = tier
        self.channel = channel
        self._stop = ReplyStop()
        """Of the running turn."""
        self._pending_turns = 0
        """Turns that run or wait for their turn."""
        self.is_closing = False
        """Whether new turns are refused because the mind shuts down."""
        self._changed = asyncio.Event()
        self._read_ahead_requested = asyncio.Event()
        self._state = TalkState(conversation_id="", began_at=0.0)
        self.last_turns = LastTurns()
        self.pulse, self.reply_pulse = Pulse(), Pulse()
        self._turn_lock = WatchedLock(self.reply_pulse)

    @property
    def conversation_id(self) -> str:
        return self._state.conversation_id

    @property
    def _style(self) -> TalkStyle:
        return style_for(self._tier())

    @property
    def began_at(self) -> float:
        return self._state.began_at

    @property
    def is_talking(self) -> bool:
        """Whether thinking and sleep must wait: the conversation is open and not idle (R-96)."""
        return self.has_pending_turn or self._turn_lock.locked() or not self._state.is_resting

    @property
    def has_pending_turn(self) -> bool:
        """Whether a turn is running, or waits for the one before it."""
        return self._pending_turns > 0

    @property
    def is_resting(self) -> bool:
        """Whether the conversation is idle. A turn off the record does not count."""
        return self._state.is_resting

    @property
    def attached_count(self) -> int:
        return len(self._state.attached)

    async def open(self) -> None:
        """Continue the last conversation, or begin a new one if that has been idle for too long."""
        new_after_seconds = self.settings.conversation.new_after_hours * 3600
        if self._clock.monotonic() - self._state.chosen_monotonic < new_after_seconds:
            return
        opened = await self._memory.conversations.open_conversation(new_after_seconds, self.channel)
        if opened.id != self._state.conversation_id:
            await self._load_conversation(opened)

    async def begin_new(self) -> None:
        """End this conversation and begin a new one, because the owner asked for it."""
        async with self._turn_lock:
            await may_hang(HangPlace.BETWEEN_TURNS)
            await self._leave_conversation()
            await self._load_conversation(
                await self._memory.conversations.begin_conversation(self.channel), is_chosen=True
            )

    async def go_back_to(self, conversation_id: str) -> None:
        """End this conversation and continue an earlier one, because the owner asked for it. Raises NotFoundError."""
        async with self._turn_lock:
            chosen = await self._memory.past_talk.resolve_own_id(conversation_id)
            if chosen == self.conversation_id:
                return
            await self._leave_conversation()
            await self._load_conversation(await self._memory.conversations.load_conversation(chosen), is_chosen=True)

    async def take_back(self) -> str:
        """Take the last exchange back because the owner asked for it. Return their words in it. Raises UndoError."""
        async with self._turn_lock:
            taken = await self._memory.past_talk.delete_last_exchange(self.conversation_id)
            self._state.drop({turn.id for turn in taken})
            self.last_turns.drop(self.conversation_id)
            self._read_ahead_requested.set()
        return taken[0].text

    @contextlib.asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Block turns while entered; then reload the prompt context, because parts of it may have been erased."""
        async with self._turn_lock:
            try:
                yield
            finally:
                await self._reload()

    async def _reload(self) -> None:
        before = self._state
        try:
            opened = await self._memory.conversations.load_conversation(self.conversation_id)
            await self._load_conversation(opened, is_chosen=before.chosen_monotonic > -math.inf)
        except ReveriesError as error:  # The context stays as it is; after an erasure it is empty.
            log.warning("conversation.reload_failed", why=error.for_log)
            return
        self._state.copy_rest_state(before)
        self.last_turns = LastTurns()

    def forget_context(self) -> None:
        """Drop the history from the prompt context until it is reloaded from the database (see `locked`)."""
        self._state.exchanges, self._state.summary, self.last_turns = (), "", LastTurns()

    async def _leave_conversation(self) -> None:
        if not self._state.is_resting:
            await self._begin_rest()

    async def _load_conversation(self, opened: OpenConversation, *, is_chosen: bool = False) -> None:
        turns = await self._memory.conversations.recent_prompt_turns(opened.id, _RESUMED_TURNS)
        own = await self._tokens.build_exchanges([turn for turn in turns if turn.position >= opened.folded_until])
        # The same conversation is only reloaded because something of it, or before it, may have been erased.
        before = () if opened.id == self.conversation_id else self._state.exchanges
        left, now = self._style.carried_tokens - sum(one.tokens for one in own), self._clock.now()
        carried = () if is_chosen else await carried_exchanges(self._memory, self._tokens, before, opened.id, left, now)
        self._state = TalkState(
            conversation_id=opened.id,
            began_at=opened.began_at,
            summary=opened.folded_summary,
            exchanges=(*carried, *own),
            attached=self._state.attached,
            chosen_monotonic=self._clock.monotonic() if is_chosen else -math.inf,
        )
        self._read_ahead_requested.set()

    def attach(self, client: int) -> None:
        self._state.attached.add(client)
        self._changed.set()

    def detach(self, client: int) -> None:
        """Remove a client. When the last one leaves, the conversation becomes idle as soon as no reply is running."""
        if client in self._state.attached:
            self._state.attached.discard(client)
            self._changed.set()

    async def say(
        self, words: str, events: TurnEvents, *, off_record: bool = False, stop: ReplyStop | None = None
    ) -> TurnResult:
        """Run one turn. Raises StorageError if the words could not be stored, and AsleepError if the mind shuts down;
        then nothing was acknowledged.

        With `off_record`, nothing of the turn is stored, recalled later, thought about, logged or known to the next
        turn. `stop` ends this reply and no other; requested early, the reply is not begun at all.
        """
        self._pending_turns += 1
        try:
            if not self.is_closing:
                self._host.conversation_began()
            # Before anything that can fail: the help must not depend on a model, the disk, a queue or a budget.
            if (text := await self.danger.help_for(words, self.settings.crisis)) is not None:
                events.help(text)
            self._require_open()
            async with self._turn_lock:
                self._require_open()  # The mind may have begun to shut down while these words waited.
                self._stop = stop or ReplyStop()
                if off_record:
                    return await self._turn_off_record(plain(words), events)
                try:
                    return await self._take_turn(plain(words), events)
                finally:
                    # Even if the turn failed before it began: thinking resumes only when a conversation that was not
                    # idle becomes idle.
                    self._state.is_resting = False
                    self._state.last_word_monotonic = self._clock.monotonic()
                    self._changed.set()
        finally:
            self._pending_turns -= 1
            if self._state.is_resting and not self.has_pending_turn and not self.is_closing:
                self._host.turn_left_no_trace()

    async def stop_reply(self, why: str) -> None:
        """Stop the reply that is being generated, or is about to be; the text so far is stored."""
        self._stop.request(why)

    def refuse_turns(self) -> None:
        """Refuse new turns, and those that wait. The running turn goes on."""
        self.is_closing = True

    def _require_open(self) -> None:
        if self.is_closing:
            raise falling_asleep_error()

    @property
    def turn_count(self) -> int:
        return sum(len(one.turn_ids) for one in self._state.exchanges if not one.is_carried)

    async def wait_until_quiet(self, seconds: float) -> None:
        """Wait until no turn is running, `seconds` at most."""
        await wait_for_lock(self._turn_lock, seconds, self._clock)

    async def run(self) -> None:
        """Mark the conversation idle when it becomes so (R-95, RA-24). Runs as long as the daemon."""
        while True:
            self._changed.clear()
            if self._state.is_resting or self._turn_lock.locked():
                with self.pulse.waiting():
                    await self._changed.wait()
                continue
            rest_seconds = self.settings.conversation.rest_minutes * 60
            waited = self._clock.monotonic() - self._state.last_word_monotonic
            if not self._state.attached or waited >= rest_seconds:
                await self._begin_rest()
                await self._fold_at_rest()
            else:
                with self.pulse.waiting(rest_seconds - waited):
                    await wait_for_event(self._changed, rest_seconds - waited, self._clock)

    async def run_read_ahead(self) -> None:
        """Have the model read the beginning of the next prompt ahead whenever it changes. Runs for ever."""
        while True:
            await self._read_ahead_requested.wait()
            self._read_ahead_requested.clear()
            if self._turn_lock.locked():
                continue
            with contextlib.suppress(ModelError):
                await self._model.read_ahead(self.prompt_beginning(), Role.CONVERSATION)

    def request_read_ahead(self) -> None:
        """Request a read-ahead, because the stable part of the prompt changed or the model was reloaded."""
        self._read_ahead_requested.set()

    async def _take_turn(self, words: str, events: TurnEvents) -> TurnResult:
        began = self._clock.monotonic()
        await self._end_rest()
        owner_turn = await self._memory.conversations.append_owner_turn(self.conversation_id, words)
        reach_step(Step.WORDS_STORED)
        events.stored("words", owner_turn.id)
        reach_step(Step.WORDS_TOLD)
        self._host.turn_stored(owner_turn)
        context = self._recall_context(words)
        recall = await self._recall(words, context)
        silence = self._memory.describe_silence_before(owner_turn)
        project_notes = await self._host.project_notes(words, self._style.recalled_tokens)
        prepared = await self._prepare(words, context, recall, events, silence, project_notes)
        by_note = bool(prepared.thought) and self._host.is_recent_thought_tainted()
        by_note = by_note or any(note.is_tainted for note in project_notes)
        self._record_last_turn(words, prepared)
        draft = ReplyDraft()
        await may_hang(HangPlace.REPLY)
        sent = await self._generate(prepared, draft, events)
        is_whole = draft.reason in ("stop", "length")
        reach_step(Step.REPLY_SAID)
        exchange = await self._memory.conversations.record_exchange(
            owner_turn,
            draft.text,
            recall=recall,
            end_reason="" if is_whole else draft.reason,
            shown=tuple(message.text for message in sent),
            is_tainted=inherits_taint(Gate.TALK, by_note, *(one.is_tainted for one in self._state.exchanges)),
        )
        reply_turn = exchange.reply
        if reply_turn is not None:
            reach_step(Step.EXCHANGE_STORED)
            events.stored("exchange", reply_turn.id)
            reach_step(Step.EXCHANGE_TOLD)
            self._host.turn_stored(reply_turn)
            last = sent_exchange(prepared.asked, prepared.recalled_turn_ids, prepared.recalled, owner_turn, reply_turn)
            self._state.exchanges = (*self._state.exchanges, *await self._tokens.recount([last]))
        return TurnResult.timed(owner_turn, reply_turn, draft, began, self._clock.monotonic())

    async def _turn_off_record(self, words: str, events: TurnEvents) -> TurnResult:
        """Answer without storing anything. An idle conversation stays idle; in an active one idle time starts again."""
        began = self._clock.monotonic()
        draft = ReplyDraft(is_off_record=True)
        try:
            context = self._recall_context(words)
            # Calls to a remote embedder are recorded because they cost money: there, recall uses words only.
            is_local = self.settings.llm.embedding_model in LOCAL_EMBEDDERS
            recall = await self._memory.recall(words, context, by_words_alone=not is_local)
            await self._generate(await self._prepare(words, context, recall, events), draft, events)
        finally:
            self._state.last_word_monotonic = self._clock.monotonic()
            self._changed.set()
        return TurnResult.timed(None, None, draft, began, self._clock.monotonic())

    async def _prepare(
        self, words: str, context: RecallContext, recall: Recall | None, events: TurnEvents, silence: str = "",
        project_notes: Sequence[PromptMemory] = (),
    ) -> PreparedTurn:  # fmt: skip
        """Prepare the prompt for `words`, with notes on a project. Folds the history if it does not fit."""
        memories = [*project_notes, *await self._choose_memories(recall)]
        if recall is not None:
            events.recalled(recall, memories)
        thought = self._host.recent_thought()
        read_words = await self._cut_to_fit(words)
        notes, others = split_notes(read_words, memories) if self._style.asks_from_notes else ("", memories)
        recalled = messages_before_words(self._state.exchanges, others, context.now, thought, silence)
        asked = (ChatMessage("user", f"{notes}{read_words}"), *recalled)
        if folded := await self._fold(self._room_tokens - await self._tokens.count_messages(asked)):
            recalled = messages_before_words(self._state.exchanges, others, context.now, thought, silence)
        return PreparedTurn(context, recall, tuple(memories), thought, silence, read_words, notes, recalled, folded)

    async def _end_rest(self) -> None:
        if self._state.is_resting:
            await self.open()
            self._state.is_resting = False
        self._changed.set()

    async def _begin_rest(self) -> None:
        self._state.is_resting = True
        try:
            await may_hang(HangPlace.REST)
            await self._memory.conversations.mark_conversation_idle(self.conversation_id)
            await self._host.conversation_rested(self.conversation_id)
        except BaseException:
            # Try again until it is stored: thinking resumes only when the conversation is idle.
            self._state.is_resting = False
            raise

    async def count_tokens(self, text: str) -> int:
        """Count the tokens of `text` with the conversation's model, or estimate them."""
        return await self._tokens.count(text)

    @property
    def model_name(self) -> str:
        return self._model.name

    def _record_last_turn(self, words: str, prepared: PreparedTurn) -> None:
        """Keep this turn's prompt for `reveries context`."""
        self.last_turns.keep(
            LastTurn(
                conversation_id=self.conversation_id,
                words=words,
                prepared=prepared,
                style=self._style,
                names=(self.settings.mind.name, self.settings.owner.name),
                self_model=self._memory.self_model,
                summary=self._state.summary,
                exchanges=self._state.exchanges,
                context_tokens=self._model.context_tokens,
                reply_tokens=self.settings.llm.limits.reply_tokens,
            )
        )

    def _recall_context(self, words: str) -> RecallContext:
        return self._memory.recall_context(words, self.settings.recall.limit, self._state.shown_turn_ids)

    async def _recall(self, words: str, context: RecallContext) -> Recall | None:
        """Recall memories for `words`; None if that fails, because the reply must not fail with it (R-94)."""
        try:
            return await self._memory.recall(words, context, may_wake=True)
        except StorageLostError:
            raise
        except ReveriesError:
            log.warning("recall.failed", exc_info=True)
            return None

    async def _choose_memories(self, recall: Recall | None) -> list[PromptMemory]:
        if recall is None:
            return []
        memories = choose_memories(recall, self._state.shown_turn_ids, self._clock.now())
        return await self._tokens.select_fitting(memories, self._style.recalled_tokens)

    async def _cut_to_fit(self, words: str) -> str:
        """Cut the middle out of `words` that do not fit the model's context. They are stored in full."""
        left_tokens = self._room_tokens - self._style.recalled_tokens - 2 * _SAFETY_TOKENS
        return await self._tokens.cut(words, left_tokens - await self._tokens.count(self._system()))

    @property
    def _room_tokens(self) -> int:
        """Tokens that a prompt may use."""
        return self._model.context_tokens - self.settings.llm.limits.reply_tokens - _SAFETY_TOKENS

    async def _fold(self, limit_tokens: int) -> int:
        """Fold the history to at most `limit_tokens`; return how many exchanges were folded."""
        folded = await fold_to_fit(
            self._memory,
            self._tokens,
            self._state,
            lambda summary: self._tokens.count(self._system(summary)),
            limit_tokens=limit_tokens,
            context_tokens=self._model.context_tokens,
        )
        if folded:
            await self._host.turns_folded()
            log.info("conversation.folded", exchanges=folded)
        return folded

    async def _fold_at_rest(self) -> None:
        """Fold a long history while no client waits. A short one is not counted, because that would load the model."""
        async with self._turn_lock:
            limit_tokens = rest_limit_tokens(self._model.context_tokens, self._room_tokens)
            if self._state.is_resting and self._state.history_tokens > limit_tokens and await self._fold(limit_tokens):
                self._read_ahead_requested.set()

    async def _generate(self, turn: PreparedTurn, draft: ReplyDraft, events: TurnEvents) -> tuple[ChatMessage, ...]:
        """Generate the reply into `draft`; return the messages of the prompt."""
        messages = messages_for(self._system(), self._state.exchanges, turn.asked, turn.recalled)
        prompt = Prompt(
            role=Role.CONVERSATION,
            messages=messages,
            max_tokens=self.settings.llm.limits.reply_tokens,
            temperature=_TEMPERATURE,
            stop=STOPS,
        )
        await ReplyGeneration(self._model, self._clock, self._new_watch(), draft, events).generate(prompt, self._stop)
        if draft.verdict is not None and not draft.is_off_record:
            await self._host.reply_tripped(draft.verdict, draft.text)
        return messages

    def _system(self, summary: str | None = None) -> str:
        summary = self._state.summary if summary is None else summary
        rules = self._style.rules(self.settings.mind.name)
        return system_text(rules, self.settings.owner.name, self._memory.self_model, summary)

    def prompt_beginning(self) -> tuple[ChatMessage, ...]:
        return messages_for(self._system(), self._state.exchanges)
