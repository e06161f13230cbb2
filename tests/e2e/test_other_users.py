"""Another user of this machine, who tries everything: a living mind gives them nothing (RELIABILITY F4).

The stranger is `nobody`, in a process of their own with a Python that every user may run. Each attempt that came to
anything is named; how many there were is told, for a list that tries nothing finds nothing.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil
import pytest

from reveries import protocol
from reveries.config import Home
from reveries.errors import HomeError
from reveries.own_files import copy_private_file, open_own_file, write_private_file
from tests.e2e.living import Living

_NOBODY, _SOMEBODY = 65534, 12_345
_PYTHON: Final = shutil.which("python3", path="/usr/bin:/usr/local/bin")

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(
        os.getuid() != 0 or _PYTHON is None, reason="to be another user takes root, and a Python for everybody"
    ),
]


def stranger(code: str, *words: object) -> "subprocess.Popen[str]":
    """`code` run by nobody, with `words` in sys.argv."""
    assert _PYTHON is not None
    return subprocess.Popen(
        [_PYTHON, "-I", "-c", code, *map(str, words)],
        stdout=subprocess.PIPE, text=True, user=_NOBODY, group=_NOBODY, extra_groups=[], cwd="/", env={},
    )  # fmt: skip


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into, but in which only root writes, until a test opens it."""
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


# --- everything, once ------------------------------------------------------------------------------------------------

_EVERYTHING: Final = r"""
import ctypes, json, os, socket, sys
home, own, pids, paths = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
tried, done = 0, []
libc = ctypes.CDLL(None, use_errno=True)

def attempt(name, act):
    global tried
    tried += 1
    try:
        came = act()
    except OSError:
        return
    if came is not None:
        done.append(f"{name}: {came!r}"[:200])

def opened(path, how):
    os.close(os.open(path, how | os.O_NONBLOCK))
    return "opened"

def read(path):
    with open(path, "rb") as file:
        return file.read(64) or None

def connected(path):
    with socket.socket(socket.AF_UNIX) as here:
        here.settimeout(2)
        here.connect(path)
        here.sendall(bytes(64))
        return here.recv(64) or None

def bound(path):
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(path)
        return "bound"

def did(call, *words):
    call(*words)
    return "done"

def called(result):
    return None if result in (-1, None) else result

fresh = 0
for path in [home, *paths]:
    fresh += 1
    attempt(f"list {path}", lambda: os.listdir(path))
    attempt(f"stat {path}", lambda: None if path == home else os.lstat(path).st_size)
    for how in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_TRUNC):
        attempt(f"open {path} {how}", lambda: opened(path, how))
    attempt(f"hard link to {path}", lambda: did(os.link, path, f"{own}/l{fresh}"))
    attempt(f"symlink over {path}", lambda: did(os.symlink, "/etc/passwd", path))
    attempt(f"rename {path}", lambda: did(os.rename, path, f"{own}/r{fresh}"))
    attempt(f"rename onto {path}", lambda: did(os.rename, f"{own}/mine", path))
    attempt(f"remove {path}", lambda: did(os.unlink, path))
    attempt(f"remove folder {path}", lambda: did(os.rmdir, path))
    attempt(f"chmod {path}", lambda: did(os.chmod, path, 0o777))
    attempt(f"chown {path}", lambda: did(os.chown, path, os.getuid(), -1))
    attempt(f"touch {path}", lambda: did(os.utime, path))
    attempt(f"truncate {path}", lambda: did(os.truncate, path, 0))
    attempt(f"connect {path}", lambda: connected(path))
for name in ("daemon.log", "draft.txt", "model.sock", "x", "memory.db-journal", ".config.toml.partial"):
    for place in (home, f"{home}/logs", f"{home}/backups"):
        path = f"{place}/{name}"
        attempt(f"create {path}", lambda: opened(path, os.O_WRONLY | os.O_CREAT))
        attempt(f"mkdir {path}", lambda: did(os.mkdir, path))
        attempt(f"symlink {path}", lambda: did(os.symlink, "/etc/passwd", path))
        attempt(f"fifo {path}", lambda: did(os.mkfifo, path))
        attempt(f"bind {path}", lambda: bound(path))
for pid in pids:
    for name in ("environ", "mem", "maps", "auxv", "io", "stack", "syscall", "pagemap"):
        attempt(f"/proc/{pid}/{name}", lambda: read(f"/proc/{pid}/{name}"))
    attempt(f"/proc/{pid}/fd", lambda: os.listdir(f"/proc/{pid}/fd"))
    attempt(f"/proc/{pid}/map_files", lambda: os.listdir(f"/proc/{pid}/map_files"))
    for name in ("cwd", "root", "exe"):
        attempt(f"/proc/{pid}/{name}", lambda: os.readlink(f"/proc/{pid}/{name}"))
    for number in (1, 2, 6, 9, 11, 15):
        attempt(f"kill -{number} {pid}", lambda: did(os.kill, pid, number))
    attempt(f"ptrace {pid}", lambda: called(libc.ptrace(16, pid, 0, 0)))
    attempt(f"ptrace seize {pid}", lambda: called(libc.ptrace(0x4206, pid, 0, 0)))
    attempt(f"setrlimit {pid}", lambda: called(libc.prlimit(pid, 4, (ctypes.c_uint64 * 2)(2**40, 2**40), None)))
    attempt(f"setpriority {pid}", lambda: did(os.setpriority, os.PRIO_PROCESS, pid, 19))
print(json.dumps([tried, done]))
"""


@pytest.mark.requirement("F4", "R-14")
async def test_nothing_that_another_user_tries_on_a_living_mind_comes_to_anything(
    open_folder: Path, record_property: Callable[[str, object], None]
) -> None:
    own = open_folder / "own"
    own.mkdir()
    (own / "mine").write_text("mine")
    os.chown(own, _NOBODY, _NOBODY)
    os.chown(own / "mine", _NOBODY, _NOBODY)
    living = Living(Home(open_folder / "h"), umask=0, environment={"REVERIES_API_KEY": "quokkaberry"})
    try:
        await living.wake()
        async with living.client() as client:
            client.send(protocol.Remember(client.number(), "My diary is about a zebra."))
            await client.next_of(protocol.Remembered, seconds=300)
            paths = sorted(str(path) for path in living.home.path.rglob("*"))
            assert living.process is not None
            daemon = psutil.Process(living.process.pid)
            pids = [daemon.pid, *(child.pid for child in daemon.children(recursive=True))]
            words = (living.home.path, own, json.dumps(pids), json.dumps(paths))
            tried, done = json.loads(stranger(_EVERYTHING, *words).communicate(timeout=300)[0])
            record_property("attempts", tried)
            assert done == []
            assert tried > 300
            assert [psutil.Process(pid).rlimit(psutil.RLIMIT_CORE)[0] <= 1 for pid in pids] == [True] * len(pids)
            assert (await client.status()).memory.turns == 1
        assert {oct(os.lstat(path).st_mode & 0o077) for path in paths} == {"0o0"}
    finally:
        if living.process is not None:
            living.kill()


@pytest.mark.requirement("F4", "H4")
def test_of_a_home_that_is_open_to_everybody_the_same_list_gets_a_lot(open_folder: Path) -> None:
    """The test above can tell."""
    home = open_folder / "h"
    for folder in (home, home / "logs", home / "backups"):
        folder.mkdir()
        folder.chmod(0o777)
    (home / "memory.db").write_text("zebra")
    (home / "memory.db").chmod(0o666)
    words = (home, open_folder, "[]", json.dumps([str(home / "memory.db"), str(home / "logs")]))
    _, done = json.loads(stranger(_EVERYTHING, *words).communicate(timeout=300)[0])
    assert {one.split()[0] for one in done} >= {"list", "open", "create", "remove"}


# --- what was there before -------------------------------------------------------------------------------------------


def _folder(at: Path) -> None:
    at.mkdir(mode=0o777)


def _link(at: Path) -> None:
    at.symlink_to("/etc")


def _file(at: Path) -> None:
    at.write_text("theirs")


def _pipe(at: Path) -> None:
    os.mkfifo(at)


@pytest.mark.requirement("F4", "B2")
@pytest.mark.parametrize("lay", [_folder, _link, _file, _pipe])
@pytest.mark.parametrize(
    "name", ["", "daemon.sock", "logs", "logs/daemon.log", "backups", "cache", "memory.db", "draft.txt"]
)
def test_what_another_user_made_before_the_wake_is_refused(
    open_folder: Path, name: str, lay: Callable[[Path], None]
) -> None:
    home = open_folder / "h"
    if name:
        (home / name).parent.mkdir(parents=True)
    lay(home / name)
    os.chown(home / name, _NOBODY, _NOBODY, follow_symlinks=False)
    # Root may live in a home of anybody's: of that alone it is told as another user.
    with contextlib.nullcontext() if name else _as_somebody(), pytest.raises(HomeError):
        Home(home).create()


# --- a race ----------------------------------------------------------------------------------------------------------

_SWAPS: Final = r"""
import itertools, os, sys
there, treasure, bait, times = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
swaps = seen = 0

def own():
    with open(there, "xb") as file:
        file.write(b"bait")

ways = (lambda: os.symlink(treasure, there), lambda: os.link(treasure, there), own, lambda: os.symlink(bait, there),
        lambda: os.link(bait, there), lambda: os.mkfifo(there), lambda: os.symlink("/nowhere/at/all", there))
for n in itertools.count():  # The test's time limit bounds it: the other may be the quicker one many times.
    try:
        os.unlink(there)
    except OSError:
        pass
    try:
        ways[n % len(ways)]()
        swaps += 1
    except OSError:
        pass
    for path in (there, bait):
        try:
            opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            seen += b"secret" in os.read(opened, 4096)
            os.close(opened)
        except OSError:
            pass
    if swaps >= times:
        break
print(swaps, seen)
"""


@dataclass
class Race:
    """What came of it: how often the name was swapped, and what was lost."""

    swaps: int = 0
    seen: int = 0
    written: int = 0
    refused: int = 0
    treasure: bytes = b""


@contextlib.contextmanager
def _as_somebody() -> Iterator[None]:
    """This process as a user who is not root: root may write to everybody's files, and a home is rarely root's."""
    groups = os.getgroups()
    os.setgroups([_SOMEBODY])
    os.setegid(_SOMEBODY)
    os.seteuid(_SOMEBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _places(folder: Path) -> tuple[Path, Path, Path]:
    """A name in a folder that everybody may write into, a file of somebody's own, and one that a stranger may read."""
    private, shared, theirs = folder / "private", folder / "shared", folder / "theirs"
    for one, owner, mode in ((private, _SOMEBODY, 0o755), (shared, _SOMEBODY, 0o777), (theirs, _NOBODY, 0o755)):
        one.mkdir()
        os.chown(one, owner, owner)
        one.chmod(mode)
    treasure, bait = private / "treasure", theirs / "bait"
    for file, owner, mode in ((treasure, _SOMEBODY, 0o600), (bait, _NOBODY, 0o666)):
        file.write_bytes(b"as it was")
        os.chown(file, owner, owner)
        file.chmod(mode)
    return shared / "daemon.log", treasure, bait


def _race(folder: Path, write: Callable[[Path], None], swaps: int) -> Race:
    """A stranger swaps what lies under that name, and `write` writes there."""
    race, (there, treasure, bait) = Race(), _places(folder)
    with stranger(_SWAPS, there, treasure, bait, swaps) as swapping:
        with _as_somebody():
            while swapping.poll() is None:
                try:
                    write(there)
                    race.written += 1
                except OSError:
                    race.refused += 1
        assert swapping.stdout is not None
        race.swaps, race.seen = map(int, swapping.stdout.read().split())
    race.seen += b"secret" in bait.read_bytes()
    race.treasure = treasure.read_bytes()
    return race


def _append(there: Path) -> None:
    with os.fdopen(open_own_file(there, os.O_APPEND), "ab") as file:
        file.write(b"secret\n")


def _anew(there: Path) -> None:
    with os.fdopen(open_own_file(there), "wb") as file:
        file.write(b"secret\n")


def _copied(there: Path) -> None:
    copy_private_file(Path("/proc/self/cmdline"), there)


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(
    ("write", "swaps"),
    [(_append, 1_000), (_anew, 1_000), (lambda there: write_private_file(there, b"secret"), 1_000), (_copied, 20_000)],
    ids=["append", "anew", "new", "copy"],
)
def test_no_race_for_a_name_leads_a_word_to_another_user_or_harms_a_file(
    open_folder: Path, write: Callable[[Path], None], swaps: int, record_property: Callable[[str, object], None]
) -> None:
    race = _race(open_folder, write, swaps)
    record_property("race", str(race))
    assert race.swaps >= swaps
    assert (race.seen, race.treasure) == (0, b"as it was")
    # On a busy machine the stranger may be the quicker one each time; without one it writes.
    assert race.written + race.refused > 0
    with _as_somebody():
        write(open_folder / "shared" / "a name of its own")


@pytest.mark.requirement("F4", "H4")
def test_a_file_that_is_simply_opened_does_what_a_stranger_wants(open_folder: Path) -> None:
    """The test above can tell: one swap at the right moment is enough."""

    def simply(there: Path) -> None:
        with os.fdopen(os.open(there, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_APPEND, 0o666), "ab") as file:
            file.write(b"secret\n")

    there, treasure, bait = _places(open_folder)
    for target in (treasure, bait):
        _lays_a_link(target, there)
        with _as_somebody():
            simply(there)
        there.unlink()
        assert target.read_bytes() == b"as it was" + b"secret\n"
    for write in (_append, _anew):
        _lays_a_link(treasure, there)
        with _as_somebody(), contextlib.suppress(OSError):
            write(there)
        assert treasure.read_bytes() == b"as it was" + b"secret\n"
        there.unlink()


def _lays_a_link(to: Path, at: Path) -> None:
    with stranger("import os, sys; os.symlink(sys.argv[1], sys.argv[2])", to, at) as laying:
        assert laying.wait(30) == 0


_SWAPS_FOLDERS: Final = r"""
import os, sys
home, treasure, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
swaps = 0
for n in range(times):
    try:
        if n % 2:
            os.unlink(home)
            os.rename(home + "-aside", home)
        else:
            os.rename(home, home + "-aside")
            os.symlink(treasure, home)
        swaps += 1
    except OSError:
        pass
print(swaps)
"""


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(("mode", "may_swap"), [(0o777, True), (0o1777, False)])
def test_a_home_whose_own_folder_others_may_write_into_is_not_lived_in(
    open_folder: Path, mode: int, may_swap: bool, record_property: Callable[[str, object], None]
) -> None:
    """Who may write there puts another folder in the place of the home, at any time; but not in /tmp and its like."""
    shared, treasure = open_folder / "shared", open_folder / "treasure"
    for folder in (shared, treasure, shared / "h"):
        folder.mkdir(mode=0o700)
    shared.chmod(mode)
    (treasure / "draft.txt").write_text("mine")
    refused = tried = 0
    with stranger(_SWAPS_FOLDERS, shared / "h", treasure, 1_000) as swapping:
        while swapping.poll() is None:
            tried += 1
            try:
                Home(shared / "h").create()
            except HomeError:
                refused += 1
        assert swapping.stdout is not None
        swaps = int(swapping.stdout.read())
    record_property("race", f"{swaps} swaps of the home, {refused} of {tried} wakes refused")
    assert (swaps == 1_000, refused == tried) == (may_swap, may_swap)
    assert [entry.name for entry in treasure.iterdir()] == ["draft.txt"]
    assert tried
