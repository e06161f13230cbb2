"""Running the command line as a person does: in a process of its own, in a home of its own."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from reveries.config import Home

_REPOSITORY = Path(__file__).parents[2]
_SECONDS = 300.0
"""A hang: on a busy machine a process starts slowly."""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(home: Home, **more: str) -> dict[str, str]:
    """The environment of a command: this home, no colours, this checkout."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "REVERIES_MODELS") if name in os.environ}
    return kept | {"REVERIES_HOME": str(home.path), "PYTHONPATH": str(_REPOSITORY), "COLUMNS": "100"} | more


def reveries(
    home: Home,
    *words: str,
    stdin: str = "",
    cwd: Path | None = None,
    more: dict[str, str] | None = None,
    module: str = "reveries",
) -> Ran:
    """Run `reveries WORDS` and wait for it; `module`: what stands in its place."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", module, *words],
        input=stdin.encode(),
        capture_output=True,
        env=environment(home, **(more or {})),
        cwd=cwd or _REPOSITORY,
        timeout=_SECONDS,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_terminal(
    home: Home, exchange: list[tuple[bytes, bytes]], *words: str, module: str = "reveries", **more: str
) -> tuple[bytes, int]:
    """Run `reveries WORDS` in a pseudo-terminal: wait for each text, then type the answer. Its bytes, its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        told = environment(home, TERM="xterm-256color", LINES="40", **more)
        # What starts the tests in the background ignores Ctrl+C, and would hand that down.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(sys.executable, [sys.executable, "-m", module, *words], told)
    output, seen, deadline = b"", 0, time.monotonic() + _SECONDS
    try:
        for expected, typed in exchange:
            while expected not in output[seen:]:
                assert time.monotonic() < deadline, output[-2000:]
                if select.select([terminal], [], [], 1)[0]:
                    try:
                        output += os.read(terminal, 65536)
                    except OSError:
                        break
            seen = len(output)
            if typed:
                os.write(terminal, typed)
        ended, code = os.waitpid(pid, os.WNOHANG)
        while not ended:
            assert time.monotonic() < deadline, output[-2000:]
            if select.select([terminal], [], [], 1)[0]:
                with contextlib.suppress(OSError):
                    output += os.read(terminal, 65536)
            elif any(typed == b"\x03" for _, typed in exchange):
                # Pressed in the moment between the prompt and its reading, it is heard with the next key: a person
                # presses it again.
                os.write(terminal, b"\x03")
            ended, code = os.waitpid(pid, os.WNOHANG)
        return output, os.waitstatus_to_exitcode(code)
    finally:
        os.close(terminal)
