"""The client's end of the socket: one connection, any number of concurrent requests.

One task reads. It passes each frame to its request over a bounded queue, and broadcasts (`request_id` 0) to
`broadcasts`. If a queue is full the task waits, which slows the daemon down, whose queues are bounded too; nothing is
dropped here. When the connection is lost, every waiting request gets ConnectionLostError.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

from reveries import __version__, protocol
from reveries.client.progress import ProgressCallback
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
"""Time limit for answers that need no model."""

_QUEUED_FRAMES = 1024
_CLOSE_SECONDS = 1.0

_Answer = TypeVar("_Answer")


class AskCallback(Protocol):
    """Sends one request and returns its answer. Raises ReveriesError."""

    def __call__(self, make: Callable[[int], Request], answer: type[_Answer], /) -> Awaitable[_Answer]: ...


_Queue = asyncio.Queue[Frame | None]


class RunningRequest(Generic[_Answer]):
    """One request and its answer, created by `Connection.start`. Iterate over it once for the frames that come before
    the answer; then `answer` is set. Or only await `result`."""

    def __init__(self, connection: "Connection", request: Request, answer: type[_Answer]) -> None:
        self._connection = connection
        self._request = request
        self._answer_type = answer
        self._is_sent = False
        self.answer: _Answer | None = None

    async def __aiter__(self) -> AsyncGenerator[Frame, None]:
        """Raises the daemon's error; ConnectionLostError; ProtocolError for an answer of another type."""
        assert not self._is_sent, "A request is sent once: sent again, it would act twice."
        self._is_sent = True
        before = protocol.REQUESTS[type(self._request)].before
        async with contextlib.aclosing(self._connection.request(self._request)) as frames:
            async for frame in frames:
                if isinstance(frame, before):
                    yield frame
                elif isinstance(frame, self._answer_type):
                    self.answer = frame
                else:
                    raise _no_answer_error(self._answer_type)

    async def result(self, on_progress: ProgressCallback | None = None) -> _Answer:
        """Return the answer; wait for it, unless an iteration ended with it. `on_progress` receives the progress.
        Raises what the iteration raises."""
        if self.answer is None:
            async with contextlib.aclosing(aiter(self)) as frames:
                async for frame in frames:
                    if on_progress is not None and isinstance(frame, protocol.Progress):
                        on_progress(frame.what, frame.done, frame.total)
        if self.answer is None:
            raise _no_answer_error(self._answer_type)
        return self.answer

    def stop(self) -> None:
        """Ask the daemon to stop it; its last frame still arrives. Safe in a signal handler."""
        self._connection.cancel_soon(self._request.request_id)


class Connection:
    """An open connection after the greeting. Created by `connect`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, welcome: Welcome) -> None:
        self.welcome = welcome
        self._reader = reader
        self._writer = writer
        self._last_id = 0
        self._waiting: dict[int, _Queue] = {}
        self._broadcast_queue: _Queue = asyncio.Queue(_QUEUED_FRAMES)
        self._is_listening = False
        self._lost: ReveriesError | None = None
        self._closed = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether the connection is not known to be lost."""
        return self._lost is None

    def new_id(self) -> int:
        """Return a request id that this connection has not used."""
        self._last_id += 1
        return self._last_id

    def start(self, make: Callable[[int], Request], answer: type[_Answer]) -> RunningRequest[_Answer]:
        """Return the request that `make` builds from a new id; it is sent when its frames or its result are awaited."""
        return RunningRequest(self, make(self.new_id()), answer)

    async def ask(
        self, make: Callable[[int], Request], answer: type[_Answer], *, seconds: float | None = ANSWER_SECONDS
    ) -> _Answer:
        """Send the request that `make` builds from a new id, and return its last frame.

        Raises the daemon's error; ConnectionLostError if the connection is lost; ProtocolError for an answer of another
        type, or if there is none within `seconds` (None: no limit).
        """
        try:
            async with asyncio.timeout(seconds):
                return await self.start(make, answer).result()
        except TimeoutError as error:
            raise ProtocolError(
                f"The mind is awake, but did not answer within {seconds:g} s.",
                advice="Try again. If this persists, restart it: `reveries sleep`, then `reveries wake`.",
            ) from error

    async def request(self, message: Request) -> AsyncGenerator[Frame, None]:
        """Send `message`, and yield each frame of the answer, including the last. Raises the daemon's error.

        Leaving the iteration early only stops listening; `cancel` stops the work.
        """
        before = protocol.REQUESTS[type(message)].before
        queue: _Queue = asyncio.Queue(_QUEUED_FRAMES)
        self._waiting[message.request_id] = queue
        try:
            await self._send_request(message)
            while True:
                frame = await self._next(queue)
                if isinstance(frame, protocol.Failed):
                    raise error_from_code(frame.code, frame.message, frame.advice)
                yield frame
                if not isinstance(frame, before):
                    return
        finally:
            del self._waiting[message.request_id]
            _empty_queue(queue)

    async def cancel(self, target_id: int) -> None:
        """Ask the daemon to stop the request `target_id`. Its last frame is still delivered."""
        await self.ask(lambda new_id: protocol.Cancel(new_id, target_id), protocol.Ok)

    def cancel_soon(self, target_id: int) -> None:
        """Like `cancel`, without waiting: safe in a signal handler. Does nothing if the connection is lost."""
        if self._lost is None:
            self._writer.write(protocol.encode(protocol.Cancel(self.new_id(), target_id)))

    def listen(self) -> None:
        """Start queueing broadcasts for a later call of `broadcasts`."""
        self._is_listening = True

    async def broadcasts(self) -> AsyncGenerator[Frame, None]:
        """Yield broadcasts, from now on or since `listen`. Raises ConnectionLostError at the end."""
        self._is_listening = True
        try:
            while True:
                yield await self._next(self._broadcast_queue)
        finally:
            self._is_listening = False
            _empty_queue(self._broadcast_queue)

    async def wait_closed(self) -> None:
        """Wait until the daemon has closed the connection."""
        await self._closed.wait()

    async def _send_request(self, message: Request) -> None:
        if self._lost is not None:
            raise self._lost
        self._writer.write(protocol.encode(message))
        try:
            await self._writer.drain()
        except OSError as error:
            raise _lost_error() from error

    async def _next(self, queue: _Queue) -> Frame:
        if queue.empty() and self._lost is not None:
            raise self._lost
        frame = await queue.get()
        if frame is None:
            raise self._lost or _lost_error()
        return frame

    async def read_frames(self) -> None:
        """Dispatch frames until the daemon closes the connection. `connect` runs it as the only reader."""
        try:
            while True:
                await self._dispatch(protocol.decode_frame(await protocol.read_body(self._reader)))
        except (asyncio.IncompleteReadError, OSError):
            self._lose_connection(_lost_error())
        except ProtocolError as error:
            self._lose_connection(ProtocolError(error.message, advice=_SAME_VERSION))

    async def _dispatch(self, frame: Frame) -> None:
        request_id = frame.request_id if isinstance(frame, protocol.Answer) else 0
        if request_id == 0 and isinstance(frame, protocol.Failed):
            raise ProtocolError(f"The mind refused: {frame.message}")
        queue = self._waiting.get(request_id)
        if queue is None and request_id == 0 and self._is_listening:
            queue = self._broadcast_queue
        if queue is not None:
            await queue.put(frame)

    def _lose_connection(self, why: ReveriesError) -> None:
        self._lost = why
        self._closed.set()
        for queue in (*self._waiting.values(), self._broadcast_queue):
            # No one waits on a full queue; its reader finds `_lost` once it is empty.
            with contextlib.suppress(asyncio.QueueFull):
                queue.put_nowait(None)


_SAME_VERSION = "Restart the mind with this version: reveries sleep, then reveries wake."
_NEWER_MIND = "This client is older than the mind. Close it, and open reveries again."
"""For a client that was left open during an upgrade: restarting the mind with it would downgrade."""


@contextlib.asynccontextmanager
async def connect(home: Home, *, client: str = "cli", seconds: float = ANSWER_SECONDS) -> AsyncIterator[Connection]:
    """Connect and greet, within `seconds` each.

    Raises AsleepError if nothing listens on the socket, ProtocolError if the other side has another version or is not
    a daemon, HomeError if the socket belongs to another user.
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
            f"The socket {home.socket} is not yours to open.",
            advice="Use the account that woke the mind, or another home.",
        ) from error
    except (OSError, TimeoutError) as error:
        raise AsleepError(f"Nothing answers on {home.socket}.", advice="Wake it: reveries wake") from error
    try:
        # Before anything is sent: in a home with open permissions, another user may have created the socket.
        if not may_serve(peer_uid(writer.get_extra_info("socket")), home.path):
            raise HomeError(
                f"What listens on {home.socket} is another user's program. Nothing was sent to it.",
                advice="Check the home and its permissions, then: reveries wake",
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
            advice="It may still be starting. Try again in a moment.",
        ) from error
    except (asyncio.IncompleteReadError, OSError) as error:
        raise _lost_error() from error
    if isinstance(frame, protocol.Failed):
        raise error_from_code(frame.code, frame.message, frame.advice)
    if not isinstance(frame, Welcome):
        raise ProtocolError("The program on the mind's socket is not a Reveries daemon.", advice=_SAME_VERSION)
    if frame.version != protocol.PROTOCOL_VERSION:
        raise OtherVersionError(
            f"The running mind (Reveries {frame.reveries}) uses protocol {frame.version}, and this client "
            f"(Reveries {__version__}) uses {protocol.PROTOCOL_VERSION}.",
            advice=_SAME_VERSION if frame.version < protocol.PROTOCOL_VERSION else _NEWER_MIND,
        )
    return frame


def _no_answer_error(answer: type) -> ProtocolError:
    return ProtocolError(f"The mind did not answer with {answer.__name__}.", advice=_SAME_VERSION)


def _lost_error() -> ConnectionLostError:
    return ConnectionLostError(
        "The connection was lost before the mind answered.", advice="To check it: reveries status"
    )


def _empty_queue(queue: _Queue) -> None:
    """Empty `queue`, so that a blocked reader continues."""
    while not queue.empty():
        queue.get_nowait()
