"""Train the crisis detector on sentence embeddings: reveries/safety/crisis.npz.

    PYTHONPATH=.:bench REVERIES_MODELS=DIR python bench/crisis_learn.py [--out reveries/safety/crisis.npz] [--by vector]

Logistic regression over the vectors of messages and their hashed words: those of bench/safety/crisis_train.jsonl and
crisis_voices.txt, people.txt and remarks.txt as further ordinary talk, and the calm thoughts of the other files as
negatives that are not talk.
Every third voice is held out for the final figures. The others are in five folds, each voice completely in one (the
rest is spread within each kind): each message is scored by weights that were not trained on its voice. The limit is the
lowest at which at most 2% of ordinary talk, 1.5% of short remarks and 8% of the voices' hard negatives are positive
there. With it, and weights trained on all but the held-out voices, those are scored. Printed: the folds' voices and the
held-out voices, by rules, by meaning, by both. The rules were extended after seeing misses in the folds' voices: their
figures there prove nothing; those of the held-out voices do.

The written weights (--out) are trained on everything, the held-out voices too. --by compares alternatives: only the
vector, only the words, a nonlinear boundary (similarity to each labelled message), that with the words; only the
shipped variant is written.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from detectors_run import local_vectors, sentences_of
from numpy.typing import NDArray
from safety_learn import DISTRESS, FOLDER, labelled, traces

from reveries.llm.onnx_embedding import MODEL_ID
from reveries.safety.crisis.likeness import WORD_PLACES, CrisisLikeness, reads_as_english, split_pieces, word_places
from reveries.safety.crisis.rules import find_crisis
from reveries.safety.likeness import LEAST_SENTENCE_CHARS

_FOLDS = 5
_HELD_OUT = 3
_ORDINARY, _HARD, _REMARKS = 0.02, 0.08, 0.015
_GROUPS = {"e": "explicit", "i": "indirect", "h": "hard", "o": "ordinary"}
_SHIPS = "both"
_OF_VECTOR, _OF_WORDS = 4.0, 8.0
"""How much either adds to the likeness of two messages: the ridge is weaker for what adds more."""
_ROUNDS = 8

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Told:
    """Messages as they are compared."""

    vectors: Floats
    words: Floats

    def some(self, chosen: NDArray[np.bool_]) -> "Told":
        return Told(self.vectors[chosen], self.words[chosen])


def rows() -> list[tuple[str, int, str]]:
    """Text, label and kind of everything that is learned from but the voices."""
    lines = (FOLDER / "crisis_train.jsonl").read_text(encoding="utf-8").splitlines()
    own = [(str(row["text"]), int(row["label"]), str(row["kind"])) for row in map(json.loads, lines)]
    own += [(text, 0, f"ordinary:people_{kind}") for kind, text in labelled("people.txt")]
    remarks = (FOLDER / "remarks.txt").read_text(encoding="utf-8").splitlines()
    own += [(line, 0, "remark") for line in remarks if line and not line.startswith("#")]
    calm = [text for kind, text in labelled("mind.txt") if kind not in DISTRESS]
    told = [str(trace["text"]) for trace in traces() if trace["kind"] == "model_fresh"]
    calm += [one for text in told for one in sentences_of(text) if len(one) >= LEAST_SENTENCE_CHARS]
    rewordings = (FOLDER / "rewordings.txt").read_text(encoding="utf-8").splitlines()
    calm += [line for line in rewordings if line and not line.startswith("#")]
    return own + [(text, 0, "thoughts") for text in dict.fromkeys(calm)]


def voices() -> list[tuple[int, str, str]]:
    """The voice's number, kind and text of each line of crisis_voices.txt."""
    found, voice = [], -1
    for line in (FOLDER / "crisis_voices.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# voice:"):
            voice += 1
        elif " | " in line and voice >= 0:
            kind, _, text = line.partition(" | ")
            found.append((voice, kind, text))
    return found


def hashed(texts: Sequence[str]) -> Floats:
    """A row a text, of unit length, over `WORD_PLACES`."""
    found = np.zeros((len(texts), WORD_PLACES), np.float32)
    for row, text in zip(found, texts, strict=True):
        places = word_places(text)
        row[places] = 1 / np.sqrt(max(1, len(places)))
    return found


def likenesses(by: str, one: Told, other: Told) -> Floats:
    """How alike messages are, each of `one` to each of `other`."""
    near, worded = one.vectors @ other.vectors.T, one.words @ other.words.T
    curved = 10 * np.exp(2 * (near - 1))
    ways = {
        "both": _OF_VECTOR * near + _OF_WORDS * worded,
        "vector": _OF_VECTOR * near,
        "words": _OF_WORDS * worded,
        "curved": curved,
        "curved+words": curved + 10 * worded,
    }
    return np.asarray(ways[by], np.float32)


def fit_alike(alike: Floats, labels: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """What each labelled message adds, and the bias: logistic regression with a ridge, in its dual form."""
    added, bias, odds = np.zeros(len(labels)), 0.0, np.zeros(len(labels))
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-odds))
        spread = np.maximum(chance * (1 - chance), 1e-3)
        wanted = odds + (labels - chance) / spread
        solved = np.linalg.solve(alike + np.diag(1 / spread), np.c_[wanted, np.ones(len(labels))])
        bias = float(solved[:, 0].sum() / solved[:, 1].sum())
        added = solved[:, 0] - bias * solved[:, 1]
        moved, odds = odds, alike @ added + bias
        if np.abs(odds - moved).max() < 1e-2:
            break
    return added, bias


def shipped(told: Told, added: NDArray[np.float64], bias: float, limit: float) -> CrisisLikeness:
    """Return the detector: its weights are sums over the labelled messages, weighted by `added`."""
    weights = (_OF_VECTOR * added @ told.vectors).astype(np.float16).astype(np.float32)
    worded = (_OF_WORDS * added @ told.words).astype(np.float16).astype(np.float32)
    return CrisisLikeness(MODEL_ID, weights, worded, bias, limit)


def limit_for(odds: NDArray[np.float64], groups: NDArray[np.str_]) -> float:
    """The least limit by which no kind of negatives is taken for danger too often."""

    def least(group: str, share: float) -> float:
        ordered = np.sort(odds[groups == group])[::-1]
        return float(ordered[int(share * len(ordered))])

    return max(least("ordinary", _ORDINARY), least("hard", _HARD), least("remark", _REMARKS))


def shares(found: NDArray[np.bool_], names: NDArray[np.str_]) -> str:
    return ", ".join(
        f"{name} {found[names == name].mean():.1%} of {(names == name).sum()}" for name in sorted(set(names))
    )


def folds(kinds: NDArray[np.str_], voice: NDArray[np.int64], held_out: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Assign folds: each voice as a whole, other rows at random within their kind, reproducibly."""
    chance, found = np.random.default_rng(5), np.full(len(kinds), -1)
    for kind in sorted(set(kinds[voice < 0])):
        places = chance.permutation(np.flatnonzero((kinds == kind) & (voice < 0)))
        found[places] = np.arange(len(places)) % _FOLDS
    for at, number in enumerate(sorted(set(voice[(voice >= 0) & ~held_out]))):
        found[voice == number] = at % _FOLDS
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--by", default=_SHIPS, choices=("both", "vector", "words", "curved", "curved+words"))
    chosen = parser.parse_args()
    told, said = rows(), voices()
    texts = [text for text, _, _ in told] + [text for _, _, text in said]
    labels = np.array([label for _, label, _ in told] + [kind in ("e", "i") for _, kind, _ in said], np.float64)
    kinds = np.array([kind for _, _, kind in told] + [f"{_GROUPS[kind[0]]}:{kind}" for _, kind, _ in said])
    voice = np.array([-1] * len(told) + [number for number, _, _ in said])
    groups = np.array([kind.partition(":")[0] for kind in kinds])
    pieces = [split_pieces(text)[0] for text in texts]
    all_told = Told(local_vectors(pieces), hashed(pieces))
    held_out = (voice >= 0) & (voice % _HELD_OUT == _HELD_OUT - 1)
    fold, odds = folds(kinds, voice, held_out), np.zeros(len(texts))
    for at in range(-1, _FOLDS):
        weighed = (fold == at) if at >= 0 else held_out
        seen = all_told.some(~weighed & ~held_out)
        added, bias = fit_alike(likenesses(chosen.by, seen, seen), labels[~weighed & ~held_out])
        odds[weighed] = likenesses(chosen.by, all_told.some(weighed), seen) @ added + bias
    odds[[not reads_as_english(text) for text in texts]] = -np.inf
    counted = ~held_out & ((voice >= 0) | (groups == "ordinary") | (groups == "remark"))
    limit = limit_for(odds[counted], groups[counted])
    by_rule, by_meaning = np.array([find_crisis(text) is not None for text in texts]), odds > limit
    print(f"limit {limit:.3f}; remarks, by rule {by_rule[groups == 'remark'].mean():.1%}, ", end="")
    print(f"by meaning {by_meaning[groups == 'remark'].mean():.1%} of {(groups == 'remark').sum()}")
    for name, part in (("the folds' voices", ~held_out & (voice >= 0)), ("held-out voices", held_out)):
        for what, found in (("rules", by_rule), ("meaning", by_meaning), ("both", by_rule | by_meaning)):
            print(f"{name}, {what}: {shares(found[part], groups[part])}")
        print(f"    both, by kind: {shares((by_rule | by_meaning)[part], kinds[part])}", flush=True)
    if chosen.out and chosen.by == _SHIPS:
        added, bias = fit_alike(likenesses(_SHIPS, all_told, all_told), labels)
        made = shipped(all_told, added, bias, limit)
        np.savez_compressed(
            chosen.out,
            model_id=np.array(MODEL_ID),
            weights=made.weights.astype(np.float16),
            word_weights=made.word_weights.astype(np.float16),
            bias=np.array(made.bias),
            limit=np.array(made.limit),
        )


if __name__ == "__main__":
    main()
