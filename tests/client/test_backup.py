"""`reveries backup`: copies are made, looked at and put back; nothing is ever deleted by it."""

import json

import pytest

from reveries.client.backup_page import backups_page, restored_page
from reveries.client.render import Page
from reveries.config import Home
from reveries.db.driver import dbapi
from reveries.protocol import BackupEntry, BackupRestored, Backups
from tests.client.command_line import reveries
from tests.client.test_tui import HOSTILE

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
    assert "whole" in reveries(home, "backup", "verify").out

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
    assert "not whole" in looked.out
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


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_name_reaches_the_terminal_unescaped(hostile: str) -> None:
    one = BackupEntry(hostile, NOW, 1, False, True, [hostile], [], 1, 1)
    rotten = BackupEntry(hostile, NOW, 1, False, True, [], [hostile], 1, 1)
    shown = text(backups_page(Backups(1, hostile, [one, rotten]), NOW))
    shown += text(restored_page(BackupRestored(1, hostile, NOW, NOW, hostile)))
    assert not any(ord(character) < 32 and character != "\n" for character in shown)


def test_it_says_what_is_missing_also_where_the_clock_was_set_back() -> None:
    assert "What happened between" in text(restored_page(BackupRestored(1, "memory-1.db", NOW, NOW + 60, "")))
    assert "The clock was set back" in text(restored_page(BackupRestored(1, "memory-1.db", NOW, NOW - 60, "")))


def _say_something(home: Home) -> None:
    with dbapi.connect(str(home.database_default)) as connection:
        connection.execute("INSERT INTO conversations (id, began_at, last_said_at, source) VALUES ('c', 1, 1, 'chat')")
    connection.close()
