"""The connection of the terminal interface to the daemon: connects, attaches, observes, sends, and reconnects.

It knows the protocol and no widget. It posts what it receives as messages, and sends the owner's messages from a queue,
one turn at a time, so that messages written during a reply wait for it to end.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from textual.message import Message

from reveries import protocol
from reveries.client.connection import Connection, RunningRequest, connect
from reveries.client.mind import Thought, start_saying
from reveries.client.tui import messages
from reveries.client.tui.outgoing_text import OutgoingText
from reveries.clock import Clock, wait_for_event
from reveries.config import Home
from reveries.errors import AsleepError, ConnectionLostError, ReveriesError

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 2.0
STATUS_SECONDS: Final = 5.0
WRITING_SECONDS: Final = 20.0
"""Between two notices that the owner is writing. Less than the minute for which work does not begin after one."""
MOST_HANGUPS: Final = 2
"""A daemon of an earlier version hangs up on a notice that the owner is writing. After this many none is sent."""
QUEUED_TURNS: Final = 50
_Answer = TypeVar("_Answer")


class MindLink:
    """One per application. `run` is its only task."""

    def __init__(self, home: Home, post: Callable[[Message], object], clock: Clock) -> None:
        self._home = home
        self._post = post
        self._clock = clock
        self._waiting: deque[OutgoingText] = deque()
        self._message_queued = asyncio.Event()
        self._returned: list[OutgoingText] = []
        self._mind: Connection | None = None
        self._reply: RunningRequest[protocol.Replied] | None = None
        self._unstored: OutgoingText | None = None
        self._sent_at = 0.0
        self.unconfirmed_since: float | None = None
        """Since when the daemon may have received unacknowledged messages; None if there are none."""
        self._turns_while_attaching: list[protocol.SaidTurn] | None = None
        """Turns broadcast while attaching, which may be missing from the answer; None otherwise."""
        self._switched = asyncio.Event()
        self._status_wanted = asyncio.Event()
        self._is_writing = asyncio.Event()
        self._notices_hung_up_on = 0

    @property
    def is_connected(self) -> bool:
        return self._mind is not None

    @property
    def is_answering(self) -> bool:
        return self._reply is not None

    @property
    def is_busy(self) -> bool:
        """Whether a reply is awaited or streaming, or messages are queued."""
        return self.is_answering or self.has_waiting

    @property
    def has_waiting(self) -> bool:
        """Whether messages are queued."""
        return bool(self._waiting)

    def say(self, text: str, *, is_private: bool = False) -> bool:
        """Queue `text` to be sent after the replies before it. False when not connected, when the queue is full, or
        when the daemon may have received it already, which has to be compared first."""
        if self._mind is None or self.unconfirmed_since is not None or len(self._waiting) >= QUEUED_TURNS:
            return False
        self._waiting.append(OutgoingText(text, is_private))
        self._message_queued.set()
        return True

    def note_writing(self) -> None:
        """Tell the daemon that the owner is writing, at most every `WRITING_SECONDS`."""
        self._is_writing.set()

    def stop_reply(self) -> bool:
        """Ask the daemon to stop the current reply; False if there is none."""
        if self._reply is None:
            return False
        self._reply.stop()
        return True

    @property
    def mind(self) -> Connection:
        """The connection. Raises AsleepError when there is none."""
        if self._mind is None:
            raise AsleepError("The mind is away.", advice="Wait until it is back, then ask again.")
        return self._mind

    async def ask(self, make: Callable[[int], protocol.Request], answer: type[_Answer]) -> _Answer:
        """Send one request alongside the conversation and return its answer. Raises ReveriesError, AsleepError when not
        connected."""
        return await self.mind.ask(make, answer, seconds=None)

    async def run(self) -> NoReturn:
        """Connect, and reconnect whenever the connection is lost."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            was_connected = False
            problem = "The mind is away, reconnecting."
            try:
                async with connect(self._home, client="tui") as mind:
                    await self._attach(mind)
                    was_connected = True
                    await self._run_session(mind)
            except* ReveriesError as group:
                problem = _error_text(group)
            self._disconnect()
            self._post(messages.ConnectionDropped(problem))
            pause = FIRST_PAUSE_SECONDS if was_connected else min(pause * 2, LONGEST_PAUSE_SECONDS)
            await self._clock.sleep(pause)

    async def _attach(self, mind: Connection) -> None:
        # Listen first and attach last, so that a turn stored meanwhile is not missed.
        mind.listen()
        self._switched.clear()
        status = await mind.ask(protocol.AskStatus, protocol.Status)
        self._turns_while_attaching = []
        attached = await mind.ask(protocol.Attach, protocol.Attached)
        turns, self._turns_while_attaching = self._turns_while_attaching, None
        self._mind = mind
        self._post(
            messages.AttachedToMind(
                mind.welcome.mind, attached, status, self.unacknowledged, is_acknowledged=self.is_acknowledged
            )
        )
        for turn in turns:
            self._post(messages.TurnSpoken(turn))

    async def _run_session(self, mind: Connection) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen_to_mind(mind), name="tui.listen")
            tasks.create_task(self._follow_switch(mind), name="tui.follow")
            tasks.create_task(self._watch_thoughts(mind), name="tui.thoughts")
            tasks.create_task(self._watch_status(mind), name="tui.status")
            tasks.create_task(self._send_queued(mind), name="tui.say")
            tasks.create_task(self._send_writing(mind), name="tui.writing")

    async def _listen_to_mind(self, mind: Connection) -> None:
        async for frame in mind.broadcasts():
            match frame:
                case protocol.Spoken(turn=turn):
                    if self._turns_while_attaching is not None:
                        self._turns_while_attaching.append(turn)
                    self._post(messages.TurnSpoken(turn))
                case protocol.StateChanged(state=state, detail=detail):
                    self._post(messages.MindStateChanged(state, detail))
                case protocol.Progress():
                    self._post(messages.JobProgressed(frame))
                case protocol.Switched():
                    self._switched.set()
                case protocol.Trouble():
                    self._status_wanted.set()
                case _:
                    pass

    async def _follow_switch(self, mind: Connection) -> None:
        """Attach to the conversation that a client switched to. A task of its own, because the listener must not wait
        for an answer while broadcasts arrive."""
        while True:
            await self._switched.wait()
            await self._attach(mind)

    async def _watch_thoughts(self, mind: Connection) -> None:
        try:
            async for frame in mind.start(protocol.Observe, protocol.Ok):
                if isinstance(frame, Thought):
                    self._post(messages.ThoughtProgressed(frame))
        except ConnectionLostError:
            raise
        except ReveriesError:
            # The conversation works without its thoughts.
            return

    async def _watch_status(self, mind: Connection) -> None:
        while True:
            await wait_for_event(self._status_wanted, STATUS_SECONDS, self._clock)
            self._status_wanted.clear()
            try:
                self._post(messages.StatusArrived(await mind.ask(protocol.AskStatus, protocol.Status)))
            except ConnectionLostError:
                raise
            except ReveriesError:
                # A slow answer is no lost connection: the daemon may be busy, and the reply goes on.
                continue

    async def _send_writing(self, mind: Connection) -> None:
        while self._notices_hung_up_on < MOST_HANGUPS:
            await self._is_writing.wait()
            self._is_writing.clear()
            # Before the answer: when the connection is lost, this task may be cancelled and see no error.
            self._notices_hung_up_on += 1
            try:
                await mind.ask(protocol.NoteWriting, protocol.Ok)
            except ConnectionLostError:
                raise
            except ReveriesError:
                pass  # The words themselves come all the same.
            self._notices_hung_up_on = 0
            await self._clock.sleep(WRITING_SECONDS)
            self._is_writing.clear()  # After the pause: whoever still writes says so with the next key.

    async def _send_queued(self, mind: Connection) -> None:
        while True:
            message = self._unstored = await self._next_waiting()
            self._sent_at = self._clock.now()
            reply = self._reply = start_saying(mind, message.text, off_record=message.is_private)
            try:
                async with contextlib.aclosing(aiter(reply)) as frames:
                    async for frame in frames:
                        self._post_reply(frame)
                self._end_reply(reply.answer)
            except ConnectionLostError:
                raise
            except ReveriesError as error:
                self._return_unstored()
                self._reply = None
                self._post(messages.SayFailed(str(error)))

    def _post_reply(self, frame: protocol.Frame) -> None:
        match frame:
            case protocol.Token(text=text):
                self._post(messages.ReplyPieceArrived(text))
            case protocol.Help(text=text):
                self._post(messages.HelpOffered(text))
            case protocol.Recalled(items=items):
                self._post(messages.MemoriesRecalled(items))
            case protocol.Stored(what="words", turn_id=turn_id):
                self._unstored = None
                self._post(messages.WordsStored(turn_id))
            case _:
                pass

    def _end_reply(self, replied: protocol.Replied | None) -> None:
        self._unstored = self._reply = None
        if replied is not None:
            self._post(messages.ReplyEnded(replied))
        # Until the next status, today's usage counts the reply at its reserved maximum.
        self._status_wanted.set()

    async def _next_waiting(self) -> OutgoingText:
        while not self._waiting:
            self._message_queued.clear()
            await self._message_queued.wait()
        return self._waiting.popleft()

    @property
    def unacknowledged(self) -> list[OutgoingText]:
        """The owner's messages that the daemon has not acknowledged, oldest first."""
        return [*self._returned, *([self._unstored] if self._unstored is not None else []), *self._waiting]

    @property
    def is_acknowledged(self) -> bool:
        """Whether a reply is coming to a message that the daemon has acknowledged."""
        return self.is_answering and self._unstored is None

    def return_waiting(self) -> None:
        """Move the queued messages to those that are to be restored to the draft."""
        self._returned += self._waiting
        self._waiting.clear()

    def take_returned(self) -> list[OutgoingText]:
        """Return and clear the messages that are to be restored to the draft."""
        returned, self._returned = self._returned, []
        return returned

    def _return_unstored(self) -> None:
        if self._unstored is not None:
            self._returned.append(self._unstored)
            self._unstored = None

    def _disconnect(self) -> None:
        """Drop the connection; unacknowledged messages are to be restored to the draft."""
        if self._unstored is not None:
            self.unconfirmed_since = self._sent_at
        self._return_unstored()
        self.return_waiting()
        self._mind = self._reply = None


def _error_text(group: BaseExceptionGroup[ReveriesError]) -> str:
    """Format the first error. Only a lost connection or a sleeping daemon is reported as away."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _error_text(error)
        is_away = isinstance(error, AsleepError | ConnectionLostError)
        return f"The mind is away, reconnecting. {error}" if is_away else str(error)
    return ""
