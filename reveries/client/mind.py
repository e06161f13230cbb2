"""Python API for your own programs (docs/howto/python.md).

async with reveries.connect() as mind:
    async for piece in mind.say("Good morning"):
        print(piece, end="")
"""

import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path

import msgspec

from reveries import protocol
from reveries.client.connection import Connection, RunningRequest
from reveries.client.connection import connect as connect_to
from reveries.config import Home, find_home
from reveries.errors import InputDataError
from reveries.safe_text import PlainStream

Thought = protocol.ThoughtBegan | protocol.ThoughtToken | protocol.ThoughtEnded


def start_saying(connection: Connection, words: str, *, off_record: bool) -> RunningRequest[protocol.Replied]:
    """Return the request that says `words`. `off_record`: neither they nor the reply are stored."""
    mark = True if off_record else msgspec.UNSET
    return connection.start(lambda new_id: protocol.Say(new_id, words, off_record=mark), protocol.Replied)


class Exchange:
    """One turn of yours and its reply. Iterate over it once to get the pieces of the reply as they are generated: plain
    text without control characters.

    `recalled`: the memories recalled for it, before the first piece; `stored`: the ids of the stored turns, by "words"
    (yours) and "exchange" (the reply); `help`: a text with help lines, if the words are those of a person in danger;
    `end`: how the reply ended and what it cost, once it has.
    """

    def __init__(
        self,
        connection: Connection,
        words: str,
        on_help: Callable[[str], None] | None = None,
        *,
        off_record: bool = False,
    ) -> None:
        self.help = ""
        self._on_help = on_help
        self.recalled: list[protocol.RecalledItem] = []
        self.stored: dict[str, str] = {}
        self._running = start_saying(connection, words, off_record=off_record)

    async def __aiter__(self) -> AsyncGenerator[str, None]:
        """Raises the daemon's error, or ConnectionLostError if the connection is lost; pieces received before that have
        been yielded."""
        plain = PlainStream()
        async with contextlib.aclosing(aiter(self._running)) as frames:
            async for frame in frames:
                if piece := plain.feed(self._note_frame(frame)):
                    yield piece
        if left := plain.finish():
            yield left

    def stop(self) -> None:
        """Stop the reply: it ends as "cancelled", and the part so far is kept. Safe in a signal handler."""
        self._running.stop()

    @property
    def end(self) -> protocol.Replied | None:
        return self._running.answer

    def _note_frame(self, frame: protocol.Frame) -> str:
        match frame:
            case protocol.Token():
                return frame.text
            case protocol.Recalled():
                self.recalled = frame.items
            case protocol.Stored():
                self.stored[frame.what] = frame.turn_id
            case protocol.Help():
                self.help = frame.text
                if self._on_help is not None:
                    self._on_help(frame.text)
            case _:
                pass
        return ""


class MindClient:
    """A client of a running mind, created by `connect`. Use `connection` for other requests of the protocol
    (docs/reference/protocol.md)."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def name(self) -> str:
        return self.connection.welcome.mind

    def say(self, words: str, on_help: Callable[[str], None] | None = None, *, off_record: bool = False) -> Exchange:
        """Say something, and return the exchange; iterate over it for the reply. `on_help` is called with
        `Exchange.help` as soon as it arrives. `off_record`: neither your words nor the reply are stored. Raises
        InputDataError for an empty or too long text."""
        words = words.strip().encode("utf-8", "replace").decode("utf-8")
        if not words:
            raise InputDataError("Say at least one word.", advice="Give it at least one word.")
        if len(words) > protocol.MAX_TEXT_CHARS:
            raise InputDataError(
                f"That is {len(words):,} characters; one turn has at most {protocol.MAX_TEXT_CHARS:,}.",
                advice="Say it in parts, or import it as a past conversation: reveries import FILE",
            )
        return Exchange(self.connection, words, on_help, off_record=off_record)

    async def search(self, cue: str, limit: int = 10) -> protocol.Found:
        """Search the memory for `cue`. Searching reinforces nothing."""
        return await self.connection.ask(lambda new_id: protocol.Search(new_id, cue, limit), protocol.Found)

    async def inspect(self, episode_id: str) -> protocol.EpisodeDetail:
        """Return everything about one episode; the beginning of its id is enough. Raises NotFoundError."""
        return await self.connection.ask(lambda new_id: protocol.Inspect(new_id, episode_id), protocol.EpisodeDetail)

    async def status(self) -> protocol.Status:
        """Return the status of the mind."""
        return await self.connection.ask(protocol.AskStatus, protocol.Status)

    async def thoughts(self) -> AsyncGenerator[Thought, None]:
        """Yield its thoughts live, as long as you iterate. Watching changes nothing."""
        watching = self.connection.start(protocol.Observe, protocol.Ok)
        try:
            async with contextlib.aclosing(aiter(watching)) as frames:
                async for frame in frames:
                    if isinstance(frame, Thought):
                        yield frame
        finally:
            watching.stop()


@contextlib.asynccontextmanager
async def connect(home: str | os.PathLike[str] | None = None) -> AsyncIterator[MindClient]:
    """Connect to the mind of a home folder; by default $REVERIES_HOME, or ~/.reveries.

    Raises AsleepError if it is asleep, ProtocolError if it has another version, HomeError if it is not yours.
    """
    async with connect_to(find_home() if home is None else Home(Path(home)), client="python") as connection:
        yield MindClient(connection)
