"""The conversation; its state is in the daemon, not in a client (DESIGN, "Conversation"; R-88..R-96).

One turn at a time: thinking pauses, the owner's words are committed, memories are recalled, one call is streamed, one
transaction stores the reply. `Stored` is sent after COMMIT, never before. A disconnect does not stop a turn (R-93).
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

import structlog

from reveries.clock import wait_for_event, wait_for_lock
from reveries.daemon.talk.chat_history import EARLIER_TURNS, TalkState, carried_exchanges, pair_exchanges
from reveries.daemon.talk.crisis_help import CrisisDetector
from reveries.daemon.talk.last_turns import LastTurns
from reveries.daemon.talk.reply_generation import ReplyStop, TurnEvents
from reveries.daemon.talk.turn import TurnPipeline, TurnResult
from reveries.daemon.talk.turn_records import OffRecord, OnRecord
from reveries.db.failpoints import HangPlace, may_hang
from reveries.errors import AsleepError, ModelError, ReveriesError
from reveries.heartbeat import Pulse, WatchedLock
from reveries.llm.base import Role
from reveries.memory.conversations import MAIN_CHANNEL, OpenConversation
from reveries.safe_text import plain
from reveries.settings_checks import LOCAL_EMBEDDERS

log = structlog.get_logger("conversation")


@dataclass(slots=True)
class _Rest:
    """Whether a conversation is idle, and since when."""

    is_resting: bool = True
    last_word_monotonic: float = 0.0
    chosen_monotonic: float = -math.inf
    """When the owner chose this conversation; for a while it is continued even if another had the last turn."""
    was_left: bool = False
    """Whether the last client that showed it left after the last word. `reveries say` shows none: more may follow."""


class Conversation:
    """The conversation of one channel. Call `open` first; `run` notices when it becomes idle."""

    def __init__(
        self, turns: TurnPipeline, *, danger: CrisisDetector | None = None, channel: str = MAIN_CHANNEL
    ) -> None:
        self.turns = turns
        self._memory, self._clock, self._host = turns.memory, turns.clock, turns.host
        self.danger = danger or CrisisDetector()
        self.channel = channel
        self._stop = ReplyStop()
        """Of the running turn."""
        self._pending_turns = 0
        """Turns that run or wait for their turn."""
        self.is_closing = False
        """Whether new turns are refused because the mind shuts down."""
        self._changed = asyncio.Event()
        self._read_ahead_requested = asyncio.Event()
        self.last_turns = LastTurns()
        self.pulse, self.reply_pulse = Pulse(), Pulse()
        self._turn_lock = WatchedLock(self.reply_pulse)
        self._rest = _Rest()
        self._attached: set[int] = set()
        """Numbers of the clients that have this conversation open."""

    @property
    def conversation_id(self) -> str:
        return self.turns.state.conversation_id

    @property
    def began_at(self) -> float:
        return self.turns.state.began_at

    @property
    def is_talking(self) -> bool:
        """Whether thinking and sleep must wait: the conversation is open and not idle (R-96)."""
        return self.has_pending_turn or self._turn_lock.locked() or not self._rest.is_resting

    @property
    def has_pending_turn(self) -> bool:
        """Whether a turn is running, or waits for the one before it."""
        return self._pending_turns > 0

    @property
    def is_resting(self) -> bool:
        """Whether the conversation is idle. A turn off the record does not count."""
        return self._rest.is_resting

    @property
    def attached_count(self) -> int:
        return len(self._attached)

    async def open(self) -> None:
        """Continue the last conversation, or begin a new one if that has been idle for too long."""
        new_after_seconds = self.turns.settings.conversation.new_after_hours * 3600
        if self._clock.monotonic() - self._rest.chosen_monotonic < new_after_seconds:
            return
        opened = await self._memory.conversations.open_conversation(new_after_seconds, self.channel)
        if opened.id != self.turns.state.conversation_id:
            await self._load_conversation(opened)

    async def begin_new(self) -> None:
        """End this conversation and begin a new one, because the owner asked for it."""
        async with self._turn_lock:
            await may_hang(HangPlace.BETWEEN_TURNS)
            if not self.is_resting:
                await self._begin_rest()
            await self._load_conversation(
                await self._memory.conversations.begin_conversation(self.channel), is_chosen=True
            )

    async def go_back_to(self, conversation_id: str) -> None:
        """End this conversation and continue an earlier one, because the owner asked for it. Raises NotFoundError."""
        async with self._turn_lock:
            chosen = await self._memory.past_talk.resolve_own_id(conversation_id)
            if chosen == self.conversation_id:
                return
            if not self.is_resting:
                await self._begin_rest()
            await self._load_conversation(await self._memory.conversations.load_conversation(chosen), is_chosen=True)

    async def take_back(self) -> str:
        """Take the last exchange back because the owner asked for it. Return their words in it. Raises UndoError."""
        async with self._turn_lock:
            taken = await self._memory.past_talk.delete_last_exchange(self.conversation_id)
            self.turns.state.drop({turn.id for turn in taken})
            self.turns.forget_read(is_only_end=True)
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
        before = self._rest
        self.turns.forget_read()
        try:
            opened = await self._memory.conversations.load_conversation(self.conversation_id)
            await self._load_conversation(opened, is_chosen=before.chosen_monotonic > -math.inf)
        except ReveriesError as error:  # The context stays as it is; after an erasure it is empty.
            log.warning("conversation.reload_failed", why=error.for_log)
            return
        self._rest = before
        self.last_turns = LastTurns()

    def forget_context(self) -> None:
        """Drop the history from the prompt context until it is reloaded from the database (see `locked`)."""
        self.turns.state.exchanges, self.turns.state.summary, self.last_turns = (), "", LastTurns()
        self.turns.state.offered.clear()
        self.turns.forget_read()

    async def _load_conversation(self, opened: OpenConversation, *, is_chosen: bool = False) -> None:
        tokens, form, room_tokens = self.turns.tokens, self.turns.form, self.turns.room_tokens
        turns = await self._memory.conversations.recent_prompt_turns(opened.id, EARLIER_TURNS)
        unfolded = pair_exchanges([turn for turn in turns if turn.position >= opened.folded_until])
        own = await tokens.newest_fitting(unfolded, form.resumed_tokens(room_tokens), form)
        # The same conversation is only reloaded because something of it, or before it, may have been erased.
        before = () if opened.id == self.conversation_id else self.turns.state.exchanges
        left_tokens = form.carried_tokens(room_tokens) - sum(exchange.tokens for exchange in own)
        where = self._memory, tokens, before, opened.id, form, left_tokens, self._clock.now()
        carried = () if is_chosen else await carried_exchanges(*where)
        self.turns.state = TalkState(
            conversation_id=opened.id,
            began_at=opened.began_at,
            summary=opened.folded_summary,
            exchanges=(*carried, *own),
        )
        self._rest = _Rest(chosen_monotonic=self._clock.monotonic() if is_chosen else -math.inf)
        self._read_ahead_requested.set()

    def attach(self, client: int) -> None:
        self._attached.add(client)
        self._changed.set()

    def detach(self, client: int) -> None:
        """Remove a client. When the last one leaves, the conversation becomes idle as soon as no reply is running."""
        if client in self._attached:
            self._attached.discard(client)
            self._rest.was_left = not self._attached
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
                self._host.conversation_began(is_private=off_record)
            # Before anything that can fail: the help must not depend on a model, the disk, a queue or a budget.
            if (text := await self.danger.help_for(words, self.turns.settings.crisis)) is not None:
                events.help(text)
            if self.is_closing:
                raise falling_asleep_error()
            async with self._turn_lock:
                if self.is_closing:  # The mind may have begun to shut down while these words waited.
                    raise falling_asleep_error()
                self._stop = stop or ReplyStop()
                record, began = self._record_for(events, off_record=off_record), self._clock.monotonic()
                try:
                    if record.ends_rest:
                        await self._end_rest()
                    return await self.turns.take_turn(plain(words), record, events, self._stop, began)
                finally:
                    # Even if the turn failed before it began: thinking resumes only when a conversation that was not
                    # idle becomes idle.
                    self._rest.is_resting = self._rest.is_resting and not record.ends_rest
                    self._rest.last_word_monotonic = self._clock.monotonic()
                    self._rest.was_left = False
                    self._changed.set()
        finally:
            self._pending_turns -= 1
            # A turn off the record leaves the model's cache, and what is in it can be kept.
            self._read_ahead_requested.set()
            if self._rest.is_resting and not self.has_pending_turn and not self.is_closing:
                self._host.turn_left_no_trace()

    async def stop_reply(self, why: str) -> None:
        """Stop the reply that is being generated, or is about to be; the text so far is stored."""
        self._stop.request(why)

    def refuse_turns(self) -> None:
        """Refuse new turns, and those that wait. The running turn goes on."""
        self.is_closing = True

    @property
    def turn_count(self) -> int:
        return sum(len(exchange.turn_ids) for exchange in self.turns.state.exchanges if not exchange.is_carried)

    async def wait_until_quiet(self, seconds: float) -> None:
        """Wait until no turn is running, `seconds` at most."""
        await wait_for_lock(self._turn_lock, seconds, self._clock)

    def apply_settings(self) -> None:
        """Apply changed settings: how long it waits for a word before it rests."""
        self._changed.set()

    async def run(self) -> None:
        """Mark the conversation idle when it becomes so (R-95, RA-24). Runs as long as the daemon."""
        while True:
            self._changed.clear()
            if self._rest.is_resting or self._turn_lock.locked():
                with self.pulse.waiting():
                    await self._changed.wait()
                continue
            rest_seconds = self.turns.settings.conversation.rest_minutes * 60
            waited = self._clock.monotonic() - self._rest.last_word_monotonic
            if not self._attached or waited >= rest_seconds:
                await self._begin_rest(0.0 if self._rest.was_left else max(0.0, rest_seconds - waited))
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
                await self.turns.model.read_ahead(self.turns.prompt_beginning(), Role.CONVERSATION)

    def request_read_ahead(self) -> None:
        """Request a read-ahead, because the stable part of the prompt changed or the model was reloaded."""
        self._read_ahead_requested.set()

    def _record_for(self, events: TurnEvents, *, off_record: bool) -> OnRecord | OffRecord:
        if off_record:
            return OffRecord(self._memory, may_embed=self.turns.settings.llm.embedding_model in LOCAL_EMBEDDERS)
        return OnRecord(self._memory, self._host, events, self.last_turns)

    async def _end_rest(self) -> None:
        if self._rest.is_resting:
            await self.open()
            self._rest.is_resting = False
        self._changed.set()

    async def _begin_rest(self, goes_on_seconds: float = 0.0) -> None:
        """Mark the conversation idle. For `goes_on_seconds` more words of it are expected all the same."""
        self._rest.is_resting = True
        try:
            await may_hang(HangPlace.REST)
            await self._memory.conversations.mark_conversation_idle(self.conversation_id)
            await self._host.conversation_rested(self.conversation_id, goes_on_seconds)
        except BaseException:
            # Try again until it is stored: thinking resumes only when the conversation is idle.
            self._rest.is_resting = False
            raise

    async def _fold_at_rest(self) -> None:
        """Fold a long history while no client waits. A short one is not counted, because that would load the model."""
        async with self._turn_lock:
            limit_tokens = self.turns.form.rest_tokens(self.turns.room_tokens)
            is_long = self._rest.is_resting and self.turns.state.history_tokens > limit_tokens
            if is_long and await self.turns.fold(limit_tokens):
                self._read_ahead_requested.set()


def falling_asleep_error() -> AsleepError:
    """Return the error for words that arrive while the mind shuts down."""
    return AsleepError("The mind is falling asleep.", advice="Nothing was stored. reveries wake")
