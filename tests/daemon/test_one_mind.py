"""Concurrent starts, signals, and notifications to a service manager (B1, B4, B7)."""

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest
import structlog

from reveries import protocol
from reveries.config import Home
from reveries.crash_history import count_recent_crashes
from reveries.daemon.process import loop_lag
from reveries.daemon.process.loop_lag import LoopLag
from reveries.daemon.process.service_manager import notify_service_manager
from reveries.db.failpoints import HangPlace
from reveries.db.integrity.seals import is_sealed
from tests.durability.checks import violations
from tests.durability.ledger import Acknowledged
from tests.durability.mind import Company, client_of, prepare, start, until_it_listens
from tests.fakes.provider import provider

RACE = """
    import os, sys, pathlib, time
    from reveries.config import Home
    from reveries.daemon.process.single_instance import hold_lock, listening_socket
    from reveries.errors import AlreadyAwakeError

    def start(home, others_ended):
        try:
            with hold_lock(home), listening_socket(home.socket):
                os.read(others_ended, 1)
                return 0
        except AlreadyAwakeError as error:
            return error.exit_code

    direct, linked = (Home(pathlib.Path(path)) for path in sys.argv[1:3])
    for _ in range(int(sys.argv[3])):
        go_out, go_in = os.pipe()
        end_out, end_in = os.pipe()
        children = []
        for number in range(8):
            child = os.fork()
            if child == 0:
                os.chdir("/" if number % 2 else str(direct.path))
                os.read(go_out, 1)
                os._exit(start(linked if number % 3 == 0 else direct, end_out))
            children.append(child)
        os.write(go_in, b"x" * 8)
        codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(7)]
        os.write(end_in, b"x")
        codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
        print(*sorted(codes), flush=True)
        for end in (go_out, go_in, end_out, end_in):
            os.close(end)
"""


@pytest.mark.requirement("R-8", "B1")
def test_of_eight_that_start_at_once_exactly_one_stays_in_each_of_fifty_rounds() -> None:
    """Started from two folders, by the name of the home and by a link to it."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        home.create()
        link = Path(folder) / "l"
        link.symlink_to(home.path)
        command = [sys.executable, "-c", textwrap.dedent(RACE), str(home.path), str(link), "50"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.stdout.splitlines() == ["0 75 75 75 75 75 75 75"] * 50, done.stderr
        assert not home.socket.exists()


@pytest.mark.system  # For its length alone.
@pytest.mark.requirement("R-7", "B4", "E1")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_whatever_signal_ends_it_twice_over_and_after_a_suspension_it_ends_well(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Stopped for two seconds, like a suspended laptop, it answers at once; then the signal comes twice."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home, ledger = Home(Path(folder) / "h"), Acknowledged(tmp_path / "ledger.jsonl")
        async with provider() as asked:
            prepare(home, asked)
            process = start([sys.executable, "-m", "reveries.daemon"], home)
            try:
                await until_it_listens(home, lambda: process.poll() is not None)
                company = Company(home, ledger, "signals")
                async with client_of(home) as client:
                    await company.say(client, "signals.0: before.")
                    process.send_signal(signal.SIGSTOP)
                    await asyncio.sleep(2)
                    process.send_signal(signal.SIGCONT)
                    await company.say(client, "signals.1: after.")
                    assert (await client.status()).loop_lag_max_ms > 1000
                    client.send(protocol.Say(client.number(), "signals.2: and on."))
                    ledger.said.add("signals.2: and on.")
                    began = time.monotonic()
                    for _ in range(2):
                        process.send_signal(number)
                    assert await asyncio.to_thread(process.wait, 10) == 0
                    assert time.monotonic() - began < 5
            finally:
                process.kill()
                process.wait(timeout=300)
        assert not home.socket.exists()
        assert not home.database_default.with_name("memory.db-wal").exists()
        assert company.failures == []
        assert violations(home.database_default, ledger) == []
        ledger.close()


@pytest.mark.requirement("R-7", "B4")
async def test_a_signal_that_comes_while_it_closes_takes_nothing_of_the_closing_away() -> None:
    """A service manager that gives up waiting for `reveries sleep` sends a signal."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        async with provider() as asked:
            prepare(home, asked)
            process = start([sys.executable, "-m", "reveries.daemon"], home)
            try:
                await _logged(home, process, '"awake"')
                async with client_of(home) as client:
                    await client.say("Good morning.")
                process.terminate()
                await _logged(home, process, '"closing"', pause=0.001)
                for number in itertools.cycle((signal.SIGTERM, signal.SIGHUP, signal.SIGINT)):
                    if process.poll() is not None:
                        break
                    process.send_signal(number)
                    await asyncio.sleep(0.001)
                assert process.returncode == 0
            finally:
                process.kill()
                process.wait(timeout=300)
        assert not home.database_default.with_name("memory.db-wal").exists()
        assert is_sealed(home.database_default)


@pytest.mark.requirement("R-7", "B6")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_ends_it_well_while_it_wakes_and_that_is_no_crash(number: signal.Signals) -> None:
    """Here the start takes for ever."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        async with provider() as asked:
            prepare(home, asked)
            hangs = f"REVERIES_FAILPOINT={HangPlace.TRANSACTION}:1"
            process = start(["env", hangs, sys.executable, "-m", "tests.fakes.failpoints"], home)
            try:
                await _logged(home, process, '"waking"')
                while not count_recent_crashes(home, time.time()):  # noqa: ASYNC110  # as above; the test's limit bounds it
                    await asyncio.sleep(0.01)
                process.send_signal(number)
                assert await asyncio.to_thread(process.wait, 10) == 0
            finally:
                process.kill()
                process.wait(timeout=300)
            assert '"awake"' not in _log_of(home)
            assert count_recent_crashes(home, time.time()) == 0


@pytest.mark.requirement("B7")
def test_a_service_manager_hears_what_it_is_told_and_nobody_else_is_told(tmp_path: Path) -> None:
    assert "NOTIFY_SOCKET" not in os.environ
    assert not notify_service_manager("WATCHDOG=1")
    told = _told_by(tmp_path, "notify_service_manager('READY=1'); notify_service_manager('WATCHDOG=1')")
    assert told == [b"READY=1", b"WATCHDOG=1"]


@pytest.mark.requirement("B7")
def test_a_service_manager_that_does_not_listen_holds_up_nobody(tmp_path: Path) -> None:
    """More messages than the socket queues: if the loop waited for the reader, it would hang."""
    told = _told_by(tmp_path, "all(notify_service_manager('WATCHDOG=1') for _ in range(10_000))")
    assert 0 < len(told) < 10_000


@pytest.mark.requirement("B7", "B8")
def test_what_must_be_heard_waits_a_moment_for_a_service_manager_that_is_behind() -> None:
    """The queue is full at READY=1; without it the daemon would be ended as one that never started."""
    with tempfile.TemporaryDirectory(prefix="rv") as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        address = str(Path(short) / "n")
        manager.bind(address)
        manager.settimeout(10)
        program = """
            from reveries.daemon.process.service_manager import notify_waiting, notify_service_manager
            while notify_service_manager("WATCHDOG=1"):
                pass
            async def tell():
                telling = asyncio.create_task(notify_waiting("READY=1", seconds=20))
                await asyncio.sleep(0.2)  # The loop goes on meanwhile.
                print("full", flush=True)
                await telling
            asyncio.run(tell())
        """
        environment = {**os.environ, "NOTIFY_SOCKET": address}
        command = [sys.executable, "-c", "import asyncio\n" + textwrap.dedent(program)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"full\n"
            while manager.recv(100) != b"READY=1":
                pass


@pytest.mark.requirement("B7")
def test_a_service_manager_that_never_listens_is_waited_for_only_so_long(tmp_path: Path) -> None:
    program = """
        from reveries.daemon.process.service_manager import notify_waiting
        while notify_service_manager("WATCHDOG=1"):
            pass
        began = time.monotonic()
        assert not asyncio.run(notify_waiting("STOPPING=1", seconds=0.1))
        assert time.monotonic() - began < 5
    """
    assert b"STOPPING=1" not in _told_by(tmp_path, textwrap.dedent(program))


@pytest.mark.requirement("B7")
def test_a_loop_that_hangs_feeds_no_watchdog(tmp_path: Path) -> None:
    """WATCHDOG=1 is sent from the loop itself, so the service manager ends a daemon whose loop hangs."""
    program = """
        from reveries.config import load_settings
        from reveries.daemon.lifecycle import watchdog
        watchdog.POLL_SECONDS = 0.05
        async def live():
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(watchdog.Watchdog(load_settings(None).llm).run(SystemClock()))
                await asyncio.sleep(0.02)
                time.sleep(0.6)
                os._exit(0)
        asyncio.run(live())
    """
    assert _told_by(tmp_path, textwrap.dedent(program)) == [b"WATCHDOG=1"]


@pytest.mark.requirement("B7")
def test_where_a_loop_hangs_is_told_while_it_hangs() -> None:
    program = """
        import asyncio, threading, time
        from reveries.clock import SystemClock
        from reveries.daemon.process import loop_lag

        loop_lag._HANGS_SECONDS = 0.7  # A process is rarely without CPU time for so long.

        def holds_the_loop():
            time.sleep(1.5)

        def holds_it_again():
            time.sleep(1.5)

        def waits_elsewhere():
            time.sleep(600)

        threading.Thread(target=waits_elsewhere, daemon=True).start()

        async def live():
            telling = asyncio.create_task(loop_lag.report_hangs(SystemClock()))
            await asyncio.sleep(0.02)
            holds_the_loop()
            await asyncio.sleep(0.3)
            holds_it_again()
            telling.cancel()
            await asyncio.sleep(0.3)
            print([thread.name for thread in threading.enumerate()])

        asyncio.run(live())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert "in holds_the_loop" in done.stderr
    assert "in waits_elsewhere" in done.stderr
    assert "hang-reporter" not in done.stdout
    # Only now and then, because a slow machine must not fill the disk.
    assert "in holds_it_again" not in done.stderr


@pytest.mark.requirement("B7", "B4")
def test_reports_of_hangs_never_end_the_process() -> None:
    """A dump that read frames while their threads ran mostly ended it with SIGSEGV in two seconds of such a loop."""
    program = """
        import asyncio, sys, time
        from reveries.clock import SystemClock
        from reveries.daemon.process import loop_lag

        loop_lag._HANGS_SECONDS = loop_lag._HANGS_AGAIN_SECONDS = 0.001
        loop_lag._BEAT_SECONDS = 0.0001

        def count_leaves(depth):
            return sum(count_leaves(depth - 1) for _ in range(2)) if depth else 1

        async def live():
            reporting = asyncio.create_task(loop_lag.report_hangs(SystemClock()))
            while time.process_time() < 2:  # On a busy machine that is long enough for some reports too.
                count_leaves(14)
                await asyncio.sleep(0)
            reporting.cancel()
            print("lived")

        asyncio.run(live())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "lived\n"
    assert done.stderr.count("no sign") >= 3
    assert "in count_leaves" in done.stderr


class _ScriptedBeat:
    """An event for the thread that reports hangs: each wait takes the next of `waits`, seconds and whether it came."""

    def __init__(self, *waits: tuple[float, bool]) -> None:
        self._waits = list(waits)
        self.seconds = 0.0
        self.limits: list[float | None] = []
        self.stop = threading.Event()

    def monotonic(self) -> float:
        return self.seconds

    def wait(self, limit: float | None = None) -> bool:
        self.limits.append(limit)
        seconds, has_come = self._waits.pop(0)
        self.seconds += seconds
        if not self._waits:
            self.stop.set()
        return has_come

    def clear(self) -> None:
        """The next wait takes the next of the script."""


@pytest.mark.requirement("B7")
def test_a_long_hang_is_reported_once_and_for_ten_minutes_only_hangs_of_ten_seconds_are(tmp_path: Path) -> None:
    # A hang that goes on for 59 s, beats, one that goes on for 30 s, beats for more than ten minutes, a last hang.
    script = _ScriptedBeat(
        (0.5, True), (1, False), (59, True), (0.5, True), (10, False), (30, True), (600, True), (1, False), (1, True)
    )  # fmt: skip
    with (tmp_path / "errors").open("wb") as errors:
        loop_lag._report_missing_beats(script, script.stop, script, errors.fileno())  # type: ignore[arg-type]
    assert script.limits == [1.0, 1.0, None, 10.0, 10.0, None, 10.0, 1.0, None]
    assert (tmp_path / "errors").read_text(encoding="utf-8").count("no sign") == 3
    assert loop_lag._BEAT_SECONDS < loop_lag._HANGS_SECONDS


@pytest.mark.requirement("B7")
def test_errors_that_cannot_be_written_do_not_end_the_reports_of_hangs(tmp_path: Path) -> None:
    script = _ScriptedBeat((1, False), (1, True), (10, False), (1, True))
    with (tmp_path / "errors").open("wb") as errors:
        closed = errors.fileno()
    loop_lag._report_missing_beats(script, script.stop, script, closed)  # type: ignore[arg-type]
    assert script.limits == [1.0, None, 10.0, None]


@pytest.mark.requirement("B7", "B4")
def test_a_pipe_of_errors_that_nobody_reads_does_not_keep_the_process_from_its_end() -> None:
    program = """
        import asyncio, os, time
        from reveries.clock import SystemClock
        from reveries.daemon.process import loop_lag

        loop_lag._HANGS_SECONDS = 0.2
        os.set_blocking(2, False)
        try:
            while os.write(2, b"x" * 4096):
                pass
        except BlockingIOError:
            os.set_blocking(2, True)

        async def live():
            reporting = asyncio.create_task(loop_lag.report_hangs(SystemClock()))
            await asyncio.sleep(0.02)
            time.sleep(0.7)
            reporting.cancel()

        asyncio.run(live())
        print("ended", flush=True)
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        try:
            assert process.wait(100) == 0
        finally:
            process.kill()
        assert process.stdout is not None
        assert process.stdout.read() == b"ended\n"


@pytest.mark.requirement("B7")
async def test_a_mind_that_was_started_with_its_errors_closed_wakes_and_lives_on() -> None:
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "h")
        async with provider() as asked:
            prepare(home, asked)
            process = start(["sh", "-c", 'exec "$0" -m reveries.daemon 2>&-', sys.executable], home)
            try:
                await _logged(home, process, '"awake"')
                async with asyncio.timeout(300), client_of(home) as client:
                    await client.say("Good morning.")
                process.terminate()
                assert await asyncio.to_thread(process.wait, 10) == 0
            finally:
                process.kill()
                process.wait(timeout=300)


async def _logged(home: Home, process: "subprocess.Popen[bytes]", words: str, pause: float = 0.05) -> None:
    async with asyncio.timeout(300):
        while words not in _log_of(home):  # Another process: there is no event to wait for.
            assert process.poll() is None, _log_of(home)
            await asyncio.sleep(pause)


def _log_of(home: Home) -> str:
    log = home.logs / "daemon.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


def _told_by(folder: Path, program: str) -> list[bytes]:
    """Return what a process sent to its notify socket."""
    head = "import asyncio, os, time\nfrom reveries.clock import SystemClock\n"
    head += "from reveries.daemon.process.service_manager import notify_service_manager\n"
    with tempfile.TemporaryDirectory(prefix="rv") as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        address = str(Path(short) / "n")
        manager.bind(address)
        manager.setblocking(False)
        environment = {**os.environ, "NOTIFY_SOCKET": address}
        subprocess.run([sys.executable, "-c", head + program], env=environment, timeout=300, check=True)
        told = []
        while True:
            try:
                told.append(manager.recv(100))
            except BlockingIOError:
                return told


class _LateClock:
    """A clock whose sleeps take the next of `seconds`."""

    def __init__(self, *seconds: float) -> None:
        self._seconds = list(seconds)
        self._monotonic = 0.0

    def now(self) -> float:
        return self._monotonic

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        if not self._seconds:
            raise asyncio.CancelledError
        self._monotonic += self._seconds.pop(0)


@pytest.mark.requirement("B7")
async def test_a_loop_that_was_blocked_is_measured_and_in_the_log() -> None:
    lag = LoopLag(_LateClock(0.1, 0.15, 2.6, 0.1))
    with structlog.testing.capture_logs() as lines, pytest.raises(asyncio.CancelledError):
        await lag.run()
    assert [(line["event"], line["seconds"]) for line in lines] == [("loop.blocked", 2.5)]
    assert lag.max_ms() == pytest.approx(2500)
