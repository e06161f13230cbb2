"""The parent's side of a sandboxed child. The child here is a Python program without a sandbox."""

import asyncio
import sys

import psutil

from reveries.tools.worker import Worker
from tests.fakes.clock import settle

_ANSWERS_SLOWLY = """
import json, sys, time
slow_to_end = b"x" * 300_000_000
print("{}", flush=True)
for line in sys.stdin:
    if json.loads(line)["operation"] == "wait":
        time.sleep(600)
    print(json.dumps({"answer": "here"}), flush=True)
"""


def _worker() -> Worker:
    return Worker(lambda: [sys.executable, "-c", _ANSWERS_SLOWLY], "a program", start_seconds=300.0)


def _children() -> set[int]:
    """Process ids of the children of this process that are not reaped."""
    return {child.pid for child in psutil.Process().children()}


async def _interrupt_twice(worker: Worker) -> None:
    """Interrupt a call, and again while it waits for the end of its child."""
    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
        call = tasks.create_task(worker.call("wait", {}), name="call")
        await settle()
        assert not call.done()
        call.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        call.cancel()
    assert call.cancelled()


async def test_a_child_whose_call_was_interrupted_twice_is_reaped_at_close() -> None:
    before, worker = _children(), _worker()
    await worker.start()
    assert len(_children() - before) == 1
    await _interrupt_twice(worker)
    await worker.close()
    assert not _children() - before


async def test_after_an_interrupted_call_a_new_child_answers_the_next_one() -> None:
    before, worker = _children(), _worker()
    await worker.start()
    first = _children() - before
    await _interrupt_twice(worker)
    assert await worker.call("anything", {}) == "here"
    second = _children() - before
    assert len(second) == 1
    assert not first & second
    await worker.close()
    assert not _children() - before
