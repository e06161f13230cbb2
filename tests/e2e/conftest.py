"""A living mind in a home of its own, ended whatever the test does."""

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.config import Home
from tests.e2e.living import Living


@pytest.fixture
def living() -> Iterator[Living]:
    # Not tmp_path: a socket's path may have about a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        mind = Living(Home(Path(folder)))
        yield mind
        if mind.process is not None:
            mind.process.kill()
            mind.process.wait(timeout=300)
            _end_the_rest(mind.process.pid)


def _end_the_rest(session: int) -> None:
    """The children of a killed daemon end by themselves, in a moment: until then they may write to its home."""
    ends = time.monotonic() + 10
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < ends:
            os.killpg(session, signal.SIGKILL)
            time.sleep(0.02)
