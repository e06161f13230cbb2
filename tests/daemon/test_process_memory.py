"""Freed memory is returned to the system."""

import asyncio
import os
import platform
import subprocess
import sys

import psutil
import pytest

from reveries.config import Home
from reveries.daemon.process.process_memory import give_back_free_memory

MEGABYTE = 2**20


@pytest.mark.requirement("E7")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc_trim is glibc's")
async def test_what_was_let_go_between_things_that_stay_leaves_the_process() -> None:
    pieces = [bytes(3000) for _ in range(10_000)]
    kept = pieces[::100]  # Kept so that the end of the heap is never free.
    del pieces
    before = psutil.Process().memory_info().rss
    await give_back_free_memory()
    assert before - psutil.Process().memory_info().rss > 10 * MEGABYTE
    assert len(kept) == 100


async def test_a_daemon_collects_garbage_again_when_it_has_imported_its_code(home: Home) -> None:
    program = (
        "import gc, sys\n"
        "import reveries.daemon.app as app\n"
        "async def live(*_):\n"
        "    print(gc.isenabled())\n"
        "    return 0\n"
        "app.live = live\n"
        "from reveries.daemon.__main__ import main\n"
        "sys.argv = ['reveries.daemon']\n"
        "main()\n"
    )
    environment = {**os.environ, "REVERIES_HOME": str(home.path)}
    ran = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (ran.returncode, ran.stdout) == (0, "True\n"), ran.stderr


_LEFT = """
import sys, threading, psutil
from reveries.daemon.process.process_memory import keep_heap_small
if sys.argv[1] == "small":
    keep_heap_small()
kept = []

def work():
    for _ in range(30):
        pieces = [bytearray(3 * 2**20) for _ in range(4)]
        kept.extend(bytes(200_000) for _ in range(2))

work()
for _ in range(3):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(psutil.Process().memory_info().rss - sum(map(len, kept)))
"""


@pytest.mark.requirement("E7")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_large_pieces_of_a_moment_leave_nothing_behind_between_what_stays() -> None:
    """Run in subprocesses, because the setting cannot be undone."""
    command = [sys.executable, "-c", _LEFT]
    [as_it_is, small] = (
        int(subprocess.run([*command, how], capture_output=True, check=True).stdout) for how in ("usual", "small")
    )
    assert small < as_it_is - 5 * MEGABYTE
