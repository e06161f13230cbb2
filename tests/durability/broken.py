"""A disk that refuses the N-th write or sync, alone or with every later one: what the daemon still told its clients."""

import asyncio
import contextlib
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from reveries import protocol
from reveries.config import Home
from reveries.db.connecting import connect_read_only
from reveries.db.driver import dbapi
from reveries.db.integrity.write_ahead_log import log_bytes
from reveries.errors import ProtocolError, StorageError
from reveries.protocol import Frame
from tests.durability.checks import violations
from tests.durability.ledger import Acknowledged
from tests.durability.mind import Company, Zygote, client_of, has_ended, prepare
from tests.durability.recorded import TRACED, Event, Refused, Synced, Told, Written, events
from tests.fakes.provider import provider

SYNC, WRITE = "fsync,fdatasync", "pwrite64"
END_WITHIN_SECONDS = 2.0
_LIFE_ACKNOWLEDGED = 25
"""What is enough: the calls of a life are then about as many on a busy machine as on an idle one."""
_LIFE_SECONDS = 20.0
"""At most, for one in which nothing is acknowledged."""
_END_SECONDS = 300.0
_WAKE_SECONDS = 300.0
_EXITED = re.compile(r"^(\d+) +([\d.]+) \+\+\+ exited with (\d+) \+\+\+", re.MULTILINE)


@dataclass
class Refusal:
    """One life on a disk that refuses."""

    call: str
    when: str
    """As strace counts: "3" is the third call of a thread, "3+" that one and every later one."""
    injected: int = 0
    """Calls that were refused, of whatever file."""
    refused: int = 0
    """Those of the memory's own."""
    exit_code: int | None = None
    """Or minus the signal."""
    seconds: float = 0.0
    """From the first refusal of the memory's file to the end."""
    acknowledged: int = 0
    wrong: list[str] = field(default_factory=list)
    """All but its slowness."""

    @property
    def is_slow(self) -> bool:
        """Whether it took too long to end: that counts where nothing else keeps the machine busy."""
        return self.seconds > END_WITHIN_SECONDS


async def live_on_a_broken_disk(folder: Path, call: str, when: str, zygote: Zygote) -> Refusal:
    """A life of some seconds on such a disk, between two on one that is well; and the checks. `zygote` forks them."""
    home, log, seen = Home(folder / "h"), folder / "calls.log", Refusal(call, when)
    ledger = Acknowledged(folder / "ledger.jsonl")
    async with provider() as asked:
        prepare(home, asked)
        # Every other life begins with what a kill left: a fault while it recovers is one, too.
        await _well(home, ledger, "before", seen, zygote, is_killed=int(when.rstrip("+")) % 2 == 1)
        daemon = zygote.hold(home)
        try:
            async with _refusing(daemon, log, call, when):
                await _live(home, ledger, daemon)
                if not await _ends(daemon):
                    seen.wrong.append("it lives on")
                seen.exit_code = await _reaped(daemon, zygote)
        finally:
            if seen.exit_code is None:
                await _reaped(daemon, zygote)
        _judge(home, log, seen)
        await _well(home, ledger, "after", seen, zygote)
    seen.acknowledged = ledger.count
    seen.wrong += violations(home.database_default, ledger)
    ledger.close()
    return seen


async def end_on_a_broken_disk(folder: Path, zygote: Zygote) -> int:
    """A mind is told to end while it says something long, and what it has said so far finds no place: its exit code."""
    home = Home(folder / "h")
    async with provider() as asked:
        prepare(home, asked)
        asked.texts = {"talker": "and then " * 5000}
        # Nothing else is to be stored: whatever is supervised and fails tells of it by itself.
        settings = home.config.read_text().replace("rest_minutes = 0.002", "rest_minutes = 60")
        home.config.write_text(settings.replace("[monologue]", "[monologue]\nenabled = false"))
        daemon = zygote.wake(home)
        try:
            await _wakes(home, daemon)
            async with asyncio.timeout(_END_SECONDS), client_of(home) as client:
                client.send(protocol.Attach(client.number()))
                client.send(protocol.Say(client.number(), "What happened?"))
                await client.next_of(protocol.Token)
                # The log of the memory may not grow: what the daemon says for itself is shorter, and can be written.
                longest = log_bytes(home.database_default)
                resource.prlimit(daemon, resource.RLIMIT_FSIZE, (longest, longest))
                os.kill(daemon, signal.SIGTERM)
                await _ends(daemon)
        finally:
            code = await _reaped(daemon, zygote)
    return code


async def look_at_a_broken_file(folder: Path, table: str, zygote: Zygote) -> tuple[str, int]:
    """The first page of `table` becomes zeros under a mind that is awake and has not read it, and the owner has all of
    the memory looked through: what they are told, and the exit code."""
    home = Home(folder / "h")
    async with provider() as asked:
        prepare(home, asked)
        settings = home.config.read_text().replace("rest_minutes = 0.002", "rest_minutes = 60")
        home.config.write_text(settings.replace("[monologue]", "[monologue]\nenabled = false"))
        # What the first life made is in the file and not in the log.
        await _wakes(home, first := zygote.wake(home))
        os.kill(first, signal.SIGTERM)
        await _ends(first)
        await _reaped(first, zygote)
        with contextlib.closing(connect_read_only(home.database_default)) as look:
            named = "SELECT rootpage FROM sqlite_master WHERE name = ?"
            [page], [size] = look.execute(named, (table,)).fetchone(), look.execute("PRAGMA page_size").fetchone()
        daemon = zygote.wake(home)
        try:
            await _wakes(home, daemon)
            _let_it_read_anew(home.database_default)
            with home.database_default.open("r+b") as file:
                os.pwrite(file.fileno(), bytes(size), (page - 1) * size)
            async with asyncio.timeout(_END_SECONDS), client_of(home) as client:
                client.send(protocol.AskCheckup(client.number()))
                told = await client.next_of(protocol.Failed)
            await _ends(daemon)
        finally:
            code = await _reaped(daemon, zygote)
    return f"{told.code}: {told.message} {told.advice}", code


def _let_it_read_anew(memory: Path) -> None:
    """What another program commits has SQLite forget each page that it knows: it changes nothing here."""
    with contextlib.closing(dbapi.connect(memory, isolation_level=None)) as other:
        [version] = other.execute("PRAGMA user_version").fetchone()
        other.execute(f"PRAGMA user_version={version}")


@contextlib.asynccontextmanager
async def _refusing(daemon: int, log: Path, call: str, when: str) -> AsyncIterator[None]:
    """Let a daemon that is held begin, on such a disk. `log` is whole at the end, when the daemon has ended."""
    watching = _watching(daemon, log, call, when)
    try:
        async with asyncio.timeout(_WAKE_SECONDS):
            while not _is_watched(daemon):  # noqa: ASYNC110  # another process is asked: there is no event
                await asyncio.sleep(0.005)
        os.kill(daemon, signal.SIGCONT)
        yield
        await asyncio.to_thread(watching.wait, _END_SECONDS)
    finally:
        watching.kill()
        watching.wait(timeout=_END_SECONDS)


def _watching(daemon: int, log: Path, call: str, when: str) -> "subprocess.Popen[bytes]":
    command = ["strace", "-f", "-q", "-ttt", "-yy", "-xx", "-s", "4000000", "-o", str(log), "-p", str(daemon)]
    command += ["-e", f"trace={TRACED}", "-e", f"inject={call}:error=EIO:when={when}", "-e", "signal=none"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)


def _is_watched(process: int) -> bool:
    return "TracerPid:\t0\n" not in Path(f"/proc/{process}/status").read_text(encoding="ascii")


async def _live(home: Home, ledger: Acknowledged, daemon: int) -> None:
    """Until it ends by itself, or has acknowledged enough after it woke; then it is asked to end."""
    company = Company(home, ledger, "broken", sleep_share=0.0)
    await _wakes(home, daemon)
    ends, enough = time.monotonic() + _LIFE_SECONDS, ledger.count + _LIFE_ACKNOWLEDGED

    def alive() -> bool:
        return not has_ended(daemon) and ledger.count < enough and time.monotonic() < ends

    async with asyncio.timeout(_LIFE_SECONDS + _END_SECONDS):
        async with asyncio.TaskGroup() as tasks:
            kept = tasks.create_task(company.keep(alive), name="company")
            while alive():  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.02)
            kept.cancel()
    os.kill(daemon, signal.SIGTERM)  # One that has ended and was not reaped takes no notice.


async def _wakes(home: Home, daemon: int) -> None:
    """Wait until it answers or has ended; if it does neither, what follows shows it."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_WAKE_SECONDS):
            while not has_ended(daemon) and not await _is_awake(home):  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.02)


async def _is_awake(home: Home) -> bool:
    """Whether somebody answers: what was killed leaves its socket."""
    with contextlib.suppress(OSError, ProtocolError, asyncio.IncompleteReadError):
        async with client_of(home):
            return True
    return False


def _judge(home: Home, log: Path, seen: Refusal) -> None:
    """From the log alone: what was told, what was synced by then, and when it ended."""
    said = log.read_text(encoding="ascii")
    happened = list(events([log], home.path))
    seen.injected = said.count("(INJECTED)")
    refusals = [event for event in happened if isinstance(event, Refused) and _is_memory(event.path)]
    seen.refused = len(refusals)
    seen.wrong += told_too_early(happened)
    ended = [(float(at), int(code)) for _, at, code in _EXITED.findall(said)]
    if refusals and ended:
        seen.seconds = ended[-1][0] - refusals[0].at
        if seen.exit_code != StorageError.exit_code:
            seen.wrong.append(f"exit code {seen.exit_code}, {seen.seconds:.1f} s after a refusal")
    elif not seen.injected and seen.exit_code != 0:
        seen.wrong.append(f"exit code {seen.exit_code}, and nothing was refused")


def told_too_early(happened: list[Event]) -> list[str]:
    """Acknowledged turns and passes whose id was not written to the log of the memory and synced before the client was
    told, and before anything was refused: what is synced after that counts for nothing."""
    waiting, durable, wrong = list[bytes](), list[bytes](), list[str]()
    is_well = True
    for event in happened:
        match event:
            case Written(path=path, data=data) if _is_memory(path):
                waiting.append(data)
            case Synced(path=path) if _is_memory(path) and is_well:
                durable += waiting
                waiting = []
            case Refused(path=path) if _is_memory(path):
                is_well = False
            case Told(frame=frame) if (name := _acknowledged(frame)) and not any(name in data for data in durable):
                wrong.append(f"acknowledged before it was on the disk: {name.decode()}")
            case _:
                pass
    return wrong


def _acknowledged(frame: Frame) -> bytes:
    match frame:
        case protocol.Stored():
            return frame.turn_id.encode()
        case protocol.Consolidated():
            return frame.run_id.encode()
        case _:
            return b""


def _is_memory(path: str) -> bool:
    return path in ("memory.db", "memory.db-wal", "memory.db-journal")


async def _well(
    home: Home, ledger: Acknowledged, name: str, seen: Refusal, zygote: Zygote, *, is_killed: bool = False
) -> None:
    """A short life on a disk that does what it should: it wakes, answers, and ends cleanly, or by SIGKILL."""
    process, company = zygote.wake(home), Company(home, ledger, name)
    try:
        async with asyncio.timeout(_WAKE_SECONDS):
            while not has_ended(process):
                with contextlib.suppress(OSError, ProtocolError, asyncio.IncompleteReadError):
                    async with client_of(home) as client:
                        await company.say(client, f"{name}: are you there?")
                        break
                await asyncio.sleep(0.02)
        if not is_killed:
            os.kill(process, signal.SIGTERM)
            await _ends(process)
    finally:
        code = await _reaped(process, zygote)
    if code != (-signal.SIGKILL if is_killed else 0):
        seen.wrong.append(f"{name}: exit code {code}")
    seen.wrong += [f"{name}: {one}" for one in company.failures]


async def _ends(process: int) -> bool:
    """Whether it ends by itself, which is waited for."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            while not has_ended(process):  # noqa: ASYNC110  # another process is asked: there is no event
                await asyncio.sleep(0.02)
    return has_ended(process)


async def _reaped(process: int, zygote: Zygote) -> int:
    """Its exit code, or -SIGNAL; killed if it has not ended."""
    os.kill(process, signal.SIGKILL)
    return await asyncio.to_thread(zygote.reap, process)
