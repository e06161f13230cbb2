"""Checks that commands can be sandboxed, if a project has a folder to run them in."""

import asyncio
from collections.abc import AsyncIterator

from reveries.daemon.checkup.inside import ChosenModels, Inside
from reveries.protocol import Fault, Finding
from reveries.tools.sandbox import find_sandbox

MISSING = Fault("sandbox-missing", "note", "Projects run no commands without a sandbox.", "sudo apt install bubblewrap")


async def check(inside: Inside, _: ChosenModels) -> AsyncIterator[Finding | str]:
    """Yield why commands cannot be run."""
    if inside.memory is None or not await inside.memory.database.rows("projects.with_folder"):
        return
    sandbox = await asyncio.to_thread(find_sandbox)
    if not sandbox.can_run:
        yield MISSING.found(sandbox.why_not)
