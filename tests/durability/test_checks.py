"""The checks of durability notice what they are there for: each kind of harm, done by hand, is named."""

from pathlib import Path

import pytest

from reveries.db.driver import dbapi
from tests.durability.checks import copied, violations
from tests.durability.ledger import Acknowledged
from tests.memory.kit import answering, deep_answer, open_memory, talk

SAID = ("My sister Marta sold the boat.", "The bees swarmed today.", "I found the old piano.")


@pytest.fixture
async def remembered(tmp_path: Path) -> tuple[Path, Acknowledged]:
    """A small memory that has slept, and the ledger of what it acknowledged."""
    ledger = Acknowledged(tmp_path / "ledger.jsonl")
    async with open_memory(tmp_path) as memory:
        await talk(memory, *((words, f"I see: {words}") for words in SAID))
        await memory.light_sleep()
        slept = await memory.deep_sleep(answering(*[deep_answer(0.9)] * 20), limit=1)
        ledger.slept(slept.run_id, slept.processed)
    connection = dbapi.connect(str(tmp_path / "memory.db"))
    for name, text in connection.execute("SELECT id, text FROM turns"):
        ledger.turn(name, text)
    connection.close()
    ledger.said.update(SAID)
    ledger.close()
    return tmp_path / "memory.db", ledger


async def test_of_a_whole_memory_there_is_nothing_to_say(remembered: tuple[Path, Acknowledged], tmp_path: Path) -> None:
    database, ledger = remembered
    with copied(database, tmp_path / "copy") as copy:
        assert violations(copy, ledger) == []


@pytest.mark.requirement("H4", "A1")
@pytest.mark.parametrize(
    ("harm", "named"),
    [
        ("DELETE FROM turns WHERE position = 4", "acknowledged and lost"),
        ("UPDATE turns SET text = text || '!' WHERE position = 2", "acknowledged and changed"),
        ("UPDATE turns SET speaker = 'Bo' WHERE position = 2", "is not what was written"),
        ("UPDATE raw_experiences SET content = upper(content)", "is not what was written"),
        ("UPDATE turns SET text = (SELECT text FROM turns WHERE position = 0) WHERE position = 2", "stored 2 times"),
        ("UPDATE turns SET experience_id = NULL WHERE position = 3", "a reply without its experience"),
        ("UPDATE turns SET experience_id = NULL WHERE position = 2", "a reply that answers nothing"),
        ("UPDATE turns SET position = 90 WHERE position = 5", "a gap in a conversation"),
        ("DELETE FROM episode_sources", "an episode of nothing"),
        ("UPDATE raw_experiences SET processed = 0; DELETE FROM episode_sources", "slept on, and nothing came of it"),
        ("INSERT INTO vectors VALUES ('episode', 'nobody', 'm', x'00')", "a vector of no episode"),
        ("INSERT INTO vectors VALUES ('turn', 'nobody', 'm', x'00')", "a vector of no turn"),
        ("UPDATE consolidation_runs SET outcome = 'running'", "a pass that ended is not so"),
        ("PRAGMA foreign_keys=OFF; DELETE FROM raw_experiences", "foreign key"),
        ("PRAGMA writable_schema=ON; DELETE FROM sqlite_master WHERE name = 'turns'", "it cannot be read"),
    ],
)
def test_each_harm_is_named(remembered: tuple[Path, Acknowledged], harm: str, named: str) -> None:
    database, ledger = remembered
    connection = dbapi.connect(str(database), isolation_level=None)
    connection.executescript(harm)
    connection.close()
    found = violations(database, ledger)
    assert any(named in one for one in found), found
