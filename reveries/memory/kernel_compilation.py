"""Compiles the inner loops in the background while the daemon already answers.

The compiling is done by a child process, at low priority, into numba's cache: it takes seconds of processor time, would
hold up the event loop from a thread, and has to stop at once when the mind falls asleep - or is killed: the child ends
when its standard input does. Then the finished code is loaded in a thread.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from reveries.api_keys import without_secrets
from reveries.memory.graph.kernels import compile_kernels
from reveries.memory.live import LiveMemory
from reveries.own_files import fault_of_cache, owner_of

_COMPILE = """
import os, pathlib, sys, threading
os.nice(10)
threading.Thread(target=lambda: os._exit(0 if os.read(0, 1) else 1), daemon=True).start()
from reveries.memory.graph.kernels import compile_kernels
compile_kernels(pathlib.Path(sys.argv[1]) if sys.argv[1] else None)
"""
_LONGEST_SECONDS = 300.0


async def warm_up(live: LiveMemory, own_cache: Path) -> bool:
    """Let `live` go on with compiled loops, then shadow its vectors. False where numba cannot be had: everything works
    then, large memories more slowly. `own_cache` is used where numba finds no place for its cache by itself."""
    for cache in (None, own_cache):
        if not await _compile_in_a_child(cache):
            continue
        try:
            kernels = await asyncio.to_thread(compile_kernels, cache)
        except (ImportError, RuntimeError):  # RuntimeError: there is no place for numba's cache.
            continue
        live.use(kernels)
        for _ in live.graph.shadow_slices():
            await asyncio.sleep(0)
        return True
    return False


async def _compile_in_a_child(cache: Path | None) -> bool:
    if cache is not None:
        try:
            await asyncio.to_thread(cache.mkdir, mode=0o700, parents=True, exist_ok=True)
            if await asyncio.to_thread(fault_of_cache, cache.parent, owner_of(cache.parent.parent)):
                return False  # What is loaded from it runs as the owner.
        except OSError:
            return False
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _COMPILE,
        str(cache or ""),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=without_secrets(os.environ),
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
