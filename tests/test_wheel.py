"""The built wheel in an empty environment outside the clone: it installs from the lock file, wakes, answers, sleeps."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SMALL_MODEL: Final = "smollm2-135m"

pytestmark = [pytest.mark.e2e]


def run(*command: str | Path, seconds: float = 300, home: Path | None = None) -> str:
    """What `command` writes; fails with all that it said. Run where no package of ours lies about."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=tempfile.gettempdir(),
        env={**os.environ, "REVERIES_HOME": str(home)} if home else None,
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{written_in(home)}"
    return done.stdout


def written_in(home: Path | None) -> str:
    """What a daemon wrote, for the person who reads why a test failed."""
    log = home / "logs" / "daemon.out" if home else None
    return log.read_text() if log and log.exists() else ""


def pip(python: Path, *words: str | Path) -> None:
    run(python, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet", *words, seconds=300)


def install_locked(python: Path) -> None:
    """With uv, which still has the packages from installing those of the tests; with pip where that cannot."""
    locked = ("install", "--no-deps", "--require-hashes", "-r", ROOT / "requirements.lock")
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists() or subprocess.run([uv, "pip", *locked, "-q", "--python", python], check=False).returncode:
        pip(python, *locked)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built out of a copy, so that nothing an earlier build left can get into it."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "reveries", copy / "reveries", ignore=shutil.ignore_patterns("__pycache__"))
    built = tmp_path_factory.mktemp("wheel")
    pip(Path(sys.executable), "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", built, copy)
    (found,) = built.glob("reveries-*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment that holds the lock file's versions and the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    install_locked(folder / "bin" / "python")
    pip(folder / "bin" / "python", "install", "--no-deps", wheel)
    return folder / "bin"


@pytest.fixture
def short_home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rv", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def test_the_wheel_holds_everything_that_the_package_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("reveries/")}
    wanted = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "reveries").rglob("*")
        if file.is_file() and file.suffix not in (".pyc", ".nbi", ".nbc")
    }
    assert held == wanted


def test_the_wheel_puts_one_package_and_one_command_on_the_path(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry = next(name for name in names if name.endswith("entry_points.txt"))
        assert archive.read(entry).decode().split() == [
            "[console_scripts]",
            "reveries",
            "=",
            "reveries.client.cli:main",
        ]
        assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"reveries"}


@pytest.mark.system
@pytest.mark.requirement("R-16", "R-17", "R-18", "R-162")
def test_the_installed_command_wakes_answers_and_sleeps(environment: Path, short_home: Path) -> None:
    home = short_home / "home"
    reveries = environment / "reveries"
    run(environment / "python", "-m", "pip", "check")
    run(reveries, "config", "set", "llm.provider", "embedded", home=home)
    run(reveries, "config", "set", "llm.embedded.model", SMALL_MODEL, home=home)
    run(reveries, "wake", seconds=300, home=home)
    try:
        status = json.loads(run(reveries, "status", "--json", home=home))
        assert status["health"] == "ok"
        assert status["home"] == str(home)
        os.kill(status["pid"], 0)
    finally:
        run(reveries, "sleep", seconds=300, home=home)
    assert not (home / "daemon.sock").exists()
