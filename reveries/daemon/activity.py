"""What the mind does: it talks, sleeps, works or thinks, one at a time, and the owner's words go before everything.

Whoever speaks pauses thinking at once and stops a sleep pass after the experience in hand (R-38, R-101, R-102).
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator

from reveries import protocol
from reveries.clock import Deadline
from reveries.daemon.conversation_registry import ConversationRegistry
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.heartbeat import Pulse, WatchedLock
from reveries.memory.model import SelfModel
from reveries.monologue.loop import Monologue


class Activity:
    """Takes turns between talk, sleep and thought, and tells the clients whose turn it is."""

    def __init__(
        self,
        parts: MindParts,
        *,
        conversations: ConversationRegistry,
        monologue: Monologue,
        events: MindEvents,
        sleep_pulse: Pulse,
    ) -> None:
        self._memory = parts.memory
        self._is_safe_mode = bool(parts.safe_because)
        self._conversations = conversations
        self._monologue = monologue
        self._events = events
        self._pass_lock = WatchedLock(sleep_pulse)
        self._working_on = ""
        self._clock = parts.clock
        self._last_words: Deadline | None = None
        self.words_came = asyncio.Event()
        """Set by a word of the owner: what words break off looks at it."""

    def state(self) -> tuple[str, str]:
        """What the mind does now, and a few words more."""
        if self._conversations.is_talking:
            return "talking", ""
        if self._working_on:
            return "working", self._working_on
        if self.is_sleeping:
            return "consolidating", ""
        if self._is_safe_mode:
            return protocol.SAFE_MODE, ""
        return self._monologue.state.value, self._monologue.state_detail

    @property
    def is_sleeping(self) -> bool:
        """Whether a pass of sleep, or what excludes one, is under way."""
        return self._pass_lock.locked()

    @property
    def seconds_since_words(self) -> float:
        """Since the owner's last word, by the time that truly passed; infinite before the first."""
        return self._last_words.seconds_since(self._clock) if self._last_words is not None else math.inf

    @property
    def is_talking(self) -> bool:
        """Whether somebody speaks, or is answered."""
        return self._conversations.is_talking

    @property
    def is_busy(self) -> bool:
        """Whether somebody talks, or it sleeps."""
        return self._conversations.is_talking or self.is_sleeping

    def announce_state(self) -> None:
        self._events.state_changed.notify(*self.state())

    def note_words(self) -> None:
        """The owner said something elsewhere than in a conversation: more may follow."""
        self._last_words = Deadline.after(0, self._clock)

    def begin_talk(self) -> None:
        """A word of the owner came."""
        self._monologue.pause()
        self.note_words()
        self.words_came.set()
        self._events.state_changed.notify("talking", "")

    def resume_thinking(self) -> None:
        """After work for which thinking rested. Not while somebody speaks, and not where the mind ends."""
        if not self._conversations.is_talking and not self._conversations.is_over:
            self._monologue.resume()

    def ignore_earlier_words(self) -> None:
        """Before work that words break off. Not those of a turn under way: it has set the sign, and will not again.
        Where none may come any more, there is nobody to make room for."""
        if self._conversations.is_over or not self._conversations.has_words:
            self.words_came.clear()

    @contextlib.asynccontextmanager
    async def during_pass(self) -> AsyncIterator[None]:
        """While no other pass runs. Thinking goes on."""
        async with self._pass_lock:
            yield

    @contextlib.asynccontextmanager
    async def during_sleep(self, why: str) -> AsyncIterator[None]:
        """While a pass runs: one at a time, and thinking rests."""
        async with self._pass_lock:
            self.ignore_earlier_words()
            self._monologue.pause()
            self._events.state_changed.notify("consolidating", why)
            before = self._memory.self_model
            try:
                yield
            finally:
                self._go_on(before)

    @contextlib.asynccontextmanager
    async def during_work(self, on: str) -> AsyncIterator[None]:
        """While a project is worked on: neither sleep nor thought runs beside it (no local model serves two)."""
        async with self._pass_lock:
            self.ignore_earlier_words()
            self._monologue.pause()
            self._working_on = on
            self._events.state_changed.notify("working", on)
            try:
                yield
            finally:
                self._working_on = ""
                self.resume_thinking()
                self.announce_state()

    @contextlib.asynccontextmanager
    async def during_silence(self) -> AsyncIterator[None]:
        """While nobody speaks, thinks or sleeps: what is under way ends first, and is stored."""
        self.words_came.set()
        async with self._pass_lock:
            self._monologue.pause()
            self._events.state_changed.notify("forgetting", "")
            before = self._memory.self_model
            try:
                async with self._conversations.held(), self._monologue.under_way, self._memory.no_light_sleep():
                    yield
            finally:
                self._go_on(before)

    @contextlib.asynccontextmanager
    async def during_test(self) -> AsyncIterator[None]:
        """While models are asked for a test: their answers may have taken the conversation's place in the cache."""
        async with self._pass_lock:
            self._monologue.pause()
            try:
                yield
            finally:
                self._conversations.want_warmth()
                self.resume_thinking()

    def note_self_model(self, before: SelfModel) -> None:
        """The prompt of a conversation begins with the self-model: let a changed one be read ahead."""
        if self._memory.self_model is not before:
            self._conversations.want_warmth()

    def _go_on(self, before: SelfModel) -> None:
        self.note_self_model(before)
        self.resume_thinking()
        self.announce_state()
