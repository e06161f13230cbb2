"""`reveries backup`: copies are made, looked at and put back; nothing is ever deleted by it."""

import json

import pytest

from reveries.client.features.backup import restored_page
from reveries.client.render import Page
from reveries.config import Home
from reveries.db.driver import dbapi
from reveries.protocol import BackupEntry, BackupRestored, Backups
from tests.client.command_line import reveries
from tests.fakes.daemon import Script, awake_in_thread

NOW = 1_790_000_000.0


def text(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


@pytest.mark.requirement("A9")
def test_a_sleeping_mind_is_copied_looked_at_and_put_back(home: Home) -> None:
    assert "no backup yet" in reveries(home, "backup", "list").out
    made = json.loads(reveries(home, "backup", "create", "--json").out)
    [one] = made["backups"]
    assert one["is_looked_at"]
    assert one["problems"] == one["rotten"] == []
    assert one["name"] in reveries(home, "backup", "list").out
    assert "complete" in reveries(home, "backup", "verify").out

    _say_something(home)
    restored = json.loads(reveries(home, "backup", "restore", one["name"], "--yes", "--json").out)
    assert restored["backup"] == one["name"]
    assert restored["missing_from"] <= restored["missing_until"]
    with dbapi.connect(restored["kept"]) as kept, dbapi.connect(str(home.database_default)) as now:
        assert kept.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
        assert now.execute("SELECT count(*) FROM conversations").fetchone() == (0,)


@pytest.mark.requirement("A9")
def test_a_backup_that_is_not_whole_is_said_and_never_put_back(home: Home) -> None:
    reveries(home, "backup", "create")
    [backup] = home.backups.glob("*.db")
    backup.write_bytes(backup.read_bytes()[:5000])
    looked = reveries(home, "backup", "verify")
    assert looked.code == 74
    assert "damaged" in looked.out
    before = home.database_default.read_bytes()
    refused = reveries(home, "backup", "restore", "--yes")
    assert refused.code == 74
    assert "is not whole" in refused.err
    assert home.database_default.read_bytes() == before


def test_a_name_that_no_backup_has_is_said(home: Home) -> None:
    assert reveries(home, "backup", "verify", "memory-7").code == 1
    assert "There is no backup memory-7." in reveries(home, "backup", "restore", "memory-7", "--yes").err


def test_nothing_is_put_back_without_a_word_of_the_owner(home: Home) -> None:
    reveries(home, "backup", "create")
    refused = reveries(home, "backup", "restore", stdin="n\n")
    assert refused.code == 130
    assert not list(home.path.glob("memory.db.replaced-*"))


def test_it_says_what_is_missing_also_where_the_clock_was_set_back() -> None:
    assert "Events between" in text(restored_page(BackupRestored(1, "memory-1.db", NOW, NOW + 60, "")))
    assert "The clock was set back" in text(restored_page(BackupRestored(1, "memory-1.db", NOW, NOW - 60, "")))


def test_what_takes_long_says_how_far_it_is_on_stderr(home: Home) -> None:
    for words in (("create",), ("verify",), ("restore", "--yes")):
        done = reveries(home, "backup", *words, "--json")
        assert done.code == 0
        lines = [json.loads(row) for row in done.err.splitlines()]
        assert any("checking its structure" in line["doing"] for line in lines), words


@pytest.mark.requirement("A9")
def test_a_waking_mind_is_waited_for_however_long_it_copies(home: Home) -> None:
    one = BackupEntry("memory-7.db", NOW, 1, False, True, [], [], 1, 1)
    script = Script(looks={"MakeBackup": Backups(0, "/b", [one])}, progress=[("copying, MB", 3, 453)])
    with awake_in_thread(home, script):
        made = reveries(home, "backup", "create", "--json")
    assert json.loads(made.out)["backups"][0]["name"] == "memory-7.db"
    assert '"done":3' in made.err.replace(" ", "")


@pytest.mark.parametrize(
    "words", [("backup", "restore"), ("forget", "--matching", "zebra"), ("forget", "--matching", "zebra", "--erase")]
)
def test_with_json_nothing_is_asked_and_nothing_done_without_yes(home: Home, words: tuple[str, ...]) -> None:
    reveries(home, "backup", "create")
    refused = reveries(home, *words, "--json", stdin="y\n")
    assert refused.code == 2
    assert refused.out == ""
    assert "--yes" in refused.err
    assert not list(home.path.glob("memory.db.replaced-*"))


def _say_something(home: Home) -> None:
    with dbapi.connect(str(home.database_default)) as connection:
        connection.execute("INSERT INTO conversations (id, began_at, last_said_at, source) VALUES ('c', 1, 1, 'chat')")
    connection.close()
