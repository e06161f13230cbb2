"""Make reveries/memory/recall/ranking_weights.py: what each reason weighs, learned from talk that we make ourselves.

    PYTHONPATH=.:bench python bench/fit_ranking.py --out reveries/memory/recall/ranking_weights.py [--cache DIR]

The talk and its questions are `make_talks.py`'s; no data set takes part, neither its texts nor its answers. The weights
start from `hand_weights.py` and are drawn back to them (`NEARNESS`); none changes its sign: what was held to speak for
a turn never comes to speak against it. Each kind of talk counts alike. What is learned from one half of the subjects is
printed for the other half, whose words were never fitted. The same on every run.
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hand_weights import HAND_WEIGHTS
from make_talks import talks
from numpy.typing import NDArray
from recall import embedder_of
from recall_data import Corpus, Question, remembering, turn_ids

from reveries.llm.base import Embedder, Vector
from reveries.memory.memory import Memory
from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.features import features_of
from reveries.memory.recall.hops import HOP_WEIGHTS
from reveries.memory.recall.ranking import Look, Weights, gather_evidence

NEARNESS = 3.0
"""How strongly the weights are held to those by hand, in nats for a move of one standard deviation of log odds."""
TEMPERATURE = 2.0
"""Log odds are the score divided by this: the weights by hand lose least with it (of 0.5, 0.75, 1, 1.5, 2 and 3)."""
TALKS, CHECKED_TALKS = 10, 4
_STEPS = 200
_LEAST_SPREAD = 0.02
_HEAD = '''"""What each reason weighs for a turn's rank, in units of `features`: added up, more is better. "a_x_b" is
the reason a where b holds (`features.features_of`).

Learned by bench/fit_ranking.py from talk that bench/make_talks.py makes, near to weights set by hand
(bench/hand_weights.py). No evaluation set takes part: the terms of those data ask that nothing be trained on them.
"""

MATCH_WEIGHTS: dict[str, float] = {
'''
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """One question: candidates x reasons, what hops add, which are its source turns, and how many it has in all."""

    kind: str
    values: NDArray[np.float32]
    added: NDArray[np.float32]
    is_source: NDArray[np.bool_]
    sources: int


@dataclass(frozen=True, slots=True)
class Sample:
    """All examples, one under the other; `question` numbers them, `starts` says where each begins."""

    values: NDArray[np.float32]
    added: Doubles
    is_source: NDArray[np.bool_]
    question: NDArray[np.int64]
    starts: NDArray[np.int64]
    shares: Doubles
    """What each question counts for: kinds count alike."""


async def examples(corpora: Iterable[Corpus], embedder: Embedder) -> list[Example]:
    """What recall sees of every question whose sources are among its candidates."""
    found: list[Example] = []
    for corpus in corpora:
        async with remembering(corpus.items, embedder) as memory:
            ids = turn_ids(memory, corpus)
            for question in corpus.questions:
                vector = await memory.embed_cue(question.text)
                example = _example(memory, question, vector, {name: turn_id for turn_id, name in ids.items()})
                if example.is_source.any():
                    found.append(example)
    return found


def _example(memory: Memory, question: Question, vector: Vector, turn_of: dict[str, str]) -> Example:
    index, cue = memory.live.turns, read_cue(question.text, question.asked_at)
    evidence = gather_evidence(index, question.text, vector)
    look = Look(index, cue, evidence, index.live)
    look.match = features_of(index, cue, evidence, look.rows, HAND_WEIGHTS)
    parts = look.parts(Weights(HAND_WEIGHTS, HOP_WEIGHTS))
    own = len(HAND_WEIGHTS)
    sources = [row for name in question.gold if (row := index.row_of(turn_of[name])) is not None]
    return Example(
        kind=question.corpus.rstrip("0123456789t-"),
        values=parts.values[:, :own],
        added=parts.amounts[:, own : own + len(HOP_WEIGHTS)].sum(axis=1),
        is_source=np.isin(look.rows, sources),
        sources=len(question.gold),
    )


def stacked(chosen: Sequence[Example]) -> Sample:
    """Examples as one sample."""
    sizes = np.array([len(example.added) for example in chosen])
    kinds = Counter(example.kind for example in chosen)
    return Sample(
        values=np.concatenate([example.values for example in chosen]),
        added=np.concatenate([example.added for example in chosen]).astype(np.float64),
        is_source=np.concatenate([example.is_source for example in chosen]),
        question=np.repeat(np.arange(len(chosen)), sizes),
        starts=(np.cumsum(sizes) - sizes).astype(np.int64),
        shares=np.array([1.0 / kinds[example.kind] for example in chosen]) / len(kinds),
    )


def loss(weights: Doubles, sample: Sample) -> tuple[float, Doubles]:
    """How surely each source turn is drawn from itself and all turns that are none (mean negative log likelihood), and
    the gradient."""
    scores = (sample.values @ weights.astype(np.float32) + sample.added) / TEMPERATURE
    odds = np.exp(scores - np.maximum.reduceat(scores, sample.starts)[sample.question])
    source = sample.is_source
    others = np.add.reduceat(np.where(source, 0.0, odds), sample.starts)[sample.question]
    count = np.add.reduceat(source.astype(np.float64), sample.starts)[sample.question]
    chance = np.where(source, odds / (odds + others), 1.0)
    share = sample.shares[sample.question] / count
    pressed = np.add.reduceat(np.where(source, 1.0 / (odds + others), 0.0), sample.starts)[sample.question]
    pull = np.where(source, chance - 1.0, odds * pressed) * share / TEMPERATURE
    return float(-(np.log(np.maximum(chance, 1e-30)) * share).sum()), sample.values.T @ pull


def fitted(sample: Sample, prior: Doubles) -> Doubles:
    """The weights that lose least, held to `prior` and to its signs; by accelerated projected gradients, in units of
    each reason's own spread."""
    spread = np.maximum(sample.values.std(axis=0).astype(np.float64), _LEAST_SPREAD)
    low, high = np.where(prior > 0.0, 0.0, -np.inf), np.where(prior < 0.0, 0.0, np.inf)

    def held(weights: Doubles) -> tuple[float, Doubles]:
        value, slope = loss(weights, sample)
        moved = (weights - prior) * spread / TEMPERATURE
        return value + NEARNESS * float(moved @ moved), slope + 2.0 * NEARNESS * moved * spread / TEMPERATURE

    best, ahead, pace, step = prior.copy(), prior.copy(), 1.0, 2.0 * TEMPERATURE**2
    for _ in range(_STEPS):
        value, slope = held(ahead)
        while True:
            new: Doubles = np.clip(ahead - step * slope / spread**2, low, high)
            moved = (new - ahead) * spread
            if held(new)[0] <= value + float(slope @ (new - ahead)) + float(moved @ moved) / (2.0 * step) + 1e-9:
                break
            step /= 2.0
        change: Doubles = new - best
        faster = (1.0 + (1.0 + 4.0 * pace**2) ** 0.5) / 2.0
        if np.abs(change * spread).max() < 1e-3:
            return new
        ahead, best, pace = new + (pace - 1.0) / faster * change, new, faster
    return best


def recalls(chosen: Sequence[Example], weights: Doubles) -> dict[str, tuple[float, float]]:
    """Recall@5 and @10 of each kind of talk, in percent."""
    found: dict[str, list[tuple[float, float]]] = {}
    for example in chosen:
        order = np.argsort(-(example.values @ weights + example.added), kind="stable")
        places = np.flatnonzero(example.is_source[order])
        share = (float((places < 5).sum()) / example.sources, float((places < 10).sum()) / example.sources)
        found.setdefault(example.kind, []).append(share)
    return {kind: (_percent(rows, 0), _percent(rows, 1)) for kind, rows in sorted(found.items())}


def _percent(rows: Sequence[tuple[float, float]], place: int) -> float:
    return round(100.0 * sum(row[place] for row in rows) / len(rows), 1)


def table(weights: Doubles) -> str:
    """The module that recall reads; reasons that came to nothing are left out."""
    lines = [f'    "{name}": {round(float(weight), 3)},\n' for name, weight in zip(HAND_WEIGHTS, weights, strict=True)]
    return _HEAD + "".join(line for line in lines if not line.endswith((" 0.0,\n", " -0.0,\n"))) + "}\n"


async def _run(chosen: argparse.Namespace) -> None:
    embedder = embedder_of(chosen.model, chosen.cache)
    try:
        known = await examples(talks(0, TALKS), embedder)
        unseen = await examples(talks(1, CHECKED_TALKS), embedder)
    finally:
        await embedder.aclose()
    prior = np.array(list(HAND_WEIGHTS.values()), dtype=np.float64)
    weights = fitted(stacked(known), prior)
    for name, which in (("by hand", prior), ("learned", weights)):
        told = {"fitted on": recalls(known, which), "unseen subjects": recalls(unseen, which)}
        print(name, told, f"loss on unseen {loss(which, stacked(unseen))[0]:.3f}", file=sys.stderr)
    chosen.out.write_text(table(weights), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
