"""Nothing leaves the folder: paths, links, races, commands, whatever they try."""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import socket
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest

from reveries.errors import ToolError
from reveries.tools.sandbox import Sandbox, find_sandbox, why_not_a_folder
from reveries.tools.worker import FolderAccess, Worker, open_folder_worker
from tests.tools.escapes import SECRET, Attempt, Ground, command_attempts, file_attempts, lay_out

_KERNEL = tuple(f"/proc/sys/kernel/{name}" for name in ("core_pattern", "domainname", "hostname", "panic"))


class _Listener:
    """Counts whoever connects, or sends something."""

    def __init__(self, unix_socket: Path) -> None:
        self.reached: list[str] = []
        self._tcp, self._udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._tcp.bind(("127.0.0.1", 0))
        self.port = int(self._tcp.getsockname()[1])
        self._udp.bind(("127.0.0.1", self.port))
        self._unix = socket.socket(socket.AF_UNIX)
        self.unix_path = unix_socket
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        self._unix.bind(str(self.unix_path))
        for name, server in (("tcp", self._tcp), ("unix", self._unix)):
            server.listen()
            self._watch(name, server.accept)
        self._watch("udp", lambda: self._udp.recv(10))

    def _watch(self, name: str, wait: object) -> None:
        def run() -> None:
            with contextlib.suppress(OSError):
                while True:
                    wait()  # type: ignore[operator]
                    self.reached.append(name)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)

    def close(self) -> None:
        for server in (self._tcp, self._udp, self._unix):
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            server.close()


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[_Listener]:
    one = _Listener(tmp_path / "outside" / "daemon.sock")
    yield one
    one.close()


@contextlib.asynccontextmanager
async def serving(folder: Path, sandbox: Sandbox) -> AsyncIterator[Worker]:
    worker = open_folder_worker(sandbox, FolderAccess(folder, may_write=True))
    try:
        yield worker
    finally:
        await worker.close()


def digest_of(folder: Path) -> dict[str, str]:
    """Every file beneath a folder with its hash, mode and links; and what of the machine root could change."""
    kernel = {name: Path(name).read_text() for name in _KERNEL if Path(name).exists()}
    return kernel | {
        str(path.relative_to(folder)): f"{path.lstat().st_mode} {path.lstat().st_nlink} "
        + (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else "")
        for path in sorted(folder.rglob("*"))
    }


async def attempt_all(ground: Ground, sandbox: Sandbox, attempts: list[Attempt]) -> list[str]:
    """What came of them that must not."""
    before, found = digest_of(ground.outside), list[str]()
    environment = {"REVERIES_TEST_SECRET": SECRET}
    os.environ.update(environment)
    try:
        async with serving(ground.folder, sandbox) as worker:
            for one in attempts:
                try:
                    async with asyncio.timeout(300):
                        answer = await worker.call(one.operation, one.arguments, one.seconds)
                except ToolError as error:
                    answer = str(error)
                    if len(answer) > 500 or "Traceback" in answer:
                        found.append(f"{one.name}: no sentence: {answer[:100]}")
                if one.operation not in ("search", "edit") and SECRET in json.dumps(answer):
                    found.append(f"{one.name}: read what lies outside")
                if digest_of(ground.outside) != before:
                    found.append(f"{one.name}: changed what lies outside")
                    before = digest_of(ground.outside)
    finally:
        os.environ.pop("REVERIES_TEST_SECRET")
    return found


def left_running(marker: str) -> list[str]:
    """Processes whose command line holds `marker`."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if marker in words and process.pid != os.getpid():
            found.append(words)
    return found


@pytest.mark.requirement("F9")
async def test_no_path_leads_out_of_the_folder_even_without_a_sandbox(tmp_path: Path, listener: _Listener) -> None:
    ground = lay_out(tmp_path, listener.port)
    attempts = list(file_attempts(ground))
    assert len(attempts) >= 190
    assert await attempt_all(ground, Sandbox(), attempts) == []
    assert (ground.folder / ".git" / "config").read_text() == "[core]\n"


async def test_without_a_sandbox_no_command_is_run_and_that_is_said_in_a_sentence(tmp_path: Path) -> None:
    ground = lay_out(tmp_path, 1)
    async with serving(ground.folder, Sandbox()) as worker:
        with pytest.raises(ToolError, match="there is no sandbox"):
            await worker.call("run", {"command": "touch ran", "seconds": 1.0, "is_tainted": False})
    assert not (ground.folder / "ran").exists()


@pytest.mark.system
@pytest.mark.requirement("F9")
async def test_nothing_that_is_tried_in_the_sandbox_reads_or_changes_what_lies_outside_or_reaches_anybody(
    tmp_path: Path, listener: _Listener
) -> None:
    sandbox = find_sandbox()
    assert sandbox.can_run, sandbox.why_not
    ground = lay_out(tmp_path, listener.port)
    listener.start()
    commands = list(command_attempts(ground))
    assert len(commands) >= 100
    assert await attempt_all(ground, sandbox, list(file_attempts(ground))) == []
    assert await attempt_all(ground, sandbox, commands) == []
    assert listener.reached == []
    for seconds in ("601", "602", "603", "604"):
        assert left_running(f"sleep {seconds}") == []
    assert left_running(str(ground.folder)) == []


@pytest.mark.system
async def test_a_file_made_by_a_command_is_an_ordinary_file_though_the_daemons_own_are_private(tmp_path: Path) -> None:
    ground, before = lay_out(tmp_path, 1), os.umask(0o077)
    try:
        worker = open_folder_worker(find_sandbox(), FolderAccess(ground.folder, may_write=True))
        call = {"command": "echo a > made.txt; mkdir made", "seconds": 60.0, "is_tainted": False}
        try:
            await worker.call("run", call)
        finally:
            await worker.close()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((ground.folder / name).stat().st_mode) for name in ("made.txt", "made")]
    assert modes == [0o644, 0o755]


@pytest.mark.system
async def test_whoever_holds_the_worker_is_killed_and_everything_in_the_sandbox_ends(tmp_path: Path) -> None:
    ground = lay_out(tmp_path, 1)
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from reveries.tools.sandbox import find_sandbox\n"
        "from reveries.tools.worker import FolderAccess, Worker, open_folder_worker\n"
        "async def main():\n"
        "    worker = open_folder_worker(find_sandbox(), FolderAccess(Path(sys.argv[1]), may_write=True))\n"
        "    await worker.call('run', {'command': 'echo begun > own.txt; sleep 605',"
        " 'seconds': 200.0, 'is_tainted': False})\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec("python", "-c", script, str(ground.folder), env=_environment())
    async with asyncio.timeout(300):
        while (ground.folder / "own.txt").read_text() != "begun\n":  # noqa: ASYNC110  # another process: no event
            await asyncio.sleep(0.02)
    child.kill()
    await child.wait()
    async with asyncio.timeout(300):
        while left_running("sleep 605") or left_running(str(ground.folder)):  # noqa: ASYNC110  # other processes
            await asyncio.sleep(0.05)


async def test_a_name_that_is_changed_between_look_and_use_leads_nowhere(tmp_path: Path) -> None:
    """A folder becomes a link to the outside and back, a thousand times, while it is read and written."""
    ground = lay_out(tmp_path, 1)
    swapped, kept, link = ground.folder / "swapped", ground.folder / "kept", ground.folder / "to-outside"
    (kept / "deep").mkdir(parents=True)
    link.symlink_to(ground.outside)
    for name in (kept, kept / "deep"):
        (name / "secret.txt").write_text("inside\n")
    swapped.symlink_to("kept")
    before, ends = digest_of(ground.outside), threading.Event()

    def swap() -> None:
        while not ends.is_set():
            for make in (lambda: swapped.symlink_to(ground.outside), lambda: shutil.copytree(kept, swapped)):
                if swapped.is_symlink() or not swapped.exists():
                    swapped.unlink(missing_ok=True)
                else:
                    shutil.rmtree(swapped, ignore_errors=True)
                with contextlib.suppress(OSError, shutil.Error):
                    make()

    thread = threading.Thread(target=swap)
    thread.start()
    answers = []
    try:
        async with serving(ground.folder, Sandbox()) as worker:
            for number in range(300):
                for operation, arguments in (
                    ("read", {"path": "swapped/deep/secret.txt"}),
                    ("write", {"path": f"swapped/deep/{number}.txt", "text": "x", "is_tainted": False}),
                    ("write", {"path": "swapped/secret.txt", "text": "x", "is_tainted": False}),
                    ("find", {"pattern": "swapped/**"}),
                ):
                    with contextlib.suppress(ToolError):
                        answers.append(json.dumps(await worker.call(operation, arguments)))
    finally:
        ends.set()
        thread.join()
    assert not any(SECRET in one or "script.sh" in one for one in answers)
    assert digest_of(ground.outside) == before
    assert any("inside" in one for one in answers), "some of it was read"


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(os.sys.executable).parent}:{os.environ['PATH']}"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["/", "/etc", "/root", "/home", "/tmp", "home", "home/inner", "around"])
def test_a_folder_that_holds_the_mind_or_the_system_can_be_no_projects(tmp_path: Path, name: str) -> None:
    home = tmp_path / "around" / "home"
    (home / "inner").mkdir(parents=True)
    folder = {"home": home, "home/inner": home / "inner", "around": tmp_path / "around"}.get(name, Path(name))
    if folder.is_dir():
        assert why_not_a_folder(folder, home).endswith("Choose a folder for the project alone.")


def test_a_folder_of_its_own_can_be_a_projects(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert why_not_a_folder(tmp_path / "notes", tmp_path / "home") == ""
