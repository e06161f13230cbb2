"""How long a mind of N episodes takes to wake: from its snapshot, and from the rows of its database.

    python bench/hydrate.py --episodes 100000 [--json]

Makes a mind by chance (`bench/synthetic.py`) in a temporary folder, then lets a memory hydrate as the daemon does. The
embedding model is not run. "bytes" is the time for reading the snapshot's bytes and nothing else, for the ratio.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from synthetic import DIMENSIONS, NOW, Synthetic, episode_at, episode_id, make_mind

from reveries.config import load_settings
from reveries.db.database import Database, Transaction, open_database
from reveries.llm.base import Vectors
from reveries.memory.changes import ChangeSet
from reveries.memory.graph import LINK_TYPES
from reveries.memory.hydration import graph_of, read_graph_rows
from reveries.memory.live import LiveMemory
from reveries.memory.model import Link
from reveries.memory.snapshot import read_snapshot
from reveries.memory.store import MemoryStore

_BATCH = 5_000
_REPEATS = 3


class NoEmbedder:
    """Everything has its vector: nobody asks for one."""

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
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(measured(Path(folder), arguments.episodes))
    if arguments.json:
        print(json.dumps(report, indent=2))
        return
    for name, value in report.items():
        print(f"{name:36} {value}")


async def measured(folder: Path, episodes: int) -> dict[str, object]:
    """Seconds on the wall and ratios, medians of three."""
    database = await open_database(folder / "memory.db")
    try:
        await _fill(database, make_mind(episodes, hubs=False))
        from_rows = await _waking(database)
        store = _store(database)
        await store.hydrate(lambda _: None, NOW)
        began = time.perf_counter()
        assert await store.save_snapshot(600.0)
        saved = time.perf_counter() - began
        from_snapshot = await _waking(database)
        parts = [await _parts(database, store) for _ in range(_REPEATS)]
    finally:
        await database.aclose()
    size = store.snapshot_path.stat().st_size
    ratios = [graph / read for read, graph, _ in parts]
    return {
        "episodes": episodes,
        "database_bytes": (folder / "memory.db").stat().st_size,
        "snapshot_bytes": size,
        "bytes_per_episode": round(size / episodes),
        "read_bytes_s": _median([read for read, _, _ in parts]),
        "graph_from_snapshot_s": _median([graph for _, graph, _ in parts]),
        "graph_from_snapshot_per_bytes": _median(ratios),
        "graph_from_rows_s": _median([rows for _, _, rows in parts]),
        "wake_from_snapshot_s": _median(from_snapshot),
        "wake_from_rows_s": _median(from_rows),
        "save_snapshot_s": round(saved, 3),
    }


async def _waking(database: Database) -> list[float]:
    times: list[float] = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        await _store(database).hydrate(lambda _: None, NOW)
        times.append(time.perf_counter() - began)
    return times


async def _parts(database: Database, store: MemoryStore) -> tuple[float, float, float]:
    """Seconds: reading the snapshot's bytes into memory; the whole graph from it; the whole graph from rows."""
    began = time.perf_counter()
    size = store.snapshot_path.stat().st_size
    raw = np.empty(size, dtype=np.uint8)
    with store.snapshot_path.open("rb", buffering=0) as file:
        assert file.readinto(raw.data) == size
    read = time.perf_counter() - began
    del raw
    began = time.perf_counter()
    stamp = bytes((await database.rows("episodes.stamp"))[0]["value"])
    packed = read_snapshot(store.snapshot_path, stamp, NoEmbedder.model_id, DIMENSIONS)
    assert packed is not None
    live = LiveMemory(DIMENSIONS, load_settings(None).recall)
    live.fill(packed)
    graph = time.perf_counter() - began
    del packed, live
    began = time.perf_counter()
    live = LiveMemory(DIMENSIONS, load_settings(None).recall)
    live.graph.fill(graph_of(await read_graph_rows(database, NoEmbedder.model_id), DIMENSIONS))
    return read, graph, time.perf_counter() - began


def _store(database: Database) -> MemoryStore:
    live = LiveMemory(DIMENSIONS, load_settings(None).recall)
    return MemoryStore(database, NoEmbedder(), live, "Reverie")


async def _fill(database: Database, mind: Synthetic) -> None:
    """Write the mind's rows, in batches."""
    links = mind.packed.links
    nodes = links.nodes.tolist()
    count = len(mind.packed.ids)
    writer = _store(database)
    for first in range(0, count, _BATCH):
        places = range(first, min(count, first + _BATCH))
        changes = ChangeSet(
            episodes=tuple(map(episode_at, places)),
            vectors=tuple((episode_id(place), mind.packed.vectors[place]) for place in places),
        )
        await writer.commit(_just(changes))
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


def _just(changes: ChangeSet):  # type: ignore[no-untyped-def]  # a Work
    async def work(_: Transaction) -> ChangeSet:
        return changes

    return work


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 4)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
