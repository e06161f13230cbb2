"""Ablation of ranking features: every question ranked with all features, and with one group left out.

    python bench/ablation.py --data DIR --set NAME --out FOLDER [--strip-titles] [--pool cues] [--scorer FILE]

One memory for each corpus, as in bench/recall.py, queried by `score_turns`, which scores turns in a chat turn's recall.
The shipped weights are used, with zero for the left-out group. FOLDER gets `all.jsonl` and a file for each group; with
--scorer each is compared with `all`, question by question, by the scorer's bootstrap.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from recall import DEPTH, with_embedder
from recall_data import corpora, remembering, turn_ids

from reveries.llm.base import Embedder
from reveries.memory.recall.ranking import WEIGHTS, RankingWeights, best_turns, score_turns

GROUPS: Mapping[str, tuple[str, ...]] = {
    "words": ("words", "window_words", "words_before", "words_of_best", "coverage", "window_coverage"),
    "meaning": ("meaning", "cosine"),
    "what-is-said-around": ("window_meaning", "meaning_before", "meaning_after"),
    "the-conversations-best": ("conversation",),
    "names-and-phrases-of-the-cue": ("about_named", "phrases"),
    "how-a-turn-looks": (
        *("length", "short", "asks", "ends_asking", "after_question", "begins", "greets", "first_person"),
        *("number", "time_word"),
    ),
    "the-kind-of-answer": ("names", "names_for_who", "number_for_many", "time_for_when"),
    "who-speaks": ("speaker", "other_speaker"),
    "times": ("after_then", "before_then"),
    "own-words": ("own", "brings", "answered_meaning", "reply_brings"),
    "hops": ("hop_trust", "hop_second", "bridge", "bridge_rest"),
}
"""Reasons by the name before "_x_"."""


def without(group: str, share: float = 0.0) -> RankingWeights:
    """Return the shipped weights with those of a group scaled by `share`, by default to zero."""

    def of(weights: Mapping[str, float]) -> dict[str, float]:
        left_out = GROUPS[group]
        return {
            name: weight * (share if name.partition("_x_")[0] in left_out else 1.0) for name, weight in weights.items()
        }

    return RankingWeights(of(WEIGHTS.match), of(WEIGHTS.hop))


async def run(chosen: argparse.Namespace, embedder: Embedder) -> None:
    """Rank the questions of one set by all reasons and without each group."""
    chosen.out.mkdir(parents=True, exist_ok=True)
    variants = {"all": WEIGHTS} | {group: without(group) for group in GROUPS}
    lines: dict[str, list[str]] = {name: [] for name in variants}
    for corpus in corpora(chosen.data, chosen.set, strip_titles=chosen.strip_titles):
        async with remembering(corpus.items, embedder) as memory:
            ids = turn_ids(memory, corpus)
            for question in corpus.questions:
                vector = await memory.embed_cue(question.text)
                for name, weights in variants.items():
                    depth = DEPTH if chosen.pool == "all" else len(ids)
                    scores = score_turns(memory.live.turns, question.text, vector, question.asked_at, weights=weights)
                    named = [ids[one.turn.id] for one in best_turns(memory.live.turns, scores, depth)]
                    kept = [one for one in named if chosen.pool == "all" or one in corpus.pool]
                    line = {"corpus": corpus.name, "qid": question.qid, "ranked": kept[:DEPTH]}
                    lines[name].append(json.dumps(line))
    for name, rows in lines.items():
        (chosen.out / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", required=True)
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument("--strip-titles", action="store_true")
    parser.add_argument("--pool", choices=("all", "cues"), default="all")
    parser.add_argument("--scorer", type=Path)
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    chosen = parser.parse_args()
    asyncio.run(with_embedder(chosen, run))
    if chosen.scorer:
        for group in GROUPS:
            print(f"== without {group}", flush=True)
            runs = [str(chosen.out / f"{group}.jsonl"), "--against", str(chosen.out / "all.jsonl")]
            subprocess.run([sys.executable, str(chosen.scorer), "recall", "--set", chosen.set, *runs], check=False)


if __name__ == "__main__":
    main()
