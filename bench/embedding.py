"""Cost of embedding: single texts and batches, a hit in each cache, and re-embedding a whole memory.

    python bench/embedding.py --data DIR --conversation conv-26 --model model.onnx --tokenizer tokenizer.json

Reported are wall time and processor time; on a busy machine only the latter is reliable. The texts are the turns of a
LoCoMo conversation (see bench/locomo_import.py), which is not part of this repository.
"""

import argparse
import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from import_recall import said_at
from locomo_import import eval_turns

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.llm.base import Embedder, Vectors
from reveries.llm.budget import Ledger
from reveries.llm.metered_embedding import EmbeddingCache, MeteredEmbedder
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory, MemoryParts

_SINGLES = 200
_CUES = 20


class Renamed:
    """The same model under another name: a change of the embedder that needs no second one."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.model_id = "renamed"
        self.dimensions = inner.dimensions

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._inner.embed(texts)

    async def aclose(self) -> None:
        return


async def timed(what: str, count: int, work: Callable[[], Awaitable[object]]) -> None:
    """Do it, print how many a second by the wall and by the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    await work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(
        f"{what}: {count / wall:.0f} a second by the wall, {count / processor:.0f} by the processor "
        f"({1000 * wall / count:.3f} ms each)"
    )


async def plain(embedder: OnnxEmbedder, texts: Sequence[str]) -> None:
    """The embedder itself."""
    began = time.perf_counter()
    await embedder.embed(["load"])
    print(f"loading and the first text: {time.perf_counter() - began:.2f} s")

    async def singly() -> None:
        for text in texts[:_SINGLES]:
            await embedder.embed([text])

    async def in_order(size: int) -> None:
        for start in range(0, len(texts), size):
            await embedder.embed(texts[start : start + size])

    await timed("one text a call", min(_SINGLES, len(texts)), singly)
    for size in (8, 32, 128):
        await timed(f"{size} texts a call", len(texts), lambda size=size: in_order(size))  # type: ignore[misc]


async def cached(embedder: OnnxEmbedder, database: Database, texts: Sequence[str]) -> None:
    """What is known already, in memory and in the file."""
    ledger = Ledger(database, SystemClock(), lambda: load_settings(None).budget)
    cache = EmbeddingCache(database)
    metered = MeteredEmbedder(embedder, ledger, cache)
    vectors = await metered.embed(texts)
    by_text = dict(zip(texts, vectors, strict=True))

    async def hits(find: Callable[[str], Awaitable[object]]) -> None:
        for text in texts:
            await find(text)

    await timed("a hit in memory", len(texts), lambda: hits(lambda text: metered.embed([text])))
    await timed("kept in the file, 32 at a time", len(texts), lambda: keep(cache, by_text))
    await timed("a hit in the file", len(texts), lambda: hits(lambda text: cache.find(embedder.model_id, [text])))


async def keep(cache: EmbeddingCache, by_text: dict[str, Vectors]) -> None:
    """As after each paid call."""
    items = list(by_text.items())
    for start in range(0, len(items), 32):
        await cache.keep("all-minilm-l6-v2-int8", dict(items[start : start + 32]))


async def anew(embedder: OnnxEmbedder, folder: Path, turns: Sequence[PastTurn]) -> None:
    """A memory of `turns` whose embedder changes, with cues asked meanwhile."""
    count = itertools.count()
    database = await open_database(folder / "anew.db")
    settings = load_settings(None)
    ledger = Ledger(database, SystemClock(), lambda: settings.budget)

    def memory_with(chosen: Embedder) -> Memory:
        return Memory(
            MemoryParts(
                database=database,
                embedder=MeteredEmbedder(chosen, ledger, EmbeddingCache(database)),
                clock=SystemClock(),
                memory=lambda: settings.memory,
                recall=lambda: settings.recall,
                owner_name=lambda: "",
                mind_name=settings.mind.name,
                new_id=lambda: f"{next(count):08x}",
                old_embedder=lambda _: embedder,
            )
        )

    memory = memory_with(embedder)
    await memory.hydrate()
    await memory.begin_import("past").add(turns)
    await memory.light_sleep()
    memory = memory_with(Renamed(embedder))
    await memory.hydrate()
    waits: list[float] = []

    async def ask() -> None:
        for place in range(_CUES):
            began = time.perf_counter()
            await memory.search(turns[place * 7 % len(turns)].text, 10)
            waits.append(1000 * (time.perf_counter() - began))
            await asyncio.sleep(0.2)

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(memory.reembedding.embed_missing(), name="reembedding")
            tasks.create_task(ask(), name="asking")

    began, processor = time.perf_counter(), time.process_time()
    await both()
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    done = memory.reembedding.progress
    print(f"{done.done} of {done.total} texts, anew in {seconds:.1f} s, {processor:.1f} s of the processor")
    print(f"{_CUES} searches meanwhile: median {statistics.median(waits):.0f} ms, worst {max(waits):.0f} ms")
    await memory.close()
    await database.aclose()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--conversation", default="conv-26")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    chosen = parser.parse_args()
    turns = eval_turns(chosen.data, chosen.conversation)
    past = [PastTurn(said_at(turn), turn.speaker, turn.text) for turn in turns]
    texts = list(dict.fromkeys(turn.text for turn in turns))
    embedder = OnnxEmbedder(chosen.model, chosen.tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        print(f"{len(texts)} texts of {statistics.mean(map(len, texts)):.0f} characters on average")
        await plain(embedder, texts)
        database = await open_database(Path(folder) / "memory.db")
        await cached(embedder, database, texts)
        await database.aclose()
        await anew(embedder, Path(folder), past)
    await embedder.aclose()


if __name__ == "__main__":
    asyncio.run(main())
