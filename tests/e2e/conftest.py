"""A living mind in a home of its own, ended whatever the test does."""

import tempfile
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
        if mind.process is not None and mind.process.poll() is None:
            mind.process.kill()
            mind.process.wait(timeout=10)
