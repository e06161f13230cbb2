"""A disk that refuses the N-th write or sync, alone or with every later one: what the daemon still told its clients."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from reveries import protocol
from reveries.config import Home
from reveries.errors import ProtocolError, StorageError
from reveries.protocol import Frame
from tests.durability.checks import violations
from tests.durability.ledger import Acknowledged
from tests.durability.mind import Company, Zygote, client_of, has_ended, prepare, start
from tests.durability.recorded import TRACED, Event, Refused, Synced, Told, Written, events
from tests.fakes.provider import provider

SYNC, WRITE = "fsync,fdatasync", "pwrite64"
END_WITHIN_SECONDS = 2.0
_LIFE_ACKNOWLEDGED = 40
"""What is enough: the calls of a life are then about as many on a busy machine as on an idle one."""
_LIFE_SECONDS = 20.0
"""At most, for one in which nothing is acknowledged."""
_END_SECONDS = 20.0
_WAKE_SECONDS = 60.0
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
    """A life of some seconds on such a disk, between two on one that is well, which `zygote` forks; and the checks."""
    home, log, seen = Home(folder / "h"), folder / "calls.log", Refusal(call, when)
    ledger = Acknowledged(folder / "ledger.jsonl")
    async with provider() as asked:
        prepare(home, asked)
        # Every other life begins with what a kill left: a fault while it recovers is one, too.
        await _well(home, ledger, "before", seen, zygote, is_killed=int(when.rstrip("+")) % 2 == 1)
        process = _broken(home, log, call, when)
        try:
            await _live(home, ledger, process)
            seen.exit_code = await asyncio.to_thread(process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            seen.wrong.append("it lives on")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=_END_SECONDS)
        _judge(home, log, seen)
        await _well(home, ledger, "after", seen, zygote)
    seen.acknowledged = ledger.count
    seen.wrong += violations(home.database_default, ledger)
    ledger.close()
    return seen


def _broken(home: Home, log: Path, call: str, when: str) -> "subprocess.Popen[bytes]":
    command = ["strace", "-f", "--seccomp-bpf", "-q", "-ttt", "-yy", "-xx", "-s", "4000000", "-o", str(log)]
    command += ["-e", f"trace={TRACED}", "-e", f"inject={call}:error=EIO:when={when}", "-e", "signal=none"]
    return start([*command, sys.executable, "-m", "reveries.daemon"], home)


async def _live(home: Home, ledger: Acknowledged, process: "subprocess.Popen[bytes]") -> None:
    """Until it ends by itself, or has acknowledged enough after it woke; then it is asked to end."""
    company = Company(home, ledger, "broken", sleep_share=0.0)
    ends, enough = time.monotonic() + _WAKE_SECONDS, ledger.count + _LIFE_ACKNOWLEDGED

    def alive() -> bool:
        return process.poll() is None and ledger.count < enough and time.monotonic() < ends

    while alive() and not home.socket.exists():  # noqa: ASYNC110  # another process is asked: there is no event
        await asyncio.sleep(0.02)
    ends = time.monotonic() + _LIFE_SECONDS
    async with asyncio.timeout(_LIFE_SECONDS + 5):
        async with asyncio.TaskGroup() as tasks:
            kept = tasks.create_task(company.keep(alive), name="company")
            while alive():  # noqa: ASYNC110  # as above
                await asyncio.sleep(0.02)
            kept.cancel()
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)


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
            await _put_to_sleep(process)
    finally:
        os.kill(process, signal.SIGKILL)  # One that has ended and was not reaped takes no notice.
        code = await asyncio.to_thread(zygote.reap, process)
    if code != (-signal.SIGKILL if is_killed else 0):
        seen.wrong.append(f"{name}: exit code {code}")
    seen.wrong += [f"{name}: {one}" for one in company.failures]


async def _put_to_sleep(process: int) -> None:
    os.kill(process, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            while not has_ended(process):  # noqa: ASYNC110  # another process is asked: there is no event
                await asyncio.sleep(0.02)
