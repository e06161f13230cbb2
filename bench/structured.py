"""Deep sleep on real experiences with a real model: how many answers have a valid form, and that nothing is lost.

    PYTHONPATH=.:bench python bench/structured.py --data DIR --experiences 100

DIR as for bench/import_recall.py. The model is the embedded one of the default settings, in its child process, with the
budget ledger; memory, prompts and counters are the daemon's. Every experience must end as an episode from a valid
answer or as a counted fallback.
"""

import argparse
import asyncio
import itertools
import random
import tempfile
import time
from pathlib import Path

from import_recall import said_at
from locomo_import import eval_turns, lines_of

from reveries.clock import SystemClock
from reveries.config import Home, Settings, build_settings
from reveries.daemon.models.role_models import Models, build_models
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.llm.answer_counts import AnswerCounts
from reveries.llm.budget import Ledger
from reveries.llm.circuits import open_circuits
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory, MemoryParts
from reveries.protocol import Consolidated

_SETTINGS: dict[str, object] = {"llm": {"provider": "embedded"}, "budget": {"consolidation": {"tokens_per_day": 10**9}}}


async def measure(chosen: argparse.Namespace) -> None:
    """Import, sleep, count, print."""
    with tempfile.TemporaryDirectory(prefix="rv-") as folder:
        home = Home(Path(folder))
        home.create()
        settings = build_settings(_SETTINGS, "bench")
        clock = SystemClock()
        database = await open_database(home.path / "memory.db")
        circuits = await open_circuits(database, clock, random.Random(1))
        models = await build_models(settings, home, Ledger(database, clock, lambda: settings.budget), circuits, clock)
        answers = AnswerCounts(database)
        memory = _memory(settings, database, models, answers)
        await memory.hydrate()
        await _import(memory, chosen)
        before = await _counts(memory)
        began = time.perf_counter()
        slept = await memory.deep_sleep(
            models.consolidation,
            limit=chosen.experiences,
            progress=lambda done, total: print(f"  {done}/{total}  {time.perf_counter() - began:.0f} s", flush=True),
        )
        await _report(slept, answers, before, await _counts(memory))
        await memory.close()
        await models.aclose()
        await database.aclose()


def _memory(settings: Settings, database: Database, models: Models, answers: AnswerCounts) -> Memory:
    count = itertools.count()
    return Memory(
        MemoryParts(
            database=database,
            embedder=models.embedder,
            clock=SystemClock(),
            memory=lambda: settings.memory,
            recall=lambda: settings.recall,
            owner_name=lambda: "",
            mind_name=settings.mind.name,
            new_id=lambda: f"{next(count):08x}",
            answers=answers,
        )
    )


async def _import(memory: Memory, chosen: argparse.Namespace) -> None:
    """Whole conversations, in the data's order, until there are experiences enough."""
    names = dict.fromkeys(item["corpus"] for item in lines_of(chosen.data / "data" / "locomo" / "corpora.jsonl.gz"))
    for name in names:
        turns = eval_turns(chosen.data, name)
        await memory.begin_import(name).add([PastTurn(said_at(turn), turn.speaker, turn.text) for turn in turns])
        await memory.light_sleep()
        if (await memory.stats()).unprocessed >= chosen.experiences:
            return


async def _counts(memory: Memory) -> tuple[int, int]:
    """Turns and experiences."""
    stats = await memory.stats()
    return stats.turns, stats.experiences


async def _report(slept: Consolidated, answers: AnswerCounts, before: tuple[int, int], after: tuple[int, int]) -> None:
    [count] = await answers.counts()
    asked = count.valid + count.repaired + count.failed
    print(f"{slept.processed} valid, {slept.fallbacks} counted fallbacks, of {slept.processed + slept.fallbacks}")
    print(f"answers of {count.model}: {asked}; valid {count.valid}, repaired {count.repaired}, failed {count.failed}")
    print(f"turns and experiences on disk before {before}, after {after}; {slept.seconds:.0f} s")
    for line in slept.log:
        print(f"  {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--experiences", type=int, default=100)
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
