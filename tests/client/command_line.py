"""Running the command line as a person does: in a process of its own, in a home of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from reveries.config import Home

_REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(home: Home, **more: str) -> dict[str, str]:
    """The environment of a command: this home, no colours, this checkout."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {"REVERIES_HOME": str(home.path), "PYTHONPATH": str(_REPOSITORY), "COLUMNS": "100"} | more


def reveries(home: Home, *words: str, stdin: str = "", cwd: Path | None = None) -> Ran:
    """Run `reveries WORDS` and wait for it."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "reveries", *words],
        input=stdin.encode(),
        capture_output=True,
        env=environment(home),
        cwd=cwd or _REPOSITORY,
        timeout=30,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
