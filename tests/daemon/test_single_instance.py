"""One mind, one daemon: lock and socket."""

import os
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from reveries.clock import SystemClock
from reveries.config import Home, load_settings
from reveries.daemon.app import Wake, live
from reveries.daemon.lifecycle.mind_transfer import export_to_file
from reveries.daemon.offline.backup_answers import restore_backup
from reveries.daemon.process.single_instance import hold_lock, listening_socket
from reveries.db.backups import discard_progress
from reveries.errors import AlreadyAwakeError, HomeError
from reveries.peer_credentials import peer_uid

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.create()
    return made


def _hold_lock_elsewhere(home: Home) -> subprocess.Popen[bytes]:
    program = textwrap.dedent(
        f"""
        import pathlib, sys
        from reveries.config import Home
        from reveries.daemon.process.single_instance import hold_lock
        with hold_lock(Home(pathlib.Path({str(home.path)!r}))):
            sys.stdout.write("held\\n"); sys.stdout.flush(); sys.stdin.read()
        """
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"held\n"
    return child


@pytest.mark.requirement("R-8", "B1")
def test_a_second_daemon_is_refused_and_told_who_holds_the_home(home: Home) -> None:
    with (
        _hold_lock_elsewhere(home) as other,
        pytest.raises(AlreadyAwakeError, match=f"process {other.pid}"),
        hold_lock(home),
    ):
        pytest.fail("two held the lock")


@pytest.mark.requirement("R-8", "B1")
def test_two_homes_that_name_one_memory_are_one_mind(home: Home, tmp_path: Path) -> None:
    memory, other = tmp_path / "shared" / "memory.db", Home(tmp_path / "other")
    memory.parent.mkdir()
    other.create()
    with (
        hold_lock(home, memory),
        pytest.raises(AlreadyAwakeError, match=f"{memory} is in use .* \\(process {os.getpid()}\\)"),
        hold_lock(other, memory),
    ):
        pytest.fail("two held the memory")
    with hold_lock(other, memory):
        assert not home.lock.with_name("memory.db.lock").exists()


@pytest.mark.requirement("R-8", "B1")
async def test_neither_a_wake_nor_a_restore_nor_an_export_touches_a_memory_that_another_home_has(
    home: Home, tmp_path: Path
) -> None:
    defaults, other, memory = load_settings(None), Home(tmp_path / "other"), tmp_path / "shared.db"
    other.create()
    (home.backups / "memory-1.db").write_bytes(b"a copy")
    settings = msgspec.structs.replace(defaults, storage=msgspec.structs.replace(defaults.storage, db_path=str(memory)))
    with hold_lock(other, memory):
        with pytest.raises(AlreadyAwakeError, match="another home"):
            await live(Wake(settings, home, home.config), SystemClock())
        with pytest.raises(AlreadyAwakeError, match="another home"):
            restore_backup(settings, home, SystemClock(), "", discard_progress)
        with pytest.raises(AlreadyAwakeError, match="another home"):
            export_to_file(settings, home, tmp_path / "out", "", lambda rows, total: None, with_vectors=False)
    assert not memory.exists()


@pytest.mark.requirement("R-8", "F4")
def test_no_lock_is_written_into_a_file_that_somebody_laid_there(home: Home, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    diary.write_text("Dear Ana")
    lock = tmp_path / "memory.db.lock"
    laid: list[Callable[[], None]] = [
        lambda: os.link(diary, lock),
        lambda: lock.symlink_to(diary),
        lambda: os.mkfifo(lock),
    ]
    for lay in laid:
        lay()
        with pytest.raises(HomeError, match="cannot be opened"), hold_lock(home, tmp_path / "memory.db"):
            pytest.fail("it took it for a lock")
        lock.unlink()
    assert diary.read_text() == "Dear Ana"


@pytest.mark.requirement("R-8", "B2")
def test_the_lock_is_free_again_after_kill_9(home: Home) -> None:
    with _hold_lock_elsewhere(home) as other:
        other.kill()
        other.wait(timeout=300)
    with hold_lock(home):
        assert home.lock.read_text() == f"{os.getpid()}\n"


@pytest.mark.requirement("R-8", "B2")
def test_a_socket_left_by_a_dead_daemon_is_replaced(home: Home) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(home.socket))
    assert home.socket.exists()
    with (
        hold_lock(home),
        listening_socket(home.socket),
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client,
    ):
        client.connect(str(home.socket))
    assert not home.socket.exists()


@pytest.mark.requirement("B2")
@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_what_is_not_our_socket_is_refused_and_left_alone(home: Home, kind: str) -> None:
    match kind:
        case "file":
            home.socket.write_text("a diary")
        case "folder":
            home.socket.mkdir()
        case _:
            home.socket.symlink_to(home.path / "nowhere")
    with hold_lock(home), pytest.raises(HomeError, match="in the way"), listening_socket(home.socket):
        pytest.fail("it listens on somebody else's path")
    assert home.socket.is_symlink() or home.socket.exists()


@pytest.mark.requirement("B2")
def test_a_socket_on_which_another_program_listens_is_refused(home: Home) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(home.socket))
        other.listen()
        with hold_lock(home), pytest.raises(HomeError, match="Another program"), listening_socket(home.socket):
            pytest.fail("it took the other's place")
        assert home.socket.exists()


@pytest.mark.requirement("B3")
def test_a_socket_that_somebody_replaced_is_not_unlinked_at_the_end(home: Home) -> None:
    with listening_socket(home.socket):
        home.socket.unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as successor:
            successor.bind(str(home.socket))
    assert home.socket.exists()


@pytest.mark.requirement("R-14", "F4")
def test_the_socket_is_the_owners_alone_whatever_the_umask(home: Home) -> None:
    before = os.umask(0o000)
    try:
        with listening_socket(home.socket):
            assert stat.S_IMODE(home.socket.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.requirement("F4")
def test_the_peer_of_a_socket_is_known_by_its_user() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert peer_uid(ours) == os.getuid()
