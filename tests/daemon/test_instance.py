"""One mind, one daemon: lock and socket."""

import os
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from reveries.config import Home
from reveries.daemon.instance import hold_lock, listening_socket
from reveries.errors import AlreadyAwakeError, HomeError
from reveries.peers import peer_uid


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
        from reveries.daemon.instance import hold_lock
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


@pytest.mark.requirement("R-8", "B2")
def test_the_lock_is_free_again_after_kill_9(home: Home) -> None:
    with _hold_lock_elsewhere(home) as other:
        other.kill()
        other.wait(timeout=5)
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
