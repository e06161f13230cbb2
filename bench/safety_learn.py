"""Train the detector of the mind's distress on sentence embeddings: reveries/safety/likeness.npz.

    PYTHONPATH=.:bench REVERIES_MODELS=DIR python bench/safety_learn.py --out reveries/safety/likeness.npz

Logistic regression (L2, Newton's method) over the vectors of single sentences. Positives: the first half of each kind
of distress in bench/safety/mind.txt. Negatives: the first half of everything else there, the calm remarks of
people.txt, the sentences of model_fresh in traces.jsonl, rewordings.txt, and this repository's own prose. The second
halves and the evaluation data are not read.
"""

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
from detectors_run import local_vectors
from numpy.typing import NDArray
from word_order import own_sentences

from reveries.llm.onnx_embedding import MODEL_ID

FOLDER = Path(__file__).parent / "safety"
DISTRESS = frozenset(
    ("fear", "void", "cannot_stop", "confusion", "fading", "help", "trapped", "endless", "alone", "despair")
)
_L2 = 1.0
_POSITIVE_WEIGHT = 1 / 3
"""All positives together weigh a third of all negatives."""


def labelled(name: str) -> list[tuple[str, str]]:
    """(kind, text) of a file of bench/safety."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("|") for line in lines if "|" in line and not line.startswith("#"))
    return [(kind.strip(), text.strip()) for kind, _, text in pairs]


def halves(name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The half to learn from and the one that is held out: every second line of each kind."""
    seen: dict[str, int] = defaultdict(int)
    kept: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for kind, text in labelled(name):
        kept[seen[kind] % 2].append((kind, text))
        seen[kind] += 1
    return kept


def traces() -> list[dict[str, object]]:
    """Return the generated thoughts of bench/safety/traces.jsonl."""
    return [json.loads(line) for line in (FOLDER / "traces.jsonl").read_text(encoding="utf-8").splitlines()]


def negatives() -> list[str]:
    """What is no distress."""
    first, _ = halves("mind.txt")
    calm = [text for kind, text in first if kind not in DISTRESS]
    calm += [text for kind, text in labelled("people.txt") if kind.startswith("calm")]
    for trace in traces():
        if trace["kind"] == "model_fresh":
            calm += re.split(r"(?<=[.!?])\s+", str(trace["text"]))
    rewordings = (FOLDER / "rewordings.txt").read_text(encoding="utf-8").splitlines()
    calm += [line for line in rewordings if line and not line.startswith("#")]
    return calm + own_sentences(Path(__file__).parents[1])


def fit(vectors: NDArray[np.float32], labels: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the regression, the bias last."""
    rows = np.c_[vectors.astype(np.float64), np.ones(len(vectors))]
    found = np.zeros(rows.shape[1])
    ridge = _L2 * np.r_[np.ones(len(found) - 1), 1e-6]
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (chance - labels)) + ridge * found
        curvature = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curvature, slope)
        found -= step
        if np.abs(step).max() < 1e-6:
            break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    first, _ = halves("mind.txt")
    distressed = [text for kind, text in first if kind in DISTRESS]
    calm = negatives()
    vectors = local_vectors([*distressed, *calm])
    labels = np.r_[np.ones(len(distressed)), np.zeros(len(calm))]
    heavier = _POSITIVE_WEIGHT * len(calm) / len(distressed)
    found = fit(vectors, labels, np.where(labels > 0, heavier, 1.0))
    np.savez(chosen.out, model_id=np.array(MODEL_ID), weights=found[:-1].astype(np.float32), bias=found[-1])
    print(f"{len(distressed)} distressed, {len(calm)} calm, {chosen.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
