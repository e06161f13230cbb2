"""Compiled loops come while the mind is awake, and change no answer."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from reveries.memory.changes import ChangeSet
from reveries.memory.kernel_compilation import warm_up
from reveries.memory.live import LiveMemory
from tests.memory import kit
from tests.memory.kit import context, open_memory, settings, talk
from tests.memory.test_memory import CUE, SAYINGS


@pytest.mark.requirement("R-118")
async def test_recall_says_the_same_before_and_after_the_loops_are_compiled(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await talk(memory, *((saying, "I see.") for saying in SAYINGS))
        await memory.light_sleep()
        vector = await memory.embed_cue(CUE)
        before = memory.live.recall(CUE, vector, context())
        await kit.warm_up(memory)
        after = memory.live.recall(CUE, vector, context())
    assert [one.episode.id for one in before.episodes] == [one.episode.id for one in after.episodes]
    assert [one.path for one in before.episodes] == [one.path for one in after.episodes]
    assert [one.energy for one in before.episodes] == pytest.approx([one.energy for one in after.episodes])


async def test_warming_that_is_cancelled_ends_at_once_and_leaves_a_graph_that_works(tmp_path: Path) -> None:
    live = LiveMemory(4, settings)
    async with asyncio.timeout(15):
        warming = asyncio.wait_for(warm_up(live, tmp_path), timeout=0.05)
        with pytest.raises(TimeoutError):
            await warming
    live.apply(ChangeSet())
    assert len(live.graph) == 0


@pytest.mark.system
def test_loops_are_compiled_into_the_folder_that_is_given(tmp_path: Path) -> None:
    """In a separate process: the folder of numba's cache is global to a process."""
    program = (
        "import pathlib, sys\n"
        "from reveries.memory.graph.kernels import compile_kernels\n"
        "print(compile_kernels(pathlib.Path(sys.argv[1])).are_compiled)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=300, check=True
    )
    assert told.stdout.strip() == "True"
    assert list(tmp_path.rglob("*.nbi"))


ROOT = Path(__file__).parents[2]
_WARMS_UP = """
import asyncio, pathlib, sys
from reveries.memory.kernel_compilation import warm_up
from reveries.memory.live import LiveMemory
from tests.memory.kit import settings
asyncio.run(warm_up(LiveMemory(4, settings), pathlib.Path(sys.argv[1])))
"""


@pytest.mark.requirement("B5")
async def test_the_compiling_child_ends_when_the_daemon_is_killed(tmp_path: Path) -> None:
    # A cache of its own: there is nothing in it, so that there is a lot to compile.
    ours = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _WARMS_UP, str(tmp_path), env=ours, cwd=ROOT)
    async with asyncio.timeout(300):
        while not (children := psutil.Process(process.pid).children()):  # noqa: ASYNC110  another process is asked
            await asyncio.sleep(0.02)
        process.kill()
        await process.wait()
    _, alive = await asyncio.to_thread(psutil.wait_procs, children, 60)
    assert alive == []
