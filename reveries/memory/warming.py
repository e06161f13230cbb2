"""From loops as they stand to machine code, while the mind is awake already: nobody waits for it.

The compiling is done by a child process, at low priority, into numba's cache: it takes seconds of processor time, would
hold up the event loop from a thread, and has to stop at once when the mind falls asleep. Then the finished code is
loaded in a thread.
"""

import asyncio
import contextlib
import sys

from reveries.memory.kernels import compiled
from reveries.memory.live import LiveMemory

_COMPILE = "import os; os.nice(10); from reveries.memory.kernels import compiled; compiled()"
_LONGEST_SECONDS = 300.0


async def warm_up(live: LiveMemory) -> bool:
    """Let `live` go on with compiled loops, then shadow its vectors. False where numba cannot be had or cannot keep
    what it compiles: everything works then, larger graphs more slowly."""
    if not await _compile_in_a_child():
        return False
    try:
        kernels = await asyncio.to_thread(compiled)
    except (ImportError, RuntimeError):  # RuntimeError: there is no place for numba's cache.
        return False
    live.use(kernels)
    for _ in live.graph.shadow_slices():
        await asyncio.sleep(0)
    return True


async def _compile_in_a_child() -> bool:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _COMPILE,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_LONGEST_SECONDS):
            return await child.wait() == 0
    except TimeoutError:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await asyncio.shield(child.wait())
