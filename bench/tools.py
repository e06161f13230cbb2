"""Cost of tools: starting a worker, the overhead of one step, and thirty small programs written and tested.

    make bench PART=tools
    python bench/tools.py --model 6      # this many programs by the local model, in the free loop

Rows and files are real; the model is scripted, except with --model. Times depend on the machine; the ratio to a plain
process start is within one run.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests is not part of the package.

from work import open_bench

from reveries.llm.tier import Tier
from reveries.projects.model import NewTask, TaskKind, TaskStatus
from reveries.tools.sandbox import Sandbox, find_sandbox
from reveries.tools.worker import FolderAccess, open_folder_worker
from tests.projects.kit import finished, open_work, task_tools, tool_services
from tests.tools.exercises import EXERCISES, solve
from tests.tools.test_task_with_a_folder import TITLE, begin

_TEST: Final = "python3 -B -m unittest -q test_it"
_STARTS: Final = 60
_STEPS: Final = 60


async def _milliseconds(do: Callable[[], Awaitable[object]], times: int) -> list[float]:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        await do()
        found.append(1000 * (time.perf_counter() - began))
    return sorted(found)


async def measure_start(folder: Path, sandbox: Sandbox) -> None:
    """Measure the time to the first answer of a worker, and of a bare interpreter for comparison."""

    async def start() -> None:
        worker = open_folder_worker(sandbox, FolderAccess(folder, may_write=True))
        await worker.call("list", {"path": "."})
        await worker.close()

    async def bare() -> None:
        command = [sys.executable, "-I", "-S", "-c", "pass"]
        await asyncio.to_thread(subprocess.run, command, check=True, env={})

    walled, plain = await _milliseconds(start, _STARTS), await _milliseconds(bare, _STARTS)
    p95 = walled[int(0.95 * len(walled))]
    print(f"worker, start to first answer: median {median(walled):.0f} ms, p95 {p95:.0f} ms; "
          f"a bare interpreter {median(plain):.0f} ms, {median(walled) / median(plain):.1f} times")  # fmt: skip


async def measure_step(home: Path, folder: Path, sandbox: Sandbox) -> None:
    """Measure a read through registry, gate and rows, and by the worker alone for comparison."""
    services = tool_services(home, sandbox)
    async with open_work(home, lambda text: finished(), services=services) as work:
        project = await begin(work, folder)
        tools = await task_tools(work, project, services)
        await tools.call("read_file", {"path": "a.md"})
        whole = await _milliseconds(lambda: tools.call("read_file", {"path": "a.md"}), _STEPS)
        alone = await _milliseconds(lambda: tools.read("a.md"), _STEPS)
        await tools.close()
    print(f"a step: median {median(whole):.1f} ms, of which the tool itself {median(alone):.1f} ms; "
          f"beside it {median(whole) - median(alone):.1f} ms")  # fmt: skip


async def run_exercises(at: Path, sandbox: Sandbox) -> None:
    """Each written, tested and handed in by a scripted worker, in its own folder."""
    passed = 0
    for number, exercise in enumerate(EXERCISES):
        home = at / str(number)
        (home / "folder").mkdir(parents=True)
        exercise.lay_out(home / "folder")
        services = tool_services(home, sandbox)
        async with open_work(home, solve(exercise), most_tasks=1, services=services) as work:
            project = await begin(work, home / "folder")
            await work.wake(project)
            task = await work.task(project, TITLE)
            runs = [one for one in await work.store.tasks.steps_of(task.id) if one.exit_code is not None]
            passed += task.status is TaskStatus.DONE and runs[-1].exit_code == 0 and runs[0].exit_code != 0
    print(f"exercises: {passed} of {len(EXERCISES)} done, each test red before and green after")


async def run_model(at: Path, number: int) -> None:
    """What the model of this machine makes of the first exercises. A small one is let into the loop only here."""
    passed = 0
    for place, exercise in enumerate(EXERCISES[:number]):
        folder = at / str(place) / "folder"
        folder.mkdir(parents=True)
        exercise.lay_out(folder)
        async with open_bench(at / str(place) / "home", most_tasks=1) as bench:
            model = bench.work.model
            bench.work.model = lambda project_id, model=model: replace(model(project_id), tier=Tier.CAPABLE)  # type: ignore[misc]
            project = await bench.store.create("Exercise", str(folder), may_write=True)
            goal = await bench.store.set_goal(project, f"it.py passes its test: {_TEST}", None)
            async with bench.store.transaction() as transaction:
                what = f"Write the function in it.py so that `{_TEST}` ends with 0."
                new = NewTask("Make the test pass", what, TaskKind.OTHER, goal_id=goal.id)
                await bench.store.tasks.put(transaction, project.id, [new])
            began = time.monotonic()
            await bench.work.wake(project.id)
            command = [sys.executable, "-B", "-m", "unittest", "-q", "test_it"]
            ended = await asyncio.to_thread(subprocess.run, command, cwd=folder, capture_output=True, check=False)
            steps = [action for action, _ in bench.told if action == "tool"]
            passed += ended.returncode == 0
            print(f"  {exercise.name}: {'passes' if ended.returncode == 0 else 'does not pass'}, {len(steps)} steps, "
                  f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    print(f"by the model of this machine: {passed} of {number}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=int, default=0)
    if number := parser.parse_args().model:
        with tempfile.TemporaryDirectory() as name:
            await run_model(Path(name), number)
        return
    sandbox = await asyncio.to_thread(find_sandbox)
    with tempfile.TemporaryDirectory() as name:
        at = Path(name)
        (at / "folder").mkdir()
        (at / "folder" / "a.md").write_text("a line\n" * 100)
        await measure_start(at / "folder", sandbox)
        await measure_step(at, at / "folder", sandbox)
        await run_exercises(at / "exercises", sandbox)


if __name__ == "__main__":
    asyncio.run(main())
