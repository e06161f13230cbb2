"""What every test stands on: a home of its own, a clock turned by hand, a real database that is closed, and two guards.

The guards are audit hooks, so nothing is patched. One keeps this process off the network (loopback is allowed). The
other refuses that Python code opens a database file which SQLite holds in this process: on POSIX, closing such a file
drops SQLite's locks (A6).
"""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import hypothesis
import pytest

from reveries.config import Home
from reveries.db.database import Database
from reveries.db.opening import open_database
from tests.fakes import openable_gates
from tests.fakes.clock import HandClock
from tests.fakes.guards import DatabaseGuard, NetworkGuard

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

openable_gates.install()
_ID_CHARS: Final = 100
_IN_MEMORY: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where tests have their databases: without the waits of a disk they take half the time. Only what is about the disk
itself (durability, faults) has its folders there."""
_GC_THRESHOLDS: Final = (20_000, 20, 20)
"""By Python's own, a sample of the tests spent a tenth of its processor time on collecting garbage."""
_TEST_FOLDERS: Final = pytest.StashKey[Path]()
_DATABASE_GUARD: Final = pytest.StashKey[DatabaseGuard]()

hypothesis.settings.register_profile(
    "reveries",
    deadline=None,  # Machines that run this are shared; pytest's own timeout bounds a test.
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
    # A change is judged by what it changes: whoever runs the tests by hand looks further each time.
    derandomize=bool(os.environ.get("CI")),
)
hypothesis.settings.load_profile("reveries")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fail-on-skip", action="store_true", help="A test that is skipped has failed.")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing of the person who runs the tests reaches them: no key, no home, no network."""
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        del os.environ[name]
    os.environ["REVERIES_HOME"] = str(Path(tempfile.gettempdir()) / "no-test-may-use-the-default-home")
    if _IN_MEMORY and config.option.basetemp is None and not hasattr(config, "workerinput"):
        config.option.basetemp = tempfile.mkdtemp(prefix="reveries-", dir=_IN_MEMORY)
        config.stash[_TEST_FOLDERS] = Path(config.option.basetemp)
    gc.set_threshold(*_GC_THRESHOLDS)
    guard = DatabaseGuard()
    config.stash[_DATABASE_GUARD] = guard
    sys.addaudithook(guard)
    sys.addaudithook(NetworkGuard())


def pytest_unconfigure(config: pytest.Config) -> None:
    if (folders := config.stash.get(_TEST_FOLDERS, None)) is not None:
        shutil.rmtree(folders, ignore_errors=True)


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes and long texts are known by their argument: workers must gather the same names (a zip holds its time)."""
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > _ID_CHARS) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling | None":
    """With `--dist loadfile`: whatever has a real model is one file, too, for two models at once would take each
    other's time."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadFilesAndModels(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types.
        def _split_scope(self, nodeid: str) -> str:
            return "tests/e2e" if nodeid.startswith("tests/e2e/") else str(super()._split_scope(nodeid))

    return LoadFilesAndModels(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.config.getoption("--fail-on-skip") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"It was skipped, and a skip is a failure here: {report.longrepr}"
    return report


@pytest.fixture
def database_guard(request: pytest.FixtureRequest) -> DatabaseGuard:
    """The guard itself, for the test that shows that it works."""
    return request.config.stash[_DATABASE_GUARD]


@pytest.fixture(autouse=True)
def nobody_but_sqlite_opens_the_database(database_guard: DatabaseGuard) -> Iterator[None]:
    """Fails the test in which it happened, even where the refusal was swallowed (A6)."""
    yield
    seen, database_guard.seen = database_guard.seen, []
    assert not seen, f"Python code opened a database that SQLite holds: {seen}"


@pytest.fixture
def home() -> Iterator[Home]:
    """The name of a home that is not there yet, short enough for a socket; `create()` makes it."""
    with tempfile.TemporaryDirectory(prefix="rv", dir=_IN_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Home(Path(folder) / "home")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def database(home: Home) -> AsyncIterator[Database]:
    """A new memory in a real file; closed whatever happens, for one left open would hang the run."""
    home.create()
    opened = await open_database(home.path / "memory.db", home.backups)
    try:
        yield opened
    finally:
        await opened.aclose()
