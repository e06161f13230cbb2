"""Start-up time of a mind with N episodes: from its snapshot, from a stale snapshot, and from the rows only.

    python bench/hydrate.py --episodes 100000 [--turns-per-episode 4] [--json]

Generates a random mind (`synthetic.py`, `synthetic_turns.py`) in a temporary folder, then loads it as the daemon does.
The embedding model is not run. "bytes" is the time for reading only the snapshot's bytes.
"""

import argparse
import asyncio
import gc
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from made_rows import made_rows
from synthetic import DIMENSIONS, NOW, Synthetic, episode_at, episode_id, make_mind
from synthetic_turns import Talk

from reveries.config import load_settings
from reveries.db.database import Database, Transaction
from reveries.db.opening import open_database
from reveries.llm.base import Vectors
from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.graph.memory_graph import LINK_TYPES
from reveries.memory.live import LiveMemory
from reveries.memory.model import Experience, ExperienceKind, Link, Turn
from reveries.memory.rows import experience_row, turn_row
from reveries.memory.store import MemoryStore, vector_row

_RECALL = load_settings(None).recall
_BATCH = 4_000
_REPEATS = 3


class NoEmbedder:
    """Never called: everything has its vector."""

    model_id = "synthetic-384"
    dimensions = DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Nothing can be asked for but nothing."""
        assert not texts, "an episode of the synthetic mind has no vector"
        return np.zeros((0, DIMENSIONS), dtype=np.float32)

    async def aclose(self) -> None:
        """There is nothing to close."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--turns-per-episode", type=int, default=4, help="an even number")
    parser.add_argument("--keep", type=Path, help="write the mind into this folder and leave it there")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    turns = arguments.episodes * arguments.turns_per_episode
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(measured(arguments.keep or Path(folder), arguments.episodes, turns))
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        print(f"{name:36} {value}")


async def measured(folder: Path, episodes: int, turns: int) -> dict[str, object]:
    """Seconds on the wall and ratios, medians of three."""
    database = await open_database(folder / "memory.db")
    try:
        mind = make_mind(episodes, hubs=False)
        await _fill(database, mind, Talk(mind, turns))
        del mind
        began = time.perf_counter()
        store = _store(database)
        await store.hydrate(lambda _: None, NOW)
        from_rows = time.perf_counter() - began
        began = time.perf_counter()
        assert await store.save_snapshot(600.0)
        saved = time.perf_counter() - began
        size = store.snapshots.path.stat().st_size
        del store
        from_snapshot, read = [], []
        for _ in range(_REPEATS):
            read.append(_bytes(database))
            from_snapshot.append(await _waking(database, is_fresh=True))
        async with database.transaction() as transaction:
            await transaction.run("episodes.touch", _a_touch(episode_id(0)))
        touched = [await _waking(database, is_fresh=True) for _ in range(_REPEATS)]
        async with database.transaction() as transaction:
            await transaction.run_text("DELETE FROM snapshot_marks")
        stale = [await _waking(database, is_fresh=False) for _ in range(_REPEATS)]
    finally:
        await database.aclose()
    return {
        "episodes": episodes,
        "turns": turns,
        "database_bytes": (folder / "memory.db").stat().st_size,
        "snapshot_bytes": size,
        "read_bytes_s": _median(read),
        "wake_from_snapshot_s": _median(from_snapshot),
        "wake_from_snapshot_per_bytes": _median([w / r for w, r in zip(from_snapshot, read, strict=True)]),
        "wake_with_one_change_s": _median(touched),
        "wake_from_stale_snapshot_s": _median(stale),
        "wake_from_rows_alone_s": round(from_rows, 2),
        "save_snapshot_s": round(saved, 2),
        "load_average": os.getloadavg()[0],
    }


async def _waking(database: Database, *, is_fresh: bool) -> float:
    gc.collect()
    began = time.perf_counter()
    assert await _store(database).hydrate(lambda _: None, NOW) is is_fresh
    return time.perf_counter() - began


def _bytes(database: Database) -> float:
    """Seconds: reading the snapshot's bytes into memory."""
    file = database.path.with_suffix(".snapshot")
    began = time.perf_counter()
    raw = np.empty(file.stat().st_size, dtype=np.uint8)
    with file.open("rb", buffering=0) as opened:
        done = 0
        while got := opened.readinto(raw.data[done:]):
            done += got
    return time.perf_counter() - began


def _a_touch(episode: str) -> dict[str, object]:
    return {"episode_id": episode, "access_count": 1, "last_accessed_at": NOW, "salience": 0.5, "accessibility": 1.0}


def _store(database: Database) -> MemoryStore:
    live = LiveMemory(DIMENSIONS, lambda: _RECALL)
    return MemoryStore(database, NoEmbedder(), live, "Reverie")


async def _fill(database: Database, mind: Synthetic, talk: Talk) -> None:
    """Write the mind's rows, in batches."""
    count = len(mind.packed.ids)
    deeds: dict[str, dict[str, None]] = {}
    for first in range(0, talk.count, _BATCH):
        entries = list(talk.turns(first, min(talk.count, first + _BATCH)))
        for entry in entries:
            deeds.setdefault(entry.episode_id, {})[str(entry.turn.experience_id)] = None
        await _put_turns(database, entries)
    writer = _store(database)
    for first in range(0, count, _BATCH):
        places = range(first, min(count, first + _BATCH))
        made = [replace(one, experience_ids=tuple(deeds.get(one.id, ()))) for one in map(episode_at, places)]
        vectors = tuple((episode_id(place), mind.packed.vectors[place]) for place in places)
        await writer.commit(_just(ChangeSet(episodes=tuple(made), vectors=vectors)))
    links, nodes = mind.packed.links, mind.packed.links.nodes.tolist()
    for first in range(0, count, _BATCH):
        written = tuple(
            Link(
                episode_id(place),
                episode_id(int(links.targets[slot])),
                LINK_TYPES[links.kinds[slot]],
                float(links.strengths[slot]),
            )
            for place in range(first, min(count, first + _BATCH))
            for slot in range(nodes[place][0], nodes[place][0] + nodes[place][1])
        )
        await writer.commit(_just(ChangeSet(links=written)))


async def _put_turns(database: Database, entries: Sequence[IndexedTurn]) -> None:
    talks = dict.fromkeys(entry.turn.conversation_id for entry in entries)
    deeds = {str(entry.turn.experience_id): entry.turn for entry in entries}
    async with made_rows(database), database.transaction() as transaction:
        await transaction.run_many(
            "conversations.insert", [{"id": name, "began_at": NOW, "source": "chat", "title": ""} for name in talks]
        )
        await transaction.run_many(
            "experiences.insert", [experience_row(_deed(name, deeds[name]), 2) for name in deeds]
        )
        await transaction.run_many("turns.insert", [turn_row(entry.turn) for entry in entries])
        rows = [vector_row("turn", entry.turn.id, NoEmbedder.model_id, entry.vector) for entry in entries]
        await transaction.run_many("episodes.put_vector", rows)


def _deed(name: str, turn: Turn) -> Experience:
    return Experience(
        id=name,
        kind=ExperienceKind.CONVERSATION,
        happened_at=turn.said_at,
        content=turn.text,
        salience=0.5,
        valence=0.0,
        origin=turn.origin,
        tainted=False,
        conversation_id=turn.conversation_id,
    )


def _just(changes: ChangeSet):  # type: ignore[no-untyped-def]  # a Work
    async def work(_: Transaction) -> ChangeSet:
        return changes

    return work


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 4)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
