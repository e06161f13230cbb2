"""Results of project work with the local model, and the effect of kills on it.

    python bench/work.py --goals 10      # ten realistic goals: plans, stops, tokens, seconds; the logs as a page
    python bench/work.py --kills 500     # a scripted model, killed at any moment: nothing lost, nothing done twice

No network is used. Prompts were developed on another subject, a harbour fair, before any goal or task here
was written; each is run once for a state of the code.
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests is not part of the package.

import msgspec

from reveries.clock import SystemClock
from reveries.config import Home, load_settings
from reveries.daemon.models.role_models import build_models
from reveries.db.opening import open_database
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.base import PROJECT_ROLES, Role
from reveries.llm.budget import Ledger
from reveries.llm.circuits import open_circuits
from reveries.projects.model import AgentState, TaskStatus
from reveries.projects.store import ProjectStore
from reveries.projects.wake import read_state
from reveries.projects.wake_report import RestReason, WakeReport
from reveries.projects.work import ProjectWork
from reveries.projects.work_model import WorkModel
from reveries.tools.sandbox import find_sandbox
from tests.projects.kit import RowMemory, tool_services

HERE: Final = Path(__file__).parent
GOALS: Final = (
    "Learn to bake sourdough bread at home",
    "Find a flat for two in Leeds for at most 1,100 pounds a month",
    "Prepare my mother's eightieth birthday with forty guests in June",
    "Get fit enough to walk a week of the Camino in September",
    "Sort the paper mountain before the tax return at the end of January",
    "Paint the hallway and the stairs before my sister visits in July",
    "Teach my father to use his new phone",
    "Organise the street party on the second Saturday of September",
    "Read the ten novels on my list by Christmas",
    "Find a used cargo bike for less than 2,000 euros",
)
"""The first five of 23 Nov 2026, the others written after the changes of 25 Nov and run once after them."""
ANSWER: Final = "I do not know yet; decide what is sensible."
GOOD_STOPS: Final = frozenset({RestReason.DONE, RestReason.WAITING, RestReason.BUDGET})


@dataclass
class Bench:
    """Work with the model of this machine."""

    store: ProjectStore
    work: ProjectWork
    ledger: Ledger
    told: list[tuple[str, str]] = field(default_factory=list)

    async def tokens(self) -> int:
        used = await self.ledger.usage_today()
        return sum(one.prompt_tokens + one.completion_tokens for one in used if one.role in PROJECT_ROLES)


@asynccontextmanager
async def open_bench(folder: Path, most_tasks: int = 10) -> AsyncIterator[Bench]:
    """Real rows, the real embedded model, no daemon."""
    clock, home = SystemClock(), Home(folder)
    settings = load_settings(None)
    projects = msgspec.structs.replace(settings.projects, most_tasks=most_tasks)
    home.create()
    database = await open_database(home.path / "memory.db", home.backups)
    ledger = Ledger(database, clock, lambda: settings.budget)
    models = await build_models(settings, home, ledger, await open_circuits(database, clock, random.Random()), clock)
    try:
        knowledge = ProjectKnowledge(database, models.embedder, clock, _new_id)
        store = ProjectStore(database, knowledge, clock, _new_id)

        bench = Bench(
            store,
            ProjectWork(
                store=store,
                settings=lambda: projects,
                model=lambda project_id: WorkModel(models.work, project_id, models.tier(Role.WORK), "Ana"),
                memory=RowMemory(clock),
                services=tool_services(home.path, find_sandbox()),
                report_event=lambda action, words: bench.told.append((action, words)),
            ),
            ledger,
        )
        yield bench
    finally:
        await models.aclose()
        await database.aclose()


def _new_id() -> str:
    return os.urandom(8).hex()


# --- goals ------------------------------------------------------------------------------------------------------------


async def run_goals(number: int, out: Path) -> None:
    """Run each goal for three wakes, answering every question in one sentence; write a report."""
    pages, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        async with open_bench(Path(folder)) as bench:
            for place, goal in enumerate(GOALS[:number], 1):
                began, before = time.monotonic(), await bench.tokens()
                bench.told.clear()
                try:
                    state, reports = await _pursue(bench, f"Goal {place}", goal)
                except Exception as error:  # noqa: BLE001 - counted
                    failures.append(f"{goal}: {error!r}")
                    continue
                seconds, tokens = time.monotonic() - began, await bench.tokens() - before
                failures += check_goal(goal, state, reports)
                ended = sum(report.tasks_ended for report in reports) or 1
                print(
                    f"{place:>2}. {len(state.tasks)} tasks, stops {[one.reason.value for one in reports]}, "
                    f"{tokens / ended:.0f} tokens and {seconds / ended:.1f} s a try: {goal}",
                    flush=True,
                )
                pages.append(page_of(goal, bench.told, state))
    await asyncio.to_thread(out.write_text, "\n".join(pages), encoding="utf-8")
    print(f"{len(failures)} failures", *failures, sep="\n")


async def _pursue(bench: Bench, name: str, goal: str) -> tuple[AgentState, list[WakeReport]]:
    project = await bench.store.create(name)
    await bench.store.set_goal(project, goal, None)
    reports = []
    for _ in range(3):
        reports.append(await bench.work.wake(project.id))
        for _, question in await bench.store.questions.list_open():
            answer = "Yes." if question.kind.value == "approval" or "reached" in question.context_tags else ANSWER
            bench.told.append(("you answer", answer))
            await bench.store.questions.answer(question.id, answer)
    return await read_state(bench.store, project.id), reports


def check_goal(goal: str, state: AgentState, reports: list[WakeReport]) -> list[str]:
    """What of the run is not as it has to be."""
    found = [f"{goal}: stopped with {one.reason.value}" for one in reports if one.reason not in GOOD_STOPS]
    if not 3 <= len(state.tasks) <= 14:
        found.append(f"{goal}: {len(state.tasks)} tasks")
    try:
        TopologicalSorter({task.id: task.needs for task in state.tasks}).prepare()
    except CycleError:
        found.append(f"{goal}: a cycle")
    return found + [f"{goal}: {task.title} went round" for task in state.tasks if task.tries > 3]


def page_of(goal: str, told: list[tuple[str, str]], state: AgentState) -> str:
    lines = [f"## {goal}\n"]
    lines += [f"- **{action}** {' '.join(words.split())[:400]}" for action, words in told if action != "step"]
    done = sum(task.status is TaskStatus.DONE for task in state.tasks)
    return "\n".join([*lines, f"\nAt the end: {done} of {len(state.tasks)} tasks done, {state.status.value}.\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goals", type=int, default=0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("goals.md"))
    chosen = parser.parse_args()
    if chosen.goals:
        asyncio.run(run_goals(chosen.goals, chosen.out))
    if chosen.kills:
        from work_kills import run_kills

        run_kills(chosen.kills, chosen.seed)


if __name__ == "__main__":
    main()
