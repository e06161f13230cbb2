"""Progress of a copy: it distinguishes a copy that advances from one that hangs."""

import asyncio
from pathlib import Path

import pytest

from reveries.db.copies import watch_copying


@pytest.mark.requirement("B7", "A9")
async def test_of_a_copy_is_told_that_it_grew_and_nothing_while_it_does_not(tmp_path: Path) -> None:
    source, partial = tmp_path / "memory.db", tmp_path / "copy.partial"
    source.write_bytes(bytes(3_000_000))
    loop = asyncio.get_running_loop()
    copying: asyncio.Future[None] = loop.create_future()
    told = list[tuple[str, int, int]]()

    def tell(what: str, done: int, total: int) -> None:
        told.append((what, done, total))
        if len(told) == 2:
            loop.call_later(0.6, copying.set_result, None)

    loop.call_later(0.6, partial.write_bytes, bytes(1_000_000))
    await watch_copying(copying, source, partial, tell)
    assert told == [("copying, MB", 0, 3), ("copying, MB", 1, 3)]
