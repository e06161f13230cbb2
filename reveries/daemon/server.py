"""The socket server: access check, greeting, and frames in and out. What requests mean is in `requests`.

Each connection has a task in the server's task group. A bad frame ends its own connection and nothing else (E5).
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import structlog

from reveries import __version__
from reveries.clock import Clock
from reveries.daemon.outbox import Outbox, Unread
from reveries.errors import ProtocolError, ReveriesError, StorageLostError
from reveries.peer_credentials import may_connect, peer_uid
from reveries.protocol import (
    PROTOCOL_VERSION,
    REQUESTS,
    Cancel,
    Failed,
    Hello,
    Ok,
    Request,
    Welcome,
    decode_request,
    encode,
    read_body,
)
from reveries.redaction import list_spellings, redact

if TYPE_CHECKING:
    from reveries.memory.importing import ImportSession

MAX_CLIENTS = 128
MAX_REQUESTS_PER_CLIENT = 32
MAX_ARRIVING = 128
"""Limit of connections without a greeting, so that silent ones do not use up the file descriptors."""
_MOST_HELLO_BYTES = 4096
_HELLO_SECONDS = 5.0
_CLOSE_SECONDS = 1.0

_LINES_A_MINUTE = 20

log = structlog.get_logger("server")


class _ClientErrorLog:
    """Rate limit for log lines about bad clients, with a count of the rest, so that a flood of them does not fill the
    log."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._minute = 0
        self._lines = 0
        self._unlogged = 0

    def may_log(self) -> bool:
        minute = int(self._clock.monotonic() // 60)
        if minute != self._minute:
            if self._unlogged:
                log.info("client.dropped_more", clients=self._unlogged)
            self._minute, self._lines, self._unlogged = minute, 0, 0
        self._lines += 1
        self._unlogged += self._lines > _LINES_A_MINUTE
        return self._lines <= _LINES_A_MINUTE


class Session:
    """One connected client, as request handlers see it."""

    def __init__(self, number: int, unread: Unread | None = None) -> None:
        self.number = number
        self.outbox = Outbox(unread)
        self.turn = asyncio.Lock()
        """Held while a large answer is built."""
        self.client = ""
        self.imports: dict[str, ImportSession] = {}
        """Imports by source, which this client sends in batches."""
        self.is_gone = False
        """Whether the connection ended: its requests are cancelled, but a running reply goes on."""


Handler = Callable[[Session, Request], Awaitable[None]]
"""Answers one request by sending frames to the session. Cancelled when the client cancels it or goes away."""


class Server:
    """Accepts connections, greets, decodes requests and dispatches them. `mind` is the name for the greeting."""

    def __init__(
        self,
        *,
        mind: str,
        clock: Clock,
        handle: Handler,
        on_gone: Callable[[Session], None],
        on_storage_lost: Callable[[StorageLostError], None],
        may_enter: Callable[[int | None], bool] = may_connect,
        secrets: Sequence[str] = (),
    ) -> None:
        self._may_enter_user = may_enter
        self._secrets = list_spellings(secrets)
        self._mind = mind
        self._on_storage_lost = on_storage_lost
        self._awake_since = clock.now()
        self._handle = handle
        self._on_gone = on_gone
        self._unread = Unread()
        self._sessions: dict[int, Session] = {}
        self._arriving = 0
        self._error_log = _ClientErrorLog(clock)
        self._count = 0

    async def run(self, listener: socket.socket, listening: asyncio.Event) -> None:
        """Serve until cancelled; sets `listening` once connections are accepted."""
        async with asyncio.TaskGroup() as connections:

            def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                self._count += 1
                connections.create_task(self._serve(reader, writer, self._count), name=f"client-{self._count}")

            server = await asyncio.start_unix_server(accept, sock=listener)
            listening.set()
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                # Not `wait_closed`: on 3.12 it waits for clients, which end with the task group right after this.
                server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        session = Session(number, self._unread)
        try:
            if not self._may_enter(writer):
                return
            self._arriving += 1
            try:
                session.client = await self._greet(reader, writer)
            finally:
                self._arriving -= 1
            self._sessions[number] = session
            await self._converse(session, reader, writer)
        except (ProtocolError, OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            if self._error_log.may_log():
                log.info("client.dropped", client=number, why=type(error).__name__)
        except Exception:  # The named boundary: a fault ends its own connection only.
            if self._error_log.may_log():
                log.exception("client.failed", client=number)
        finally:
            self._sessions.pop(number, None)
            session.outbox.give_up()
            self._on_gone(session)
            await _close_connection(writer)

    def _may_enter(self, writer: asyncio.StreamWriter) -> bool:
        uid = peer_uid(writer.get_extra_info("socket"))
        if not self._may_enter_user(uid):
            if self._error_log.may_log():
                log.warning("client.refused", uid=uid)
            return False
        if self._arriving >= MAX_ARRIVING:
            return False
        if len(self._sessions) >= MAX_CLIENTS:
            busy = Failed(0, "failed", f"{MAX_CLIENTS} clients are connected already.", "Close one of them.")
            writer.write(encode(busy))
            return False
        return True

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        async with asyncio.timeout(_HELLO_SECONDS):
            hello = decode_request(await read_body(reader, _MOST_HELLO_BYTES))
            if not isinstance(hello, Hello):
                raise ProtocolError("The first message was not a greeting.")
            writer.write(encode(Welcome(PROTOCOL_VERSION, __version__, os.getpid(), self._mind, self._awake_since)))
            await writer.drain()
        if hello.version != PROTOCOL_VERSION:
            raise ProtocolError(f"The client speaks protocol {hello.version}; this is {PROTOCOL_VERSION}.")
        return hello.client

    async def _converse(self, session: Session, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.TaskGroup() as tasks:
            sender = tasks.create_task(session.outbox.send_to(writer), name=f"client-{session.number}-writer")
            requests = tasks.create_task(self._receive(session, reader), name=f"client-{session.number}-reader")
            given_up = tasks.create_task(session.outbox.wait_closed(), name=f"client-{session.number}-given-up")
            await asyncio.wait((sender, requests, given_up), return_when=asyncio.FIRST_COMPLETED)
            session.is_gone = True
            requests.cancel()
            session.outbox.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await asyncio.wait((sender,))
            sender.cancel()

    async def _receive(self, session: Session, reader: asyncio.StreamReader) -> None:
        running: dict[int, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as requests:
            while True:
                await session.outbox.wait_until_read()
                try:
                    request = decode_request(await read_body(reader))
                except (ProtocolError, OSError, asyncio.IncompleteReadError) as error:
                    if isinstance(error, ProtocolError):
                        session.outbox.send(Failed(0, error.code, error.message, error.advice))
                    break
                self._start_request(session, request, requests, running)
            session.is_gone = True
            for task in running.values():
                task.cancel()

    def _start_request(
        self,
        session: Session,
        request: Hello | Request,
        requests: asyncio.TaskGroup,
        running: dict[int, asyncio.Task[None]],
    ) -> None:
        if isinstance(request, Hello):
            session.outbox.send(Failed(0, "protocol", "The client sent a second greeting.", ""))
            return
        if isinstance(request, Cancel):
            if task := running.get(request.target_id):
                task.cancel()
            session.outbox.send(Ok(request.request_id))
            return
        if request.request_id in running or len(running) >= MAX_REQUESTS_PER_CLIENT:
            why = "Its id is in use." if request.request_id in running else "Too many requests run at once."
            session.outbox.send(Failed(request.request_id, "protocol", f"The request was refused. {why}", ""))
            return
        task = requests.create_task(self._answer(session, request), name=f"request-{type(request).__name__}")
        running[request.request_id] = task

        def ended(task: asyncio.Task[None]) -> None:
            running.pop(request.request_id, None)
            # Not in the request itself: a task that is cancelled before its first step never runs.
            if task.cancelled():
                session.outbox.send(_stopped_frame(request))

        task.add_done_callback(ended)

    async def _answer(self, session: Session, request: Request) -> None:
        request_id = request.request_id
        try:
            if REQUESTS[type(request)].is_large:
                async with session.turn:
                    await session.outbox.wait_until_read()
                    await self._handle(session, request)
            else:
                await self._handle(session, request)
        except ReveriesError as error:
            if isinstance(error, StorageLostError):
                self._on_storage_lost(error)
            secrets = self._secrets
            message, advice = redact(error.message, secrets), redact(error.advice, secrets)
            session.outbox.send(Failed(request_id, error.code, message, advice))
        except Exception:  # The named boundary: an unexpected error becomes a frame.
            log.exception("request.failed", request=type(request).__name__)
            session.outbox.send(
                Failed(request_id, "failed", "An unexpected error occurred; it is in the log.", "reveries status")
            )


def _stopped_frame(request: Request) -> Failed | Ok:
    """Return the last frame of a cancelled request: Ok for a watcher, which wanted to stop; else a failure."""
    number = request.request_id
    is_watch = REQUESTS[type(request)].is_watch
    return Ok(number) if is_watch else Failed(number, "cancelled", "It was stopped.", "")


async def _close_connection(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await writer.wait_closed()
        except TimeoutError:
            # Bytes for a client that does not read would keep the connection open for ever.
            writer.transport.abort()
