"""Twenty tasks with notes for the embedded model, beside the nine of `reveries models test`.

    python bench/note_tasks.py

They are asked and judged as those are, at temperature 0, and were written before any model was asked one of them. They
decide no tier: `reveries/llm/tier.py` says which share is needed, and this says whether a model has it on notes that no
threshold was chosen on.
"""

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

from reveries.clock import SystemClock
from reveries.config import Home, load_settings
from reveries.daemon.models.role_models import build_models
from reveries.db.opening import open_database
from reveries.llm.base import Role
from reveries.llm.budget import Ledger
from reveries.llm.circuits import open_circuits
from reveries.llm.structured import collect
from reveries.llm.tier import SMALL_NOTES_SHARE
from reveries.llm.tier_test_tasks import UNKNOWN, Task, is_right, prompt_of

TASKS = Path(__file__).parent / "note_tasks.toml"


def read_note_tasks() -> list[Task]:
    """Return the tasks in the order in which they are asked."""
    return msgspec.toml.decode(TASKS.read_bytes(), type=dict[str, list[Task]])["task"]


async def ask_all(folder: Path) -> None:
    """Ask the embedded model each task once, and print each answer and the share that is right."""
    clock, home, settings = SystemClock(), Home(folder), load_settings(None)
    home.create()
    database = await open_database(home.path / "memory.db", home.backups)
    ledger = Ledger(database, clock, lambda: settings.budget)
    models = await build_models(settings, home, ledger, await open_circuits(database, clock, random.Random()), clock)
    right, admitted, began = 0, 0, time.monotonic()
    try:
        tasks = read_note_tasks()
        for task in tasks:
            text, reason = await collect(models.conversation, prompt_of(task, Role.CONVERSATION))
            is_known = UNKNOWN.lower() not in task.needs[0]
            is_done = is_right(task, text, reason)
            right += is_done
            admitted += is_done and not is_known
            said = " ".join(text.split())
            print(f"{'right' if is_done else 'WRONG'}  {'known' if is_known else 'unknown'}  {task.name}: {said}")
        print(
            f"{models.conversation.name}: {right} of {len(tasks)} right ({right - admitted} known, {admitted} admitted)"
        )
        print(f"needed: {SMALL_NOTES_SHARE:.0%}; {time.monotonic() - began:.0f} s")
    finally:
        await models.aclose()
        await database.aclose()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(ask_all(Path(name)))
