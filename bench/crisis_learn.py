"""Learn how people in danger sound to the embedder: reveries/safety/crisis.npz.

    PYTHONPATH=.:bench REVERIES_MODELS=DIR python bench/crisis_learn.py [--out reveries/safety/crisis.npz]

Logistic regression over the vectors of messages: those of bench/safety/crisis_train.jsonl, people.txt as further
ordinary talk, and the calm thoughts of the other files, which are no talk and have no part in the limit. First five
folds, drawn within each kind: each message is weighed by weights that have not seen it. The limit is the least by which
at most 1.5% of ordinary talk and 6% of hard negatives are called danger there. Then, printed as found by what: the
folds, and the rules, which have no folds. Without --out nothing is written.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from detectors_run import local_vectors, sentences_of
from numpy.typing import NDArray
from safety_learn import DISTRESS, FOLDER, fit, labelled, traces

from reveries.llm.onnx_embedding import MODEL_ID
from reveries.safety.crisis import find_crisis
from reveries.safety.crisis_meaning import CrisisLikeness, pieces_to_weigh
from reveries.safety.likeness import LEAST_SENTENCE_CHARS

_FOLDS = 5
_SCALE = 2.0
"""Vectors are lengthened before the fit, which makes its ridge four times weaker."""
_ORDINARY, _HARD = 0.015, 0.06


def rows() -> list[tuple[str, int, str]]:
    """Text, label and kind of everything that is learned from."""
    lines = (FOLDER / "crisis_train.jsonl").read_text(encoding="utf-8").splitlines()
    own = [(str(row["text"]), int(row["label"]), str(row["kind"])) for row in map(json.loads, lines)]
    own += [(text, 0, f"ordinary:people_{kind}") for kind, text in labelled("people.txt")]
    calm = [text for kind, text in labelled("mind.txt") if kind not in DISTRESS]
    told = [str(trace["text"]) for trace in traces() if trace["kind"] == "model_fresh"]
    calm += [one for text in told for one in sentences_of(text) if len(one) >= LEAST_SENTENCE_CHARS]
    rewordings = (FOLDER / "rewordings.txt").read_text(encoding="utf-8").splitlines()
    calm += [line for line in rewordings if line and not line.startswith("#")]
    return own + [(text, 0, "thoughts") for text in dict.fromkeys(calm)]


def folds(kinds: NDArray[np.str_]) -> NDArray[np.int64]:
    """Each kind spread over all folds, by chance but always alike."""
    chance, found = np.random.default_rng(5), np.zeros(len(kinds), np.int64)
    for kind in sorted(set(kinds)):
        places = chance.permutation(np.flatnonzero(kinds == kind))
        found[places] = (np.arange(len(places)) + chance.integers(_FOLDS)) % _FOLDS
    return found


def learned(vectors: NDArray[np.float32], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights for plain vectors, the bias last."""
    found = fit(_SCALE * vectors, labels, np.ones(len(labels)))
    plain: NDArray[np.float64] = np.r_[_SCALE * found[:-1], found[-1]]
    return plain


def limit_for(odds: NDArray[np.float64], groups: NDArray[np.str_]) -> float:
    """The least limit by which neither kind of negatives is taken for danger too often."""

    def least(group: str, share: float) -> float:
        ordered = np.sort(odds[groups == group])[::-1]
        return float(ordered[int(share * len(ordered))])

    return max(least("ordinary", _ORDINARY), least("hard", _HARD))


def shares(found: NDArray[np.bool_], names: NDArray[np.str_]) -> str:
    return ", ".join(
        f"{name} {found[names == name].mean():.1%} of {(names == name).sum()}" for name in sorted(set(names))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    texts, label_list, kind_list = zip(*rows(), strict=True)
    labels, kinds = np.array(label_list, np.float64), np.array(kind_list)
    groups = np.array([kind.partition(":")[0] for kind in kinds])
    pieces = [pieces_to_weigh(text) for text in texts]
    owner = np.repeat(np.arange(len(texts)), [len(one) for one in pieces])
    vectors = local_vectors([piece for one in pieces for piece in one])
    whole = vectors[np.searchsorted(owner, np.arange(len(texts)))]
    parts, odds = folds(kinds), np.full(len(texts), -np.inf)
    for fold in range(_FOLDS):
        weights = learned(whole[parts != fold], labels[parts != fold])
        likeness = CrisisLikeness(MODEL_ID, weights[:-1].astype(np.float32), float(weights[-1]), 0.0)
        for place in np.flatnonzero(parts == fold):
            odds[place] = likeness.highest(vectors[owner == place])
    limit = limit_for(odds, groups)
    by_rule, by_meaning = np.array([find_crisis(text) is not None for text in texts]), odds > limit
    print(f"limit {limit:.3f}")
    for what, found in (("rules", by_rule), ("meaning", by_meaning), ("both", by_rule | by_meaning)):
        print(f"{what}: {shares(found, groups)}\n    {shares(found, kinds)}")
    if chosen.out:
        weights = learned(whole, labels)
        np.savez(
            chosen.out,
            model_id=np.array(MODEL_ID),
            weights=weights[:-1].astype(np.float32),
            bias=weights[-1],
            limit=np.array(limit),
        )


if __name__ == "__main__":
    main()
