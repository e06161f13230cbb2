"""A word is erased from every column, with everything derived from it. A new column must be added here."""

import asyncio
import shutil
from pathlib import Path

import pytest

from reveries.memory.forgetting.selection import BY_WORDS, Selection
from tests.fakes.clock import HandClock
from tests.memory.forgetting.everywhere import (
    NO_WORDS,
    PLANTS,
    SAID,
    TRACES,
    WORD,
    columns,
    live,
    opened,
    plant,
    refuses_words,
)
from tests.memory.forgetting.test_forgetting import bytes_left
from tests.memory.kit import NOW, open_memory

PLANTED = [(column, value) for column, values in PLANTS.items() for value in values]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lived")
    asyncio.run(live(folder))
    return folder


@pytest.fixture
def home(lived: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(lived, tmp_path / "home"))


@pytest.mark.requirement("F10")
def test_every_column_that_could_hold_words_is_planted_or_traced_or_says_why_it_holds_none(lived: Path) -> None:
    traced = {column.partition(" ")[0] for column in TRACES}
    with opened(lived) as connection:
        every = {f"{table}.{column}" for table, column in columns(connection)}
        enumerated = {name for name in every if refuses_words(connection, name)}
    assert len(PLANTS.keys() | traced | NO_WORDS.keys()) == len(PLANTS) + len(traced) + len(NO_WORDS)
    assert every - enumerated == PLANTS.keys() | traced | NO_WORDS.keys()


@pytest.mark.requirement("F10")
def test_where_no_words_can_stand_none_do_after_a_life_that_said_one_everywhere(lived: Path) -> None:
    with opened(lived) as connection:
        for name in NO_WORDS:
            table, column = name.split(".")
            [(count,)] = connection.execute(
                f'SELECT count(*) FROM {table} WHERE lower(CAST("{column}" AS TEXT)) LIKE ?', (f"%{SAID}%",)
            )
            assert not count, name


@pytest.mark.requirement("F10")
@pytest.mark.parametrize(("column", "value"), PLANTED, ids=[column for column, _ in PLANTED])
async def test_whichever_column_a_word_stands_in_it_is_erased_from_every_file(
    home: Path, column: str, value: str
) -> None:
    with opened(home) as connection:
        plant(connection, column, value)
    assert bytes_left(home, WORD)
    async with open_memory(home, HandClock(NOW + 9e7), first_id=50_000) as memory:
        await memory.save_snapshot()
        await memory.forgetting.erase(Selection(BY_WORDS, WORD))
        assert not bytes_left(home, WORD)
    assert not bytes_left(home, WORD)


@pytest.mark.requirement("F10")
async def test_no_checksum_no_hash_and_no_vector_of_what_was_erased_is_left(home: Path) -> None:
    with opened(home) as connection:
        traces = {name: [bytes(row[0]) for row in connection.execute(query)] for name, query in TRACES.items()}
    assert {name for name in TRACES if not any(trace in _bytes(home) for trace in traces[name])} == set()
    async with open_memory(home, HandClock(NOW + 9e7), first_id=50_000) as memory:
        await memory.forgetting.erase(Selection(BY_WORDS, SAID))
    left = _bytes(home)
    assert {name for name, found in traces.items() if any(trace in left for trace in found)} == set()


def _bytes(home: Path) -> bytes:
    return b"".join(file.read_bytes() for file in home.iterdir() if file.is_file())
