"""Three experiments (unused by the program): how well rules and an embedding detect a person's distress.

    PYTHONPATH=.:bench REVERIES_MODELS=DIR python bench/people_distress.py --data DIR --out RUN.jsonl

1  a logistic regression over sentence vectors, trained only on bench/safety/people.txt, averaged over a text's
   sentences, plus the density of distress words without a negation before them
2  the same, trained on all our texts about feelings: people.txt, the messages of crisis_train.jsonl about danger,
   sorrow or illness against the everyday ones, those of crisis_voices.txt about danger against its jokes, figures of
   speech and technical talk, and mind.txt; half the mean over sentences and half the mean of the two highest
3  similarity to the nearest labelled sentences instead of a regression, plus density, minus the pleasantness of the
   words by the mood lexicon

The weights of the parts were set before any score was seen, and each experiment was scored once. DIR as for
bench/detect.py; the set is `distress`. Writes RUN-1.jsonl, RUN-2.jsonl and RUN-3.jsonl.
"""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from crisis_learn import rows, voices
from detect import read_set, report
from detectors_run import local_vectors, sentences_of
from numpy.typing import NDArray
from safety_learn import DISTRESS, fit, labelled

from reveries.index.terms import stem
from reveries.memory.text.word_lists import affect

_WORDS = re.compile(
    r"\b(?:sad(?:ly|ness)?|cr(?:y|ied|ying|ies)|afraid|scared?|scary|scares|fear(?:s|ed|ful)?|anxi\w+|panic\w*|lonely"
    r"|loneliness|hopeless\w*|depress\w+|grie[fv]\w*|mourn\w*|sorry|apolog\w+|worr(?:y|ied|ies|ying)|nervous\w*|hurts?"
    r"|hurting|died|passed away|death|disappoint\w+|terrif\w+|frighten\w+|overwhelm\w+|stress\w*|nightmares?|ashamed"
    r"|guilt\w*|regrets?|heart ?br\w+|miss (?:him|her|you|them|my)|unfortunately|abus\w+|trauma\w*|miserable|helpless"
    r"|worthless|alone|tears|sobb\w+|upset|suffer\w*|pain(?:ful)?|struggl\w+|homeless|evict\w+|exhaust\w+|desperate\w*"
    r"|dread\w*|horrible|awful|terrible|tragic|tragedy|unsafe|attack\w*|flashbacks?|bull(?:y\w*|ied)|sucks|shame|dying"
    r"|breakdown|shak(?:ing|es)|can't (?:sleep|breathe|eat|cope|afford))\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|n't|never|no|nothing|don't|isn't|wasn't|won't|without|less)\b[\w' ]{0,14}$", re.IGNORECASE)
_LEAST_WORDS = 8


def density(text: str) -> float:
    """Words of distress by the square root of all words."""
    text = text.replace("’", "'")
    hits = [hit for hit in _WORDS.finditer(text) if not _NOT.search(text[max(0, hit.start() - 22) : hit.start()])]
    return float(len(hits) / np.sqrt(max(_LEAST_WORDS, len(text.split()))))


def talk() -> list[tuple[str, int]]:
    """All talk of our own that is of distress, or is surely not: (text, label)."""
    found = [(text, int(not kind.startswith("calm"))) for kind, text in labelled("people.txt")]
    found += [(text, int(kind in DISTRESS)) for kind, text in labelled("mind.txt")]
    felt, calm = {"sad", "grief", "ill"}, {"happy", "work", "code", "everyday", "family", "thoughts"}
    for text, _, kind in rows():
        group, _, what = kind.partition(":")
        if group in ("explicit", "indirect") or what in felt:
            found.append((text, 1))
        elif what in calm or what in ("idiom", "games", "technical", "lyrics", "news", "fiction"):
            found.append((text, 0))
    for _, kind, text in voices():
        if kind in ("e", "i"):
            found.append((text, 1))
        elif kind in ("h_joke", "h_idiom", "h_tech", "h_games", "h_fiction", "h_lyrics", "h_prof", "h_news"):
            found.append((text, 0))
    return found


def pleasantness(text: str) -> float:
    """The mean over a text's words that the lexicon knows, -1 to 1."""
    known = affect()
    values = [known[one] for word in re.findall(r"[a-z']+", text.lower()) if (one := stem(word)) in known]
    return sum(values) / max(2, len(values))


def by_regression(examples: Sequence[tuple[str, int]]) -> Callable[[NDArray[np.float32]], NDArray[np.float64]]:
    """Log odds of sentences, by their vectors."""
    labels = np.array([label for _, label in examples], np.float64)
    found = fit(local_vectors([text for text, _ in examples]), labels, np.ones(len(examples)))
    return lambda vectors: np.asarray(vectors @ found[:-1] + found[-1], np.float64)


def by_neighbours(examples: Sequence[tuple[str, int]]) -> Callable[[NDArray[np.float32]], NDArray[np.float64]]:
    """How much nearer sentences are to their seven nearest of distress than to their seven nearest others."""
    vectors, labels = local_vectors([text for text, _ in examples]), np.array([label for _, label in examples])

    def nearness(some: NDArray[np.float32], label: int) -> NDArray[np.float64]:
        return np.asarray(np.sort(some @ vectors[labels == label].T, axis=1)[:, -7:].mean(axis=1), np.float64)

    return lambda some: np.asarray(10 * (nearness(some, 1) - nearness(some, 0)), np.float64)


def levels(attempt: int, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """How distressed each text sounds, by an attempt; `vectors` are of its sentences."""
    people = [(text, int(not kind.startswith("calm"))) for kind, text in labelled("people.txt")]
    weigh = by_neighbours(talk()) if attempt == 3 else by_regression(talk() if attempt == 2 else people)
    parts = [weigh(some) for some in vectors]
    means = np.array([part.mean() for part in parts])
    if attempt > 1:
        means = (means + np.array([np.sort(part)[-2:].mean() for part in parts])) / 2
    found = means + 2 * np.array([density(text) for text in texts])
    if attempt == 3:
        found = found - 2 * np.array([pleasantness(text) for text in texts])
    return np.asarray(found, np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    examples = read_set(chosen.data, "distress")
    texts = [row.text for row in examples]
    said = [sentences_of(text)[:12] or [text] for text in texts]
    together = local_vectors([one for sentences in said for one in sentences])
    vectors = np.split(together, np.cumsum([len(sentences) for sentences in said])[:-1])
    for attempt in (1, 2, 3):
        scores = 1 / (1 + np.exp(-levels(attempt, texts, vectors)))
        lines = (json.dumps({"row": at, "score": round(float(score), 6)}) + "\n" for at, score in enumerate(scores))
        chosen.out.with_stem(f"{chosen.out.stem}-{attempt}").write_text("".join(lines), encoding="utf-8")
        print(f"attempt {attempt}\n{report(examples, scores)}", flush=True)


if __name__ == "__main__":
    main()
