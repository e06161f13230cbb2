"""`reveries uninstall`: what it shows is what goes, and nothing that is not ours goes."""

import fcntl
import json
from pathlib import Path

import pytest

from reveries.client.features.uninstall import plan_removal, remove_files
from reveries.config import Home
from tests.client.command_line import reveries


@pytest.fixture
def lived(home: Home) -> Home:
    home.create()
    for file in ("memory.db", "memory.db-wal", "memory.snapshot", "config.toml", "daemon.lock", "logs/daemon.log.1"):
        (home.path / file).write_text("x")
    (home.backups / "memory-1.db").write_text("x")
    for file in _KEPT:
        (home.path / file).parent.mkdir(parents=True, exist_ok=True)
        (home.path / file).write_text("x")
    return home


_KEPT = (
    *("memory.db.seal", "memory.db.damaged", "memory.db.restoring", "memory.db.restored.json"),
    *("memory.db.forgotten", "memory.db.erasing", "memory.db.lock", "memory.db.reserve"),
    *("draft.txt", "draft.txt.77", "draft-2.txt", "draft-2.txt.new", "wakes"),
    *("memory.db.importing", "memory.db.importing-wal", "memory.db.partial", "memory.snapshot.partial"),
    *("openai.key", ".openai.key.partial", ".config.toml.partial", ".openai.key.0a1b2c3d.partial"),
    *(".config.toml.0a1b2c3d.partial", "memory.db.forgotten.partial"),
    *("memory.db.replaced-1763700000", "memory.db.replaced-1763700000-wal", "backups/memory-1.db.seal"),
    *("backups/memory-1.db.made", "backups/memory-2.partial", "backups/memory-2.partial-journal"),
    *("memory.db.anew", "memory.db.anew-journal"),
    *("cache/loops/graph_1/kernels.hop-1.py311.nbi", "cache/loops/graph_1/kernels.hop-1.py311.1.nbc"),
)
"""What a mind that has been damaged, restored and compiled for keeps, too."""


def everything(home: Home) -> set[Path]:
    return set(home.path.rglob("*"))


def test_a_dry_run_removes_nothing_and_shows_all(lived: Home) -> None:
    before = everything(lived)
    told = json.loads(reveries(lived, "uninstall", "--purge", "--dry-run", "--json").out)
    assert {Path(file) for file in told["files"]} == {file for file in before if file.is_file()}
    assert told["was_removed"] is False
    assert everything(lived) == before


def test_purge_removes_the_mind_and_its_folder(lived: Home) -> None:
    ran = reveries(lived, "uninstall", "--purge", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert not lived.path.exists()


def test_without_purge_the_memory_stays(lived: Home) -> None:
    before = everything(lived)
    assert reveries(lived, "uninstall", "--yes").code == 0
    assert everything(lived) == before


def test_what_is_not_ours_stays_and_is_told(lived: Home) -> None:
    letter = lived.path / "letter.txt"
    letter.write_text("mine")
    plan = plan_removal(lived, purge=True)
    assert plan.stays == [letter]
    assert not remove_files(plan)
    assert everything(lived) == {letter}


def test_a_memory_that_was_in_the_home_before_it_was_put_elsewhere_goes_with_all_of_it(
    lived: Home, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    lived.config.write_text(f'[storage]\ndb_path = "{elsewhere}/m.db"\n')
    (lived.path / "memory.db-shm").write_text("x")
    for name in ("m.db", "m.db-wal", "m.db.forgotten.partial"):
        (elsewhere / name).write_text("x")
    assert not remove_files(plan_removal(lived, purge=True))
    assert not lived.path.exists()
    assert list(elsewhere.iterdir()) == []


def test_a_link_is_removed_and_what_it_leads_to_stays_and_is_told(lived: Home, tmp_path: Path) -> None:
    elsewhere, settings = tmp_path / "elsewhere.db", tmp_path / "my.toml"
    elsewhere.write_text("not ours")
    (lived.backups / "memory-link.db").symlink_to(elsewhere)
    settings.write_text("")
    lived.config.unlink()
    lived.config.symlink_to(settings)
    plan = plan_removal(lived, purge=True)
    assert set(plan.stays) == {elsewhere, settings}
    remove_files(plan)
    assert not lived.path.exists()
    assert elsewhere.read_text() == "not ours"
    assert settings.exists()


def test_a_mind_that_is_awake_is_not_purged(lived: Home) -> None:
    with lived.lock.open("r") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = reveries(lived, "uninstall", "--purge", "--yes")
    assert ran.code == 75
    assert (lived.path / "memory.db").exists()


def test_it_asks_first(lived: Home) -> None:
    ran = reveries(lived, "uninstall", "--purge", stdin="n\n")
    assert ran.code == 130
    assert (lived.path / "memory.db").exists()
    assert reveries(lived, "uninstall", "--purge", "--json").code == 2


def test_an_own_letter_is_no_draft_of_a_terminal(home: Home) -> None:
    names = ["draft.txt", "draft-2.txt", "draft-12.txt.new", "draft-letter.md", "drafts", "draft.md", "draft-two.txt"]
    assert [name for name in names if home.is_draft(home.path / name)] == names[:3]
    assert not home.is_draft(home.logs / "draft.txt")
