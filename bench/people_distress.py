"""An experiment that nothing in the program uses: how far a person's distress shows in rules and an embedding.

    PYTHONPATH=.:bench REVERIES_MODELS=DIR python bench/people_distress.py --data DIR --out RUN.jsonl

A logistic regression over sentence vectors, learned from bench/safety/people.txt alone, averaged over a text's
sentences, plus the density of words of distress that no negation stands before. DIR as for bench/detect.py; the set is
`distress`.
"""

import argparse
import json
import re
from pathlib import Path

import numpy as np
from detect import read_set, report
from detectors_run import local_vectors, sentences_of
from safety_learn import fit, labelled

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    examples = labelled("people.txt")
    labels = np.array([not kind.startswith("calm") for kind, _ in examples], np.float64)
    found = fit(local_vectors([text for _, text in examples]), labels, np.ones(len(examples)))
    rows = read_set(chosen.data, "distress")
    said = [sentences_of(row.text)[:12] or [row.text] for row in rows]
    odds = local_vectors([one for sentences in said for one in sentences]) @ found[:-1] + found[-1]
    ends = np.cumsum([len(sentences) for sentences in said])
    means = np.array([part.mean() for part in np.split(odds, ends[:-1])])
    scores = 1 / (1 + np.exp(-(means + 2 * np.array([density(row.text) for row in rows]))))
    lines = (json.dumps({"row": at, "score": round(float(score), 6)}) + "\n" for at, score in enumerate(scores))
    chosen.out.write_text("".join(lines), encoding="utf-8")
    print(report(rows, scores))


if __name__ == "__main__":
    main()
