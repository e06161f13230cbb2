"""Recall of episodes: does the episode with a question's evidence surface, and at what rank?

    PYTHONPATH=.:bench python bench/episodes.py --data DIR --set NAME --out RUN.jsonl [--against OTHER.jsonl]

One line for each question: the ranks (from 1) of the episodes with its evidence, 0 for one that did not surface.
Printed: the share of them among the first 5 / 10 / 25, and with --against the paired difference from another run with
its 95 % interval (bootstrap over questions, 10,000 samples). One configuration for all sets; `Memory.recall` ranks.
"""

import argparse
import asyncio
import contextlib
import json
from pathlib import Path

import numpy as np
from recall import embedder_of
from recall_data import corpora, remembering, turn_ids

from reveries.memory.model import RecallContext

DEPTHS = (5, 10, 25)
_SAMPLES = 10_000


async def run(chosen: argparse.Namespace) -> list[dict[str, object]]:
    """Ask every question of the set."""
    lines: list[dict[str, object]] = []
    async with contextlib.aclosing(embedder_of(chosen.model, chosen.cache)) as embedder:
        for corpus in corpora(chosen.data, chosen.set, strip_titles=chosen.strip_titles):
            async with remembering(corpus.items, embedder) as memory:
                turns = memory.live.turns
                home = {
                    name: turns.episode_id(turns.row_of(key) or 0) for key, name in turn_ids(memory, corpus).items()
                }
                for question in corpus.questions:
                    vector = await memory.embed_cue(question.text)
                    context = RecallContext(now=question.asked_at, limit=max(DEPTHS))
                    found = [hit.episode.id for hit in memory.live.recall(question.text, vector, context).episodes]
                    places = {
                        name: found.index(name) + 1 if name in found else 0 for name in map(home.get, question.gold)
                    }
                    lines.append({"corpus": corpus.name, "qid": question.qid, "places": list(places.values())})
    return lines


def shares(lines: list[dict], depth: int) -> np.ndarray:  # type: ignore[type-arg]  # a run as it was read
    """A value a question: the share of its episodes among the first `depth`."""
    return np.array([np.mean([0 < place <= depth for place in line["places"]]) for line in lines])


def compare(lines: list[dict], other: list[dict]) -> None:  # type: ignore[type-arg]
    """Print the paired difference from `other`."""
    known = {(line["corpus"], line["qid"]): line for line in other}
    paired = [known[(line["corpus"], line["qid"])] for line in lines]
    chance = np.random.default_rng(1)
    for depth in DEPTHS:
        difference = shares(lines, depth) - shares(paired, depth)
        picked = chance.integers(0, len(difference), (_SAMPLES, len(difference)))
        low, high = np.percentile(difference[picked].mean(axis=1), [2.5, 97.5])
        print(f"@{depth}: {100 * difference.mean():+.1f} ({100 * low:+.1f} to {100 * high:+.1f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--strip-titles", action="store_true")
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    chosen = parser.parse_args()
    lines = asyncio.run(run(chosen))
    chosen.out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    scores = " / ".join(f"{100 * shares(lines, depth).mean():.1f}" for depth in DEPTHS)
    print(f"{chosen.set}: {len(lines)} questions, episodes @{'/'.join(map(str, DEPTHS))}: {scores}")
    if chosen.against:
        compare(lines, [json.loads(line) for line in chosen.against.read_text(encoding="utf-8").splitlines()])


if __name__ == "__main__":
    main()
