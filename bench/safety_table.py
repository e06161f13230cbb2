"""All safety figures: `make bench-safety DATA=DIR` (DIR has safety/, locomo/ and beam/; see bench/detect.py).

    PYTHONPATH=.:bench REVERIES_MODELS=DIR python bench/safety_table.py --data DIR [--turns 400] [--seed N]
    ... --only-turns locomo|beam|goemotions --turns 4000        # false trips on one corpus, nothing else
    ... --fail-below bench/safety/floors.toml                   # ends with 1 if a figure fell below its floor

Runs each detector over its sets, ours and those of DIR, then all shipped detectors over real turns of people and
assistants (--turns of each set, drawn by a seed; by meaning the first 30 sentences of each), and measures the cost per
token and per sentence. Each part reports its duration; embedding takes nearly all of it. A part whose data is not in
DIR is reported as skipped.
"""

import argparse
import gzip
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from detect import Row, figures, read_set, report
from detectors_run import local_vectors, pieces_of, run_detector, sentences_of
from safety_floors import fallen, not_measured
from safety_sets import write_sets
from word_order import own_sentences

from reveries.config import load_settings
from reveries.safety.breaker import Breaker, Knowledge
from reveries.safety.likeness import LEAST_SENTENCE_CHARS, MeaningWatch, load_likeness
from reveries.safety.repetition import LoopFinder
from reveries.safety.tripwire import find_indicators
from reveries.safety.word_order import load_word_order

_OWN = (
    ("loops", "repetition", 0.01),
    ("paraphrase", "paraphrase", 0.01),
    ("traces", "paraphrase", 0.01),
    ("mind", "mind", 0.001),
    ("mind", "mind_trip", 0.001),
    ("mind_kinds", "mind", 0.01),
    ("crisis", "crisis", 0.02),
)
_CORPORA = ("locomo", "beam", "goemotions")
_EMBEDDED_TURNS = 500
"""At once: the vectors of all sentences of a corpus would not fit a small machine."""
_PUBLIC = (("repetition", "repetition"), ("incoherence", "incoherence"))


Figures = dict[str, float]
"""Shares, 0 to 1, by what they are of: "loops by repetition: recall"."""


def scored(name: str, detector: str, rows: list[Row], share: float = 0.01) -> Figures:
    """Run a detector over a set, print and return its figures."""
    scores = run_detector(detector, [row.text for row in rows])
    print(report(rows, scores, share), flush=True)
    return {f"{name} by {detector}: {what}": value for what, value in figures(rows, scores, share).items()}


def repeats_until_the_trip(folder: Path) -> Figures:
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
    return {"loops: within five repeats": within}


def turns_of(folder: Path, name: str, most: int) -> list[tuple[str, bool]]:
    """Return the turns of a corpus without speaker names, and whether each is a person's."""
    if name == "goemotions":
        remarks = [one for one in read_set(folder / "safety", "distress") if one.source == name and not one.label]
        return [(one.text, True) for one in remarks[:most]]
    with gzip.open(folder / name / "corpora.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [row["text"].partition(": ")[2] if name == "locomo" else row["text"] for row in rows]
    are_people = [row.get("meta", {}).get("role") != "assistant" for row in rows]
    turns = list(zip(texts, are_people, strict=True))
    return random.Random(1).sample(turns, min(most, len(turns)))


def false_trips(name: str, turns: list[tuple[str, bool]]) -> Figures:
    """What each detector makes of real turns, as it ships: danger in those of people, the others in all."""
    texts, of_people = [text for text, _ in turns], [text for text, is_person in turns if is_person]
    settings, likeness = load_settings(None).circuit_breaker, load_likeness()
    knowledge = Knowledge(order=load_word_order())
    found: Counter[str] = Counter()
    for text in texts:
        breaker = Breaker(settings, knowledge, max_pace=None)
        reasons = {breaker.observe(piece, 0.0).reason.value for piece in pieces_of(text)} - {""}
        found.update(f"by rule: {reason}" for reason in reasons)
        found.update(f"tripwire: {kind}" for kind in {one.kind for one in find_indicators(text)})
    print(f"{name}: {len(texts)} real turns, {len(of_people)} of them of people")
    show_found(found, len(texts))
    danger = {crisis: int((run_detector(crisis, of_people) >= 0.5).sum()) for crisis in ("crisis_rules", "crisis")}
    show_found(danger, len(of_people))
    said = [[one for one in sentences_of(text) if len(one) >= LEAST_SENTENCE_CHARS][:30] for text in texts]
    by_meaning: Counter[str] = Counter()
    for place in range(0, len(said), _EMBEDDED_TURNS):
        some = said[place : place + _EMBEDDED_TURNS]
        vectors = iter(local_vectors([one for sentences in some for one in sentences] or [""]))
        for sentences in some:
            watch = MeaningWatch(settings, likeness)
            verdicts = [watch.take(one, next(vectors)) for one in sentences]
            by_meaning.update({f"by meaning: {one.reason.value}" for one in verdicts if one is not None})
    show_found(by_meaning, len(texts))
    print(f"    (by meaning: nothing else in {len(texts)})")
    trips = [times for what, times in (found + by_meaning).items() if not what.startswith("tripwire")]
    return {
        f"{name}: turns that one detector of the breaker trips on": max(trips, default=0) / max(1, len(texts)),
        f"{name}: help texts without need": danger["crisis"] / max(1, len(of_people)),
    }


def show_found(found: Mapping[str, int], of: int) -> None:
    """How often each detector fired, and of how many turns."""
    for what, times in sorted(found.items()):
        print(f"    {what:36} {times:5} of {of}  {times / of:.2%}", flush=True)


def costs(texts: list[str]) -> None:
    """Microseconds a token, and milliseconds a sentence with its embedding."""
    settings, knowledge = load_settings(None).circuit_breaker, Knowledge(order=load_word_order())
    pieces = pieces_of(" ".join(texts))[:20_000]
    breaker, clock = Breaker(settings, knowledge, max_pace=settings.max_tokens_per_second), 0.0
    began = time.process_time()
    for piece in pieces:
        clock += 0.2
        breaker.observe(piece, clock)
    spent = (time.process_time() - began) / len(pieces) * 1e6
    print(f"breaker without meaning: {spent:.0f} microseconds of processor a token")
    sentences = [one for text in texts for one in sentences_of(text) if len(one) >= LEAST_SENTENCE_CHARS][:400]
    local_vectors(sentences[:1])
    began = time.perf_counter()
    vectors = local_vectors(sentences)
    embedding = (time.perf_counter() - began) / len(sentences) * 1e3
    watch = MeaningWatch(settings, load_likeness())
    began = time.process_time()
    for sentence, vector in zip(sentences, vectors, strict=True):
        watch.take(sentence, vector)
    weighing = (time.process_time() - began) / len(sentences) * 1e3
    print(
        f"a sentence: embedding {embedding:.1f} ms (with loading, in a thread of its own), weighing {weighing:.2f} ms"
    )


def timed(what: str, began: float) -> None:
    """How long a part took."""
    print(f"({what}: {time.perf_counter() - began:.0f} s)\n", flush=True)


def own_sets(seed: int) -> Figures:
    """Return the sets built from bench/safety."""
    measured: Figures = {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="rv-") as made:
        write_sets(Path(made), seed)
        for name, detector, share in _OWN:
            rows = read_set(Path(made), name)
            print(f"\n{name} (ours), by {detector}")
            measured |= scored(name, detector, rows, share)
        measured |= repeats_until_the_trip(Path(made))
    timed("our sets", began)
    return measured


def public_sets(folder: Path) -> Figures:
    """Return the public sets."""
    measured: Figures = {}
    began = time.perf_counter()
    for name, detector in _PUBLIC:
        if not any((folder / f"{name}.jsonl{end}").exists() for end in ("", ".gz")):
            print(f"{name}: not in {folder}, left out")
            continue
        rows = read_set(folder, name)
        print(f"\n{name}, by {detector}")
        measured |= scored(name, detector, rows)
        if name == "incoherence":
            salad = [row for row in rows if row.source != "cola"]
            print("\nincoherence without the mild faults (cola)")
            measured |= scored("incoherence without cola", detector, salad)
    timed("public sets", began)
    return measured


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--only-turns", choices=_CORPORA, help="of this corpus alone, and nothing else")
    parser.add_argument("--fail-below", type=Path, help="bounds (bench/safety/floors.toml); ends with 1 beyond one")
    chosen = parser.parse_args()
    measured = measure(chosen)
    if chosen.fail_below is None:
        return 0
    beyond = fallen(measured, chosen.fail_below)
    print(f"not measured here: {', '.join(not_measured(measured, chosen.fail_below)) or 'nothing'}")
    print(f"beyond their bounds: {'; '.join(beyond) or 'nothing'}")
    return 1 if beyond else 0


def measure(chosen: argparse.Namespace) -> Figures:
    """Everything that was asked for."""
    if chosen.only_turns:
        began = time.perf_counter()
        measured = false_trips(chosen.only_turns, turns_of(chosen.data, chosen.only_turns, chosen.turns))
        timed(f"turns of {chosen.only_turns}", began)
        return measured
    measured = own_sets(chosen.seed) | public_sets(chosen.data / "safety")
    turns: list[str] = []
    for name in ("locomo", "beam"):
        if not (chosen.data / name / "corpora.jsonl.gz").exists():
            print(f"{name}: not in {chosen.data}, left out")
            continue
        began, some = time.perf_counter(), turns_of(chosen.data, name, chosen.turns)
        measured |= false_trips(name, some)
        timed(f"turns of {name}", began)
        turns += [text for text, _ in some[:200]]
    costs(turns or own_sentences(Path(__file__).parents[1]))
    return measured


if __name__ == "__main__":
    sys.exit(main())
