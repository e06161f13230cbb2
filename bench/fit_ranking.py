"""Fit ranking weights on generated conversations: a table for measurements, which does not ship.

    PYTHONPATH=.:bench python bench/fit_ranking.py --out TABLE.py [--all] [--cache DIR]

The conversations and questions come from `make_talks.py`; no data set is used. By default only the features that
distinguish the mind's words from the owner's (`OWN_WORDS`) are fitted; all others keep their shipped weights. With
--all, every feature of `ranking_reasons.py` is fitted and no other is used: 29 instead of 56. The initial weights are
neutral: every feature changes the log odds by the same amount per standard deviation (`EVEN`), with the sign from
`ranking_reasons.py`. Regularisation pulls the weights to that (`NEARNESS`), and none changes its sign. Each kind of
conversation has the same weight. Weights fitted on one half of the subjects are evaluated on the other half.
Deterministic.

TABLE.py can replace reveries/memory/recall/ranking_weights.py. Neither table ships: the first finds less in
conversations with an assistant, the second in conversations of real people (docs/benchmarks/recall.md).
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from make_talks import talks
from numpy.typing import NDArray
from ranking_reasons import OWN_WORDS, SIGNS
from recall import embedder_of
from recall_data import Corpus, Question, remembering, turn_ids

from reveries.llm.base import Embedder, Vector
from reveries.memory.memory import Memory
from reveries.memory.recall import ranking_weights
from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.hops import HOP_WEIGHTS
from reveries.memory.recall.ranking import RankedCandidates, RankingWeights, gather_evidence
from reveries.memory.recall.ranking_weights import MATCH_WEIGHTS

EVEN, NEARNESS = 0.15, 2.0
"""Where every reason starts, in nats of log odds a standard deviation, and how strongly the weights are held to that,
in nats for a move of one standard deviation. Of 0.1, 0.15, 0.2 and 0.3, 1, 2 and 4 the pair that loses least on a kind
of talk of which nothing was fitted (two people by the mind's and documents, and so on)."""
TEMPERATURE = 2.0
"""Log odds are the score divided by this."""
TALKS = 6
_SOURCE = Path(ranking_weights.__file__).read_text(encoding="utf-8")
_STEPS = 200
_LEAST_SPREAD = 0.02
_ASKED_OF_MIND = "mind's words"
"""Questions for them count as a kind of talk."""
Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which reasons are learned, with their signs, and which stay as they are."""

    signs: dict[str, int]
    held: frozenset[str]


@dataclass(frozen=True, slots=True)
class Example:
    """One question: features by candidate and reason, the sum of the fixed ones, which candidates are its source turns,
    and how many source turns it has in all."""

    kind: str
    values: NDArray[np.float32]
    added: NDArray[np.float32]
    is_source: NDArray[np.bool_]
    sources: int


@dataclass(frozen=True, slots=True)
class Sample:
    """All examples stacked; `question` numbers the rows, `starts` is where each example begins."""

    values: NDArray[np.float32]
    added: Doubles
    is_source: NDArray[np.bool_]
    question: NDArray[np.int64]
    starts: NDArray[np.int64]
    shares: Doubles
    """What each question counts for: kinds count alike."""


async def examples(corpora: Iterable[Corpus], embedder: Embedder, chosen: Chosen) -> list[Example]:
    """What recall sees of every question whose sources are among its candidates."""
    found: list[Example] = []
    for corpus in corpora:
        async with remembering(corpus.items, embedder) as memory:
            rows = {name: memory.live.turns.row_of(turn_id) for turn_id, name in turn_ids(memory, corpus).items()}
            for question in corpus.questions:
                vector = await memory.embed_cue(question.text)
                sources = [row for name in question.gold if (row := rows[name]) is not None]
                example = _example(memory, question, vector, sources, chosen)
                if example.is_source.any():
                    found.append(example)
    return found


def _example(memory: Memory, question: Question, vector: Vector, sources: Sequence[int], chosen: Chosen) -> Example:
    index, cue = memory.live.turns, read_cue(question.text, question.asked_at)
    look = RankedCandidates(index, cue, gather_evidence(index, question.text, vector), index.live)
    parts = look.weigh_reasons(RankingWeights(MATCH_WEIGHTS, HOP_WEIGHTS))
    held = [at for at, name in enumerate(parts.names) if name in HOP_WEIGHTS or name in chosen.held]
    return Example(
        kind=_ASKED_OF_MIND if question.category == _ASKED_OF_MIND else question.corpus.rstrip("0123456789t-"),
        values=np.stack([look.match[name] for name in chosen.signs], axis=1).astype(np.float32),
        added=parts.amounts[:, held].sum(axis=1),
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


def spread_of(sample: Sample) -> Doubles:
    """The standard deviation of each reason among the candidates of one question."""
    sizes = np.diff(np.append(sample.starts, len(sample.question)))
    means = np.add.reduceat(sample.values, sample.starts, axis=0) / sizes[:, None]
    apart = sample.values - means[sample.question]
    spread: Doubles = np.maximum(np.sqrt((apart * apart).mean(axis=0)).astype(np.float64), _LEAST_SPREAD)
    return spread


def neutral(sample: Sample, signs: Doubles) -> Doubles:
    """All reasons alike after scaling."""
    start: Doubles = EVEN * TEMPERATURE * signs / spread_of(sample)
    return start


def fitted(sample: Sample, signs: Doubles) -> Doubles:
    """The weights that lose least, held to the neutral ones and to `signs` (0 for a reason that is left out); by
    accelerated projected gradients, in units of each reason's own spread."""
    spread, prior = spread_of(sample), neutral(sample, signs)
    low, high = np.where(signs < 0.0, -np.inf, 0.0), np.where(signs > 0.0, np.inf, 0.0)

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


def table(module: str, weights: Mapping[str, float]) -> str:
    """The source of the module that recall reads, with other weights; reasons that came to nothing are left out."""
    head, begin, _ = module.partition("MATCH_WEIGHTS: dict[str, float] = {\n")
    rounded = {name: round(float(weight), 3) for name, weight in sorted(weights.items())}
    return head + begin + "".join(f'    "{name}": {weight},\n' for name, weight in rounded.items() if weight) + "}\n"


async def _run(options: argparse.Namespace) -> None:
    signs = SIGNS if options.all else {name: SIGNS[name] for name in OWN_WORDS}
    held = {} if options.all else {name: weight for name, weight in MATCH_WEIGHTS.items() if name not in OWN_WORDS}
    chosen, embedder = Chosen(signs, frozenset(held)), embedder_of(options.model, options.cache)
    try:
        known = await examples(talks(0, TALKS), embedder, chosen)
        unseen = await examples(talks(1, TALKS), embedder, chosen)
    finally:
        await embedder.aclose()
    sample, directions = stacked(known), np.array(list(signs.values()), dtype=np.float64)
    weights = fitted(sample, directions)
    for name, which in (("neutral", neutral(sample, directions)), ("learned", weights)):
        shown = {"fitted on": recalls(known, which), "unseen subjects": recalls(unseen, which)}
        print(name, shown, f"loss on unseen {loss(which, stacked(unseen))[0]:.3f}", file=sys.stderr)
    options.out.write_text(table(_SOURCE, held | dict(zip(signs, weights.tolist(), strict=True))), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--all", action="store_true", help="learn every reason from the neutral start")
    parser.add_argument("--model", type=Path, help="folder of the embedder's model.onnx and tokenizer.json")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors between runs")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
