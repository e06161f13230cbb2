"""A home of its own for each test, with a path short enough for a socket."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.config import Home


@pytest.fixture
def home() -> Iterator[Home]:
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        yield Home(Path(folder) / "home")
