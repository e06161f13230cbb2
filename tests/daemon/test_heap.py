"""What is free goes back to the system."""

import platform

import psutil
import pytest

from reveries.daemon.heap import give_back_free_memory

MEGABYTE = 2**20


@pytest.mark.requirement("E7")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc_trim is glibc's")
async def test_what_was_let_go_between_things_that_stay_leaves_the_process() -> None:
    pieces = [bytes(3000) for _ in range(10_000)]
    kept = pieces[::100]  # So that no end of the heap is free.
    del pieces
    before = psutil.Process().memory_info().rss
    await give_back_free_memory()
    assert before - psutil.Process().memory_info().rss > 10 * MEGABYTE
    assert len(kept) == 100
