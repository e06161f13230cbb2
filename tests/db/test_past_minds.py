"""Databases written by the code of earlier commits: each is migrated, nothing is lost, and the mind works.

The files are those that each commit wrote; `past/live.py` says how, `past/ledger.json` has their content according to
the code that wrote them.
"""

import contextlib
import gzip
import json
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest

from reveries.db.backups import find_backups
from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.db.schemas import SCHEMA_VERSION
from reveries.errors import UndoError
from reveries.memory.memory import Memory
from tests.db.test_database import shape_of
from tests.durability.checks import ORPHANS
from tests.fakes.clock import HandClock
from tests.fakes.scripted import ScriptedModel
from tests.memory.kit import NOW, deep_answer, open_memory, talk

PAST = Path(__file__).parent / "past"
DAY = 86_400.0
ALL_BEFORE = range(1, SCHEMA_VERSION)


@dataclass
class Kept:
    """The content of the file, in the form of the ledger."""

    turns: list[list[str]]
    experiences: list[str]
    episodes: list[list[str]]
    counts: dict[str, int]


LEDGER = msgspec.json.decode((PAST / "ledger.json").read_bytes(), type=Kept)


def kept_by(version: int) -> Kept:
    """The ledger in the words of that version: from 12 on, words from outside have no colon for a speaker."""
    episodes = [[name, summary.removeprefix(": ") if version >= 12 else summary] for name, summary in LEDGER.episodes]
    return replace(LEDGER, episodes=episodes)


def unpacked(version: int, folder: Path) -> Path:
    """The file of that schema, as a memory in `folder`."""
    file = folder / "memory.db"
    file.write_bytes(gzip.decompress((PAST / f"{version:04}.db.gz").read_bytes()))
    return file


def kept_in(file: Path) -> Kept:
    with contextlib.closing(dbapi.connect(str(file))) as connection:

        def rows(statement: str) -> list[list[str]]:
            return [list(row) for row in connection.execute(statement)]

        counts = {table: int(rows(f"SELECT count(*) FROM {table}")[0][0]) for table in LEDGER.counts}
        return Kept(
            rows("SELECT speaker, text FROM turns ORDER BY rowid"),
            [row[0] for row in rows("SELECT content FROM raw_experiences ORDER BY rowid")],
            rows("SELECT id, summary FROM episodes ORDER BY rowid"),
            counts,
        )


def wrong_in(file: Path) -> list[str]:
    with contextlib.closing(dbapi.connect(str(file))) as connection:
        found = [str(row) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        found += [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
        return found + [name for name, query in ORPHANS.items() if connection.execute(query).fetchone()]


def test_there_is_a_mind_of_every_earlier_schema() -> None:
    assert sorted(file.name for file in PAST.glob("*.db.gz")) == [f"{version:04}.db.gz" for version in ALL_BEFORE]
    assert max(file.stat().st_size for file in PAST.iterdir()) < 200_000


@pytest.mark.requirement("C1", "R-155", "V-127")
@pytest.mark.parametrize("version", ALL_BEFORE)
async def test_it_is_brought_up_to_date_and_holds_what_it_held(tmp_path: Path, version: int) -> None:
    file = unpacked(version, tmp_path)
    assert kept_in(file) == kept_by(version)
    await (await open_database(file, tmp_path)).aclose()
    await (await open_database(tmp_path / "new.db")).aclose()
    assert kept_in(file) == kept_by(version)
    assert shape_of(file) == shape_of(tmp_path / "new.db")
    assert kept_in(tmp_path / f"before-migration-{version}-to-{SCHEMA_VERSION}.db") == kept_by(version)
    assert wrong_in(file) == []


@pytest.mark.requirement("C1", "R-154")
@pytest.mark.parametrize("version", ALL_BEFORE)
async def test_it_answers_from_what_it_knew_and_lives_on(tmp_path: Path, version: int) -> None:
    file, clock = unpacked(version, tmp_path), HandClock(NOW + 5 * DAY)
    answers = ScriptedModel(otherwise=json.dumps(deep_answer(0.6, summary="You told me more of the boat.")))
    async with open_memory(tmp_path, clock, first_id=900_000) as memory:
        assert (await memory.stats()).episodes == LEDGER.counts["episodes"]
        found = await memory.search("What is the name of Marta's boat?", 5)
        assert any("Aurora" in one.turn.text for one in found.turns)
        assert found.episodes
        await talk(memory, ("The Aurora lies in Setúbal now.", "Then she has found her harbour."))
        await memory.light_sleep()
        assert (await memory.deep_sleep(answers)).processed > 0
        await clock.advance(DAY)
    async with open_memory(tmp_path, clock, first_id=950_000) as memory:
        found = await memory.search("Where does the Aurora lie?", 5)
        assert any("Setúbal" in one.turn.text for one in found.turns)
    after = kept_in(file)
    assert after.turns[: len(LEDGER.turns)] == LEDGER.turns
    assert after.experiences[: len(LEDGER.experiences)] == LEDGER.experiences
    assert {name for name, _ in LEDGER.episodes} <= {name for name, _ in after.episodes}
    assert wrong_in(file) == []


@pytest.mark.requirement("C1", "R-104")
@pytest.mark.parametrize("is_shortened", [False, True])
@pytest.mark.parametrize("version", ALL_BEFORE)
async def test_what_its_sleep_did_is_shown_and_taken_back_as_that_version_wrote_it_down(
    tmp_path: Path, version: int, is_shortened: bool
) -> None:
    unpacked(version, tmp_path)
    async with open_memory(tmp_path, HandClock(NOW + 5 * DAY), first_id=900_000) as memory:
        runs = await memory.sleep_log(99)
        shown = [await memory.sleep_run(run.run_id) for run in runs]
        if is_shortened:
            long = await _record_chars(memory)
            await memory.shorten_records()
            # The last code of schema 7 wrote the short form itself.
            assert await _record_chars(memory) < 0.6 * long if version < 7 else await _record_chars(memory) == long
            assert [await memory.sleep_run(run.run_id) for run in runs] == shown
        told = [diff for detail in shown for change in detail.changes for diff in change.episodes]
        assert {name for name, _ in LEDGER.episodes} == {diff.episode_id for diff in told}
        assert "You told me of it." in {diff.new_summary for diff in told}
        if version < 3:
            with pytest.raises(UndoError, match="earlier version"):
                await memory.undo_pass(runs[0].run_id)
            return
        for run in runs:
            await memory.undo_pass(run.run_id)
        assert not len(memory.live.graph)
        assert not memory.live.graph.links_by_type()
        assert not memory.live.claims.claims
        assert (await memory.light_sleep()).experiences > 0


async def _record_chars(memory: Memory) -> int:
    rows = await memory._parts.database.rows_of_text(
        "SELECT sum(length(change_set)) AS chars FROM consolidation_changes", ()
    )
    return int(rows[0]["chars"])


@pytest.mark.requirement("A9", "C1")
async def test_what_was_copied_before_a_migration_stays_when_another_memory_is_brought_up_to_date(
    tmp_path: Path,
) -> None:
    copy = tmp_path / f"before-migration-3-to-{SCHEMA_VERSION}.db"
    for _ in range(2):  # The same memory again: broken off, say. One copy is enough.
        await (await open_database(unpacked(3, tmp_path), tmp_path)).aclose()
        _remove(tmp_path)
    _say_one_more(unpacked(3, tmp_path))
    await (await open_database(tmp_path / "memory.db", tmp_path)).aclose()
    assert kept_in(copy) == LEDGER
    other = copy.with_name(f"{copy.stem}-2.db")
    assert len(kept_in(other).turns) == len(LEDGER.turns) + 1
    assert {one.name for one in find_backups(tmp_path) if one.is_before_migration} == {copy.name, other.name}


def _remove(folder: Path) -> None:
    for file in folder.glob("memory.db*"):
        file.unlink()


def _say_one_more(file: Path) -> None:
    with contextlib.closing(dbapi.connect(str(file))) as connection:
        connection.row_factory = dbapi.Row
        [newest] = connection.execute("SELECT * FROM turns ORDER BY rowid DESC LIMIT 1").fetchall()
        row = {**dict(newest), "id": "one more", "position": newest["position"] + 1}
        names = ", ".join(row)
        connection.execute(f"INSERT INTO turns ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        connection.commit()
