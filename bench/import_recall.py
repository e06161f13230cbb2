"""Import a real conversation, run light sleep, and check whether recall finds the evidence for its questions.

    python bench/import_recall.py --data DIR --conversation conv-26 --queries 20 \\
        --model model.onnx --tokenizer tokenizer.json

Uses the daemon's memory code in this process, on a new database; there is no ranking code here. A question counts as
answered if one of the turns with its evidence is among the first ten ranked turns of a search.
"""

import argparse
import asyncio
import itertools
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from locomo_import import EvalTurn, eval_turns, lines_of

from reveries.clock import SystemClock
from reveries.config import load_settings
from reveries.db.opening import open_database
from reveries.llm.base import Embedder
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.memory.importing import PastTurn
from reveries.memory.memory import Memory, MemoryParts
from reveries.memory.model import RankedTurn

_DEPTHS = (1, 5, 10, 25)


def said_at(turn: EvalTurn) -> float:
    """Unix seconds; the data's times are taken as UTC."""
    return datetime.fromisoformat(turn.time).replace(tzinfo=UTC).timestamp()


async def measure(chosen: argparse.Namespace, embedder: Embedder) -> None:
    """Import, sleep, ask, print."""
    turns = eval_turns(chosen.data, chosen.conversation)
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(Path(folder) / "memory.db")
        settings = load_settings(None)
        count = itertools.count()
        memory = Memory(
            MemoryParts(
                database=database,
                embedder=embedder,
                clock=SystemClock(),
                memory=lambda: settings.memory,
                recall=lambda: settings.recall,
                owner_name=lambda: "",
                mind_name=settings.mind.name,
                new_id=lambda: f"{next(count):08x}",
            )
        )
        await memory.hydrate()
        began = time.perf_counter()
        past = [PastTurn(said_at(turn), turn.speaker, turn.text) for turn in turns]
        imported = await memory.begin_import(chosen.conversation).add(past)
        between = time.perf_counter()
        slept = await memory.light_sleep()
        slept_at = time.perf_counter()
        print(
            f"{imported.stored} turns imported in {between - began:.1f} s; light sleep over {slept.experiences} "
            f"experiences made {slept.episodes} episodes in {slept_at - between:.1f} s"
        )
        await ask_all(memory, chosen, turns)
        await memory.close()
        await database.aclose()


async def ask_all(memory: Memory, chosen: argparse.Namespace, turns: list[EvalTurn]) -> None:
    """Ask the questions in file order; print how many were answered."""
    ids = {(said_at(turn), turn.speaker, turn.text): turn.id for turn in turns}
    questions = [
        question
        for question in lines_of(chosen.data / "data" / "locomo" / "queries.jsonl.gz")
        if question["corpus"] == chosen.conversation
    ][: chosen.queries or None]
    found = dict.fromkeys(_DEPTHS, 0.0)
    answered, episode_hits, seconds = 0, 0, []
    for question in questions:
        began = time.perf_counter()
        recall = await memory.search(question["text"], limit=10)
        seconds.append(time.perf_counter() - began)
        ranked = [ids[_key(entry)] for entry in recall.turns]
        gold = set(question["gold"])
        answered += bool(gold & set(ranked[:10]))
        told = {ids[_key(entry)] for episode in recall.episodes for entry in episode.turns}
        episode_hits += bool(gold & told)
        for depth in _DEPTHS:
            found[depth] += len(gold & set(ranked[:depth])) / len(gold)
    total = len(questions)
    print(f"{answered} of {total} questions have a gold turn among the first 10 ranked turns")
    print(f"{episode_hits} of {total} have one among the best turns of the episodes that surfaced")
    print(" ".join(f"recall@{depth} {100 * share / total:.1f}" for depth, share in found.items()))
    seconds.sort()
    median, slowest = 1000 * seconds[total // 2], 1000 * seconds[-1]
    print(f"search with its embedding: median {median:.1f} ms, slowest {slowest:.1f} ms")


def _key(entry: RankedTurn) -> tuple[float, str, str]:
    return (entry.turn.said_at, entry.turn.speaker, entry.turn.text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--conversation", default="conv-26")
    parser.add_argument("--queries", type=int, default=20, help="0: all")
    parser.add_argument("--model", type=Path, required=True, help="the embedder's model.onnx")
    parser.add_argument("--tokenizer", type=Path, required=True)
    chosen = parser.parse_args()
    asyncio.run(measure(chosen, OnnxEmbedder(chosen.model, chosen.tokenizer)))


if __name__ == "__main__":
    main()
