"""What somebody else may have laid under the names of the home's files, and what an owner keeps elsewhere."""

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from reveries.api_keys import find_api_key
from reveries.client.byte_search import search_files
from reveries.config import Home, load_settings
from reveries.crash_history import crash_history_file, record_start
from reveries.daemon.process.home_files import clear_partial_files, find_traces, list_copies, scrub
from reveries.db.backup_retention import Backup
from reveries.db.backups import restore_backup_copy
from reveries.db.opening import open_database
from reveries.errors import ConfigError, HomeError, StorageError
from reveries.memory.forgetting.needles import Needle
from reveries.own_files import (
    copy_private_file,
    find_home_fault,
    find_memory_fault,
    find_open_ancestor,
    is_foreign_link,
    open_own_file,
    write_private_file,
)

_NOBODY = 65534
_as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")

Lay = Callable[[Path, Path], None]


def _fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _link(path: Path, treasure: Path) -> None:
    path.symlink_to(treasure)


def _hard_link(path: Path, treasure: Path) -> None:
    path.hardlink_to(treasure)


def _folder(path: Path, _: Path) -> None:
    path.mkdir()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "h")
    made.create()
    return made


@pytest.fixture
def treasure(tmp_path: Path) -> Path:
    file = tmp_path / "treasure"
    file.write_text("mine")
    return file


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("lay", [_fifo, _link, _hard_link, _folder])
@pytest.mark.parametrize(
    "name",
    ["daemon.lock", "logs/daemon.log", "logs/client.log", "memory.snapshot", "memory.db.seal", "memory.db-wal",
     "draft.txt", "wakes", "backups/memory-1.db", "backups/memory-1.partial"],
)  # fmt: skip
def test_what_was_laid_under_a_name_of_ours_is_named_and_not_written_to(
    home: Home, treasure: Path, name: str, lay: Lay
) -> None:
    lay(home.path / name, treasure)
    with pytest.raises(HomeError, match=name):
        home.create()
    assert treasure.read_text() == "mine"


@pytest.mark.parametrize("lay", [_fifo, _link, _hard_link])
def test_nothing_is_written_through_a_link_or_into_what_is_no_file_of_ones_own(
    tmp_path: Path, treasure: Path, lay: Lay
) -> None:
    there = tmp_path / "there"
    lay(there, treasure)
    for how in (os.O_APPEND, os.O_TRUNC):
        with pytest.raises(OSError, match="there"):
            open_own_file(there, how)
    # What is made anew takes the name, and leaves what had it.
    write_private_file(there, b"new")
    assert (there.read_bytes(), treasure.read_text()) == (b"new", "mine")
    assert there.stat().st_mode & 0o777 == 0o600


def test_a_copy_takes_the_place_of_a_link_and_not_of_what_it_leads_to(tmp_path: Path, treasure: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("all of it")
    target.symlink_to(treasure)
    copy_private_file(source, target)
    assert (target.read_text(), treasure.read_text()) == ("all of it", "mine")


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("lay", [_link, _hard_link])
def test_the_record_of_wakes_is_written_into_no_file_of_somebody_elses(home: Home, treasure: Path, lay: Lay) -> None:
    lay(crash_history_file(home), treasure)
    record_start(home, 1.0)
    assert treasure.read_text() == "mine"


def test_what_broke_off_while_a_memory_was_written_goes_at_a_wake_and_nothing_else_does(home: Home) -> None:
    memory = home.database_default
    kept = {"memory.db", "memory.db-wal", "memory.db.replaced-1", "memory.db.erasing", "config.toml", "memory.snapshot",
            "backups/memory-1.db", "mine.partial", ".config.toml.partial", "memory.db.restoring",
            "memory.db.restoring.json", ".config.toml.0a1b2c3d.partial", ".openai.key.0a1b2c3d.partial"}  # fmt: skip
    broken = {"backups/memory-2.partial", "backups/memory-2.partial-journal", "memory.db.partial",
              "memory.snapshot.partial", "memory.db.anew", "memory.db.anew-journal", "memory.db.importing",
              "memory.db.importing-wal", "memory.db.forgotten.partial"}  # fmt: skip
    for name in kept | broken:
        (home.path / name).write_text("x")
    assert clear_partial_files(home, memory, time.time()) == len(broken)
    assert {str(file.relative_to(home.path)) for file in home.path.rglob("*") if file.is_file()} == kept


@pytest.mark.requirement("F6")
def test_a_half_written_key_goes_at_a_wake_once_nobody_can_be_writing_it(home: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine.toml"
    elsewhere.write_text("x")
    home.config.unlink(missing_ok=True)
    home.config.symlink_to(elsewhere)
    kept = [home.config, home.path / "openai.key", home.path / "letter.partial", elsewhere]
    half = [home.path / ".openai.key.0a1b2c3d.partial", tmp_path / ".mine.toml.0a1b2c3d.partial"]
    for file in (*kept, *half):
        file.write_text("x")
    assert clear_partial_files(home, home.database_default, time.time()) == 0
    assert clear_partial_files(home, home.database_default, time.time() + 3700.0) == len(half)
    assert [file for file in (*kept, *half) if file.exists()] == kept


@pytest.mark.requirement("F10")
def test_what_sqlite_keeps_beside_a_memory_that_is_written_anew_goes_with_what_is_erased(home: Home) -> None:
    memory = home.database_default
    begun = [memory.with_name("memory.db.anew-journal"), home.backups / "memory-2.partial-journal"]
    for file in (memory, *begun):
        file.write_text("x")
    assert set(list_copies(home, memory)) == set(begun)


@pytest.mark.requirement("F4")
def test_compiled_code_that_others_may_change_is_not_loaded(home: Home, treasure: Path) -> None:
    loops = home.path / "cache" / "loops"
    loops.mkdir(parents=True)
    (loops / "code.nbc").write_bytes(b"code")
    assert not find_home_fault(home.path, os.getuid())
    (loops / "code.nbc").chmod(0o666)
    assert "other users can write" in find_home_fault(home.path, os.getuid())
    (loops / "code.nbc").unlink()
    (loops / "code.nbc").symlink_to(treasure)
    assert "a link" in find_home_fault(home.path, os.getuid())


@_as_root
@pytest.mark.requirement("F4")
def test_compiled_code_of_another_users_is_refused(home: Home) -> None:
    loops = home.path / "cache" / "loops"
    loops.mkdir(parents=True)
    (loops / "code.nbc").write_bytes(b"code")
    os.chown(loops / "code.nbc", _NOBODY, _NOBODY)
    with pytest.raises(HomeError, match=r"code\.nbc"):
        home.create()


@pytest.mark.requirement("F4")
async def test_a_memory_in_a_folder_that_others_may_write_into_is_not_opened(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    for mode in (0o777, 0o1777):
        shared.chmod(mode)
        with pytest.raises(StorageError, match="other users can write to it") as refused:
            await open_database(shared / "memory.db")
        assert f"chmod go-w {shared}" in refused.value.advice
    assert not list(shared.iterdir())
    shared.chmod(0o755)
    await (await open_database(shared / "memory.db")).aclose()


@pytest.mark.requirement("F4")
async def test_below_a_folder_that_others_may_write_into_one_is_told_to_close_it_or_go_elsewhere(
    tmp_path: Path,
) -> None:
    shared = tmp_path / "the shared"
    (shared / "h").mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.raises(HomeError, match="the shared: other users can write to it") as refused:
        Home(shared / "h").create()
    assert f"chmod go-w '{shared}'" in refused.value.advice
    assert "REVERIES_HOME=" in refused.value.advice
    with pytest.raises(StorageError, match="the shared: other users can write to it") as kept_shut:
        await open_database(shared / "h" / "memory.db")
    assert f"chmod go-w '{shared}'" in kept_shut.value.advice
    assert "storage.db_path" in kept_shut.value.advice
    for error in (refused.value, kept_shut.value):
        assert "move it away" not in error.advice
    shared.chmod(0o755)
    Home(shared / "h").create()


@_as_root
@pytest.mark.requirement("F4")
@pytest.mark.parametrize("mode", [0o755, 0o1777])
async def test_below_a_folder_of_another_users_nothing_is_kept_for_its_owner_could_put_something_else_there(
    tmp_path: Path, mode: int
) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "h").mkdir(parents=True)
    os.chown(theirs, _NOBODY, _NOBODY)
    theirs.chmod(mode)
    with pytest.raises(HomeError, match="theirs: it belongs to another user") as refused:
        Home(theirs / "h").create()
    assert "chmod" not in refused.value.advice
    with pytest.raises(StorageError, match="theirs: it belongs to another user"):
        await open_database(theirs / "h" / "memory.db")
    assert find_open_ancestor(theirs / "h", _NOBODY) is None
    theirs.chmod(0o1777)
    os.chown(theirs, 0, 0)
    assert find_open_ancestor(theirs / "h", 1000) is None  # As /tmp is.


@pytest.mark.requirement("F4")
def test_each_link_on_the_way_is_looked_at_and_the_folders_that_it_leads_through(tmp_path: Path) -> None:
    for name in ("real", "open/hop", "closed"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "open/hop/second").symlink_to("../../real")
    (tmp_path / "closed/first").symlink_to(tmp_path / "open/hop/second")
    way = tmp_path / "closed/first"
    for folder in (way, way / "h"):
        assert find_open_ancestor(folder, os.getuid()) is None
        (tmp_path / "open").chmod(0o777)  # Neither a parent of the name, nor of where it ends.
        found = find_open_ancestor(folder, os.getuid())
        assert found is not None
        assert found.folder == tmp_path / "open"
        (tmp_path / "open").chmod(0o755)
    (tmp_path / "real/round").symlink_to("round")
    assert find_open_ancestor(tmp_path / "real/round/h", os.getuid()) is None  # It ends.


@_as_root
@pytest.mark.requirement("F4")
def test_a_link_of_another_users_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "real")
    os.chown(tmp_path / "way", _NOBODY, _NOBODY, follow_symlinks=False)
    found = find_open_ancestor(tmp_path / "way" / "h", 1000)
    assert found is not None
    assert found.folder == tmp_path / "way"


_WITHOUT_A_NAME = """
    import grp, os, pwd, sys
    from pathlib import Path
    from reveries.own_files import find_open_ancestor

    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(12345)
    print(find_open_ancestor(Path(sys.argv[1]), 12345) is None)
"""


@_as_root
@pytest.mark.parametrize(("of_process", "of_folder", "passes"), [(12345, 12345, True), (12346, 12345, False)])
def test_a_user_whom_no_list_knows_may_share_a_folder_with_its_very_own_group(
    of_process: int, of_folder: int, passes: bool
) -> None:
    """As in a container: `--user 12345:12345`, and a volume of mode 0775."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        volume = Path(folder) / "volume"
        volume.mkdir()
        Path(folder).chmod(0o755)
        os.chown(volume, 12345, of_folder)
        volume.chmod(0o775)
        command = [sys.executable, "-c", textwrap.dedent(_WITHOUT_A_NAME), str(volume / "h"), str(of_process)]
        told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert told.strip() == str(passes)


_WHERE_ROOT_IS_UNKNOWN = """
    import ctypes, os, sys
    from pathlib import Path
    from reveries.own_files import find_open_ancestor

    libc = ctypes.CDLL(None)
    os.setgroups([])
    os.setgid(12345)
    os.setuid(12345)
    libc.prctl(4, 1)  # PR_SET_DUMPABLE: else its own /proc is root's.
    if libc.unshare(0x10000000):  # CLONE_NEWUSER
        print("refused")
    else:
        Path("/proc/self/uid_map").write_text("12345 12345 1")
        print(find_open_ancestor(Path(sys.argv[1]), 12345))
"""


@_as_root
def test_where_the_system_shows_roots_folders_as_nobodys_they_are_let_pass() -> None:
    """As in the service, by PrivateUsers=yes: of root and of others the system says nobody."""
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        Path(folder).chmod(0o755)
        command = [sys.executable, "-c", textwrap.dedent(_WHERE_ROOT_IS_UNKNOWN), str(Path(folder) / "h")]
        told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    if told.strip() == "refused":
        pytest.skip("no namespace of users may be made here")
    assert told.strip() == "None"


@_as_root
@pytest.mark.parametrize(
    "name", ["config.toml", "memory.db", "daemon.lock", "logs/daemon.log", "backups/memory-1.db", "x"]
)
def test_what_another_user_laid_into_the_home_is_refused(home: Home, treasure: Path, name: str) -> None:
    (home.path / name).write_text("theirs")
    os.chown(home.path / name, _NOBODY, _NOBODY)
    with pytest.raises(HomeError, match="another user"):
        home.create()
    (home.path / name).unlink()
    (home.path / name).symlink_to(treasure)
    os.chown(home.path / name, _NOBODY, _NOBODY, follow_symlinks=False)
    with pytest.raises(HomeError, match="another user"):
        home.create()


@_as_root
def test_a_link_of_ones_own_to_what_is_another_users_is_refused(home: Home, treasure: Path) -> None:
    os.chown(treasure, _NOBODY, _NOBODY)
    home.config.symlink_to(treasure)
    assert "another user" in find_home_fault(home.path, os.getuid())


@_as_root
def test_a_folder_of_another_users_is_no_home_of_whoever_is_not_root(tmp_path: Path) -> None:
    os.chown(tmp_path, _NOBODY, _NOBODY)
    assert "another user" in find_home_fault(tmp_path, 1000)
    assert not find_home_fault(tmp_path, _NOBODY)


def test_what_an_owner_keeps_elsewhere_goes_on_working(tmp_path: Path) -> None:
    real, dots = tmp_path / "real", tmp_path / "dots"
    for folder in (real, dots, dots / "backups", dots / "logs"):
        folder.mkdir(mode=0o700)
    (dots / "settings").write_text("")
    link = tmp_path / "link"
    link.symlink_to(real)
    home = Home(link)
    home.config.symlink_to(dots / "settings")
    home.logs.symlink_to(dots / "logs")
    home.backups.symlink_to(dots / "backups")
    home.create()
    assert home.path.is_symlink()
    assert home.logs.is_symlink()
    (dots / "logs").chmod(0o770)
    with pytest.raises(HomeError, match="other users can write"):
        home.create()


@pytest.mark.requirement("F4")
async def test_a_memory_that_is_a_link_stays_one_over_waking_a_backup_and_an_erasure(
    home: Home, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "disk"
    elsewhere.mkdir()
    await (await open_database(home.database_default)).aclose()
    home.database_default.rename(elsewhere / "mine.db")
    home.database_default.with_name("memory.db.seal").unlink()
    home.database_default.symlink_to(elsewhere / "mine.db")
    home.create()
    path = home.database(load_settings(None))
    assert path == elsewhere / "mine.db"
    database = await open_database(path)
    copy = home.backups / "memory-1.db"
    scrubbed = await database.scrub(copy)
    assert scrubbed.is_whole
    assert await database.is_intact()
    await database.aclose()
    if scrubbed.copied is not None:
        restore_backup_copy(path, Backup(copy, 1.0, is_before_migration=False), 2.0, "because")
    assert home.database_default.is_symlink()
    assert (elsewhere / "mine.db").is_file()


@pytest.mark.parametrize("lay", [_fifo, _hard_link, _folder])
async def test_a_memory_elsewhere_is_looked_at_as_one_in_the_home_is(tmp_path: Path, treasure: Path, lay: Lay) -> None:
    lay(tmp_path / "m.db", treasure)
    with pytest.raises(StorageError, match="not safe"):
        await open_database(tmp_path / "m.db")
    assert find_memory_fault(tmp_path / "m.db", os.getuid())


async def test_a_log_of_the_memory_that_is_a_link_is_refused(tmp_path: Path, treasure: Path) -> None:
    (tmp_path / "m.db-wal").symlink_to(treasure)
    with pytest.raises(StorageError, match="db-wal"):
        await open_database(tmp_path / "m.db")


def test_a_pipe_for_settings_or_a_key_is_said_and_nobody_waits_for_it(home: Home) -> None:
    os.mkfifo(home.config)
    with pytest.raises(ConfigError, match="is not a regular file"):
        load_settings(home.config)
    os.mkfifo(home.path / "key", 0o600)
    with pytest.raises(ConfigError, match="not a regular file"):
        find_api_key(msgspec.structs.replace(load_settings(None).llm, api_key_file=str(home.path / "key")))


@pytest.mark.requirement("F10")
def test_what_is_kept_elsewhere_is_searched_and_cleaned_like_what_is_in_the_home(home: Home, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    for folder in (disk, disk / "logs"):
        folder.mkdir(mode=0o700)
    home.logs.rmdir()
    home.logs.symlink_to(disk / "logs")
    (home.logs / "daemon.log").write_text("a zebra\na horse\n")
    (disk / "m.db").write_text("a zebra")
    (disk / "m.db.forgotten").write_text("no such thing")
    home.database_default.symlink_to(disk / "m.db")
    assert len(search_files(home.path, "zebra").found) == 2
    assert len(search_files(home.path, "zebra", database=disk / "m.db").found) == 2 + 1
    found = find_traces(home, disk / "m.db", Needle(words=("zebra",)))
    assert found.log_lines == 1
    scrub(home, found, Needle(words=("zebra",)))
    assert (disk / "logs" / "daemon.log").read_text() == "a horse\n"


@_as_root
def test_a_link_that_another_user_laid_is_told_from_ones_own(tmp_path: Path, treasure: Path) -> None:
    trap = tmp_path / "trap"
    trap.symlink_to(treasure)
    assert not is_foreign_link(trap)
    os.chown(trap, _NOBODY, _NOBODY, follow_symlinks=False)
    assert is_foreign_link(trap)
