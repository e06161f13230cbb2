"""`reveries export --mind` and `reveries import --mind`, as they are typed."""

import contextlib
import json
from pathlib import Path

import pytest

from reveries.config import Home
from reveries.db.driver import dbapi
from tests.client.command_line import reveries


def _say_something(home: Home) -> None:
    reveries(home, "backup", "create")
    with contextlib.closing(dbapi.connect(str(home.database_default))) as connection, connection:
        connection.execute("INSERT INTO conversations (id, began_at, last_said_at, source) VALUES ('c', 1, 1, 'chat')")


@pytest.mark.requirement("F12")
def test_a_mind_moves_into_an_empty_home_and_into_no_other(home: Home) -> None:
    _say_something(home)
    file = home.path / "mind.jsonl"
    done = json.loads(reveries(home, "export", "--mind", str(file), "--json").out)
    assert done["rows"] == 1
    other = Home(home.path / "o")
    assert "Imported: 1 row" in reveries(other, "import", "--mind", str(file)).out
    with contextlib.closing(dbapi.connect(str(other.database_default))) as look:
        assert look.execute("SELECT id FROM conversations").fetchall() == [("c",)]
    again = other.path / "again.jsonl"
    reveries(other, "export", "--mind", str(again))
    assert again.read_bytes() == file.read_bytes()
    before = other.database_default.read_bytes()
    refused = reveries(other, "import", "--mind", str(file))
    assert refused.code == 2
    assert "already" in refused.err
    assert other.database_default.read_bytes() == before


@pytest.mark.requirement("F12")
def test_a_damaged_file_leaves_an_empty_home_empty(home: Home) -> None:
    _say_something(home)
    file = home.path / "mind.jsonl"
    reveries(home, "export", "--mind", str(file))
    file.write_bytes(file.read_bytes().replace(b'"chat"', b'"chaT"'))
    other = Home(home.path / "o")
    refused = reveries(other, "import", "--mind", str(file))
    assert "line 2" in refused.err
    assert [file.name for file in other.path.glob("memory.db*")] in ([], ["memory.db.lock"])


def test_there_must_be_a_mind_to_export(home: Home) -> None:
    assert "no mind in this home" in reveries(home, "export", "--mind", str(home.path / "x")).err


@pytest.mark.parametrize(
    "words",
    [
        ("export", "--mind"),
        ("project", "new", "Piano", "--folder"),
        ("memory", "graph", "--svg"),
        ("project", "graph", "Shed", "--svg"),
    ],
    ids=lambda words: " ".join(words),
)
def test_an_option_is_not_taken_as_the_path_to_create(home: Home, tmp_path: Path, words: tuple[str, ...]) -> None:
    refused = reveries(home, *words, "--help", cwd=tmp_path)
    assert refused.code == 2
    assert "./--help" in refused.err
    assert list(tmp_path.iterdir()) == []
