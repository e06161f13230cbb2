"""Recall on evaluation data: each question's items, best first, ranked by the daemon's memory code.

    python bench/recall.py --data DIR --set NAME --out RUN.jsonl [--method reveries|bm25|dense|fusion]
    python bench/recall.py --data DIR [--out FOLDER] [--scorer score.py]        # every set

DIR has a folder for each set (see recall_data.py). Questions go to `Memory.recall`, the function that a chat turn
calls; there is no ranking code here. The other methods are its parts alone: words (BM25), meaning (dense), and the
first stage that fuses the two. `--strip-titles` removes the headings of passages; `--pool cues` ranks only the items
that some question is about. One configuration for all sets; no language model is used.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
from recall_data import CachedEmbedder, Question, corpora, remembering, turn_ids

from reveries.llm.assets import find_weights
from reveries.llm.base import Embedder, Vector
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.memory.memory import Memory
from reveries.memory.model import RecallContext
from reveries.memory.recall.ranking import TurnScores, gather_evidence

DEPTH = 100
METHODS = ("reveries", "bm25", "dense", "fusion")
RUNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("locomo", "locomo", ()),
    ("beam", "beam", ()),
    ("musique", "musique", ()),
    ("musique", "musique.no-titles", ("--strip-titles",)),
    ("twowiki", "twowiki", ()),
    ("twowiki", "twowiki.no-titles", ("--strip-titles",)),
    ("hotpot", "hotpot", ()),
    ("locomo_plus", "locomo_plus", ()),
    ("locomo_plus", "locomo_plus.cues", ("--pool", "cues")),
)
"""What runs without --set: set, name of the run, options."""


async def run(chosen: argparse.Namespace, embedder: Embedder) -> None:
    """Rank every question of one set into one file."""
    began = time.perf_counter()
    asked, seconds = 0, 0.0
    with chosen.out.open("w", encoding="utf-8") as out:
        for corpus in corpora(chosen.data, chosen.set, strip_titles=chosen.strip_titles):
            async with remembering(corpus.items, embedder) as memory:
                ids = turn_ids(memory, corpus)
                for question in corpus.questions:
                    started = time.perf_counter()
                    ranked = await rank(memory, question, chosen.method, len(ids) if chosen.pool == "cues" else DEPTH)
                    seconds += time.perf_counter() - started
                    named = [ids[turn_id] for turn_id in ranked]
                    if chosen.pool == "cues":
                        named = [name for name in named if name in corpus.pool]
                    line = {"corpus": corpus.name, "qid": question.qid, "ranked": named[:DEPTH]}
                    out.write(json.dumps(line) + "\n")
                    asked += 1
    print(
        f"{chosen.out}: {asked} questions, {1000 * seconds / max(1, asked):.1f} ms each, "
        f"{time.perf_counter() - began:.0f} s in all",
        flush=True,
    )


async def rank(memory: Memory, question: Question, method: str, depth: int) -> Sequence[str]:
    """Ids of turns, best first."""
    vector = await memory.embed_cue(question.text)
    if method == "reveries":
        recall = memory.live.recall(question.text, vector, RecallContext(now=question.asked_at, limit=depth))
        return [entry.turn.id for entry in recall.turns]
    return _by_part(memory, question.text, vector, method, depth)


def _by_part(memory: Memory, cue: str, vector: Vector, method: str, depth: int) -> list[str]:
    index = memory.live.turns
    evidence = gather_evidence(index, cue, vector)
    values = {"bm25": evidence.words.row, "dense": evidence.cosines, "fusion": evidence.fused}[method]
    scores = TurnScores(np.where(index.live, values, -np.inf).astype(np.float32), evidence.cosines, values, 0.0)
    return [index.turn(row).id for row in scores.best_rows(depth)]


def run_all(chosen: argparse.Namespace) -> int:
    """Run every available set in a separate process, and the scorer on each result."""
    chosen.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, run_name, options in RUNS:
        if not any((chosen.data / part / name).is_dir() for part in ("", "data")):
            print(f"-- {name} is not in {chosen.data}")
            continue
        out = chosen.out / f"{run_name}.jsonl"
        given = ["--data", str(chosen.data), "--set", name, "--out", str(out), "--method", chosen.method, *options]
        given += ["--cache", str(chosen.cache)] if chosen.cache else []
        given += ["--model", str(chosen.model)] if chosen.model else []
        failed += subprocess.run([sys.executable, __file__, *given], check=False).returncode != 0
        if chosen.scorer:
            print(f"== {run_name}", flush=True)
            scoring = [sys.executable, str(chosen.scorer), "recall", "--set", name, str(out)]
            failed += subprocess.run(scoring, check=False).returncode != 0
    return 1 if failed else 0


def embedder_of(folder: Path | None, cache: Path | None) -> Embedder:
    """The embedder in `folder`, else where `reveries models pull` leaves it; a `cache` embeds nothing twice."""
    files = folder or find_weights("all-minilm-l6-v2")
    embedder = OnnxEmbedder(files / "model.onnx", files / "tokenizer.json")
    return CachedEmbedder(embedder, cache) if cache else embedder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", help="one set; without it every set, and --out is a folder")
    parser.add_argument("--out", type=Path, help="default: a folder in the system's temporary one")
    parser.add_argument("--method", choices=METHODS, default="reveries")
    parser.add_argument("--strip-titles", action="store_true")
    parser.add_argument("--pool", choices=("all", "cues"), default="all")
    parser.add_argument("--scorer", type=Path, help="without --set: score.py, run over each")
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    chosen = parser.parse_args()
    if chosen.out is None:
        chosen.out = Path(tempfile.mkdtemp(prefix="reveries-recall-")) / (f"{chosen.set}.jsonl" if chosen.set else "")
    if not chosen.set:
        sys.exit(run_all(chosen))
    asyncio.run(with_embedder(chosen, run))


async def with_embedder(
    chosen: argparse.Namespace, work: Callable[[argparse.Namespace, Embedder], Awaitable[None]]
) -> None:
    """Do `work` with the embedder that the command line chose."""
    embedder = embedder_of(chosen.model, chosen.cache)
    try:
        await work(chosen, embedder)
    finally:
        await embedder.aclose()


if __name__ == "__main__":
    main()
