"""Search in project knowledge: evaluation passages as chunks, queried by the search that tasks use.

    python bench/knowledge.py --data DIR [--set NAME] [--out FOLDER] [--scorer score.py] [--cache DIR]
    python bench/knowledge.py --speed 10000 [100000]

Sets: musique, twowiki, hotpot, tau_knowledge, compared with the search's parts alone (words, meaning). One
configuration for all; no language model is used. `--speed` compares a search with one float32 pass over as many vectors
and one query of the word index, in one run.
"""

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from make_talks import documents
from recall import embedder_of
from recall_data import Corpus, corpora

from reveries.clock import SystemClock
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.llm.base import Embedder, Vectors

SETS = ("musique", "twowiki", "hotpot", "tau_knowledge")
METHODS = ("hybrid", "meaning", "words")
_DEPTH = 100
_STORED = 200
_BATCH = 500


@asynccontextmanager
async def a_project(embedder: Embedder) -> AsyncIterator[tuple[ProjectKnowledge, Database]]:
    """A new file with one project, p."""
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(Path(folder) / "memory.db")
        count = itertools.count()
        try:
            async with database.transaction() as transaction:
                await transaction.run("projects.put", {"id": "p", "name": "Bench", "now": 0.0})
            yield ProjectKnowledge(database, embedder, SystemClock(), lambda: f"{next(count):08x}"), database
        finally:
            await database.aclose()


def chunk_of(text: str) -> NewChunk:
    """A passage; its first line is its title where there are more."""
    title, _, content = text.partition("\n")
    title, content = (title, content) if content.strip() else ("", text)
    return NewChunk(content, ChunkType.RESOURCE, Confidence.VERIFIED, ChunkSource.RESEARCH, title)


async def fill(knowledge: ProjectKnowledge, chunks: Sequence[NewChunk]) -> list[str]:
    ids: list[str] = []
    for start in range(0, len(chunks), _BATCH):
        ids += await knowledge.store("p", chunks[start : start + _BATCH])
    return ids


async def run_corpus(corpus: Corpus, embedder: Embedder, outs: dict[str, list[str]]) -> None:
    async with a_project(embedder) as (knowledge, _):
        began = time.perf_counter()
        ids = await fill(knowledge, [chunk_of(item.text) for item in corpus.items])
        took = time.perf_counter() - began
        names = dict(zip(ids, (item.id for item in corpus.items), strict=True))
        relations = len(await knowledge.relations("p"))
        print(f"{corpus.name}: {len(ids)} chunks in {took:.0f} s, {relations} relations", flush=True)
        for question in corpus.questions:
            search = knowledge.search
            found = {
                "hybrid": await search.hybrid("p", question.text, _DEPTH, is_counted=False),
                "meaning": await search.semantic("p", question.text, _DEPTH, 0.0, is_counted=False),
                "words": await search.by_words("p", question.text, _DEPTH),
            }
            for method, chunks in found.items():
                ranked = [names[one.chunk.id] for one in chunks]
                line = {"corpus": question.corpus, "qid": question.qid, "ranked": ranked}
                outs[method].append(json.dumps(line))


async def run_sets(chosen: argparse.Namespace) -> None:
    embedder = embedder_of(chosen.model, chosen.cache)
    for name in [chosen.set] if chosen.set else SETS:
        outs: dict[str, list[str]] = {method: [] for method in METHODS}
        for corpus in corpora(chosen.data, name):
            await run_corpus(corpus, embedder, outs)
        for method, lines in outs.items():
            file = chosen.out / f"{name}.{method}.jsonl"
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    await embedder.aclose()


def score_sets(chosen: argparse.Namespace) -> None:
    for name in [chosen.set] if chosen.set else SETS:
        for method in METHODS:
            print(f"{name} {method}", flush=True)
            run = chosen.out / f"{name}.{method}.jsonl"
            subprocess.run([sys.executable, str(chosen.scorer), "recall", "--set", name, str(run)], check=True)


# --- speed ------------------------------------------------------------------------------------------------------------


class RandomEmbedder:
    """Unit vectors by the words of a text: as fast as none."""

    model_id = "random"
    dimensions = 384

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for place, text in enumerate(texts):
            rows[place] = np.random.default_rng(abs(hash(text)) % 2**32).standard_normal(self.dimensions)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else 1.0
        return rows

    async def aclose(self) -> None:
        """Nothing to close."""


_CHUNK = """INSERT INTO chunks (id, project_id, title, content, names, type, confidence, source, created_at,
    last_accessed_at, checksum) VALUES (?, 'p', ?, ?, ?, 'research', 'verified', 'research', 0, 0, x'00')"""


async def measure_speed(size: int) -> None:
    """Medians of a search, of a float32 pass and of a query of the words, over `size` chunks."""
    chance = np.random.default_rng(7)
    vocabulary = [f"w{number}" for number in range(20_000)]
    weights = 1.0 / np.arange(1, len(vocabulary) + 1)
    weights /= weights.sum()
    drawn = chance.choice(len(vocabulary), size=(size, 60), p=weights)
    chunks = [
        NewChunk(
            " ".join(vocabulary[word] for word in row), ChunkType.RESEARCH, Confidence.VERIFIED, ChunkSource.RESEARCH,
            title=f"Title {place}",
        )
        for place, row in enumerate(drawn)
    ]  # fmt: skip
    embedder = RandomEmbedder()
    async with a_project(embedder) as (knowledge, database):
        vectors = await embedder.embed([one.text for one in chunks])
        rows = [
            (f"c{place:07}", one.title, one.content, json.dumps([f"title {place}"])) for place, one in enumerate(chunks)
        ]
        async with database.transaction() as transaction:
            await transaction.run_text_many(_CHUNK, rows)
            stored = [
                (row[0], "random", vector.astype("<f4").tobytes()) for row, vector in zip(rows, vectors, strict=True)
            ]
            await transaction.run_text_many("INSERT INTO chunk_vectors VALUES (?, ?, ?)", stored)
        began = time.perf_counter()
        await knowledge.search.hybrid("p", "w5", 10, is_counted=False)
        print(f"{size} chunks: first search, which reads them, {time.perf_counter() - began:.2f} s")
        times: dict[str, list[float]] = {"search": [], "pass": [], "words": []}
        for _ in range(30):
            query = " ".join(vocabulary[word] for word in chance.choice(len(vocabulary), size=6, p=weights))
            [cue] = await embedder.embed([query])
            words = " OR ".join(f'"{word}"' for word in dict.fromkeys(query.split()))
            times["pass"].append(await _seconds_of_pass(vectors, cue))
            times["words"].append(await _seconds_of_words(database, words))
            began = time.perf_counter()
            await knowledge.search.hybrid("p", query, 10, is_counted=False)
            times["search"].append(time.perf_counter() - began)
        medians = {name: 1000 * float(np.median(values)) for name, values in times.items()}
        ratio = medians["search"] / (medians["pass"] + medians["words"])
        print(" ".join(f"{name} {value:.1f} ms" for name, value in medians.items()), f"ratio {ratio:.2f}", flush=True)


async def measure_storing(count: int, chosen: argparse.Namespace) -> None:
    """Measure the cost of storing a chunk apart from its embedding, with the real embedder, one at a time."""
    embedder = embedder_of(chosen.model, None)
    chunks = [chunk_of(item.text) for item in documents(1, True).items][:count]
    async with a_project(embedder) as (knowledge, _):
        await fill(knowledge, [chunk_of(item.text) for item in documents(2, True).items])
        began = time.perf_counter()
        for one in chunks:
            await embedder.embed([one.text])
        embedding = time.perf_counter() - began
        began = time.perf_counter()
        for one in chunks:
            await knowledge.store("p", [one])
        storing = time.perf_counter() - began
    print(
        f"{len(chunks)} chunks: embedding {1000 * embedding / len(chunks):.1f} ms each, storing with it "
        f"{1000 * storing / len(chunks):.1f} ms, ratio {storing / embedding:.2f}"
    )
    await embedder.aclose()


async def _seconds_of_pass(vectors: Vectors, cue: np.ndarray[tuple[int], np.dtype[np.float32]]) -> float:
    began = time.perf_counter()
    products = vectors @ cue
    np.argpartition(-products, 10)[:10].sort()
    return time.perf_counter() - began


async def _seconds_of_words(database: Database, words: str) -> float:
    began = time.perf_counter()
    named = {"words": f'{{project_id}} : "p" AND {{title content}} : ({words})', "limit": 10}
    await database.rows("chunks.by_words", named)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--set", choices=SETS)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--scorer", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--speed", type=int, nargs="+", default=())
    chosen = parser.parse_args()
    for size in chosen.speed:
        asyncio.run(measure_speed(size))
    if chosen.speed:
        asyncio.run(measure_storing(_STORED, chosen))
    if chosen.data:
        chosen.out = chosen.out or Path(tempfile.mkdtemp())
        chosen.out.mkdir(parents=True, exist_ok=True)
        asyncio.run(run_sets(chosen))
        if chosen.scorer:
            score_sets(chosen)


if __name__ == "__main__":
    main()
