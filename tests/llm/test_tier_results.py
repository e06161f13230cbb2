"""What tests found of models outlives the mind that asked."""

from pathlib import Path

from reveries.config import Home
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.llm.tier import GroupScore, Tier
from reveries.llm.tier_results import open_tier_results, read_tier_results
from reveries.llm.tier_test_tasks import TaskGroup
from tests.db.test_past_minds import unpacked


def scores(*right: int) -> list[GroupScore]:
    return [GroupScore(group, done, 6) for group, done in zip(list(TaskGroup)[:4], right, strict=True)]


async def test_a_result_is_there_after_a_restart_and_the_last_one_counts(home: Home) -> None:
    home.create()
    path = home.path / "memory.db"
    database = await open_database(path)
    results = await open_tier_results(database)
    await results.record("ollama/a", scores(6, 6, 6, 6), 100.0)
    await results.record("ollama/b", scores(0, 0, 0, 0), 150.0)
    again = await results.record("ollama/a", scores(6, 3, 4, 1), 200.0)
    assert (again.tier, again.tested_at, again.scores[1]) == (Tier.SMALL, 200.0, GroupScore(TaskGroup.PERSONS, 3, 6))
    await database.aclose()
    database = await open_database(path)
    known = (await open_tier_results(database)).known
    await database.aclose()
    assert known == results.known
    assert [known[name].tier for name in ("ollama/a", "ollama/b")] == [Tier.SMALL, Tier.LOOSE]
    assert read_tier_results(path) == known


async def test_what_is_recorded_shows_at_once_to_who_holds_what_is_known(database: Database) -> None:
    results = await open_tier_results(database)
    known = results.known
    assert known == {}
    await results.record("ollama/a", scores(6, 6, 6, 6), 100.0)
    assert known["ollama/a"].tier is Tier.CAPABLE


def test_a_look_where_nothing_can_be_known_finds_nothing_and_makes_nothing(tmp_path: Path) -> None:
    assert read_tier_results(tmp_path / "none.db") == {}
    assert list(tmp_path.iterdir()) == []
    older = unpacked(7, tmp_path)
    before = older.read_bytes()
    assert read_tier_results(older) == {}
    assert older.read_bytes() == before
