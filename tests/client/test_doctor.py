"""`reveries doctor`: each fault is created and must be reported; a healthy home must have no findings."""

import asyncio
import contextlib
import dataclasses
import fcntl
import http.server
import json
import os
import random
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Final
from unittest import mock

import pytest

from reveries.client import checkup as client_checkup
from reveries.client.checkup.machine import CheckupMachine, FreeSpace, file_system_of
from reveries.client.checkup.place import Place as CheckedPlace
from reveries.client.checkup.settings_file import find_key_line
from reveries.client.features.doctor import doctor_page, repair, run_checkup
from reveries.client.render import show
from reveries.clock import SystemClock
from reveries.config import Home, load_settings
from reveries.daemon import checkup as daemon_checkup
from reveries.daemon.checkup import inside, open_memory, sandbox
from reveries.daemon.checkup.inside import check_offline
from reveries.db.database import Database
from reveries.db.driver import dbapi
from reveries.db.opening import open_database
from reveries.errors import ModelFault
from reveries.llm.base import Role
from reveries.llm.circuit import Failure
from reveries.llm.circuits import open_circuits
from reveries.llm.fitting import MachineMemory as Computer
from reveries.protocol import Checkup, Finding, faults_in
from reveries.tools.sandbox import Sandbox
from tests.client.command_line import reveries
from tests.fakes.daemon import Script, awake_in_thread, status

_MODEL: Final = "smollm2-135m"


class Place:
    """A healthy home without a running daemon, except for missing weights; each test breaks one thing."""

    def __init__(self, home: Home, stack: contextlib.ExitStack) -> None:
        self.home = home
        self.stack = stack
        self.models = home.path.with_name("models")
        self.machine = CheckupMachine(
            free_space=lambda _: FreeSpace(10**12, 10**6),
            file_system=lambda _: "ext4",
            path_files=list,
            greet_seconds=0.3,
        )
        home.create()
        self.write_config("")
        self.with_database(lambda _: None)

    def write_config(self, text: str) -> None:
        nowhere = 'ollama_url = "http://127.0.0.1:9"\n'
        text = text.replace("[llm]\n", f"[llm]\n{nowhere}") if "[llm]" in text else f"{text}\n[llm]\n{nowhere}"
        self.home.config.write_text(text, encoding="utf-8")
        self.home.config.chmod(0o600)

    def change(self, **fields: object) -> None:
        """Replace fields of the machine."""
        self.machine = dataclasses.replace(self.machine, **fields)  # type: ignore[arg-type]

    def with_database(self, do: Callable[["dbapi.Connection"], object]) -> None:
        """Let SQLite create the database if it is missing, then `do` something with it."""

        async def make() -> None:
            await (await open_database(self.database)).aclose()

        asyncio.run(make())
        with contextlib.closing(dbapi.connect(str(self.database))) as connection:
            do(connection)
            connection.commit()

    @property
    def database(self) -> Path:
        return self.home.path / "memory.db"

    def hold_lock(self) -> None:
        """Hold the lock, as a daemon does."""
        file = self.stack.enter_context(self.home.lock.open("w"))
        self.home.lock.chmod(0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711\n")
        file.flush()

    def listen(self) -> None:
        """A program that accepts connections on the daemon's socket and sends nothing."""
        listener = self.stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        listener.bind(str(self.home.socket))
        self.home.socket.chmod(0o600)
        listener.listen(1)

    def wake(self, script: Script | None = None) -> None:
        """A fake daemon."""
        self.hold_lock()
        self.stack.enter_context(awake_in_thread(self.home, script or awake_script(self.home)))
        self.home.socket.chmod(0o600)

    def log(self, *events: str) -> None:
        now = datetime.now(UTC).isoformat()
        rows = [json.dumps({"event": event, "timestamp": now}) for event in events]
        self.write(self.home.logs / "daemon.log", "\n".join(rows))

    def write(self, file: Path, text: str = "x", mode: int = 0o600) -> None:
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    def inside(self) -> Checkup:
        settings = load_settings(self.home.config)
        return asyncio.run(check_offline(settings, self.home, self.models))

    def look(self) -> Checkup:
        return run_checkup(CheckedPlace(self.home, self.machine), self.inside)

    def repair(self, findings: list[Finding]) -> list[str]:
        return repair(findings, CheckedPlace(self.home, self.machine))

    def patch(self, module: ModuleType, name: str, value: object) -> None:
        """Replace what a check reads, until the end of the test."""
        self.stack.enter_context(mock.patch.object(module, name, value))


def awake_script(home: Home, **changes: object) -> Script:
    return Script(status=status(home, **changes), looks={"AskCheckup": Checkup(0, [], ["the memory"], [])})


@pytest.fixture
def place(home: Home) -> Iterator[Place]:
    with contextlib.ExitStack() as stack:
        yield Place(home, stack)


@contextlib.contextmanager
def ollama_with(model: str) -> Iterator[str]:
    """The address of a fake Ollama that has this model."""

    class Tags(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"models": [{"model": model, "name": model, "size": 1}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tags) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(5)


# --- the faults, one each --------------------------------------------------------------------------------------------


def too_deep(place: Place) -> None:
    place.home = Home(place.home.path / ("deep" * 30))


def missing_home(place: Place) -> None:
    place.home = Home(place.home.path / "nowhere")


def home_in_open_folder(place: Place) -> None:
    above = place.home.path / "shared"
    (above / "h").mkdir(parents=True)
    above.chmod(0o777)
    place.home = Home(above / "h")


def home_is_a_file(place: Place) -> None:
    place.home = Home(place.database)


def remove_logs(place: Place) -> None:
    place.home.logs.rmdir()


def leave_part(place: Place) -> None:
    leave_old(place, "memory-1.partial")


def leave_journal(place: Place) -> None:
    leave_old(place, "memory-1.partial-journal")


def leave_old(place: Place, name: str) -> None:
    part = place.home.backups / name
    place.write(part)
    os.utime(part, (1, 1))


def large_logs(place: Place) -> None:
    place.write(place.home.logs / "daemon.log")
    os.truncate(place.home.logs / "daemon.log", 200_000_000)


def lock_is_a_folder(place: Place) -> None:
    place.home.lock.unlink(missing_ok=True)
    place.home.lock.mkdir(mode=0o700)


def dead_socket(place: Place) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as dead:
        dead.bind(str(place.home.socket))
    place.home.socket.chmod(0o600)


def open_socket(place: Place) -> None:
    dead_socket(place)
    place.home.socket.chmod(0o666)


def foreign_socket_owner(place: Place) -> None:
    dead_socket(place)
    place.change(uid=os.getuid() + 1)


def silent_daemon(place: Place) -> None:
    place.hold_lock()
    place.listen()


def other_protocol(place: Place) -> None:
    place.wake(Script(version=99))


def other_version(place: Place) -> None:
    place.wake(awake_script(place.home, reveries="0.0.1"))


def degraded(place: Place) -> None:
    place.wake(awake_script(place.home, problems=["Recall searches by words only."]))


def slow_loop(place: Place) -> None:
    place.wake(awake_script(place.home, loop_lag_p99_ms=4000.0))


def failed_wake(place: Place) -> None:
    place.write(place.home.logs / "daemon.out", "reveries: The weights of x are not on this machine.\n")


def config(text: str) -> Callable[[Place], None]:
    return lambda place: place.write_config(text)


def config_is_a_folder(place: Place) -> None:
    place.home.config.unlink()
    place.home.config.mkdir(mode=0o700)


def config_of_bytes(place: Place) -> None:
    place.home.config.write_bytes(b"[llm]\n\xff\xfe = 1\n")


def key_file(text: str | None, mode: int = 0o600) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        file = place.home.path.with_name("key")
        if text is not None:
            place.write(file, text, mode)
        place.write_config(f'[llm]\nprovider = "openai"\napi_key_file = "{file}"\n')

    return make


def path_file(where: str) -> Callable[[Place], None]:
    return lambda place: place.change(path_files=lambda: [where])


def not_installed(package: str, text: str = "") -> Callable[[Place], None]:
    def make(place: Place) -> None:
        place.write_config(text)
        place.change(is_installed=lambda name: name != package)

    return make


def copy_of_memory(place: Place) -> None:
    place.write(place.home.backups / "memory-1.db")


def gone(place: Place) -> None:
    copy_of_memory(place)
    place.database.unlink()


def emptied(place: Place) -> None:
    copy_of_memory(place)
    place.database.unlink()
    place.write(place.database, "")


def memory_is_a_folder(place: Place) -> None:
    place.database.unlink()
    place.database.mkdir(mode=0o700)


def zeroed_page(place: Place) -> None:
    with place.database.open("r+b") as file:
        file.write(bytes(4096))


def flipped_pages(place: Place) -> None:
    with place.database.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 4096 * 3)


def schema(version: int) -> Callable[[Place], None]:
    return lambda place: place.with_database(lambda db: db.execute(f"PRAGMA user_version={version}"))


def held(place: Place) -> None:
    other = place.stack.enter_context(contextlib.closing(dbapi.connect(str(place.database))))
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    other.execute("CREATE TABLE held (x)")


def remembered(*, first: float, last: float) -> Callable[[Place], None]:
    statement = "INSERT INTO conversations (id, began_at, last_said_at, source) VALUES ('c', ?, ?, 'chat')"
    return lambda place: place.with_database(lambda db: db.execute(statement, (first, last)))


def old_copy(place: Place) -> None:
    now = time.time()
    remembered(first=1.0, last=now)(place)
    copy_of_memory(place)
    os.utime(place.home.backups / "memory-1.db", (now - 9 * 86400,) * 2)


def weights_of(model: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        from reveries.llm.assets import asset

        folder = place.models / model
        folder.mkdir(parents=True)
        (folder / asset(model).file[0].name).write_bytes(b"GGUF, but not these weights")
        if model == _MODEL:
            place.write_config(f'[llm]\nprovider = "embedded"\n[llm.embedded]\nmodel = "{model}"\n')

    return make


def no_weights(place: Place) -> None:
    place.write_config(f'[llm]\nprovider = "embedded"\n[llm.embedded]\nmodel = "{_MODEL}"\n')


def too_large(place: Place) -> None:
    """Instead of real weights, which would have to be downloaded, a header with the size of the context's keys."""
    from tests.llm.test_fitting import TOY, a_head

    file = place.home.path.with_name("large.gguf")
    file.write_bytes(a_head(**TOY))
    place.write_config(f'[llm]\nprovider = "embedded"\n[llm.embedded]\nmodel = "{file}"\n')
    place.patch(inside, "read_machine_memory", lambda: Computer(2, 1000))


def without_model(place: Place) -> None:
    url = place.stack.enter_context(ollama_with("other:latest"))
    place.home.config.write_text(f'[llm]\nprovider = "ollama"\nconversation_model = "mine"\nollama_url = "{url}"\n')
    place.home.config.chmod(0o600)


def failing(fault: ModelFault) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        place.home.config.write_text('[llm]\nwork_fallbacks = ["openai/gpt-4.1"]\n')
        place.home.config.chmod(0o600)

        async def fail() -> None:
            database = await open_database(place.database)
            try:
                circuits = await open_circuits(database, SystemClock(), random.Random(1))
                await circuits.record_failure("openai", Failure(fault, "It said no."), Role.CONVERSATION)
            finally:
                await database.aclose()

        asyncio.run(fail())

    return make


def over_cap(place: Place) -> None:
    place.write_config("[budget]\ntokens_per_day = 10\n")
    row = (
        "INSERT INTO usage_ledger (reserved_at, settled_at, role, model, reserved_tokens, reserved_microdollars,"
        " price_version, prompt_tokens, completion_tokens, microdollars, outcome)"
        " VALUES (?, ?, 'conversation', 'm', 20, 0, '', 20, 0, 0, 'answered')"
    )
    now = time.time()
    place.with_database(lambda db: db.execute(row, (now, now)))


def opened(place: Place, *, with_vector_search: bool = True, refusal: str = "") -> None:
    """The memory is opened for the checks like this."""

    async def open_so(file: Path, backups: Path) -> Database:
        database = await open_database(file, backups, with_vector_search=with_vector_search)
        if refusal:
            database.room.record_refusal(refusal)
        return database

    place.patch(inside, "open_database", open_so)


def no_sandbox(place: Place) -> None:
    row = "INSERT INTO projects (id, name, created_at, folder) VALUES ('p', 'Fair', 1, '/tmp')"
    place.with_database(lambda db: db.execute(row))
    place.patch(sandbox, "find_sandbox", lambda: Sandbox(why_not="There is no bubblewrap."))


def document_without_its_file(place: Place) -> None:
    def add(memory: "dbapi.Connection") -> None:
        memory.execute("INSERT INTO projects (id, name, created_at) VALUES ('p1', 'Canopy', 0)")
        memory.execute(
            "INSERT INTO documents (id, project_id, origin, path, name, is_trusted, added_at, original)"
            " VALUES ('x1', 'p1', 'added', '/plans.pdf', 'plans.pdf', 0, 0, ?)",
            ("a" * 64,),
        )

    place.with_database(add)


FAULTS: Final = faults_in(client_checkup) | faults_in(daemon_checkup)
CASES: Final[dict[str, list[Callable[[Place], object]]]] = {
    "home-too-deep": [too_deep],
    "home-missing": [missing_home],
    "home-not-folder": [home_is_a_file],
    "file-mode": [
        lambda place: place.home.path.chmod(0o755),
        lambda place: place.database.chmod(0o644),
        lambda place: place.home.logs.chmod(0o755),
        open_socket,
        key_file("sk-1", 0o644),
    ],
    "file-owner": [
        lambda place: place.change(uid=os.getuid() + 1),
        lambda place: place.change(uid=os.getuid() + 1),
        foreign_socket_owner,
    ],
    "home-in-open-folder": [home_in_open_folder],
    "home-not-writable": [lambda place: place.change(may_write=lambda _: False)],
    "home-on-network": [lambda place: place.change(file_system=lambda _: "nfs4")],
    "folder-missing": [remove_logs],
    "leftover-partial": [leave_part, leave_journal],
    "disk-full": [
        lambda place: place.change(free_space=lambda _: FreeSpace(0, 1000)),
        lambda place: place.change(free_space=lambda _: FreeSpace(10**12, 0)),
    ],
    "disk-low": [lambda place: place.change(free_space=lambda _: FreeSpace(100_000_000, 1000))],
    "logs-large": [large_logs],
    "in-the-way": [
        lock_is_a_folder,
        lambda place: place.write(place.home.socket),
        lambda place: place.home.socket.mkdir(),
        memory_is_a_folder,
    ],
    "socket-stale": [dead_socket],
    "socket-foreign": [lambda place: place.listen()],
    "socket-gone": [lambda place: place.hold_lock()],
    "asleep": [],
    "not-answering": [silent_daemon],
    "other-protocol": [other_protocol],
    "other-version": [other_version],
    "crash-loop": [lambda place: place.log(*["waking", "awake"] * 5)],
    "last-wake-failed": [failed_wake],
    "degraded": [degraded],
    "loop-slow": [slow_loop],
    "config-invalid": [
        config_is_a_folder,
        config_of_bytes,
        config("[llm\n"),
        config("[mind]\nname = \n"),
        config("[mind]\nnam = 'x'\n"),
        config("[recall]\nlimit = 'ten'\n"),
        config("[llm]\nembedding_model = 'x/y'\n"),
    ],
    "fallback-unknown": [config('[llm]\nconversation_fallbacks = ["nobody/x"]\n')],
    "key-missing": [key_file(None), key_file("\n"), config('[llm]\nprovider = "anthropic"\n')],
    "key-refused": [failing(ModelFault.KEY_REFUSED)],
    "calendar-missing": [config('[calendar]\npath = "/nowhere/my.ics"\n')],
    "database-folder-missing": [config('[storage]\ndb_path = "/nowhere/memory.db"\n')],
    "package-missing": [not_installed("numpy")],
    "path-file": [path_file("/venv/site-packages/extra.pth")],
    "package-advised": [not_installed("numba")],
    "hosted-missing": [not_installed("litellm", '[llm]\nprovider = "openai"\n')],
    "sqlite-unsafe": [lambda place: place.patch(open_memory, "SQLITE_VERSION", "3.40.1")],
    "database-gone": [gone, emptied],
    "database-damaged": [zeroed_page, flipped_pages, lambda place: place.write(place.database, "no database" * 99)],
    "database-newer": [schema(99)],
    "database-locked": [held],
    "document-file-missing": [document_without_its_file],
    "not-storing": [lambda place: opened(place, refusal="What is new is not stored. Another program holds it.")],
    "database-pragma": [lambda place: place.patch(open_memory, "PRAGMAS", {"synchronous": 3})],
    "vectors-slow": [lambda place: opened(place, with_vector_search=False)],
    "clock-behind": [remembered(first=1.0, last=time.time() + 86400)],
    "backup-old": [remembered(first=1.0, last=time.time() - 60), old_copy],
    "weights-missing": [no_weights],
    "weights-damaged": [weights_of(_MODEL), weights_of("all-minilm-l6-v2")],
    "model-too-large": [too_large],
    "ollama-unreachable": [config('[llm]\nprovider = "ollama"\nconversation_model = "x"\n')],
    "ollama-model-missing": [without_model],
    "provider-failing": [failing(ModelFault.OVERLOADED)],
    "price-unknown": [config('[llm]\nprovider = "openai"\nconversation_model = "a-new-model"\n')],
    "ledger-over-cap": [over_cap],
    "sandbox-missing": [no_sandbox],
}
_ALWAYS: Final = {"asleep", "weights-missing"}


def named(checkup: Checkup) -> set[str]:
    return {finding.fault for finding in checkup.findings}


@pytest.mark.requirement("H1")
@pytest.mark.parametrize(
    ("fault", "make"),
    [
        pytest.param(fault, make, id=f"{fault}-{number}")
        for fault, makers in CASES.items()
        for number, make in enumerate(makers)
    ],
)
def test_each_fault_is_named_with_its_next_step(place: Place, fault: str, make: Callable[[Place], object]) -> None:
    make(place)
    checkup = place.look()
    [finding, *_] = [finding for finding in checkup.findings if finding.fault == fault]
    assert finding.sentence
    assert finding.advice
    assert "\n" not in finding.sentence
    assert finding.severity == FAULTS[fault].severity
    shown = "\n".join("".join(part.text for part in row) for row in doctor_page(checkup))
    assert fault in shown


@pytest.mark.requirement("H1")
def test_every_fault_is_made_by_a_test_and_there_are_forty_at_least() -> None:
    assert set(CASES) == set(FAULTS)
    assert len(CASES) >= 40


def test_what_is_in_order_is_not_named(place: Place) -> None:
    assert named(place.look()) == _ALWAYS


def test_a_fault_names_nothing_that_is_in_order(place: Place) -> None:
    place.home.path.chmod(0o750)
    assert named(place.look()) == {*_ALWAYS, "file-mode"}


def test_a_failing_earlier_embedder_is_named_as_long_as_it_serves_recall(place: Place) -> None:
    serving = "ollama/nomic-embed-text"

    async def fail() -> None:
        database = await open_database(place.database)
        try:
            async with database.transaction() as transaction:
                await transaction.run("vectors.serve", {"model_id": serving, "since": 0.0})
            circuits = await open_circuits(database, SystemClock(), random.Random(1))
            for name in (serving, "ollama/another"):
                await circuits.record_failure(f"{name} (embedding)", Failure(ModelFault.UNREACHABLE, "It is off."))
        finally:
            await database.aclose()

    asyncio.run(fail())
    [finding] = [one for one in place.look().findings if one.fault == "provider-failing"]
    assert serving in finding.sentence


def test_a_mind_that_is_awake_and_well_has_no_faults(place: Place) -> None:
    place.wake(awake_script(place.home, reveries=__import__("reveries").__version__))
    assert not place.look().findings


def test_the_mind_is_asked_over_its_socket_and_no_process_looks_at_its_file(place: Place) -> None:
    place.wake()

    def never() -> Checkup:
        raise AssertionError("the daemon's side was started beside a daemon")

    assert "the memory" in run_checkup(CheckedPlace(place.home, place.machine), never).looked_at


def test_a_wrong_setting_is_named_with_file_and_line(place: Place) -> None:
    place.home.config.write_text("# mine\n[mind]\nname = 'Ada'\n\n[recall]\nseeds = 3\nlimit = 'ten'\n")
    [finding] = [finding for finding in place.look().findings if finding.fault == "config-invalid"]
    assert finding.where == f"{place.home.config}:7"


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[mind]\nname = 1", "mind.name", 2),
        ("mind.name = 1", "mind.name", 1),
        ("\n[llm]\n[llm.ollama]\nthinking = 3", "llm.ollama.thinking", 4),
        ("[ llm . ollama ]\n\nx = 3", "llm.ollama.thinking", 1),
        ("", "mind.name", 1),
    ],
)
def test_the_line_of_a_key(text: str, key: str, line: int) -> None:
    assert find_key_line(text, key) == line


# --- mending ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("H1")
@pytest.mark.parametrize(
    ("fault", "make"), [(fault, make) for fault in FAULTS if FAULTS[fault].is_fixable for make in CASES[fault]]
)
def test_what_can_be_mended_is_gone_afterwards(place: Place, fault: str, make: Callable[[Place], object]) -> None:
    make(place)
    before = place.look()
    assert fault in named(before)
    assert place.repair(before.findings)
    assert fault not in named(place.look())


def test_mending_touches_nothing_else(place: Place) -> None:
    place.write(place.home.socket, "a file of somebody's")
    place.write(place.home.backups / "young.partial")
    place.database.chmod(0o644)
    findings = place.look().findings
    before = place.database.read_bytes()
    place.repair(findings)
    assert place.home.socket.read_text() == "a file of somebody's"
    assert (place.home.backups / "young.partial").exists()
    assert place.database.read_bytes() == before
    assert stat.S_IMODE(place.database.stat().st_mode) == 0o600


def test_a_socket_that_somebody_wakes_on_is_left_alone(place: Place) -> None:
    dead_socket(place)
    findings = place.look().findings
    place.hold_lock()
    assert place.repair(findings) == ["Kept the socket: a daemon is starting."]
    assert place.home.socket.exists()


# --- as a command ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("H1", "R-28")
def test_the_command_ends_with_one_while_something_is_wrong(home: Home) -> None:
    home.create()
    home.path.chmod(0o755)
    ran = reveries(home, "doctor", more={"REVERIES_MODELS": str(home.path)})
    assert (ran.code, ran.err) == (1, "")
    assert "file-mode" in ran.out
    told = json.loads(reveries(home, "doctor", "--json", "--fix", more={"REVERIES_MODELS": str(home.path)}).out)
    assert told["mended"] == [f"Closed {home.path} to others (mode 700)."]
    assert "file-mode" not in [finding["fault"] for finding in told["findings"]]
    assert set(told["findings"][0]) == {"fault", "severity", "sentence", "advice", "where", "is_mendable"}


def test_a_hostile_name_in_a_finding_does_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = Finding("file-mode", "wrong", "The home h\x1b]0;x\x07 is open.", "\x9b2J", "a:\x1b[1m")
    show(doctor_page(Checkup(0, [hostile], ["\x1b[2J"], ["\x1b[2J"]), ["\x1b[2J"]))
    assert not {"\x1b", "\x07", "\x9b"} & set(capsys.readouterr().out)


def test_the_file_system_of_a_folder_is_known() -> None:
    assert file_system_of(Path("/proc"))
