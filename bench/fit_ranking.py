"""Fit what the reasons of a turn's rank weigh, and write reveries/memory/recall/ranking_weights.py.

    python bench/fit_ranking.py --data DIR --out reveries/memory/recall/ranking_weights.py [--cache DIR] [--report]

A linear model for all sets together: for each question the softmax over its candidates, every gold item against all
that are not gold, so that weights are log odds. Sets weigh as SET_WEIGHTS says, whatever their size. Only the reasons
of a turn itself: what the best turns say about the others is weighed by hand (`hops`). `--report` fits on one half of
the conversations (of the questions, where there is one corpus) and scores the other half, both ways: figures of
questions that the weights have not seen. What is written is fitted on everything. No text of the data is in it. Mind
the terms of the data: what may be scored may not be fitted on everywhere.
"""

import argparse
import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from recall import embedder_of
from recall_data import Corpus, Question, corpora, remembering, turn_ids

from reveries.llm.base import Embedder
from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.hops import HOP_WEIGHTS
from reveries.memory.recall.ranking import Look, Weights, gather_evidence

Floats = NDArray[np.float32]

SET_WEIGHTS: Mapping[str, float] = {
    "locomo": 1.5,
    "beam": 1.2,
    "musique": 0.5,
    "musique-": 0.6,
    "twowiki": 0.3,
    "twowiki-": 0.6,
    "hotpot": 0.3,
    "hotpot-": 0.2,
    "locomo_plus": 0.3,
}
"""How much each set counts; "-" is the set without its titles. Of locomo_plus only the cues are candidates: the others
could be told by their form alone."""
_ROUNDS, _RATE, _SHRINKAGE = 250, 0.05, 2e-4
_LEAST_WEIGHT = 5e-4


@dataclass(slots=True)
class Example:
    """One question with its candidates."""

    set_name: str
    half: int
    look: Look
    gold: NDArray[np.bool_]
    gold_count: int
    names: Sequence[str]

    def columns(self) -> Floats:
        return np.stack([self.look.match[name] for name in self.names], axis=1).astype(np.float32)


def half_of(corpus: Corpus, question: Question, corpora_count: int) -> int:
    """Conversations are halved whole; the questions of a single corpus one by one."""
    key = corpus.name.removeprefix("plus-") if corpora_count > 1 else question.qid
    return hashlib.blake2b(key.encode(), digest_size=2).digest()[0] % 2


async def examples_of(data: Path, set_name: str, embedder: Embedder) -> list[Example]:
    """Every question of a set, looked at closely."""
    name, strip = set_name.removesuffix("-"), set_name.endswith("-")
    found: list[Example] = []
    all_corpora = corpora(data, name, strip_titles=strip)
    for corpus in all_corpora:
        async with remembering(corpus.items, embedder) as memory:
            ids = turn_ids(memory, corpus)
            index = memory.live.turns
            item_of = [ids[index.turn(row).id] for row in range(index.size)]
            shown = index.live.copy()
            if set_name == "locomo_plus":
                shown &= np.array([item in corpus.pool for item in item_of])
            for question in corpus.questions:
                evidence = gather_evidence(index, question.text, await memory.embed_cue(question.text))
                look = Look(index, read_cue(question.text, question.asked_at), evidence, shown)
                items = [item_of[row] for row in look.rows.tolist()]
                gold = np.isin(items, question.gold)
                half = half_of(corpus, question, len(all_corpora))
                found.append(Example(set_name, half, look, gold, len(question.gold), sorted(look.match)))
    return found


def fit(columns: Sequence[Floats], golds: Sequence[NDArray[np.bool_]], weights: Sequence[float]) -> Floats:
    """The weights of the columns: gradient descent (Adam) on the mean log loss, with shrinkage, in standard units."""
    kept = [at for at, gold in enumerate(golds) if gold.any() and not gold.all()]
    values = np.concatenate([columns[at] for at in kept])
    gold = np.concatenate([golds[at] for at in kept])
    sizes = np.array([len(golds[at]) for at in kept])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    question = np.repeat(np.arange(len(kept)), sizes)
    share = np.array([weights[at] for at in kept])
    share = share / share.sum() / np.add.reduceat(gold.astype(float), starts)
    spread = values.std(axis=0) + 1e-6
    values = ((values - values.mean(axis=0)) / spread).astype(np.float32)
    golden = np.flatnonzero(gold)
    found, drift, energy = (np.zeros(values.shape[1]) for _ in range(3))
    for step in range(1, _ROUNDS + 1):
        scores = values @ found.astype(np.float32)
        powers = np.exp(scores - np.maximum.reduceat(scores, starts)[question])
        others = np.add.reduceat(np.where(gold, 0.0, powers), starts)[question[golden]]
        whole = powers[golden] + others
        pull = np.zeros(len(scores))
        pull[golden] = -share[question[golden]] * others / whole
        pushed = np.bincount(question[golden], weights=share[question[golden]] / whole, minlength=len(kept))
        pull += np.where(gold, 0.0, powers * pushed[question])
        slope = values.T @ pull.astype(np.float32) + _SHRINKAGE * found
        drift, energy = 0.9 * drift + 0.1 * slope, 0.99 * energy + 0.01 * slope**2
        rate = _RATE * (1.0 if step < 0.6 * _ROUNDS else 0.3)
        found = found - rate * (drift / (1 - 0.9**step)) / (np.sqrt(energy / (1 - 0.99**step)) + 1e-9)
    fitted: Floats = (found / spread).astype(np.float32)
    return fitted


def fit_match(examples: Sequence[Example]) -> dict[str, float]:
    """The weights of a turn's own reasons. What leads on is weighed by hand (`hops.HOP_WEIGHTS`)."""
    counts = {name: sum(example.set_name == name for example in examples) for name in SET_WEIGHTS}
    weights = [SET_WEIGHTS[example.set_name] / counts[example.set_name] for example in examples]
    columns = [example.columns() for example in examples]
    return _named(examples[0].names, fit(columns, [example.gold for example in examples], weights))


def _named(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}


def report(examples: Sequence[Example]) -> None:
    """Recall of each half by weights fitted on the other."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for half in (0, 1):
        fitted = fit_match([example for example in examples if example.half == half])
        for example in examples:
            if example.half != half:
                found.setdefault(example.set_name, []).append(_recall(example, fitted))
    for name, rows in found.items():
        means = 100 * np.mean(np.array(rows), axis=0)
        print(
            f"{name:12} recall@1 {means[0]:.1f} @5 {means[1]:.1f} @10 {means[2]:.1f} @25 {means[3]:.1f} "
            f"MRR {means[4]:.1f}"
        )


def _recall(example: Example, fitted: Mapping[str, float]) -> tuple[float, ...]:
    scores = example.look.parts(Weights(fitted, HOP_WEIGHTS)).amounts.sum(axis=1)
    ranks = np.flatnonzero(example.gold[np.argsort(-scores, kind="stable")])
    first = 1.0 / (1 + ranks[0]) if len(ranks) else 0.0
    return (*((ranks < depth).sum() / example.gold_count for depth in (1, 5, 10, 25)), first)


_HEAD = '''"""What each reason weighs for a turn's rank: log odds a unit of `features`.

Made by bench/fit_ranking.py from the evaluation sets together, one table for all; change it there. Fitted on
{counts}.
"""

'''


def write(fitted: Mapping[str, float], examples: Sequence[Example], out: Path) -> None:
    """The table as a module."""
    counts = {name: sum(example.set_name == name for example in examples) for name in SET_WEIGHTS}
    told = ",\n".join(f"{count} questions of {name}" for name, count in counts.items() if count)
    lines = [_HEAD.format(counts=told), "MATCH_WEIGHTS: dict[str, float] = {\n"]
    lines += [f'    "{name}": {weight},\n' for name, weight in fitted.items() if abs(weight) >= _LEAST_WEIGHT]
    out.write_text("".join([*lines, "}\n"]), encoding="utf-8")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    parser.add_argument("--report", action="store_true")
    chosen = parser.parse_args()
    embedder = embedder_of(chosen.model, chosen.cache)
    examples: list[Example] = []
    for name in SET_WEIGHTS:
        examples += await examples_of(chosen.data, name, embedder)
        print(f"{name}: {len(examples)} examples", flush=True)
    await embedder.aclose()
    if chosen.report:
        report(examples)
    write(fit_match(examples), examples, chosen.out)


if __name__ == "__main__":
    asyncio.run(main())
