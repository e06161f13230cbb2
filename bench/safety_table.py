"""All of the safety figures: `make bench-safety DATA=DIR` (DIR holds safety/, locomo/ and beam/; see bench/detect.py).

    PYTHONPATH=.:bench REVERIES_MODELS=DIR python bench/safety_table.py --data DIR [--turns 1500] [--seed N]

Runs each detector over its sets, ours and those of DIR, then all of them as they ship over real turns of people and
assistants (--turns of each set, drawn by a seed), and measures what a token and a sentence cost.
"""

import argparse
import gzip
import json
import random
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from detect import read_set, report
from detectors_run import local_vectors, pieces_of, run_detector, sentences_of
from safety_sets import write_sets

from reveries.config import load_settings
from reveries.safety.breaker import Breaker, Knowledge, ReplyBreaker
from reveries.safety.crisis import find_crisis
from reveries.safety.likeness import LEAST_SENTENCE_CHARS, MeaningWatch, load_likeness
from reveries.safety.repetition import LoopFinder
from reveries.safety.tripwire import indicators_in
from reveries.safety.word_order import load_word_order

_OWN = (
    ("loops", "repetition", 0.01),
    ("paraphrase", "paraphrase", 0.01),
    ("mind", "mind", 0.001),
    ("mind", "mind_trip", 0.001),
    ("mind_kinds", "mind", 0.01),
    ("crisis", "crisis", 0.02),
)
_PUBLIC = (("repetition", "repetition"), ("incoherence", "incoherence"))


def repeats_until_the_trip(folder: Path) -> None:
    """How many rounds after the first it took, on planted loops."""
    window = load_settings(None).circuit_breaker.loop_window_tokens
    needed, missed = [], 0
    for line in (folder / "loops.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if not row["label"]:
            continue
        finder, seen = LoopFinder(window), 0
        for piece in pieces_of(row["text"]):
            seen += len(piece)
            if finder.feed(piece) is not None:
                needed.append((seen - row["begins"]) / row["round"])
                break
        else:
            missed += 1
    within = sum(one <= 5.01 for one in needed) / (len(needed) + missed)
    print(f"repeats until the trip: median {statistics.median(needed):.1f}, p95 {np.quantile(needed, 0.95):.1f}; ")
    print(f"    within 5 repeats {within:.1%}, never {missed} of {len(needed) + missed}")


def turns_of(folder: Path, name: str, most: int) -> list[str]:
    """Real turns of a corpus, without the speaker's name."""
    with gzip.open(folder / name / "corpora.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    texts = [text.partition(": ")[2] if name == "locomo" else text for text in texts]
    return random.Random(1).sample(texts, min(most, len(texts)))


def false_trips(name: str, texts: list[str]) -> None:
    """What each detector makes of real turns, as it ships."""
    settings, likeness = load_settings(None).circuit_breaker, load_likeness()
    knowledge = Knowledge(order=load_word_order())
    found: Counter[str] = Counter()
    for text in texts:
        breaker = ReplyBreaker(settings, knowledge)
        reasons = {breaker.observe(piece, 0.0).reason.value for piece in pieces_of(text)} - {""}
        found.update(f"by rule: {reason}" for reason in reasons)
        found["crisis"] += find_crisis(text) is not None
        found.update(f"tripwire: {kind}" for kind in {one.kind for one in indicators_in(text)})
    said = [[one for one in sentences_of(text) if len(one) >= LEAST_SENTENCE_CHARS][:30] for text in texts]
    vectors = iter(local_vectors([one for sentences in said for one in sentences]))
    for sentences in said:
        watch = MeaningWatch(settings, likeness)
        verdicts = [watch.take(one, next(vectors)) for one in sentences]
        found.update({f"by meaning: {one.reason.value}" for one in verdicts if one is not None})
    print(f"{name}: {len(texts)} real turns")
    for what, times in sorted(found.items()):
        print(f"    {what:36} {times:5}  {times / len(texts):.2%}")


def costs(texts: list[str]) -> None:
    """Microseconds a token, and milliseconds a sentence with its embedding."""
    settings, knowledge = load_settings(None).circuit_breaker, Knowledge(order=load_word_order())
    pieces = pieces_of(" ".join(texts))[:20_000]
    breaker, clock = Breaker(settings, knowledge), 0.0
    began = time.perf_counter()
    for piece in pieces:
        clock += 0.2
        breaker.observe(piece, clock)
    print(f"breaker without meaning: {(time.perf_counter() - began) / len(pieces) * 1e6:.0f} microseconds a token")
    sentences = [one for text in texts for one in sentences_of(text) if len(one) >= LEAST_SENTENCE_CHARS][:400]
    local_vectors(sentences[:1])
    began = time.perf_counter()
    vectors = local_vectors(sentences)
    embedding = (time.perf_counter() - began) / len(sentences) * 1e3
    watch = MeaningWatch(settings, load_likeness())
    began = time.perf_counter()
    for sentence, vector in zip(sentences, vectors, strict=True):
        watch.take(sentence, vector)
    weighing = (time.perf_counter() - began) / len(sentences) * 1e3
    print(
        f"a sentence: embedding {embedding:.1f} ms (with loading, in a thread of its own), weighing {weighing:.2f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=20261121)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rv-") as made:
        write_sets(Path(made), chosen.seed)
        for name, detector, share in _OWN:
            rows = read_set(Path(made), name)
            print(f"\n{name} (ours), by {detector}")
            print(report(rows, run_detector(detector, [row.text for row in rows]), share))
        repeats_until_the_trip(Path(made))
    for name, detector in _PUBLIC:
        rows = read_set(chosen.data / "safety", name)
        print(f"\n{name}, by {detector}")
        print(report(rows, run_detector(detector, [row.text for row in rows])))
    salad = [row for row in rows if row.source != "cola"]
    print("\nincoherence without the mild faults (cola)")
    print(report(salad, run_detector("incoherence", [row.text for row in salad])))
    print()
    texts = {name: turns_of(chosen.data, name, chosen.turns) for name in ("locomo", "beam")}
    for name, turns in texts.items():
        false_trips(name, turns)
    costs(texts["locomo"])


if __name__ == "__main__":
    main()
