"""The client's end of the socket, against a real socket."""

import asyncio
import contextlib
import os
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from reveries import protocol
from reveries.client.connection import Connection, connect
from reveries.config import Home
from reveries.errors import AsleepError, ConnectionLostError, HomeError, NotFoundError, ProtocolError
from reveries.peer_credentials import may_serve
from tests.fakes.daemon import Script, awake

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.mark.requirement("R-11", "R-12")
async def test_ask_returns_the_answer(home: Home) -> None:
    async with asyncio.timeout(300), awake(home), connect(home) as mind:
        answer = await mind.ask(protocol.AskStatus, protocol.Status)
    assert answer.state == "thinking"
    assert mind.welcome.mind == "Reverie"


@pytest.mark.requirement("R-92")
async def test_request_yields_each_frame_up_to_the_last(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(pieces=["a", "b"])), connect(home) as mind:
        frames = [frame async for frame in mind.request(protocol.Say(mind.new_id(), "hello"))]
    kinds = [type(frame).__name__ for frame in frames]
    assert kinds == ["Stored", "Recalled", "Token", "Token", "Stored", "Replied"]


async def test_a_request_is_sent_once(home: Home) -> None:
    async with asyncio.timeout(300), awake(home) as fake, connect(home) as mind:
        running = mind.start(lambda new_id: protocol.Say(new_id, "hello"), protocol.Replied)
        async for _ in running:
            pass
        assert await running.result() is running.answer
        with pytest.raises(AssertionError, match="sent once"):
            await anext(aiter(running))
        assert len(fake.requests(protocol.Say)) == 1


async def test_requests_run_side_by_side(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)) as fake, connect(home) as mind:  # noqa: SIM117
        async with asyncio.TaskGroup() as tasks:
            reply = tasks.create_task(_replied(mind), name="say")
            assert (await mind.ask(protocol.AskStatus, protocol.Status)).health == "ok"
            assert not reply.done()
            fake.release.set()
    assert reply.result().reason == "stop"


async def test_cancel_ends_the_reply(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)), connect(home) as mind:
        request_id = mind.new_id()
        async for frame in mind.request(protocol.Say(request_id, "hello")):
            if isinstance(frame, protocol.Token):
                mind.cancel_soon(request_id)
        assert isinstance(frame, protocol.Replied)
        assert frame.reason == "cancelled"


async def test_broadcasts_reach_the_listener(home: Home) -> None:
    async with asyncio.timeout(300), awake(home) as fake, connect(home) as mind:
        async with contextlib.aclosing(mind.broadcasts()) as told, asyncio.TaskGroup() as tasks:
            first = tasks.create_task(anext(told), name="told")
            await mind.ask(protocol.Attach, protocol.Attached)
            await fake.broadcast(protocol.StateChanged(0, "settled", "nothing left"))
        assert first.result() == protocol.StateChanged(0, "settled", "nothing left")


async def test_a_failure_is_raised_as_what_it_is(home: Home) -> None:
    async with asyncio.timeout(300), awake(home), connect(home) as mind:
        with pytest.raises(NotFoundError, match="No episode begins with that"):
            await mind.ask(lambda new_id: protocol.Inspect(new_id, "zz"), protocol.EpisodeDetail)


async def test_a_lost_connection_wakes_every_waiter(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)) as fake, connect(home) as mind:
        async with asyncio.TaskGroup() as tasks:
            say = tasks.create_task(_failure_of(_replied(mind)), name="say")
            told = tasks.create_task(_failure_of(anext(mind.broadcasts())), name="told")
            observe = tasks.create_task(_failure_of(_observed(mind)), name="observe")
            await mind.ask(protocol.AskStatus, protocol.Status)
            fake.drop_clients()
        assert all(isinstance(task.result(), ConnectionLostError) for task in (say, told, observe))
        with pytest.raises(ConnectionLostError):
            await mind.ask(protocol.AskStatus, protocol.Status)


async def test_more_frames_than_a_queue_holds_all_arrive(home: Home) -> None:
    pieces = [f"{number} " for number in range(3000)]
    async with asyncio.timeout(300), awake(home, Script(pieces=pieces)), connect(home) as mind:
        got = [
            frame.text
            async for frame in mind.request(protocol.Say(mind.new_id(), "hello"))
            if isinstance(frame, protocol.Token)
        ]
    assert got == pieces


async def test_a_request_left_early_does_not_block_the_next(home: Home) -> None:
    script = Script(pieces=["x"] * 3000)
    async with asyncio.timeout(300), awake(home, script), connect(home) as mind:
        async with contextlib.aclosing(mind.request(protocol.Say(mind.new_id(), "hello"))) as frames:
            await anext(frames)
        assert (await mind.ask(protocol.AskStatus, protocol.Status)).health == "ok"


async def test_frames_cut_anywhere_are_read_whole(home: Home) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await protocol.read_body(reader)
        welcome = protocol.encode(protocol.Welcome(protocol.PROTOCOL_VERSION, "0.1.0", 1, "Reverie", 0.0))
        await _one_by_one(writer, welcome)
        await protocol.read_body(reader)
        await _one_by_one(writer, protocol.encode(protocol.Stored(1, "words", "ü€𝄞")) + protocol.encode(protocol.Ok(1)))
        writer.close()

    async with asyncio.timeout(300), _serving(home, drip), connect(home) as mind:
        frames = [frame async for frame in mind.request(protocol.Say(mind.new_id(), "hello"))]
    assert frames == [protocol.Stored(1, "words", "ü€𝄞"), protocol.Ok(1)]


async def test_nobody_listening_is_asleep_with_advice(home: Home) -> None:
    with pytest.raises(AsleepError, match="reveries wake"):
        async with connect(home):
            pass


async def test_a_stale_socket_is_asleep(home: Home) -> None:
    async with awake(home) as fake:
        await fake.stop()
        await fake.start()
        assert fake._server is not None
        fake._server.close()
        with pytest.raises(AsleepError):
            async with connect(home):
                pass


async def test_another_version_is_said_plainly(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(version=99)):
        with pytest.raises(ProtocolError, match=r"uses protocol 99.*uses 1\. This client is older"):
            async with connect(home):
                pass


async def test_a_socket_that_does_not_greet_is_given_up(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(greets=False)):
        with pytest.raises(ProtocolError, match="did not greet"):
            async with connect(home, seconds=0.05):
                pass


async def test_no_answer_in_time_is_a_protocol_error(home: Home) -> None:
    async with asyncio.timeout(300), awake(home, Script(holds_reply=True)), connect(home) as mind:
        with pytest.raises(ProtocolError, match="did not answer within"):
            await mind.ask(lambda new_id: protocol.Say(new_id, "hi"), protocol.Replied, seconds=0.05)


async def test_nonsense_ends_the_connection_with_a_sentence(home: Home) -> None:
    async def nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await protocol.read_body(reader)
        writer.write(protocol.encode(protocol.Welcome(protocol.PROTOCOL_VERSION, "0.1.0", 1, "Reverie", 0.0)))
        await protocol.read_body(reader)
        writer.write(b"\x00\x00\x00\x03abc")
        await writer.drain()

    async with asyncio.timeout(300), _serving(home, nonsense), connect(home) as mind:
        with pytest.raises(ProtocolError, match="could not be read"):
            await mind.ask(protocol.AskStatus, protocol.Status)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open every socket")
async def test_a_foreign_socket_is_a_home_error(home: Home) -> None:
    async with awake(home):
        home.socket.chmod(0)
        with pytest.raises(HomeError):
            async with connect(home):
                pass
        home.socket.chmod(stat.S_IRWXU)


async def test_an_error_of_the_body_comes_out_plain(home: Home) -> None:
    async with awake(home):
        with pytest.raises(LookupError, match="mine"):
            async with connect(home):
                raise LookupError("mine")


async def _replied(mind: Connection) -> protocol.Replied:
    return await mind.ask(lambda new_id: protocol.Say(new_id, "hello"), protocol.Replied, seconds=None)


async def _observed(mind: Connection) -> protocol.Ok:
    return await mind.ask(protocol.Observe, protocol.Ok, seconds=None)


async def _failure_of(awaitable: Awaitable[object]) -> BaseException | None:
    try:
        await awaitable
    except ConnectionLostError as error:
        return error
    return None


async def _one_by_one(writer: asyncio.StreamWriter, raw: bytes) -> None:
    for byte in raw:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def _serving(home: Home, handler: Handler) -> AsyncIterator[None]:
    """A server for one connection that does what `handler` does, then closes."""
    ended = asyncio.Event()

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            ended.set()

    home.path.mkdir(parents=True)
    server = await asyncio.start_unix_server(once, home.socket)
    try:
        yield
        await ended.wait()
    finally:
        server.close()


_STRANGER = """
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listens", flush=True)
peer, _ = listener.accept()
peer.settimeout(5)
print(len(peer.recv(4096)), flush=True)
"""


@pytest.mark.requirement("F4")
@pytest.mark.skipif(os.getuid() != 0, reason="to be another user takes root")
async def test_a_socket_that_another_user_laid_into_the_home_is_told_nothing(home: Home) -> None:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("it takes a Python that every user may run")
    home.path.mkdir(parents=True)
    home.path.chmod(0o777)
    home.path.parent.chmod(0o755)
    child = await asyncio.create_subprocess_exec(
        python,
        "-I",
        "-c",
        _STRANGER,
        str(home.socket),
        stdout=subprocess.PIPE,
        user=65534,
        group=65534,
        extra_groups=[],
    )
    assert child.stdout is not None
    async with asyncio.timeout(300):
        assert await child.stdout.readline() == b"listens\n"
        with pytest.raises(HomeError, match="another user's program"):
            async with connect(home):
                pass
        assert await child.stdout.readline() == b"0\n"
        await child.wait()


@pytest.mark.requirement("F4")
def test_only_the_owner_of_the_home_and_root_may_be_its_mind(home: Home) -> None:
    home.path.mkdir(parents=True)
    asked = (None, 0, os.getuid(), home.path.stat().st_uid, 65533)
    assert [may_serve(uid, home.path) for uid in asked] == [True, True, True, True, False]
