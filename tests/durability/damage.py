"""A memory that was damaged while it slept, in every way that disks and people have, and what a wake makes of it."""

import asyncio
import contextlib
import os
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reveries.daemon.lifecycle.recovery import live_with_recovery
from reveries.db.backups import RestoreRecord, read_last_restore, verify_backup
from reveries.db.driver import dbapi
from reveries.db.integrity.seals import unseal
from reveries.db.opening import open_database
from reveries.errors import ReveriesError
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, answering, deep_answer, open_memory, talk

Harm = Callable[[Path, random.Random], None]


async def remember(folder: Path, exchanges: int = 60) -> None:
    """A memory of so many exchanges in `folder`, slept on, with a backup that has all but the last."""
    (folder / "backups").mkdir(mode=0o700)
    async with open_memory(folder) as memory:
        for number in range(exchanges):
            await talk(
                memory, (f"{number}: I found the old piano in Lisbon.", f"{number}: and the bees, do they do well?")
            )
        await memory.light_sleep()
        await memory.deep_sleep(answering(*[deep_answer(0.9)] * 40), limit=8)
    database = await open_database(folder / "memory.db")
    await database.backup_to(folder / "backups" / f"memory-{int(NOW)}.db")
    await database.aclose()
    async with open_memory(folder, first_id=500_000) as memory:
        await talk(memory, ("This is only in the newest.", "I see."))


@dataclass
class Woken:
    """What a wake came to. `turns` is None when it did not wake."""

    turns: int | None = None
    refused: str = ""
    told: str = ""
    """What the owner is told of a file that stays in use."""
    restored: RestoreRecord | None = None
    files: Mapping[str, int] = field(default_factory=dict)


async def wake(folder: Path) -> Woken:
    """As the daemon does it: open, fill the memory, recover where that is needed."""
    woken = Woken()

    async def life(awake: asyncio.Event) -> int:
        database = await open_database(folder / "memory.db", folder / "backups")
        woken.told = database.notice
        await database.aclose()
        async with open_memory(folder, first_id=900_000) as memory:
            awake.set()
            woken.turns = (await memory.stats()).turns
        return 0

    try:
        await live_with_recovery(life, folder / "memory.db", folder / "backups", HandClock(NOW + 7200))
    except ReveriesError as error:
        woken.refused = str(error)
    woken.restored = read_last_restore(folder / "memory.db")
    woken.files = {file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}  # noqa: ASYNC240
    return woken


def flip(file: Path, chance: random.Random) -> None:
    """One bit, as a disk does it: no time of the file changes."""
    times = file.stat()
    place = chance.randrange(file.stat().st_size)
    with file.open("r+b") as opened:
        opened.seek(place)
        [byte] = opened.read(1)
        opened.seek(place)
        opened.write(bytes([byte ^ (1 << chance.randrange(8))]))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _write(offset: int, data: bytes) -> Harm:
    def harm(file: Path, _: random.Random) -> None:
        with file.open("r+b") as opened:
            opened.seek(offset)
            opened.write(data)

    return harm


def _cut(share: float) -> Harm:
    return lambda file, _: os.truncate(file, int(file.stat().st_size * share))


def _garbage(file: Path, chance: random.Random) -> None:
    _write(8192, chance.randbytes(100_000))(file, chance)


def _other_program(file: Path, _: random.Random) -> None:
    file.unlink()
    with contextlib.closing(dbapi.connect(str(file))) as connection:
        connection.execute("CREATE TABLE music (song)")


def _letter(file: Path, _: random.Random) -> None:
    file.write_text("Dear Ana, " * 500)


def _newest_log_of_another(file: Path, chance: random.Random) -> None:
    file.with_name("memory.db-wal").write_bytes(chance.randbytes(50_000))


HARMS: dict[str, Harm] = {
    "page one is zeros": _write(0, bytes(4096)),
    "the header is garbage": _write(0, b"\xff" * 100),
    "cut to a quarter": _cut(0.25),
    "cut to a half": _cut(0.5),
    "cut to nine tenths": _cut(0.9),
    "a hundred kilobytes of garbage": _garbage,
    "nothing in it": _cut(0.0),
    "gone": lambda file, _: file.unlink(),
    "a letter": _letter,
    "another program's": _other_program,
}
HARMLESS: dict[str, Harm] = {"a log that is not its own": _newest_log_of_another}


def content(database: Path) -> list[tuple[object, ...]] | None:
    """All that is in the file; None when it cannot be read."""
    try:
        with contextlib.closing(dbapi.connect(f"{database.as_uri()}?immutable=1", uri=True)) as connection:
            connection.text_factory = bytes
            names = sorted(
                row[0].decode() for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            )
            plain = [name for name in names if not name.startswith(("deep_words", "chunk_words", "sqlite_"))]
            return [tuple(row) for name in plain for row in connection.execute(f'SELECT * FROM "{name}"')]
    except (dbapi.Error, UnicodeDecodeError):
        return None


@dataclass
class Flips:
    """What so many flipped bits came to."""

    flips: int = 0
    changed: int = 0
    """Those that changed what can be read, or made it unreadable."""
    put_back: int = 0
    """Of these, a backup took the file's place, or it did not wake ..."""
    told: int = 0
    """... or the wake told of it and went on with the file ..."""
    at_backup: int = 0
    """... or the look at the next backup notices it, within the hour."""
    unnoticed: int = 0
    empty: int = 0
    wrong: list[str] = field(default_factory=list)


async def try_flips(whole: Path, folder: Path, count: int, seed: int, *, is_sealed: bool) -> Flips:
    """Flip one bit of a copy of `whole`, wake, and look; `count` times. `is_sealed`: it was closed, not killed."""
    seen, chance = Flips(), random.Random(seed)
    before = content(whole / "memory.db")
    for _ in range(count):
        place = folder / "flipped"
        shutil.copytree(whole, place)
        flip(place / "memory.db", chance)
        if not is_sealed:
            unseal(place / "memory.db")
        seen.flips += 1
        is_changed = content(place / "memory.db") != before
        seen.changed += is_changed
        looked = verify_backup(place / "memory.db")
        woken = await wake(place)
        if woken.turns is not None and not woken.turns:
            seen.empty += 1
        if woken.restored is not None or woken.refused:
            seen.put_back += is_changed
        elif woken.told:
            seen.told += is_changed
        elif looked.problems or looked.rotten:
            seen.at_backup += is_changed
        else:
            seen.unnoticed += is_changed
        shutil.rmtree(place)
    return seen
