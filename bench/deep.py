"""Duration of a deep search: `python -m bench.deep --episodes N [--no-extension]`. Generated dormant episodes, each
with a summary and one turn (vectors of 384 dimensions), in a database of their own; words follow Zipf's law."""

import argparse
import asyncio
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.db.checksums import checksum
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.llm.base import Vectors
from reveries.memory.deep_recall import DeepRecall
from reveries.memory.live import LiveMemory
from reveries.memory.store import MemoryStore, UnavailableEmbedder

_RECALL = load_settings(None).recall
DIMENSIONS = 384
_MODEL = "bench"
_WORDS = 40_000
_BATCH = 2000


class _NoEmbedder(UnavailableEmbedder):
    def __init__(self) -> None:
        super().__init__(_MODEL)
        self.dimensions = DIMENSIONS


def _unit(rows: NDArray[np.float64]) -> Vectors:
    scaled: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")
    return scaled


def _texts(chance: np.random.Generator, count: int, words: int) -> Iterator[str]:
    ranks = np.minimum(chance.zipf(1.2, size=(count, words)), _WORDS)
    return (" ".join(f"w{rank}" for rank in row) for row in ranks.tolist())


async def _fill(database: Database, episodes: int) -> None:
    chance = np.random.default_rng(1)
    for start in range(0, episodes, _BATCH):
        count = min(_BATCH, episodes - start)
        names = [f"e{start + at:08}" for at in range(count)]
        summaries, said = list(_texts(chance, count, 30)), list(_texts(chance, count, 25))
        vectors = _unit(chance.standard_normal((2 * count, DIMENSIONS)))
        raw = [row.tobytes() for row in vectors]
        async with database.transaction() as transaction:
            await transaction.run_text_many(
                "INSERT INTO raw_experiences (id, kind, happened_at, content, salience, origin, tainted, checksum) "
                "VALUES (?, 'conversation', 0, '', 0.1, 'owner', 0, x'00')",
                [(f"x{name}",) for name in names],
            )
            await transaction.run_text_many(
                "INSERT INTO episodes (id, created_at, ended_at, last_accessed_at, summary, exemplars, salience, "
                "confidence, last_decayed_at, depth, origin, tainted, checksum, dormant) "
                "VALUES (?, 0, 0, 0, ?, '[]', 0.1, 1, 0, 'light', 'owner', 0, x'00', 1)",
                list(zip(names, summaries, strict=True)),
            )
            await transaction.run_text_many(
                "INSERT INTO episode_sources (episode_id, experience_id) VALUES (?, ?)",
                [(name, f"x{name}") for name in names],
            )
            rows: list[tuple[str, str, str | None, str]] = [
                ("episode", name, None, text) for name, text in zip(names, summaries, strict=True)
            ]
            rows += [("turn", f"t{name}", f"x{name}", text) for name, text in zip(names, said, strict=True)]
            await transaction.run_text_many(
                "INSERT INTO deep_texts (kind, owner_id, experience_id, speaker, text, said_at, origin, tainted, "
                "checksum) VALUES (?, ?, ?, 'Ana', ?, 0, 'owner', 0, ?)",
                [(*row, checksum("Ana", row[3])) for row in rows],
            )
            await transaction.run_text_many(
                "INSERT INTO vectors (owner_kind, owner_id, model_id, vector) VALUES (?, ?, ?, ?)",
                [(row[0], row[1], _MODEL, blob) for row, blob in zip(rows, raw, strict=True)],
            )


async def _measure(folder: Path, episodes: int, has_extension: bool) -> None:
    database = await open_database(folder / "memory.db", with_vector_search=has_extension)
    await _fill(database, episodes)
    store = MemoryStore(database, _NoEmbedder(), LiveMemory(DIMENSIONS, lambda: _RECALL), "Reverie")
    began = time.perf_counter()
    await store.hydrate(lambda _: None, 0.0)
    print(f"hydrated in {time.perf_counter() - began:.2f} s; {store.deep.counts.texts} texts only on disk")
    began = time.perf_counter()
    await store.deep.ensure_table(_MODEL, DIMENSIONS)
    print(f"table of vectors made in {time.perf_counter() - began:.1f} s")
    deep, chance = DeepRecall(store, SystemClock()), np.random.default_rng(2)
    for label, seconds in (("search", 60.0), ("chat turn", 0.5)):
        taken, cpu, whole = [], resource.getrusage(resource.RUSAGE_SELF).ru_utime, 0
        for _ in range(20):
            cue = " ".join(f"w{rank}" for rank in np.minimum(chance.zipf(1.2, size=10), _WORDS).tolist())
            vector = _unit(chance.standard_normal((1, DIMENSIONS)))[0]
            began = time.perf_counter()
            whole += (await deep.search_disk(cue, vector, 10, seconds)).is_complete
            taken.append(1000 * (time.perf_counter() - began))
        used = 1000 * (resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu) / len(taken)
        print(
            f"{label}: p50 {np.median(taken):.0f} ms, worst {max(taken):.0f} ms, processor {used:.0f} ms a look, "
            f"{whole} of {len(taken)} whole"
        )
    await database.aclose()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--no-extension", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder), options.episodes, not options.no_extension))


if __name__ == "__main__":
    main()
