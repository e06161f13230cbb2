"""A mind from Python: what the commands stand on, for programs of your own (docs/howto/python.md).

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
from reveries.client.connection import Connection
from reveries.client.connection import connect as connect_to
from reveries.config import Home, find_home
from reveries.errors import InputDataError
from reveries.safe_text import PlainStream

Thought = protocol.ThoughtBegan | protocol.ThoughtToken | protocol.ThoughtEnded


class Exchange:
    """One turn of yours and its reply. Iterate over it once, for the pieces of the reply as they come: plain text,
    without anything that a terminal would obey.

    `recalled`: what came to mind for it, before the first piece; `stored`: the ids of the turns that are safely kept,
    by "words" (yours) and "exchange" (the reply); `help`: a text with people to turn to, when the words are those of a
    person in danger; `end`: how it ended and what it cost, once it did.
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
        self.end: protocol.Replied | None = None
        self._connection = connection
        self._say = protocol.Say(connection.new_id(), words, off_record=True if off_record else msgspec.UNSET)

    async def __aiter__(self) -> AsyncGenerator[str, None]:
        """Raises what the daemon raised, and ConnectionLostError when it goes away in between; what came before that
        has been given."""
        plain = PlainStream()
        async with contextlib.aclosing(self._connection.request(self._say)) as frames:
            async for frame in frames:
                if piece := plain.feed(self._note_frame(frame)):
                    yield piece
        if left := plain.finish():
            yield left

    def stop(self) -> None:
        """Ask for no more: the reply ends as "cancelled", and what was said of it is kept. Safe in a signal handler."""
        self._connection.cancel_soon(self._say.request_id)

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
            case protocol.Replied():
                self.end = frame
            case _:
                pass
        return ""


class MindClient:
    """A mind that is awake; made by `connect`. `connection` is for what has no method here: any request of the protocol
    (docs/reference/protocol.md)."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def name(self) -> str:
        return self.connection.welcome.mind

    def say(self, words: str, on_help: Callable[[str], None] | None = None, *, off_record: bool = False) -> Exchange:
        """Say something; iterate over what this gives for the reply. `on_help` is called with `Exchange.help` as soon
        as it is there, whatever becomes of the reply. `off_record`: neither your words nor the reply are stored. Raises
        InputDataError for nothing, and for more than one turn may hold."""
        words = words.strip().encode("utf-8", "replace").decode("utf-8")
        if not words:
            raise InputDataError("There is nothing to say.", advice="Give it at least one word.")
        if len(words) > protocol.MAX_TEXT_CHARS:
            raise InputDataError(
                f"That is {len(words):,} characters; one turn has at most {protocol.MAX_TEXT_CHARS:,}.",
                advice="Say it in parts, or bring it in as a past conversation: reveries import FILE",
            )
        return Exchange(self.connection, words, on_help, off_record=off_record)

    async def search(self, cue: str, limit: int = 10) -> protocol.Found:
        """What comes to mind for `cue`; nothing is reinforced by looking."""
        return await self.connection.ask(lambda new_id: protocol.Search(new_id, cue, limit), protocol.Found)

    async def inspect(self, episode_id: str) -> protocol.EpisodeDetail:
        """Everything about one episode; the beginning of its id is enough. Raises NotFoundError."""
        return await self.connection.ask(lambda new_id: protocol.Inspect(new_id, episode_id), protocol.EpisodeDetail)

    async def status(self) -> protocol.Status:
        """How it is."""
        return await self.connection.ask(protocol.AskStatus, protocol.Status)

    async def thoughts(self) -> AsyncGenerator[Thought, None]:
        """What it thinks, as it thinks it, for as long as you listen; watching changes nothing."""
        request = protocol.Observe(self.connection.new_id())
        try:
            async with contextlib.aclosing(self.connection.request(request)) as frames:
                async for frame in frames:
                    if isinstance(frame, Thought):
                        yield frame
        finally:
            self.connection.cancel_soon(request.request_id)


@contextlib.asynccontextmanager
async def connect(home: str | os.PathLike[str] | None = None) -> AsyncIterator[MindClient]:
    """The mind of a home folder: of $REVERIES_HOME, or ~/.reveries, when none is given.

    Raises AsleepError when it sleeps, ProtocolError when it is of another version, HomeError when it is not yours.
    """
    async with connect_to(find_home() if home is None else Home(Path(home)), client="python") as connection:
        yield MindClient(connection)
