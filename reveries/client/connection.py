"""The client's end of the socket: one connection, any number of requests at a time.

One task reads; it hands each frame to the request it answers, over a bounded queue, and what nobody asked for
(`request_id` 0) to `broadcasts`. When a queue is full the task waits, so the daemon, whose own queues are bounded too,
feels it; nothing is dropped here. A lost connection wakes every waiter with ConnectionLostError.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Final, TypeVar

from reveries import __version__, protocol
from reveries.config import Home
from reveries.errors import (
    AsleepError,
    ConnectionLostError,
    HomeError,
    OtherVersionError,
    ProtocolError,
    ReveriesError,
    error_from_code,
)
from reveries.peer_credentials import may_serve, peer_uid
from reveries.protocol import Frame, Request, Welcome

ANSWER_SECONDS: Final = 10.0
"""How long an answer may take that needs no model."""

_QUEUED_FRAMES = 1024
_CLOSE_SECONDS = 1.0
_ON_THE_WAY = (
    protocol.Progress,
    protocol.Recalled,
    protocol.Help,
    protocol.Token,
    protocol.Stored,
    protocol.ThoughtBegan,
    protocol.ThoughtToken,
    protocol.WorkHappened,
    protocol.ThoughtEnded,
)

_Answer = TypeVar("_Answer")
_Queue = asyncio.Queue[Frame | None]


class Connection:
    """An open, greeted connection. Made by `connect`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, welcome: Welcome) -> None:
        self.welcome = welcome
        self._reader = reader
        self._writer = writer
        self._last_id = 0
        self._waiting: dict[int, _Queue] = {}
        self._told: _Queue = asyncio.Queue(_QUEUED_FRAMES)
        self._is_listening = False
        self._lost: ReveriesError | None = None
        self._closed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether the other side is still there, as far as is known."""
        return self._lost is None

    def new_id(self) -> int:
        """A request id that this connection has not used."""
        self._last_id += 1
        return self._last_id

    async def ask(
        self, make: Callable[[int], Request], answer: type[_Answer], *, seconds: float | None = ANSWER_SECONDS
    ) -> _Answer:
        """Send what `make` makes of a new id and return its last frame.

        Raises what the daemon raised; ConnectionLostError when it goes away; ProtocolError for an answer of another
        type, or for none within `seconds` (None: however long it takes).
        """
        try:
            async with asyncio.timeout(seconds):
                async with contextlib.aclosing(self.request(make(self.new_id()))) as frames:
                    async for frame in frames:
                        if isinstance(frame, answer):
                            return frame
        except TimeoutError as error:
            raise ProtocolError(
                f"The mind is there, but gave no answer within {seconds:g} s.",
                advice="Try again; if it stays so, `reveries sleep` and `reveries wake`.",
            ) from error
        raise ProtocolError(f"The mind did not answer with {answer.__name__}.", advice=_SAME_VERSION)

    async def request(self, message: Request) -> AsyncGenerator[Frame, None]:
        """Send `message`; each frame that answers it, the last one included. Raises what the daemon raised.

        Leaving the iteration early only stops listening: `cancel` is what stops the work.
        """
        assert not isinstance(message, protocol.Hello)
        queue: _Queue = asyncio.Queue(_QUEUED_FRAMES)
        self._waiting[message.request_id] = queue
        try:
            await self._send_request(message)
            while True:
                frame = await self._next(queue)
                if isinstance(frame, protocol.Failed):
                    raise error_from_code(frame.code, frame.message, frame.advice)
                yield frame
                if not isinstance(frame, _ON_THE_WAY):
                    return
        finally:
            del self._waiting[message.request_id]
            _drain(queue)

    async def cancel(self, target_id: int) -> None:
        """Ask the daemon to stop the request `target_id`; its own last frame still comes to whoever listens."""
        await self.ask(lambda new_id: protocol.Cancel(new_id, target_id), protocol.Ok)

    def cancel_soon(self, target_id: int) -> None:
        """As `cancel`, without waiting: safe in a signal handler of the loop. Does nothing on a lost connection."""
        if self._lost is None:
            self._writer.write(protocol.encode(protocol.Cancel(self.new_id(), target_id)))

    def listen(self) -> None:
        """Keep what all clients are told from now on, until `broadcasts` is asked for it."""
        self._is_listening = True

    async def broadcasts(self) -> AsyncGenerator[Frame, None]:
        """What all clients are told, from now on or since `listen`. Raises ConnectionLostError at the end."""
        self._is_listening = True
        try:
            while True:
                yield await self._next(self._told)
        finally:
            self._is_listening = False
            _drain(self._told)

    async def wait_closed(self) -> None:
        """Until the other side has closed."""
        await self._closed.wait()

    async def _send_request(self, message: Request) -> None:
        if self._lost is not None:
            raise self._lost
        self._writer.write(protocol.encode(message))
        try:
            await self._writer.drain()
        except OSError as error:
            raise _gone() from error

    async def _next(self, queue: _Queue) -> Frame:
        if queue.empty() and self._lost is not None:
            raise self._lost
        frame = await queue.get()
        if frame is None:
            raise self._lost or _gone()
        return frame

    async def read_frames(self) -> None:
        """Hand out frames until the other side closes. The one reader: `connect` runs it."""
        try:
            while True:
                await self._dispatch(protocol.decode_frame(await protocol.read_body(self._reader)))
        except (asyncio.IncompleteReadError, OSError):
            self._lose_connection(_gone())
        except ProtocolError as error:
            self._lose_connection(ProtocolError(error.message, advice=_SAME_VERSION))

    async def _dispatch(self, frame: Frame) -> None:
        request_id = frame.request_id if isinstance(frame, protocol.Answer) else 0
        if request_id == 0 and isinstance(frame, protocol.Failed):
            raise ProtocolError(f"The mind refused: {frame.message}")
        queue = self._waiting.get(request_id)
        if queue is None and request_id == 0 and self._is_listening:
            queue = self._told
        if queue is not None:
            await queue.put(frame)

    def _lose_connection(self, why: ReveriesError) -> None:
        self._lost = why
        self._closed.set()
        for queue in (*self._waiting.values(), self._told):
            # A full queue has nobody waiting on it: whoever empties it finds `_lost`.
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait(None)


_SAME_VERSION = "Wake it again with this version: reveries sleep, then reveries wake."
_NEWER_MIND = "This client is the older one. Leave it and open reveries again, with the version that woke the mind."
"""It was left open over an upgrade, perhaps: to wake the mind with it would only go back."""


@contextlib.asynccontextmanager
async def connect(home: Home, *, client: str = "cli", seconds: float = ANSWER_SECONDS) -> AsyncIterator[Connection]:
    """Connect and greet; `seconds` bound both together.

    Raises AsleepError when nobody listens, ProtocolError when the other side is of another version or no mind at all,
    HomeError when the socket belongs to somebody else.
    """
    async with _open_socket(home, seconds) as (reader, writer):
        connection = Connection(reader, writer, await _greet(reader, writer, client, seconds))
        failure: Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(connection.read_frames(), name="client.read")
            try:
                yield connection
            except Exception as error:  # noqa: BLE001 - raised again below, plain instead of inside a group
                failure = error
            finally:
                reading.cancel()
        if failure is not None:
            raise failure


@contextlib.asynccontextmanager
async def _open_socket(home: Home, seconds: float) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    home.check()
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_unix_connection(home.socket)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
        raise AsleepError("The mind is asleep.", advice="Wake it: reveries wake") from error
    except PermissionError as error:
        raise HomeError(
            f"The socket {home.socket} is not yours to open.", advice="Use the account that woke it, or another home."
        ) from error
    except (OSError, TimeoutError) as error:
        raise AsleepError(f"Nobody answers on {home.socket}.", advice="Wake it: reveries wake") from error
    try:
        # Before a word is sent: in a home that was open to others, somebody may have laid a socket there.
        if not may_serve(peer_uid(writer.get_extra_info("socket")), home.path):
            raise HomeError(
                f"What listens on {home.socket} is another user's program: it was told nothing.",
                advice="Look at the home, close it to others, then: reveries wake",
            )
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await writer.wait_closed()


async def _greet(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: str, seconds: float
) -> protocol.Welcome:
    try:
        async with asyncio.timeout(seconds):
            writer.write(protocol.encode(protocol.Hello(protocol.PROTOCOL_VERSION, f"{client}/{__version__}")))
            await writer.drain()
            frame = protocol.decode_frame(await protocol.read_body(reader))
    except TimeoutError as error:
        raise ProtocolError(
            f"Something listens on the mind's socket but did not greet within {seconds:g} s.",
            advice="It may still be waking: try again in a moment.",
        ) from error
    except (asyncio.IncompleteReadError, OSError) as error:
        raise _gone() from error
    if isinstance(frame, protocol.Failed):
        raise error_from_code(frame.code, frame.message, frame.advice)
    if not isinstance(frame, Welcome):
        raise ProtocolError("What listens on the mind's socket did not greet like a mind.", advice=_SAME_VERSION)
    if frame.version != protocol.PROTOCOL_VERSION:
        raise OtherVersionError(
            f"The mind that is awake (Reveries {frame.reveries}) speaks protocol {frame.version}, and this client "
            f"(Reveries {__version__}) speaks {protocol.PROTOCOL_VERSION}.",
            advice=_SAME_VERSION if frame.version < protocol.PROTOCOL_VERSION else _NEWER_MIND,
        )
    return frame


def _gone() -> ConnectionLostError:
    return ConnectionLostError("The mind went away before it answered.", advice="See how it is: reveries status")


def _drain(queue: _Queue) -> None:
    """Empty `queue`, so that a reader that waits to fill it goes on."""
    while not queue.empty():
        queue.get_nowait()
