"""Compiles the inner loops in the background while the daemon is already serving.

A child process compiles at low priority into numba's cache: compiling takes seconds of CPU time, would hold up the
event loop from a thread, and must stop at once when the daemon stops or is killed. The child ends when its standard
input closes. The compiled code is then loaded in a thread.
"""

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from reveries.api_keys import remove_secrets
from reveries.memory.graph.kernels import compile_kernels
from reveries.memory.live import LiveMemory
from reveries.own_files import expected_owner, find_cache_fault

_COMPILE = """
import os, pathlib, sys, threading
os.nice(10)
threading.Thread(target=lambda: os._exit(0 if os.read(0, 1) else 1), daemon=True).start()
from reveries.memory.graph.kernels import compile_kernels
compile_kernels(pathlib.Path(sys.argv[1]) if sys.argv[1] else None)
"""
_LONGEST_SECONDS = 300.0


async def warm_up(live: LiveMemory, own_cache: Path) -> bool:
    """Switch `live` to compiled loops, then build the shadow copy of its vectors. False if numba is not available:
    everything works then, but slower for large memories. `own_cache` is used if numba finds no cache folder itself."""
    for cache in (None, own_cache):
        if not await _compile_in_child(cache):
            continue
        try:
            kernels = await asyncio.to_thread(compile_kernels, cache)
        except (ImportError, RuntimeError):  # RuntimeError: numba found no folder for its cache.
            continue
        live.use_kernels(kernels)
        for _ in live.graph.shadow_slices():
            await asyncio.sleep(0)
        return True
    return False


async def _compile_in_child(cache: Path | None) -> bool:
    if cache is not None:
        try:
            await asyncio.to_thread(cache.mkdir, mode=0o700, parents=True, exist_ok=True)
            if await asyncio.to_thread(find_cache_fault, cache.parent, expected_owner(cache.parent.parent)):
                return False  # Code loaded from the cache runs with the owner's rights.
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
        env=remove_secrets(os.environ),
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
