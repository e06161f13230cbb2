"""What is in memory stays there: no core dump, no look from beside; and children get no key that they do not need."""

import ast
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from reveries.api_keys import without_secrets
from reveries.client.owner_files import edited

_ROOT = Path(__file__).parents[1]
_SEEN = """
import ctypes, resource
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE)[0])
"""
_LIVES = {
    "the daemon": "from reveries.daemon.__main__ import main\nsys.argv = ['x', '--config', sys.argv[1]]",
    "a client": "from reveries.client.cli import main\nsys.argv = ['x', '--version']",
    "the model's child": "from reveries.llm.embedded_server import _become_modest as main",
    "the calendar's child": "from reveries.daemon.calendar_files import main",
}
_WITH_KEYS = {"reveries/client/waking.py", "reveries/client/daemon_side.py"}
"""They start the daemon's side, which has use for keys."""


@pytest.mark.requirement("F4")
@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
@pytest.mark.parametrize("life", _LIVES)
def test_nobody_looks_into_its_memory_and_no_core_is_dumped(life: str, tmp_path: Path) -> None:
    wrong = tmp_path / "config.toml"
    wrong.write_text("not = [toml")
    code = f"import sys\n{_LIVES[life]}\ntry:\n    main()\nexcept BaseException:\n    pass\n{_SEEN}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(wrong)],
        cwd=_ROOT, env={**os.environ, "REVERIES_HOME": str(tmp_path / "h")}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    is_dumpable, limit = done.stdout.splitlines()[-1].split()
    assert is_dumpable == "0"
    assert int(limit) <= 1
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] != 1, "of that process alone"


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
    assert without_secrets(kept | keys) == kept


@pytest.mark.requirement("F4")
async def test_an_editor_is_told_no_key(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nenv > "$1"\n')
    editor.chmod(0o700)
    os.environ["PLANTED_API_KEY"] = "quokkaberry"
    try:
        told = await edited("words", [str(editor)])
    finally:
        del os.environ["PLANTED_API_KEY"]
    assert "PATH=" in told
    assert "quokkaberry" not in told
