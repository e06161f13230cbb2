"""Records of the first form are rewritten once, in batches; unreadable or meanwhile erased ones are left alone."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from reveries.memory.changes import ChangeSet, PriorState
from reveries.memory.memory import Memory
from reveries.memory.sleep.pass_log import _shorten_rows
from tests.memory.kit import episode, open_memory, talk
from tests.memory.sleep.test_pass_records import written_at_first

ERASED = '{"form":2,"is_erased":true}'
OF_NOW = '{"form":2'


def old(words: str = "") -> str:
    one = episode("e", summary=words)
    return written_at_first(ChangeSet(episodes=(one,)), PriorState(episodes=(episode("e"),)))


async def with_records(memory: Memory, *texts: str) -> None:
    """Store a pass with these records."""
    await talk(memory, ("The boat is blue.", "I see."))
    await memory.light_sleep()
    [run] = await memory.sleep_log(1)
    async with memory._store.database.transaction() as transaction:
        await transaction.run_text("DELETE FROM consolidation_vectors")
        await transaction.run_text("DELETE FROM consolidation_changes")
        for text in texts:
            named = {"run_id": run.run_id, "experience_id": None, "change_set": text, "log": ""}
            await transaction.run("consolidation.record", named)


async def records(memory: Memory) -> list[str]:
    rows = await memory._store.database.rows_of_text("SELECT change_set FROM consolidation_changes ORDER BY id", ())
    return [str(row["change_set"]) for row in rows]


async def test_a_record_that_cannot_be_read_stays_is_named_in_the_log_and_keeps_no_other_from_it(
    tmp_path: Path,
) -> None:
    torn = '{"episodes":[]}'
    async with open_memory(tmp_path) as memory:
        await with_records(memory, old(), torn, old())
        with capture_logs() as logs:
            await memory.shorten_records()
        first, second, third = await records(memory)
        assert second == torn
        assert first.startswith(OF_NOW)
        assert third.startswith(OF_NOW)
        assert [one["event"] for one in logs] == ["sleep.record_unreadable", "sleep.records_shortened"]
        assert [one["count"] for one in logs if "count" in one] == [2]


async def test_a_wake_with_nothing_to_write_anew_reads_no_record(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await with_records(memory, old())
        await memory.shorten_records()
        await with_records(memory, old())  # What it would find if it looked.
    async with open_memory(tmp_path, first_id=900_000) as memory:
        before = memory._store.database.commits
        await memory.shorten_records()
        assert await records(memory) == [old()]
        assert memory._store.database.commits == before


async def test_no_more_than_a_megabyte_is_written_anew_at_once_and_a_longer_record_alone(tmp_path: Path) -> None:
    half, whole = old("a" * 600_000), old("b" * 1_200_000)
    async with open_memory(tmp_path) as memory:
        await with_records(memory, half, half, whole, old(), old())
        before = memory._store.database.commits
        await memory.shorten_records()
        assert all(text.startswith(OF_NOW) for text in await records(memory))
        batches = [[half], [half], [whole], [old(), old()]]
        assert memory._store.database.commits - before == len(batches) + len(["the mark"])


@pytest.mark.requirement("F10")
async def test_a_record_that_is_erased_while_it_is_written_anew_stays_erased(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await with_records(memory, old("What is to be erased."), old())
        database = memory._store.database
        ids = [int(row["id"]) for row in await database.rows("consolidation.first_form")]
        rows = await database.rows("consolidation.change_sets", {"ids": f"{ids}"})
        async with database.transaction() as transaction:
            await transaction.run("forget.empty_passes", {"ids": f"{ids[:1]}", "experiences": "[]"})
        async with database.transaction() as transaction:
            await transaction.run_many("consolidation.write_anew", _shorten_rows(rows))
        first, second = await records(memory)
        assert first == ERASED
        assert second.startswith(OF_NOW)
