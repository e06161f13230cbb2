"""Lives that end at a named step (reveries/db/failpoints.py), and what the file says after each."""

import asyncio
import contextlib
import gzip
import os
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path

from reveries.config import Home
from reveries.db.backups import read_last_restore
from reveries.db.driver import dbapi
from reveries.db.failpoints import Step
from reveries.errors import ProtocolError
from tests.durability.checks import copied, violations
from tests.durability.ledger import Acknowledged
from tests.durability.mind import ROOT, Company, Zygote, client_of, prepare
from tests.fakes.provider import provider

_SECONDS = 300.0
"""A hang: on a busy machine a life is slow."""
_GONE = (OSError, ProtocolError, asyncio.IncompleteReadError)


@dataclass
class Stopped:
    """What a life that was to end at a step showed."""

    was_hit: bool = False
    wrong: list[str] = field(default_factory=list)


async def stop_at(step: Step, times: int, folder: Path, zygote: Zygote) -> Stopped:
    """A home of its own, a life that is killed when it reaches the step for so many times, the checks, a life after."""
    home, seen = Home(folder / "h"), Stopped()
    ledger = Acknowledged(folder / "ledger.jsonl")
    async with provider() as asked:
        prepare(home, asked)
        past = _lay_down_an_older_mind(home) if step.startswith("migration") else {}
        ledger.said.update(past.values())
        if step.startswith("restore"):
            await _live(home, ledger, zygote, "none:1", "earlier")
            home.database_default.write_bytes(b"Dear Ana, " * 500)
        seen.was_hit = await _live(home, ledger, zygote, f"{step.value}:{times}", "first") == -signal.SIGKILL
        with copied(home.database_default, folder / "copy") as copy:
            # Before anything was told there may be no table yet; a restoring that is only noted has changed nothing.
            if ledger.count and copy.exists() and step is not Step.RESTORE_NOTED:
                seen.wrong += [f"then: {one}" for one in violations(copy, ledger)]
        for name, text in past.items():
            ledger.turn(name, text)
        if code := await _live(home, ledger, zygote, "", "second"):
            seen.wrong.append(f"the next life ended with {code}")
    if step.startswith("restore") and read_last_restore(home.database_default) is None:
        seen.wrong.append("nobody is told of the backup that is in use")
    seen.wrong += [f"at last: {one}" for one in violations(home.database_default, ledger)]
    for backup in home.backups.glob("*.db"):
        with contextlib.closing(dbapi.connect(str(backup))) as connection:
            if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                seen.wrong.append(f"a backup that is none: {backup.name}")
    ledger.close()
    shutil.rmtree(home.path)
    return seen


async def _live(home: Home, ledger: Acknowledged, zygote: Zygote, failpoint: str, name: str) -> int:
    """Everything that a mind does, once, in order, until it sleeps or is killed; without a failpoint one turn is
    enough. How it ended."""
    process = zygote.wake(home, failpoint)
    company = Company(home, ledger, name)
    async with asyncio.timeout(_SECONDS), asyncio.TaskGroup() as tasks:
        reaping = tasks.create_task(asyncio.to_thread(zygote.reap, process), name="reap")
        while not reaping.done():
            try:
                async with client_of(home) as client:
                    if failpoint:
                        await company.do_everything(client)
                    await company.say(client, f"{name}: are you there?")
                    os.kill(process, signal.SIGTERM)
                    await client.reader.read()
            except _GONE:
                await asyncio.sleep(0.01)
        return await reaping


def _lay_down_an_older_mind(home: Home) -> dict[str, str]:
    """The first schema's, which lived; its turns by their ids."""
    past = ROOT / "tests" / "db" / "past" / "0001.db.gz"
    home.database_default.write_bytes(gzip.decompress(past.read_bytes()))
    with contextlib.closing(dbapi.connect(f"{home.database_default.as_uri()}?immutable=1", uri=True)) as connection:
        return {str(row[0]): str(row[1]) for row in connection.execute("SELECT id, text FROM turns")}
