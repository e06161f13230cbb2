"""The next command that a message names is one that the shell finds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ASK = (
    "import sys; sys.argv[0] = {!r}; from reveries.client.own_command import own_command; print(own_command('--plain'))"
)


@pytest.mark.parametrize(
    ("started_by", "is_installed", "named"),
    [
        (".venv/bin/reveries", False, ".venv/bin/reveries --plain"),
        (".venv/bin/reveries", True, "reveries --plain"),
        ("reveries/__main__.py", False, "reveries --plain"),
    ],
)
def test_the_command_is_named_by_its_path_where_the_path_variable_does_not_find_it(
    tmp_path: Path, started_by: str, is_installed: bool, named: str
) -> None:
    if is_installed:
        (tmp_path / "reveries").touch(mode=0o755)
    ran = subprocess.run(
        [sys.executable, "-c", _ASK.format(str(tmp_path / started_by))], cwd=tmp_path, check=True, text=True,
        capture_output=True, env=os.environ | {"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert ran.stdout.strip() == named


@pytest.mark.parametrize(("folder", "named"), [("bin", "{}"), ("my bin", "'{}'")])
def test_the_command_is_named_in_full_and_quoted_where_the_working_folder_is_gone(
    tmp_path: Path, folder: str, named: str
) -> None:
    gone, program = tmp_path / "gone", str(tmp_path / folder / "reveries")
    gone.mkdir()
    ran = subprocess.run(
        [sys.executable, "-c", f"import os; os.rmdir({str(gone)!r}); {_ASK.format(program)}"], cwd=gone, check=True,
        text=True, capture_output=True, env=os.environ | {"PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert ran.stdout.strip() == f"{named.format(program)} --plain"
