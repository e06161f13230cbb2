"""Records the real daemon under strace, and holds every state that a power cut could have left against what it had told
its clients by then."""

import asyncio
import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reveries import protocol
from reveries.config import Home
from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.errors import ReveriesError
from tests.durability.checks import violations
from tests.durability.ledger import Acknowledged
from tests.durability.mind import ROOT, Company, client_of, prepare, start
from tests.durability.power import State, cuts
from tests.durability.recorded import TRACED, Event, Told, events
from tests.fakes.provider import provider
from tests.memory.kit import WordEmbedder, open_memory

_LOSSES = ("acknowledged and ", "imported and lost", "written and lost", "a pass that ended")
"""How `violations` begins what it says of something acknowledged that is not there."""
_READY_SECONDS = 300.0
_END_SECONDS = 300.0


@dataclass
class Recording:
    """What a daemon did and told, and what its clients had sent it."""

    happened: Sequence[Event]
    ledger: Acknowledged
    batches: Sequence[list[str]]
    """The imported lines, in the order in which they were acknowledged."""

    @property
    def told(self) -> int:
        return sum(isinstance(event, Told) for event in self.happened)


@dataclass
class Cuts:
    """What the states showed."""

    states: int = 0
    by_way: Counter[str] = field(default_factory=Counter)
    empty: int = 0
    """Cut before there was a memory at all."""
    backups: int = 0
    lost: int = 0
    """States in which something acknowledged is not there."""
    corrupt: int = 0
    wrong: list[str] = field(default_factory=list)


async def record(folder: Path, seconds: Sequence[float], package: Path = ROOT) -> Recording:
    """Lives of so many seconds, the first in a home of its own: talk, thoughts, sleep, imports. The last one is put to
    sleep, with its backup and its snapshot; those before it are killed."""
    home, logs = Home(folder / "h"), []
    ledger = Acknowledged(folder / "ledger.jsonl")
    async with provider() as asked:
        prepare(home, asked)
        for number, span in enumerate(seconds):
            logs.append(folder / f"calls{number}.log")
            async with _traced(home, logs[-1], package) as process:
                await _live(home, ledger, f"life{number}", span)
                if number == len(seconds) - 1:
                    await _put_to_sleep(home)
                else:
                    os.kill(process.daemon, signal.SIGKILL)
                await process.wait()
    ledger.close()
    happened = list(events(logs, home.path))
    return Recording(happened, ledger, _batches(ledger))


async def try_cuts(recording: Recording, count: int, seed: int, folder: Path, *, wake_every: int = 25) -> Cuts:
    """Lay down `count` states in `folder`, one after the other, and look at each; every `wake_every`-th is also woken
    as a whole memory, snapshot and all."""
    seen = Cuts()
    told = _TellingUntil(recording)
    for number, state in enumerate(cuts(recording.happened, count, seed)):
        seen.states += 1
        seen.by_way[state.way] += 1
        place = folder / "cut"
        state.lay_down(place)
        try:
            await _look_at(place, state, told.until(state.after), seen, is_woken=number % wake_every == 0)
        finally:
            shutil.rmtree(place, ignore_errors=True)
    return seen


async def _look_at(place: Path, state: State, ledger: Acknowledged, seen: Cuts, *, is_woken: bool) -> None:
    where = f"cut after {state.after} ({state.way})"
    file = place / "memory.db"
    seen.empty += "memory.db" not in state.files
    try:
        told = await (_wake(place) if is_woken else _open(place))
        # What a cut may leave is no damage: of a memory that is told to be damaged a backup may take the place.
        found = violations(file, ledger) + ([f"told as damage: {told}"] if told else [])
    except ReveriesError as error:
        found = [f"it cannot be opened: {error}"]
    lost = any(one.startswith(_LOSSES) for one in found)
    seen.lost += lost
    seen.corrupt += bool(found) and not lost
    for name in state.files:
        if not name.startswith("backups/") or not name.endswith(".db"):
            continue
        seen.backups += 1
        if not _is_whole(place / name):
            seen.corrupt += 1
            found.append(f"a backup that is none: {name}")
    seen.wrong += [f"{where}: {one}" for one in found[:2]]


async def _open(place: Path) -> str:
    """What the owner is told of the file."""
    database = await open_database(place / "memory.db")
    await database.aclose()
    return database.notice


async def _wake(place: Path) -> str:
    """The same, of a whole memory."""
    async with open_memory(place, embedder=WordEmbedder("ollama/words")) as memory:
        return memory._parts.database.notice


def _is_whole(backup: Path) -> bool:
    with contextlib.closing(dbapi.connect(str(backup))) as connection:
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            return bool(version) and connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok"
        except dbapi.Error:
            return False


class _TellingUntil:
    """The ledger as it stood after so many events; asked in time's order."""

    def __init__(self, recording: Recording) -> None:
        self._all = recording.ledger
        self._batches = iter(recording.batches)
        self._events = enumerate(recording.happened, start=1)
        self._now = 0
        self._known = Acknowledged(recording.ledger.path.with_name("until.jsonl"), said=recording.ledger.said)

    def until(self, after: int) -> Acknowledged:
        while self._now < after:
            self._now, event = next(self._events)
            if isinstance(event, Told):
                self._take(event.frame)
        return self._known

    def _take(self, frame: protocol.Frame) -> None:
        match frame:
            case protocol.Stored(turn_id=name) if name in self._all.turns:
                self._known.turns[name] = self._all.turns[name]
            case protocol.Imported(stored=stored) if stored:
                self._known.imported.update({text: self._all.imported[text] for text in next(self._batches, [])})
            case protocol.Consolidated(run_id=name) if name in self._all.passes:
                self._known.passes[name] = frame.processed
            case protocol.SelfModelShown():
                shown = repr(frame)
                self._known.self_edits += [one for one in self._all.self_edits if one in shown]
            case _:
                pass


@dataclass
class _Traced:
    """strace, and the daemon below it."""

    process: "subprocess.Popen[bytes]"
    daemon: int = 0

    async def wait(self) -> None:
        """Until all of the log is written: strace is told to end when it does not by itself."""
        try:
            await asyncio.to_thread(self.process.wait, _END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            await asyncio.to_thread(self.process.wait, _END_SECONDS)


@contextlib.asynccontextmanager
async def _traced(home: Home, log: Path, package: Path) -> AsyncIterator[_Traced]:
    command = ["strace", "-f", "--seccomp-bpf", "-qq", "-yy", "-xx", "-s", "4000000", "-o", str(log)]
    command += ["-e", f"trace={TRACED}", "-e", "signal=none", sys.executable, "-m", "reveries.daemon"]
    process = start(command, home, package)
    traced = _Traced(process)
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not traced.daemon:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                    async with client_of(home) as client:
                        assert client.welcome is not None
                        traced.daemon = client.welcome.pid
                if process.poll() is not None:
                    raise AssertionError((home.logs / "daemon.out").read_text())
                await asyncio.sleep(0.05)
        yield traced
    finally:
        # strace that is killed alone lets the daemon live on.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=_END_SECONDS)


def in_memory() -> str | None:
    """A folder for what needs no disk; None where there is none."""
    place = "/dev/shm"  # Only a place for TemporaryDirectory.
    return place if Path(place).is_dir() else None


async def _live(home: Home, ledger: Acknowledged, name: str, seconds: float) -> None:
    company = Company(home, ledger, name, random.Random(name), sleep_share=0.0)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await company.keep(lambda: True)
    assert company.failures == []


async def _put_to_sleep(home: Home) -> None:
    async with asyncio.timeout(_END_SECONDS), client_of(home) as client:
        client.send(protocol.Sleep(client.number()))
        await client.next_of(protocol.Ok)


def _batches(ledger: Acknowledged) -> list[list[str]]:
    """LIFE.BATCH.LINE: ... in the order in which they were acknowledged."""

    def batch(text: str) -> str:
        return text.split(":")[0].rpartition(".")[0]

    return [list(lines) for _, lines in itertools.groupby(ledger.imported, key=batch)]
