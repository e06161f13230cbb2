"""Duration of forgetting in a large mind, step by step, and of exporting a whole mind.

    python bench/forget.py --home COPY [--export]

COPY is a copy of the home of a sleeping mind; data in it is erased. "cpu" is the processor time of all threads of this
process, because wall time says little on a busy machine. No model is called.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from reveries.client.byte_search import search_files
from reveries.clock import SystemClock
from reveries.config import Home, load_settings
from reveries.db.backups import verify_backup
from reveries.db.database import Database
from reveries.db.mind_file import export_mind
from reveries.db.opening import open_database
from reveries.llm.base import Vectors
from reveries.memory.forgetting.selection import BY_ID, BY_WORDS, Selection
from reveries.memory.memory import Memory, MemoryParts

_Result = TypeVar("_Result")
WORD = f"zqvorblax-{time.time_ns() % 10**6}"


class Chance:
    """Vectors by chance, under the name of the model that the home has."""

    dimensions = 384

    def __init__(self, model_id: str) -> None:
        self.model_id = model_id

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of unit length."""
        rows = np.random.default_rng(1).standard_normal((len(texts), self.dimensions)).astype(np.float32)
        found: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return found

    async def aclose(self) -> None:
        """There is nothing to close."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--export", action="store_true", help="also write the whole mind into a file")
    arguments = parser.parse_args()
    asyncio.run(measure(Home(arguments.home), with_export=arguments.export))


async def measure(home: Home, *, with_export: bool) -> None:
    """Every part in its order, a line each."""
    print(f"load {os.getloadavg()[0]:.1f}, {home.database_default.stat().st_size / 1e9:.2f} GB")
    database = await timed("open", lambda: open_database(home.database_default))
    [row] = await database.rows("vectors.serving")
    memory = _memory(database, Chance(row["model_id"]))
    await timed("wake", memory.hydrate)
    await memory.remember(f"The word of the safe is {WORD}.")
    await memory.light_sleep()
    chosen = Selection(BY_WORDS, WORD)
    await timed("dry run", lambda: memory.forgetting.preview(chosen, erase=True))
    some_id = await database.rows("forget.turns")
    by_id = Selection(BY_ID, str(some_id[len(some_id) // 2]["id"]))
    await timed("dry run, by an id", lambda: memory.forgetting.preview(by_id, erase=True))
    made = home.path / "made.db"
    told = await timed("erase, with the new file and backup", lambda: memory.forgetting.erase(chosen, made))
    print("backup made:", told.copied)
    made.unlink(missing_ok=True)
    await memory.close()
    await timed("close", database.aclose)
    await timed("search of the memory's file", lambda: asyncio.to_thread(search_files, home.path, WORD))
    found = search_files(home.path, WORD).found
    print("found:", found)
    if with_export:
        target = home.path / "mind.jsonl"
        await timed("export", lambda: asyncio.to_thread(_export, home.database_default, target))
        is_whole = not verify_backup(home.database_default).problems
        print(f"export: {target.stat().st_size / 1e6:.0f} MB, memory whole: {is_whole}")
        target.unlink()


async def timed(what: str, work: Callable[[], Awaitable[_Result]]) -> _Result:
    """Run it and print its duration."""
    began, used = time.monotonic(), time.process_time()
    result = await work()
    print(f"{what:<40} {time.monotonic() - began:7.1f} s  cpu {time.process_time() - used:7.1f} s", flush=True)
    return result


def _memory(database: Database, embedder: Chance) -> Memory:
    settings, count = load_settings(None), iter(range(10**9))
    return Memory(
        MemoryParts(
            database=database,
            embedder=embedder,
            clock=SystemClock(),
            memory=lambda: settings.memory,
            recall=lambda: settings.recall,
            owner_name=lambda: "",
            mind_name=settings.mind.name,
            new_id=lambda: f"bench{os.getpid()}-{next(count)}",
        )
    )


def _export(database: Path, target: Path) -> None:
    export_mind(database, target, with_vectors=False, tell=lambda rows, total: None)


if __name__ == "__main__":
    main()
