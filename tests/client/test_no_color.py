"""NO_COLOR=1: no colour code reaches the terminal, from the commands and from the interface. By its bytes."""

import contextlib
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.config import Home
from tests.client.test_cli import DETAIL, FOUND
from tests.fakes.daemon import Script, awake_in_thread

_SGR = re.compile(rb"\x1b\[([0-9;:]*)m")
_ROOT = Path(__file__).parents[2]
_NEVER = b"\0"
"""No command writes it: it is read to its end."""


def colours(written: bytes) -> list[bytes]:
    """Every code in it that sets a colour."""
    found: list[bytes] = []
    for code in _SGR.finditer(written):
        numbers = [int(part or 0) for part in re.split(rb"[;:]", code[1])]
        if any(30 <= number <= 49 or 90 <= number <= 107 for number in numbers):
            found.append(code[0])
    return found


@contextlib.contextmanager
def on_a_terminal(home: Home, *words: str, **environ: str) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """`reveries WORDS` on a terminal of its own: the end that a person would hold, and the process."""
    held, given = pty.openpty()
    os.set_blocking(held, False)
    own = {**os.environ, "REVERIES_HOME": str(home.path), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    own.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "reveries", *words],
        stdin=given,
        stdout=given,
        stderr=given,
        cwd=_ROOT,
        env={**own, "COLUMNS": "100", "LINES": "30", **environ},
        start_new_session=True,
    )
    os.close(given)
    try:
        yield held, process
    finally:
        process.kill()
        process.wait(60)
        os.close(held)


def read_until(held: int, words: bytes, seconds: float = 300.0) -> bytes:
    """Everything that was written until `words` were; all of it where they never are."""
    written, until = b"", time.monotonic() + seconds
    while words not in written and time.monotonic() < until:
        if not select.select([held], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(held, 65_536)
        except OSError:
            break
        written += piece
    return written


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {}], ids=["without", "with"])
def test_the_interface_writes_no_colour_code_where_none_is_wanted(home: Home, environ: dict[str, str]) -> None:
    with awake_in_thread(home, Script(found=FOUND, episode=DETAIL)), on_a_terminal(home, **environ) as (held, _):
        written = read_until(held, b"commands")
        os.write(held, b"/memory tea\r")
        written += read_until(held, b"what it remembers")
        os.write(held, b"\x1b[18~")
        written += read_until(held, b"last thought")
    assert b"\x1b[" in written
    assert b"last thought" in written
    assert bool(colours(written)) is not bool(environ)


@pytest.mark.parametrize("words", [("status",), ("memory", "search", "tea"), ("memory", "inspect", "e1")])
def test_a_command_writes_no_colour_code_where_none_is_wanted(home: Home, words: tuple[str, ...]) -> None:
    with awake_in_thread(home, Script(found=FOUND, episode=DETAIL)):
        with on_a_terminal(home, *words, NO_COLOR="1") as (held, _):
            written = read_until(held, _NEVER)
        with on_a_terminal(home, *words) as (held, _):
            coloured = read_until(held, _NEVER)
    assert written
    assert not _SGR.search(written)
    assert _SGR.search(coloured)
