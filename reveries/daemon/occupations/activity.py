"""Coordinates what the mind does: it talks, sleeps, works or thinks, one at a time, and the owner's words come first.

The owner's words pause thinking at once and stop a sleep pass after the current experience (R-38, R-101, R-102).
"""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Iterator

import structlog

from reveries import protocol
from reveries.clock import Deadline
from reveries.daemon.mind_events import MindEvents
from reveries.daemon.mind_parts import MindParts
from reveries.daemon.occupations.attention import Lane
from reveries.daemon.talk.conversation_registry import ConversationRegistry
from reveries.heartbeat import Pulse, WatchedLock
from reveries.memory.model import SelfModel
from reveries.monologue.loop import Monologue
from reveries.notifier import Notifier

log = structlog.get_logger("mind")

WRITING_SECONDS = 25.0
"""A client repeats every 20 seconds that the owner is writing."""


class Activity:
    """Switches between talk, sleep, work and thought, and announces the current state to the clients."""

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
        """Held by whoever needs the memory or the local model alone: a pass of sleep, or work in the local lane."""
        self._hosted_lock = WatchedLock(sleep_pulse)
        """Held by work in the hosted lane, which no pass waits for."""
        self._working_on = ""
        self._clock = parts.clock
        self._last_words: Deadline | None = None
        self._last_writing: Deadline | None = None
        self.words_came = asyncio.Event()
        """Set when the owner speaks; checked by everything that the owner's words interrupt."""
        self.writing_noted: Notifier[[]] = Notifier()
        """The owner is writing, and their words will come soon."""
        self.work_displaced: Notifier[[str]] = Notifier()
        """Project work in hand has to be broken off; with the reason to give for the interruption."""
        self._displacing: list[str] = []
        self._logged_state = ""
        monologue.state_changed.subscribe(self._note_thinking)

    def state(self) -> tuple[str, str]:
        """Return the current state, and a short detail."""
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
        """Whether a sleep pass runs, or something that excludes one."""
        return self._pass_lock.locked()

    @property
    def seconds_since_words(self) -> float:
        """Seconds since the owner's last words, suspended time included; infinite before the first."""
        return self._last_words.seconds_since(self._clock) if self._last_words is not None else math.inf

    @property
    def is_writing(self) -> bool:
        """Whether the owner was writing within the seconds after which a client would say so again."""
        return self._last_writing is not None and self._last_writing.seconds_since(self._clock) < WRITING_SECONDS

    @property
    def is_talking(self) -> bool:
        """Whether a conversation is active."""
        return self._conversations.is_talking

    @property
    def is_busy(self) -> bool:
        """Whether a conversation is active or the mind sleeps."""
        return self._conversations.is_talking or self.is_sleeping

    @property
    def displaced_because(self) -> str:
        """Why no project work may begin now; empty if it may."""
        return self._displacing[0] if self._displacing else ""

    @contextlib.contextmanager
    def displacing_work(self, why: str) -> Iterator[None]:
        """Break off project work for what the owner asked for, and let none begin before it: a task may take half an
        hour, and would hold the lock that the owner's request waits for."""
        self._displacing.append(why)
        self.work_displaced.notify(why)
        try:
            yield
        finally:
            self._displacing.remove(why)

    def announce_state(self, *, is_private: bool = False) -> None:
        """Log the current state, unless it is private, and tell clients. Talk was logged as it began, or is private."""
        self._tell_state(*self.state(), is_private=is_private or self.is_talking)

    def _note_thinking(self) -> None:
        """Tell clients of a change that thinking has logged itself, unless something else goes before it."""
        if not self.is_busy:
            self._events.state_changed.notify(*self.state())

    def _tell_state(self, state: str, detail: str, *, is_private: bool = False) -> None:
        """Tell clients of a state, and log a change (R-10), unless it is private. Its detail may be the owner's words
        and is not logged."""
        if state != self._logged_state and not is_private:
            log.info("mind.state_changed", state=state)
        self._logged_state = "" if is_private else state
        self._events.state_changed.notify(state, detail)

    def note_words(self) -> None:
        """Record that the owner said something outside a conversation: more may follow."""
        self._last_words = Deadline.after(0, self._clock)

    def note_writing(self) -> None:
        """Record that the owner is writing: no work begins by itself, and what runs may make room."""
        self.note_words()
        self._last_writing = self._last_words
        self.writing_noted.notify()

    def begin_talk(self, *, is_private: bool) -> None:
        """Pause everything else, because the owner speaks. `is_private`: off the record."""
        self._monologue.pause()
        self.note_words()
        self.words_came.set()
        self._tell_state("talking", "", is_private=is_private)

    def resume_thinking(self) -> None:
        """Resume thinking after work that paused it, unless a conversation is active or the mind shuts down."""
        if not self._conversations.is_talking and not self._conversations.is_closing:
            self._monologue.resume()

    def ignore_earlier_words(self) -> None:
        """Clear `words_came` before work that words interrupt, unless a turn is running: it has set the event and will
        not set it again. During shutdown the event is always cleared, because no more words can come."""
        if self._conversations.is_closing or not self._conversations.has_pending_turn:
            self.words_came.clear()

    @contextlib.asynccontextmanager
    async def during_pass(self) -> AsyncIterator[None]:
        """Exclude other passes; thinking goes on."""
        try:
            async with self._pass_lock:
                yield
        finally:
            self._note_thinking()

    @contextlib.asynccontextmanager
    async def _hold_lock(self, lock: WatchedLock) -> AsyncIterator[None]:
        """Exclude whatever else needs `lock`; at the end, announce the state that is left."""
        has_begun = False
        try:
            async with lock:
                has_begun = True
                yield
        finally:
            if has_begun:
                self.announce_state()  # With the lock held, it would still be that of a pass.

    @contextlib.asynccontextmanager
    async def during_sleep(self, why: str) -> AsyncIterator[None]:
        """Pause thinking and exclude other passes while a pass runs."""
        async with self._hold_lock(self._pass_lock):
            self.ignore_earlier_words()
            self._monologue.pause()
            self._tell_state("consolidating", why)
            before = self._memory.self_model
            try:
                yield
            finally:
                self._resume_after(before)

    @contextlib.asynccontextmanager
    async def during_work(self, on: str, lane: Lane = Lane.LOCAL) -> AsyncIterator[None]:
        """Announce project work. In the local lane thinking is paused and sleep excluded meanwhile, because a local
        model does not serve two; in the hosted lane both go on."""
        async with self._hold_lock(self._pass_lock if lane is Lane.LOCAL else self._hosted_lock):
            if lane is Lane.LOCAL:
                self._monologue.pause()
            if lane is Lane.LOCAL or not self.is_sleeping:  # A pass must still see the words that end it.
                self.ignore_earlier_words()
            self._working_on = on
            self._tell_state("working", on)
            try:
                yield
            finally:
                self._working_on = ""
                if lane is Lane.LOCAL:  # Else it was not paused, or by a pass that still runs.
                    self.resume_thinking()

    @contextlib.asynccontextmanager
    async def during_silence(self) -> AsyncIterator[None]:
        """Stop talk, thought and sleep; what runs is finished and stored first."""
        self.words_came.set()
        with self.displacing_work("Something is being forgotten."):
            async with self._hosted_lock, self._hold_lock(self._pass_lock):
                self._monologue.pause()
                self._tell_state("forgetting", "")
                before = self._memory.self_model
                try:
                    async with (
                        self._conversations.locked(),
                        self._monologue.thinking_lock,
                        self._memory.pause_light_sleep(),
                    ):
                        yield
                finally:
                    self._resume_after(before)

    @contextlib.asynccontextmanager
    async def during_test(self) -> AsyncIterator[None]:
        """Pause thinking and exclude sleep during a model test; then read ahead, because the test may have used the
        cache."""
        with self.displacing_work("The models are being tested."):
            async with self._hosted_lock, self._pass_lock:
                self._monologue.pause()
                try:
                    yield
                finally:
                    self._conversations.request_read_ahead()
                    self.resume_thinking()

    def note_self_model(self, before: SelfModel) -> None:
        """Request a read-ahead if the self-model changed, because prompts begin with it."""
        if self._memory.self_model is not before:
            self._conversations.request_read_ahead()

    def _resume_after(self, before: SelfModel) -> None:
        self.note_self_model(before)
        self.resume_thinking()
