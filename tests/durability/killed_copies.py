"""Lives that end by SIGKILL while a copy of the memory is made, and what is seen of the copies after each (A9)."""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reveries import protocol
from reveries.config import Home
from reveries.db.backup_retention import Backup
from reveries.db.backups import find_backups, verify_backup
from reveries.db.checksums import checksum
from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.errors import ProtocolError
from reveries.protocol import decode_frame, read_body
from tests.client.command_line import reveries
from tests.durability.checks import copied
from tests.durability.ledger import Acknowledged, hash_of
from tests.durability.mind import Company, Zygote, client_of
from tests.e2e.living import Client

_GONE = (OSError, ProtocolError, asyncio.IncompleteReadError)
_READY_SECONDS = 300.0
_LIVES_A_KILL = 4
"""So many lives are lived at most for each kill that is to fall into a copy: else it is made too quickly to be hit."""
_ENDS = (".db", ".db.seal", ".db.made")
_PAUSE_SECONDS = 0.05
_THOUGHT = """
INSERT INTO monologue_log (id, began_at, ended_at, why_began, why_ended, text, tokens, model, checksum)
VALUES (?, ?, ?, 'spontaneous', 'settled', ?, 9, 'thinker', ?)"""


@dataclass
class Seen:
    """What a run of such kills showed."""

    lives: int = 0
    in_a_copy: int = 0
    """Kills that left a copy that was begun and has no name."""
    told_last: Counter[str] = field(default_factory=Counter)
    """What the mind had said last that it was doing, for each of those."""
    copies: int = 0
    """Copies that were seen under their names."""
    held: int = 0
    """Turns acknowledged before a copy was begun, and looked for in it: over all copies."""
    acknowledged: int = 0
    cleared: int = 0
    """Broken-off copies that the next wake had removed."""
    wrong: list[str] = field(default_factory=list)


@dataclass
class CopyLives:
    """One home that is prepared, life after life."""

    home: Home
    ledger: Acknowledged
    zygote: Zygote
    chance: random.Random
    seen: Seen = field(default_factory=Seen)
    _acknowledged_at: dict[str, float] = field(default_factory=dict)
    _looked_at: set[str] = field(default_factory=set)
    _copy_seconds: float = 0.0
    """What a copy takes here that nobody breaks off, when one was last seen: a busy machine is not always as busy."""

    async def run(self, kills: int) -> Seen:
        """Until so many kills fell into a copy, or something is wrong."""
        await self._life(is_killed=False)
        self._check_copies()
        while self.seen.in_a_copy < kills and not self.seen.wrong:
            if self.seen.lives > _LIVES_A_KILL * kills:
                self.seen.wrong.append(f"{self.seen.in_a_copy} of {self.seen.lives} kills fell into a copy")
                break
            await self._life(is_killed=True)
            self._check_copies()
            self._check_memory()
        self.seen.acknowledged = self.ledger.count
        return self.seen

    async def _life(self, *, is_killed: bool) -> None:
        left = len(list(self.home.backups.glob("*.partial")))
        company = Company(self.home, self.ledger, f"life{self.seen.lives}")
        process = self.zygote.wake(self.home)
        is_over = False
        try:
            await self._until_awake()
            self._check_leftovers(left)
            async with asyncio.TaskGroup() as tasks, client_of(self.home) as keeper:
                await self._say(company, "before")
                await _next_second()
                self.seen.lives += is_killed
                talking = tasks.create_task(self._talk(company, lambda: is_over), name="talk")
                began = time.monotonic()
                copying = tasks.create_task(_copy(keeper), name="copy")
                await asyncio.wait([copying], timeout=self._until_the_kill() if is_killed else None)
                if copying.done():
                    self._copy_seconds = time.monotonic() - began
                is_over = True
                os.kill(process, signal.SIGKILL)
                code = await asyncio.to_thread(self.zygote.reap, process)
                told = await copying
                talking.cancel()
        finally:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if code != -signal.SIGKILL:
            self.seen.wrong.append(f"it ended by itself with {code}: {self._last_words()}")
        self.seen.wrong += company.failures
        if is_killed and any(self.home.backups.glob("*.partial")):
            self.seen.in_a_copy += 1
            self.seen.told_last[told] += 1

    def _until_the_kill(self) -> float:
        return self.chance.uniform(0.0, self._copy_seconds)

    def _last_words(self) -> str:
        return (self.home.logs / "daemon.out").read_text(encoding="utf-8")[-2000:]

    async def _until_awake(self) -> None:
        async with asyncio.timeout(_READY_SECONDS):
            while True:
                with contextlib.suppress(*_GONE):
                    async with client_of(self.home):
                        return
                await asyncio.sleep(0.01)

    async def _say(self, company: Company, words: str) -> None:
        try:
            async with client_of(self.home) as client:
                await company.say(client, f"{company.name}: {words}")
        finally:
            new = self.ledger.turns.keys() - self._acknowledged_at
            self._acknowledged_at |= dict.fromkeys(new, time.time())

    async def _talk(self, company: Company, is_over: Callable[[], bool]) -> None:
        number = 0
        while not is_over():
            number += 1
            with contextlib.suppress(*_GONE):
                await self._say(company, f"meanwhile {number}")
            await asyncio.sleep(_PAUSE_SECONDS)

    def _check_leftovers(self, left: int) -> None:
        """A mind that is awake has made an end of what was broken off, before it makes another copy."""
        others = [file.name for file in self.home.backups.iterdir() if not file.name.endswith(_ENDS)]
        if others:
            self.seen.wrong.append(f"left by a copy that was broken off, after the next wake: {others}")
        self.seen.cleared += left

    def _check_copies(self) -> None:
        """Whatever is listed is whole, and holds what was acknowledged before it was begun."""
        listed = {
            str(one["name"]) for one in json.loads(reveries(self.home, "backup", "list", "--json").out)["backups"]
        }
        there = {one.name: one for one in find_backups(self.home.backups)}
        if listed != set(there):
            self.seen.wrong.append(f"listed: {listed}; there: {set(there)}")
        for name in sorted(listed & there.keys() - self._looked_at):
            self._looked_at.add(name)
            self.seen.copies += 1
            self.seen.wrong += self._faults_of(there[name])

    def _faults_of(self, copy: Backup) -> Iterator[str]:
        looked = verify_backup(copy.path)
        yield from (f"{copy.name}: {one}" for one in (*looked.problems, *looked.rotten))
        due = {name: self.ledger.turns[name] for name, at in self._acknowledged_at.items() if at < copy.made_at}
        self.seen.held += len(due)
        yield from (f"{copy.name}: {one}" for one in _missing(copy.path, due))

    def _check_memory(self) -> None:
        with copied(self.home.database_default, self.home.path / "copy") as copy:
            self.seen.wrong += _missing(copy, self.ledger.turns)


async def _copy(client: Client) -> str:
    """Ask for a copy, and listen until it is made or the mind is gone: what it said last that it was doing."""
    told = "nothing yet"
    with contextlib.suppress(*_GONE):
        client.send(protocol.MakeBackup(client.number()))
        while True:
            match decode_frame(await read_body(client.reader)):
                case protocol.Progress(what=what):
                    told = what
                case protocol.Backups():
                    return "made"
                case protocol.Failed(message=message):
                    raise AssertionError(message)
    return told


async def _next_second() -> None:
    """A copy is called by the second in which it was begun: what is acknowledged in an earlier one was there."""
    await asyncio.sleep(1.0 - time.time() % 1.0)


def _missing(database: Path, due: dict[str, str]) -> Iterator[str]:
    """The acknowledged turns that are not in the file, or not as they were said."""
    with contextlib.closing(dbapi.connect(str(database))) as connection:
        there = {str(row[0]): str(row[1]) for row in connection.execute("SELECT id, text FROM turns")}
    for name, digest in due.items():
        if name not in there or hash_of(there[name]) != digest:
            yield f"acknowledged, and not in it: turn {name}"


def digests(database: Path) -> dict[str, int]:
    """A sum of the digests of all rows, in whatever order, of each table of a memory that nobody has open; word and
    vector indexes by what they are made of."""
    plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    found = {}
    with contextlib.closing(dbapi.connect(f"{database.absolute().as_uri()}?immutable=1", uri=True)) as connection:
        for (name,) in connection.execute(plain).fetchall():
            rows = connection.execute(f'SELECT * FROM "{name}"')
            found[str(name)] = sum(int.from_bytes(_row_digest(row), "big") for row in rows)
    return found


def _row_digest(row: tuple[object, ...]) -> bytes:
    return hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).digest()


async def fatten(database: Path, rows: int, letters: int) -> None:
    """Put so many thoughts of so many letters into a memory, so that a copy of it takes a while."""
    text = "of bread and of boats, " * (letters // 23)
    thoughts = [(f"fat{number}", 1.0, 2.0, f"{number} {text}", checksum(f"{number} {text}")) for number in range(rows)]
    opened = await open_database(database)
    try:
        async with opened.transaction() as work:
            await work.run_text_many(_THOUGHT, thoughts)
    finally:
        await opened.aclose()
