"""What is in memory stays there: no core dump, no look from beside; and children get no key that they do not need."""

import ast
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from reveries.api_keys import remove_secrets
from reveries.client.offline_worker import OFFLINE_MODULE, worker_environment
from reveries.client.owner_files import edit_in_editor
from tests.rows import check_rows

_ROOT = Path(__file__).parents[1]
_SEEN = """
import ctypes, resource, ssl
context = ssl.create_default_context()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE)[0], context.keylog_filename)
"""
_AS_A_PROGRAM = """
import runpy
def run(module, *words):
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__")
main = lambda: run("""
_LIVES = {
    "the daemon": "from reveries.daemon.__main__ import main\nsys.argv = ['x', '--config', sys.argv[1]]",
    "a client": "from reveries.client.cli import main\nsys.argv = ['x', '--version']",
    "the model's child": "from reveries.llm import embedded_server as it\nmain = lambda: it._restrict_process(0)",
    "the calendar's child": "from reveries.daemon.senses.calendar_files import main",
    "what works for a mind that sleeps": f"{_AS_A_PROGRAM}'reveries.daemon.offline.offline_process', 'backup-list')",
    "who fetches weights": f"{_AS_A_PROGRAM}'reveries.llm.assets', 'where', 'nothing-such')",
    "who lets Ollama fetch": f"{_AS_A_PROGRAM}'reveries.llm.ollama_pull', 'pull')",
}
_WITH_KEYS = {"reveries/client/features/wake.py"}
"""It starts the daemon, which has use for keys."""


@pytest.mark.requirement("F4")
@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
@pytest.mark.parametrize("life", _LIVES)
def test_nobody_looks_into_its_memory_nor_its_tls_and_no_core_is_dumped(life: str, tmp_path: Path) -> None:
    wrong = tmp_path / "config.toml"
    wrong.write_text("not = [toml")
    code = f"import sys\n{_LIVES[life]}\ntry:\n    main()\nexcept BaseException:\n    pass\n{_SEEN}"
    given = {"REVERIES_HOME": str(tmp_path / "h"), "SSLKEYLOGFILE": str(tmp_path / "keys")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(wrong)], cwd=_ROOT, env={**os.environ, **given}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    is_dumpable, limit, keys = done.stdout.splitlines()[-1].split()
    assert is_dumpable == "0"
    assert int(limit) <= 1
    assert keys == "None" or life == "the model's child", "which speaks no TLS"
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] != 1, "of that process alone"


_WATCHED = """
import os, sys
def watch(event, arguments):
    if event == "import" and arguments[0] in ("_sqlite3", "pysqlite3"):
        os.write(2, f"SQLite {os.environ.get('SQLITE_TMPDIR')}\\n".encode())
sys.addaudithook(watch)
"""
_WRITES_A_TEMPORARY_FILE = """
import os, pathlib, sys
from reveries.own_process import set_sqlite_temp_folder
set_sqlite_temp_folder(pathlib.Path(sys.argv[1]))
sys.modules["pysqlite3"] = None  # Its SQLite holds them in memory, whatever it is told.
from reveries.db.driver import dbapi
memory = dbapi.connect(":memory:")
for words in ("PRAGMA temp_store=FILE", "CREATE TEMP TABLE much (words)", "PRAGMA temp.cache_size=8", "BEGIN"):
    memory.execute(words)
memory.executemany("INSERT INTO much VALUES (?)", (["quibblewort" * 500] for _ in range(400)))
for descriptor in os.listdir("/proc/self/fd"):
    if os.path.islink(f"/proc/self/fd/{descriptor}"):
        print(os.readlink(f"/proc/self/fd/{descriptor}"))
"""


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("life", ["the daemon", "what works for a mind that sleeps"])
def test_sqlite_is_told_to_keep_its_temporary_files_with_the_memory_before_it_is_loaded(
    life: str, tmp_path: Path
) -> None:
    home, elsewhere = tmp_path / "h", tmp_path / "elsewhere"
    home.mkdir(mode=0o700)
    elsewhere.mkdir()
    elsewhere.chmod(0o777)  # So that the daemon does not begin.
    config = home / "config.toml"
    config.write_text(f'[storage]\ndb_path = "{elsewhere}/m.db"\n')
    done = subprocess.run(
        [sys.executable, "-c", f"{_WATCHED}\n{_LIVES[life]}\nmain()", str(config)],
        cwd=_ROOT, env={**os.environ, "REVERIES_HOME": str(home)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    loaded = [row for row in done.stderr.splitlines() if row.startswith("SQLite ")]
    assert loaded
    assert set(loaded) == {f"SQLite {elsewhere}"}


@pytest.mark.requirement("F4")
@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_what_sqlite_lays_aside_for_a_moment_lies_where_it_is_told(tmp_path: Path) -> None:
    ours, everybodys = tmp_path / "ours", tmp_path / "everybodys"
    ours.mkdir()
    everybodys.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _WRITES_A_TEMPORARY_FILE, str(ours)],
        cwd=_ROOT, env={**os.environ, "TMPDIR": str(everybodys)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    laid = [row for row in done.stdout.splitlines() if "etilqs" in row]
    assert laid
    assert all(row.startswith(f"{ours}/") for row in laid)


@pytest.mark.requirement("F4")
def test_every_child_is_given_an_environment_and_only_the_daemons_side_has_the_keys() -> None:
    spawning = {"create_subprocess_exec", "create_subprocess_shell", "Popen", "run", "check_output", "check_call"}
    for file in sorted((_ROOT / "reveries").rglob("*.py")):
        name = str(file.relative_to(_ROOT))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr not in spawning or ast.unparse(node.func.value) not in ("subprocess", "asyncio"):
                continue
            if ast.unparse(node.func) == "asyncio.run" or name in _WITH_KEYS:
                continue
            given = [ast.unparse(word.value) for word in node.keywords if word.arg == "env"]
            assert given, f"{name}:{node.lineno} hands on the whole environment"


def test_what_is_called_a_secret_is_left_out_and_nothing_else() -> None:
    kept = {"PATH": "/bin", "HOME": "/h", "SSH_AUTH_SOCK": "/s", "NUMBA_CACHE_DIR": "/c", "KEYBOARD": "de"}
    keys = {"REVERIES_API_KEY": "a", "OPENAI_API_KEY": "b", "GH_TOKEN": "c", "db_password": "d", "X_SECRETS": "e"}
    assert remove_secrets(kept | keys) == kept


@pytest.mark.requirement("F4")
async def test_an_editor_is_told_no_key(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nenv > "$1"\n')
    editor.chmod(0o700)
    os.environ["PLANTED_API_KEY"] = "quokkaberry"
    try:
        told = await edit_in_editor("words", [str(editor)])
    finally:
        del os.environ["PLANTED_API_KEY"]
    assert "PATH=" in told
    assert "quokkaberry" not in told


@pytest.mark.requirement("F4")
@check_rows(
    ("module", "words", "is_told"),
    [
        ("reveries.llm.assets", ("pull", "x"), False),
        ("reveries.llm.ollama_pull", ("pull", "x"), False),
        (OFFLINE_MODULE, ("backup-create",), False),
        (OFFLINE_MODULE, ("mind-export",), False),
        (OFFLINE_MODULE, ("usage",), False),
        (OFFLINE_MODULE, ("checkup",), False),
        (OFFLINE_MODULE, (), False),
        (OFFLINE_MODULE, ("models",), True),
        (OFFLINE_MODULE, ("test",), True),
    ],
)
def test_of_the_daemons_side_only_what_asks_a_provider_or_says_whose_key_there_is_has_keys(
    module: str, words: tuple[str, ...], is_told: bool
) -> None:
    planted = {"PATH": "/bin", "PLANTED_API_KEY": "quokkaberry", "REVERIES_API_KEY": "quokkaberry"}
    given = worker_environment(module, words, planted)
    assert ("quokkaberry" in given.values()) == is_told
    assert given["PATH"] == "/bin"
