"""The conversation: it lives here, not in a client (DESIGN, "Conversation"; R-88..R-96).

One turn at a time. A turn: thinking pauses; the owner's words are committed; recall; one streamed call; one transaction
for the reply; `Stored` after COMMIT, never before. A client that vanishes does not stop it (R-93).
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
    choose_told,
    messages_before_words,
    messages_for,
    split_notes,
    system_text,
)
from reveries.daemon.chat_history import carried_exchanges, fold_to_fit, rest_limit_tokens, sent_exchange
from reveries.daemon.crisis_help import Danger
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
    falls_asleep,
)
from reveries.db.failpoints import HangPlace, Step, may_hang, reached
from reveries.errors import ModelError, ReveriesError, StorageLostError
from reveries.gates import Gate, inherited
from reveries.heartbeat import Pulse, WatchedLock
from reveries.llm.base import ChatMessage, ChatModel, Prompt, Role
from reveries.llm.tier import Tier
from reveries.memory.conversations import MAIN_CHANNEL, OpenConversation
from reveries.memory.memory import Memory
from reveries.memory.model import Recall, RecallContext
from reveries.memory.text.appraisal import infer_mood
from reveries.safe_text import plain

log = structlog.get_logger("conversation")

_RESUMED_TURNS = 12
_SAFETY_TOKENS = 64
_TEMPERATURE = 0.3
"""Tried on the default model: warmer, it slips into the owner's first person."""


class Conversation:
    """The one conversation of this mind. `open` before anything else; `run` keeps the time of rest."""

    def __init__(
        self,
        *,
        memory: Memory,
        model: ChatModel,
        clock: Clock,
        settings: Settings,
        host: ConversationHost,
        new_watch: Callable[[], ReplyWatch],
        danger: Danger | None = None,
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
        self.danger = danger or Danger()
        self._tier = tier
        self.channel = channel
        self._stop = ReplyStop()
        """Of the turn under way."""
        self._turns_under_way = 0
        """From the first word on, waiting included."""
        self.is_over = False
        """Whether no turn begins any more: the mind ends."""
        self._changed = asyncio.Event()
        self._warmth_wanted = asyncio.Event()
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
        """Whether thinking and sleep must wait: a conversation is open and does not rest (R-96)."""
        return self.has_words or self._turn_lock.locked() or not self._state.is_resting

    @property
    def has_words(self) -> bool:
        """Whether a turn is under way, or waits for the one before it."""
        return self._turns_under_way > 0

    @property
    def is_resting(self) -> bool:
        """Whether nothing is talked about, whatever turn off the record is under way."""
        return self._state.is_resting

    @property
    def attached_count(self) -> int:
        return len(self._state.attached)

    async def open(self) -> None:
        """Go on with the last conversation, or begin one when that rested too long ago."""
        new_after_seconds = self.settings.conversation.new_after_hours * 3600
        if self._clock.monotonic() - self._state.chosen_monotonic < new_after_seconds:
            return
        opened = await self._memory.conversations.open_conversation(new_after_seconds, self.channel)
        if opened.id != self._state.conversation_id:
            await self._hold_opened(opened)

    async def begin_new(self) -> None:
        """Let this conversation rest, and begin another (the owner's word)."""
        async with self._turn_lock:
            await may_hang(HangPlace.BETWEEN_TURNS)
            await self._leave_conversation()
            await self._hold_opened(await self._memory.conversations.begin_conversation(self.channel), is_chosen=True)

    async def go_back_to(self, conversation_id: str) -> None:
        """Let this conversation rest, and go on with an earlier one (the owner's word). Raises NotFoundError."""
        async with self._turn_lock:
            chosen = await self._memory.past_talk.conversation_id(conversation_id)
            if chosen == self.conversation_id:
                return
            await self._leave_conversation()
            await self._hold_opened(await self._memory.conversations.go_back_to(chosen), is_chosen=True)

    async def take_back(self) -> str:
        """Take the last exchange back (the owner's word); the owner's words in it. Raises UndoError."""
        async with self._turn_lock:
            taken = await self._memory.past_talk.take_back(self.conversation_id)
            self._state.drop({turn.id for turn in taken})
            self.last_turns.drop(self.conversation_id)
            self._warmth_wanted.set()
        return taken[0].text

    @contextlib.asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """While nothing is said. Then what is before the model is read anew: some of it may have been erased."""
        async with self._turn_lock:
            try:
                yield
            finally:
                await self._read_anew()

    async def _read_anew(self) -> None:
        before = self._state
        try:
            opened = await self._memory.conversations.go_back_to(self.conversation_id)
            await self._hold_opened(opened, is_chosen=before.chosen_monotonic > -math.inf)
        except ReveriesError as error:  # It stays what it is: nothing, where something was erased.
            log.warning("conversation.not_read", why=error.for_log)
            return
        self._state.rests_as(before)
        self.last_turns = LastTurns()

    def forget_context(self) -> None:
        """Nothing of what was said is before the model any more, until it is read anew (`held`)."""
        self._state.exchanges, self._state.summary, self.last_turns = (), "", LastTurns()

    async def _leave_conversation(self) -> None:
        if not self._state.is_resting:
            await self._come_to_rest()

    async def _hold_opened(self, opened: OpenConversation, *, is_chosen: bool = False) -> None:
        turns = await self._memory.conversations.recent_prompt_turns(opened.id, _RESUMED_TURNS)
        own = await self._tokens.exchanges_of([turn for turn in turns if turn.position >= opened.folded_until])
        # The same conversation is only read anew because something of it, or before it, may be gone.
        before = () if opened.id == self.conversation_id else self._state.exchanges
        room, now = self._style.carried_tokens - sum(one.tokens for one in own), self._clock.now()
        carried = () if is_chosen else await carried_exchanges(self._memory, self._tokens, before, opened.id, room, now)
        self._state = TalkState(
            conversation_id=opened.id,
            began_at=opened.began_at,
            summary=opened.folded_summary,
            exchanges=(*carried, *own),
            attached=self._state.attached,
            chosen_monotonic=self._clock.monotonic() if is_chosen else -math.inf,
        )
        self._warmth_wanted.set()

    def attach(self, client: int) -> None:
        self._state.attached.add(client)
        self._changed.set()

    def detach(self, client: int) -> None:
        """Leave. When the last client leaves, the conversation rests as soon as no reply is under way."""
        if client in self._state.attached:
            self._state.attached.discard(client)
            self._changed.set()

    async def say(
        self, words: str, events: TurnEvents, *, off_record: bool = False, stop: ReplyStop | None = None
    ) -> TurnResult:
        """One turn, whole. Raises StorageError when the words could not be stored, and AsleepError when no turn begins
        any more: then nothing was acknowledged.

        `off_record`: nothing of it is stored, recalled, thought of or logged; the next turn does not know of it either.
        `stop` ends this reply and no other, from now on: one that is not begun yet is not begun.
        """
        self._turns_under_way += 1
        try:
            if not self.is_over:
                self._host.conversation_began()
            # Before anything that can fail: no model, disk, queue or budget stands between these words and the help.
            if (text := await self.danger.help_for(words, self.settings.crisis)) is not None:
                events.help(text)
            self._require_open()
            async with self._turn_lock:
                self._require_open()  # It may have ended while these words waited.
                self._stop = stop or ReplyStop()
                if off_record:
                    return await self._turn_off_record(plain(words), events)
                try:
                    return await self._take_turn(plain(words), events)
                finally:
                    # Even when the turn failed before it began: only a conversation that does not rest can come to
                    # rest, and only its rest lets thinking go on.
                    self._state.is_resting = False
                    self._state.last_word_monotonic = self._clock.monotonic()
                    self._changed.set()
        finally:
            self._turns_under_way -= 1
            if self._state.is_resting and not self.has_words and not self.is_over:
                self._host.nothing_was_said()

    async def stop_reply(self, why: str) -> None:
        """End the reply that is being made, or was to be made for words that are stored; what was said so far is kept
        and stored."""
        self._stop.ask(why)

    def take_no_more(self) -> None:
        """From now on no turn begins, not even one that waits. The one under way goes on."""
        self.is_over = True

    def _require_open(self) -> None:
        if self.is_over:
            raise falls_asleep()

    @property
    def turn_count(self) -> int:
        return sum(len(one.turn_ids) for one in self._state.exchanges if not one.is_carried)

    async def wait_until_quiet(self, seconds: float) -> None:
        """Wait until no turn is under way, `seconds` at most."""
        await wait_for_lock(self._turn_lock, seconds, self._clock)

    async def run(self) -> None:
        """Notice when the conversation rests (R-95, RA-24). Runs for the life of the daemon."""
        while True:
            self._changed.clear()
            if self._state.is_resting or self._turn_lock.locked():
                with self.pulse.waiting():
                    await self._changed.wait()
                continue
            rest_seconds = self.settings.conversation.rest_minutes * 60
            waited = self._clock.monotonic() - self._state.last_word_monotonic
            if not self._state.attached or waited >= rest_seconds:
                await self._come_to_rest()
                await self._fold_at_rest()
            else:
                with self.pulse.waiting(rest_seconds - waited):
                    await wait_for_event(self._changed, rest_seconds - waited, self._clock)

    async def keep_warm(self) -> None:
        """Let the model read the beginning of the next prompt ahead, whenever that changed. Runs for ever."""
        while True:
            await self._warmth_wanted.wait()
            self._warmth_wanted.clear()
            if self._turn_lock.locked():
                continue
            with contextlib.suppress(ModelError):
                await self._model.read_ahead(self.prompt_beginning(), Role.CONVERSATION)

    def want_warmth(self) -> None:
        """The stable part of the prompt changed, or the model was loaded anew."""
        self._warmth_wanted.set()

    async def _take_turn(self, words: str, events: TurnEvents) -> TurnResult:
        began = self._clock.monotonic()
        await self._awaken()
        owner_turn = await self._memory.conversations.append_owner_turn(self.conversation_id, words)
        reached(Step.WORDS_STORED)
        events.stored("words", owner_turn.id)
        reached(Step.WORDS_TOLD)
        self._host.turn_stored(owner_turn)
        context = self._recall_context(words)
        recall = await self._recall(words, context)
        silence = self._memory.silence_before(owner_turn)
        known = await self._host.project_notes(words, self._style.recalled_tokens)
        sent_now = await self._prepare(words, context, recall, events, silence, known)
        by_note = bool(sent_now.thought) and self._host.is_recent_thought_tainted()
        by_note = by_note or any(one.is_tainted for one in known)
        self._keep_for_looking(words, sent_now)
        draft = ReplyDraft()
        await may_hang(HangPlace.REPLY)
        sent = await self._generate(sent_now, draft, events)
        is_whole = draft.reason in ("stop", "length")
        reached(Step.REPLY_SAID)
        exchange = await self._memory.conversations.record_exchange(
            owner_turn,
            draft.text,
            recall=recall,
            end_reason="" if is_whole else draft.reason,
            shown=tuple(message.text for message in sent),
            is_tainted=inherited(Gate.TALK, by_note, *(one.is_tainted for one in self._state.exchanges)),
        )
        reply_turn = exchange.reply
        if reply_turn is not None:
            reached(Step.EXCHANGE_STORED)
            events.stored("exchange", reply_turn.id)
            reached(Step.EXCHANGE_TOLD)
            self._host.turn_stored(reply_turn)
            one = sent_exchange(sent_now.asked, sent_now.recalled_turn_ids, sent_now.recalled, owner_turn, reply_turn)
            self._state.exchanges = (*self._state.exchanges, *await self._tokens.recounted([one]))
        return TurnResult.timed(owner_turn, reply_turn, draft, began, self._clock.monotonic())

    async def _turn_off_record(self, words: str, events: TurnEvents) -> TurnResult:
        """The model sees the conversation, what comes to mind, and these words; nobody sees them after it. The time of
        rest is as before: a conversation that rested does so still, one that did not has heard from its owner."""
        began = self._clock.monotonic()
        draft = ReplyDraft(is_off_record=True)
        try:
            context = self._recall_context(words)
            # What an embedder elsewhere is asked is kept, for it is paid for: there it goes by words alone.
            is_local = self.settings.llm.embedding_model in LOCAL_EMBEDDERS
            vector = await self._memory.embed_cue(words) if is_local else self._memory.no_vector
            recall = self._memory.recall(words, vector, context)
            await self._generate(await self._prepare(words, context, recall, events), draft, events)
        finally:
            self._state.last_word_monotonic = self._clock.monotonic()
            self._changed.set()
        return TurnResult.timed(None, None, draft, began, self._clock.monotonic())

    async def _prepare(
        self, words: str, context: RecallContext, recall: Recall | None, events: TurnEvents, silence: str = "",
        known: Sequence[PromptMemory] = (),
    ) -> PreparedTurn:  # fmt: skip
        """What the model is to read for `words`, with what is `known` of a project. Folds where there is no room."""
        told = [*known, *await self._fit_told(recall)]
        if recall is not None:
            events.recalled(recall, told)
        thought = self._host.recent_thought()
        read_words = await self._cut_to_fit(words)
        notes, beside = split_notes(read_words, told) if self._style.asks_from_notes else ("", told)
        recalled = messages_before_words(self._state.exchanges, beside, context.now, thought, silence)
        asked = (ChatMessage("user", f"{notes}{read_words}"), *recalled)
        if folded := await self._fold(self._room_tokens - await self._tokens.of_messages(asked)):
            recalled = messages_before_words(self._state.exchanges, beside, context.now, thought, silence)
        return PreparedTurn(context, recall, tuple(told), thought, silence, read_words, notes, recalled, folded)

    async def _awaken(self) -> None:
        if self._state.is_resting:
            await self.open()
            self._state.is_resting = False
        self._changed.set()

    async def _come_to_rest(self) -> None:
        self._state.is_resting = True
        try:
            await may_hang(HangPlace.REST)
            await self._memory.conversations.rest_conversation(self.conversation_id)
            await self._host.conversation_rested(self.conversation_id)
        except BaseException:
            # It comes to rest when that can be stored: without its rest nothing would be thought any more.
            self._state.is_resting = False
            raise

    async def count_tokens(self, text: str) -> int:
        """Tokens of `text` as the conversation's model counts them, or an estimate."""
        return await self._tokens.of(text)

    @property
    def model_name(self) -> str:
        return self._model.name

    def _keep_for_looking(self, words: str, prepared: PreparedTurn) -> None:
        """What this turn was told, for `reveries context`."""
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
        return RecallContext(
            now=self._clock.now(),
            mood=infer_mood(words),
            limit=self.settings.recall.limit,
            exclude_turn_ids=self._state.shown_turn_ids,
        )

    async def _recall(self, words: str, context: RecallContext) -> Recall | None:
        """What surfaces for `words`; None when the helper fails: that must not fail the reply (R-94)."""
        try:
            vector = await self._memory.embed_cue(words)
            return await self._memory.recall_for_turn(words, vector, context)
        except StorageLostError:
            raise
        except ReveriesError:
            log.warning("recall.failed", exc_info=True)
            return None

    async def _fit_told(self, recall: Recall | None) -> list[PromptMemory]:
        if recall is None:
            return []
        told = choose_told(recall, self._state.shown_turn_ids, self._clock.now())
        return await self._tokens.fitting(told, self._style.recalled_tokens)

    async def _cut_to_fit(self, words: str) -> str:
        """`words` as the model reads them: a message longer than its context loses its middle (stored it is whole)."""
        room = self._room_tokens - self._style.recalled_tokens - 2 * _SAFETY_TOKENS
        return await self._tokens.cut(words, room - await self._tokens.of(self._system()))

    @property
    def _room_tokens(self) -> int:
        """What a prompt may take."""
        return self._model.context_tokens - self.settings.llm.limits.reply_tokens - _SAFETY_TOKENS

    async def _fold(self, limit_tokens: int) -> int:
        """Fold the history where it would be over so many tokens; how many exchanges were folded."""
        folded = await fold_to_fit(
            self._memory,
            self._tokens,
            self._state,
            lambda summary: self._tokens.of(self._system(summary)),
            limit_tokens=limit_tokens,
            context_tokens=self._model.context_tokens,
        )
        if folded:
            await self._host.turns_folded()
            log.info("conversation.folded", exchanges=folded)
        return folded

    async def _fold_at_rest(self) -> None:
        """Fold a long history while nobody waits. A short one is not even counted: that would load the model."""
        async with self._turn_lock:
            limit_tokens = rest_limit_tokens(self._model.context_tokens, self._room_tokens)
            if self._state.is_resting and self._state.history_tokens > limit_tokens and await self._fold(limit_tokens):
                self._warmth_wanted.set()

    async def _generate(self, turn: PreparedTurn, draft: ReplyDraft, events: TurnEvents) -> tuple[ChatMessage, ...]:
        """Let `draft` grow; what the model had before it."""
        messages = messages_for(self._system(), self._state.exchanges, turn.asked, turn.recalled)
        prompt = Prompt(
            role=Role.CONVERSATION,
            messages=messages,
            max_tokens=self.settings.llm.limits.reply_tokens,
            temperature=_TEMPERATURE,
            stop=STOPS,
        )
        await ReplyGeneration(self._model, self._clock, self._new_watch(), draft, events).speak(prompt, self._stop)
        if draft.verdict is not None and not draft.is_off_record:
            await self._host.reply_tripped(draft.verdict, draft.text)
        return messages

    def _system(self, summary: str | None = None) -> str:
        summary = self._state.summary if summary is None else summary
        rules = self._style.rules(self.settings.mind.name)
        return system_text(rules, self.settings.owner.name, self._memory.self_model, summary)

    def prompt_beginning(self) -> tuple[ChatMessage, ...]:
        return messages_for(self._system(), self._state.exchanges)
