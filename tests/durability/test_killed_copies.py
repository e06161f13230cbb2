"""A9: killed at any moment while a copy is made, no copy is seen that is not whole, and none is left half-made."""

import asyncio
import contextlib
import random
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reveries.config import Home
from reveries.db.driver import dbapi
from tests.client.command_line import reveries
from tests.durability.killed_copies import CopyLives, digests, fatten
from tests.durability.ledger import Acknowledged
from tests.durability.mind import Zygote, prepare
from tests.fakes.provider import provider


@contextlib.asynccontextmanager
async def copy_lives(seed: int) -> AsyncIterator[CopyLives]:
    # Not tmp_path: a socket's path may have about a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="rvc") as folder:
        home, zygote = Home(Path(folder) / "h"), Zygote.start()
        ledger = Acknowledged(Path(folder) / "ledger.jsonl")
        try:
            async with provider() as asked:
                prepare(home, asked)
                await fatten(home.database_default, rows=8_000, letters=4_000)
                yield CopyLives(home, ledger, zygote, random.Random(seed))
        finally:
            ledger.close()
            zygote.close()


@pytest.mark.system
@pytest.mark.long  # test_steps.py ends one at every named step of a backup.
@pytest.mark.requirement("A9")
async def test_killed_while_a_copy_is_made_it_shows_only_whole_ones_and_leaves_none_begun() -> None:
    """So many as a run of all tests has time for; `make soak PART=backups` has a hundred, in a larger mind."""
    async with copy_lives(seed=5) as mind:
        seen = await mind.run(3)
        assert seen.wrong == []
        assert seen.in_a_copy == 3
        assert seen.cleared >= 2
        assert seen.copies >= 1
        assert seen.held >= 2

        made = await asyncio.to_thread(reveries, mind.home, "backup", "create", "--json")
        assert made.code == 0
        newest = max(mind.home.backups.glob("*.db"))
        assert digests(newest) == digests(mind.home.database_default)


def test_a_row_that_is_another_changes_the_digest_of_its_table_alone(tmp_path: Path) -> None:
    for name, word in (("one", "bread"), ("other", "boats")):
        with contextlib.closing(dbapi.connect(str(tmp_path / name))) as file:
            file.execute("CREATE TABLE said (text)")
            file.execute("CREATE TABLE heard (text)")
            file.executemany("INSERT INTO said VALUES (?)", [("again",), (word,)])
            file.execute("INSERT INTO heard VALUES ('again')")
            file.commit()
    one, other = digests(tmp_path / "one"), digests(tmp_path / "other")
    assert one["said"] != other["said"]
    assert one["heard"] == other["heard"]
