"""The socket: greeting, requests, garbage. A bad client ends its own connection and nothing else."""

import asyncio
import contextlib
import os
import random
import shutil
import stat
import struct
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog

from reveries import protocol
from reveries.daemon.process.single_instance import listening_socket
from reveries.daemon.server import MAX_ARRIVING, MAX_CLIENTS, Server, Session
from reveries.errors import NotFoundError, StorageLostError
from reveries.peer_credentials import may_connect
from reveries.protocol import PROTOCOL_VERSION, decode_frame, encode, read_body
from tests.daemon.crowd import Crowd, good_client
from tests.fakes.clock import HandClock


@dataclass
class _Mind:
    """Answers a few requests in simple ways."""

    gone: list[int] = field(default_factory=list)
    somebody_left: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: list[int] = field(default_factory=list)
    lost: list[StorageLostError] = field(default_factory=list)
    path: Path = Path()
    sessions: dict[int, Session] = field(default_factory=dict)

    async def handle(self, session: Session, request: protocol.Request) -> None:
        self.sessions[session.number] = session
        match request:
            case protocol.AskMemory():
                session.outbox.send(protocol.Ok(request.request_id))
            case protocol.Inspect():
                raise NotFoundError("There is no such episode.", advice="Search for it.")
            case protocol.Search():
                raise ValueError("a bug")
            case protocol.AskTurns():
                session.outbox.send(protocol.Token(request.request_id, "x" * 3_000_000))
            case protocol.AskConfig():
                raise StorageLostError("the disk failed")
            case protocol.Observe() | protocol.WatchWork() | protocol.WorkNow():
                try:
                    await asyncio.get_running_loop().create_future()
                except asyncio.CancelledError:
                    self.cancelled.append(request.request_id)
                    raise
            case _:
                raise AssertionError(request)

    def on_gone(self, session: Session) -> None:
        self.gone.append(session.number)
        self.somebody_left.set()


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rv-") as made:
        yield Path(made)


@pytest.fixture
async def mind(folder: Path) -> AsyncIterator[_Mind]:
    mind = _Mind(path=folder / "daemon.sock")
    server = Server(
        mind="Test", clock=HandClock(), handle=mind.handle, on_gone=mind.on_gone, on_storage_lost=mind.lost.append
    )
    listening = asyncio.Event()
    with listening_socket(mind.path) as listener:
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(server.run(listener, listening))
            await listening.wait()
            yield mind
            running.cancel()


@contextlib.asynccontextmanager
async def _raw(mind: _Mind) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_unix_connection(str(mind.path))
    try:
        async with asyncio.timeout(300):
            yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def _greeted(mind: _Mind) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with _raw(mind) as (reader, writer):
        writer.write(encode(protocol.Hello(PROTOCOL_VERSION, "test")))
        assert isinstance(await _next(reader), protocol.Welcome)
        yield reader, writer


async def _next(reader: asyncio.StreamReader) -> protocol.Frame:
    return decode_frame(await read_body(reader))


async def _ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: protocol.Request) -> protocol.Frame:
    writer.write(encode(request))
    return await _next(reader)


@pytest.mark.requirement("R-11", "R-12")
async def test_a_request_gets_its_answer(mind: _Mind) -> None:
    async with _greeted(mind) as (reader, writer):
        assert await _ask(reader, writer, protocol.AskMemory(7)) == protocol.Ok(7)


@pytest.mark.requirement("E5")
async def test_who_greets_at_length_is_left_before_he_is_heard(mind: _Mind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Greetings are limited by their length prefix, because many clients could send a megabyte each."""
    monkeypatch.setattr("reveries.daemon.server._HELLO_SECONDS", 3600.0)
    async with _raw(mind) as (reader, writer):
        writer.write(struct.pack(">I", 4097))
        assert await reader.read(1) == b""


async def test_an_error_crosses_the_wire_as_a_code_and_a_sentence(mind: _Mind) -> None:
    async with _greeted(mind) as (reader, writer):
        failed = await _ask(reader, writer, protocol.Inspect(1, "ep_x"))
        assert failed == protocol.Failed(1, "not_found", "There is no such episode.", "Search for it.")


async def test_a_bug_in_a_request_costs_that_request_only(mind: _Mind) -> None:
    async with _greeted(mind) as (reader, writer):
        failed = await _ask(reader, writer, protocol.Search(1, "x"))
        assert isinstance(failed, protocol.Failed)
        assert "a bug" not in failed.message
        assert await _ask(reader, writer, protocol.AskMemory(2)) == protocol.Ok(2)


@pytest.mark.requirement("A4")
async def test_a_failing_disk_reaches_the_client_and_the_daemon(mind: _Mind) -> None:
    async with _greeted(mind) as (reader, writer):
        failed = await _ask(reader, writer, protocol.AskConfig(1))
        assert isinstance(failed, protocol.Failed)
        assert failed.code == "storage_lost"
        assert len(mind.lost) == 1


@pytest.mark.parametrize("watch", [protocol.Observe, protocol.WatchWork])
async def test_whoever_watches_can_stop_and_that_is_no_failure(
    mind: _Mind, watch: Callable[[int], protocol.Request]
) -> None:
    async with _greeted(mind) as (reader, writer):
        writer.write(encode(watch(5)))
        answers = [await _ask(reader, writer, protocol.Cancel(6, 5)), await _next(reader)]
        assert sorted(answer.request_id for answer in answers if isinstance(answer, protocol.Ok)) == [5, 6]


async def test_any_other_request_that_is_cancelled_says_that_it_was_stopped(mind: _Mind) -> None:
    async with _greeted(mind) as (reader, writer):
        writer.write(encode(protocol.WorkNow(5)))
        answers = [await _ask(reader, writer, protocol.Cancel(6, 5)), await _next(reader)]
        assert [one.code for one in answers if isinstance(one, protocol.Failed)] == ["cancelled"]


@pytest.mark.requirement("R-13")
async def test_a_client_that_goes_ends_its_requests_and_is_noticed(mind: _Mind) -> None:
    async with _greeted(mind) as (_, writer):
        writer.write(encode(protocol.Observe(5)))
        await writer.drain()
        await asyncio.sleep(0)
    async with asyncio.timeout(300):
        await mind.somebody_left.wait()
    assert mind.cancelled in ([5], [])


@pytest.mark.requirement("R-14")
async def test_a_client_of_another_version_is_told_ours_and_let_go(mind: _Mind) -> None:
    async with _raw(mind) as (reader, writer):
        writer.write(encode(protocol.Hello(99, "future")))
        welcome = await _next(reader)
        assert isinstance(welcome, protocol.Welcome)
        assert welcome.version == PROTOCOL_VERSION
        assert await reader.read() == b""


@pytest.mark.requirement("E5")
async def test_a_request_before_the_greeting_is_not_heard(mind: _Mind) -> None:
    async with _raw(mind) as (reader, writer):
        writer.write(encode(protocol.AskMemory(1)))
        assert await reader.read() == b""


@pytest.mark.requirement("E5")
async def test_garbage_ends_its_own_connection_and_a_good_client_goes_on(mind: _Mind) -> None:
    chance = random.Random(20261121)
    async with _greeted(mind) as (good_reader, good_writer):
        for _ in range(200):
            async with _raw(mind) as (reader, writer):
                if chance.random() < 0.5:
                    writer.write(encode(protocol.Hello(PROTOCOL_VERSION, "test")))
                writer.write(chance.randbytes(chance.randint(1, 400)))
                if chance.random() < 0.5:
                    writer.write_eof()
                else:
                    writer.transport.abort()
                with contextlib.suppress(OSError):
                    await reader.read()
        assert await _ask(good_reader, good_writer, protocol.AskMemory(1)) == protocol.Ok(1)


@pytest.mark.requirement("E5", "H2")
async def test_a_flood_of_garbage_is_a_few_lines_of_log_and_no_traceback(mind: _Mind) -> None:
    """The full test has a million: make soak PART=crowd."""
    crowd = Crowd(mind.path)
    with structlog.testing.capture_logs() as lines:
        async with good_client(mind.path) as good, asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            pressing = tasks.create_task(crowd.press(20_000))
            while not pressing.done():
                await good.ask()
    assert crowd.frames == 20_000
    assert len(lines) <= 25
    assert not [line for line in lines if line.get("exc_info")]


@pytest.mark.requirement("E5")
async def test_who_connects_and_says_nothing_does_not_use_up_all_there_is(mind: _Mind) -> None:
    async with contextlib.AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(_raw(mind)) for _ in range(MAX_ARRIVING)]
        await _until(lambda: len(asyncio.all_tasks()) > MAX_ARRIVING)
        reader, _ = await stack.enter_async_context(_raw(mind))
        assert await reader.read() == b""
        silent[0][1].write(encode(protocol.Hello(PROTOCOL_VERSION, "test")))
        assert isinstance(await _next(silent[0][0]), protocol.Welcome)


@pytest.mark.requirement("E5")
async def test_a_greeting_as_long_as_a_book_is_not_listened_to(mind: _Mind) -> None:
    async with _raw(mind) as (reader, writer):
        writer.write((1_000_000).to_bytes(4, "big"))
        assert await reader.read() == b""


@pytest.mark.requirement("E4")
async def test_a_client_that_reads_nothing_is_let_go_and_leaves_nothing_behind(mind: _Mind) -> None:
    """Otherwise its unread bytes would keep the connection open for ever."""
    async with _greeted(mind) as (reader, writer):
        assert await _ask(reader, writer, protocol.AskMemory(1)) == protocol.Ok(1)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # what a stream's transport can do
        async with _greeted(mind) as (good_reader, good_writer):
            session = mind.sessions[1]
            while not session.outbox.is_closed:
                session.outbox.send_broadcast(protocol.Token(0, "x" * 50_000))
                assert await _ask(good_reader, good_writer, protocol.AskMemory(1)) == protocol.Ok(1)
            await asyncio.wait_for(mind.somebody_left.wait(), 300)
        assert mind.gone[0] == 1


@pytest.mark.requirement("E4")
async def test_who_asks_for_much_at_once_and_reads_nothing_has_one_answer_made(mind: _Mind) -> None:
    """Small answers are still sent; each large one waits until the one before is read."""
    async with _greeted(mind) as (reader, writer):
        for number in range(32):
            writer.write(encode(protocol.AskTurns(number + 1, "")))
        await _until(lambda: bool(mind.sessions))
        outbox = mind.sessions[1].outbox
        writer.write(encode(protocol.AskMemory(99)))
        for _ in range(50):
            await asyncio.sleep(0.001)
            assert outbox.waiting_bytes <= 3_100_000
        assert not outbox.is_closed
        heard = [await _next(reader) for _ in range(33)]
        assert [frame.request_id for frame in heard if isinstance(frame, protocol.Token)] == list(range(1, 33))


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not holds():  # noqa: ASYNC110  # the other side is a task of the same loop
            await asyncio.sleep(0.005)


@pytest.mark.requirement("E5")
@pytest.mark.parametrize("length", [0, 4 * 1024 * 1024 + 1, 2**32 - 1])
async def test_a_length_that_cannot_be_is_told_and_ends_the_connection(mind: _Mind, length: int) -> None:
    async with _greeted(mind) as (reader, writer):
        writer.write(length.to_bytes(4, "big"))
        failed = await _next(reader)
        assert isinstance(failed, protocol.Failed)
        assert failed.code == "protocol"
        assert await reader.read() == b""


async def test_a_number_that_runs_already_is_refused(mind: _Mind) -> None:
    async with _greeted(mind) as (reader, writer):
        writer.write(encode(protocol.Observe(1)))
        failed = await _ask(reader, writer, protocol.AskMemory(1))
        assert isinstance(failed, protocol.Failed)
        assert failed.code == "protocol"


@pytest.mark.requirement("R-15", "E3")
async def test_one_client_too_many_is_refused_with_a_reason(mind: _Mind) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(MAX_CLIENTS):
            await stack.enter_async_context(_greeted(mind))
        reader, _ = await stack.enter_async_context(_raw(mind))
        failed = await _next(reader)
        assert isinstance(failed, protocol.Failed)
        assert "connected already" in failed.message


_STRANGER = """
import socket, sys
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(5)
try:
    peer.connect(sys.argv[1])
    peer.sendall(bytes.fromhex(sys.argv[2]))
    print(len(peer.recv(4096)))
except OSError as error:
    print(type(error).__name__)
"""


async def _as_nobody(path: Path) -> str:
    """Return what another user of this machine gets from the socket: bytes, or the refusal."""
    # Not our own Python, which other users may not be able to read.
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if os.getuid() != 0 or python is None:
        pytest.skip("to be another user takes root, and a Python that every user may run")
    hello = encode(protocol.Hello(PROTOCOL_VERSION, "stranger")).hex()
    child = await asyncio.create_subprocess_exec(
        python,
        "-I",
        "-c",
        _STRANGER,
        str(path),
        hello,
        stdout=subprocess.PIPE,
        user=65534,
        group=65534,
        extra_groups=[],
    )
    async with asyncio.timeout(300):
        said, _ = await child.communicate()
    return said.decode().strip()


@contextlib.asynccontextmanager
async def _open_to_all(folder: Path, may_enter: Callable[[int | None], bool] = may_connect) -> AsyncIterator[Path]:
    """A server whose socket every user of this machine can reach, as after a wrong chmod."""
    os.chmod(folder, 0o755)  # noqa: PTH101
    mind = _Mind(path=folder / "daemon.sock")
    server = Server(
        mind="Test",
        clock=HandClock(),
        handle=mind.handle,
        on_gone=mind.on_gone,
        on_storage_lost=mind.lost.append,
        may_enter=may_enter,
    )
    listening = asyncio.Event()
    with listening_socket(mind.path) as listener:
        mind.path.chmod(0o666)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(server.run(listener, listening))
            await listening.wait()
            yield mind.path
            running.cancel()


@pytest.mark.requirement("F4", "R-14")
async def test_another_user_gets_not_a_byte_even_where_the_modes_are_wrong(folder: Path) -> None:
    async with _open_to_all(folder) as path:
        assert await _as_nobody(path) in ("0", "ConnectionResetError", "BrokenPipeError")


@pytest.mark.requirement("F4", "H4")
async def test_without_the_look_at_who_it_is_another_user_would_get_in(folder: Path) -> None:
    """Shows that the test above works: without the check, the same user is welcomed."""
    async with _open_to_all(folder, may_enter=lambda uid: True) as path:
        assert int(await _as_nobody(path)) > 0


@pytest.mark.requirement("F4")
async def test_another_user_cannot_reach_the_socket_as_it_is_made(folder: Path) -> None:
    before = os.umask(0)
    try:
        with listening_socket(folder / "daemon.sock") as listener:
            assert stat.S_IMODE((folder / "daemon.sock").stat().st_mode) == 0o600
            os.chmod(folder, 0o755)  # noqa: PTH101
            assert await _as_nobody(folder / "daemon.sock") == "PermissionError"
            assert listener.fileno() >= 0
    finally:
        os.umask(before)


@pytest.mark.requirement("F4")
def test_only_who_runs_it_and_root_may_enter() -> None:
    assert [may_connect(uid) for uid in (os.getuid(), 0, 65534, os.getuid() + 1)] == [True, True, False, False]
