"""A memory that was lived in, whole, and a copy of it for each test that harms one."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.durability.damage import remember


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """On the disk, which these tests are about."""
    with tempfile.TemporaryDirectory(prefix="reveries-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    asyncio.run(remember(folder, exchanges=20))
    return folder


@pytest.fixture
def place(remembered: Path, tmp_path: Path) -> Path:
    """A copy, to be harmed."""
    shutil.copytree(remembered, tmp_path / "m")
    return tmp_path / "m"
