"""True and false positives of the safety detectors.

    PYTHONPATH=.:bench python bench/detect.py --data DIR --set NAME --out RUN.jsonl [--detector NAME]

DIR holds NAME.jsonl or NAME.jsonl.gz, one row a line: `text`, `label` (1: the detector should fire) and `source` or
`kind`. A row's number is its position in the file. The run has `{"row": n, "score": x}` for each; the shipped detector
fires from 0.5 on. Printed: recall at 1% false alarms, AUROC, and the rate of firing by source. Without --detector the
detector with the name of the set is run.
"""

import argparse
import gzip
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from detectors_run import DETECTORS, run_detector
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled text."""

    text: str
    label: int
    source: str


def read_set(folder: Path, name: str) -> list[Row]:
    """The rows of a set in their order; those that claim nothing (label null) are left out."""
    plain, packed = folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"
    raw = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    rows = [json.loads(line) for line in raw.splitlines() if line.strip()]
    return [
        Row(str(row["text"]), int(row["label"]), str(row.get("source") or row.get("kind") or "-"))
        for row in rows
        if row["label"] is not None
    ]


def limit_at(negatives: NDArray[np.float64], share: float) -> float:
    """The score that at most `share` of `negatives` lie above."""
    ordered = np.sort(negatives)[::-1]
    return float(ordered[min(len(ordered) - 1, math.floor(share * len(ordered)))])


def auroc(positives: NDArray[np.float64], negatives: NDArray[np.float64]) -> float:
    """How often a positive is above a negative; a tie counts half."""
    ordered = np.sort(negatives)
    below, upto = np.searchsorted(ordered, positives, "left"), np.searchsorted(ordered, positives, "right")
    return float((below + upto).sum() / 2 / (len(positives) * len(negatives)))


def figures(rows: Sequence[Row], scores: NDArray[np.float64], share: float = 0.01) -> dict[str, float]:
    """Return the shares of one run, 0 to 1, by name; without rows a share is left out."""
    labels = np.array([row.label for row in rows])
    positives, negatives = scores[labels == 1], scores[labels == 0]
    found = {}
    if len(positives) and len(negatives):
        found["recall"] = float((positives > limit_at(negatives, share)).mean())
    if len(positives):
        found["fires"] = float((positives >= 0.5).mean())
    if len(negatives):
        found["by mistake"] = float((negatives >= 0.5).mean())
    return found


def report(rows: Sequence[Row], scores: NDArray[np.float64], share: float = 0.01) -> str:
    """The figures of one run, as lines."""
    labels = np.array([row.label for row in rows])
    positives, negatives = scores[labels == 1], scores[labels == 0]
    lines = [f"rows {len(positives)} / {len(negatives)}"]
    if len(positives) and len(negatives):
        limit = limit_at(negatives, share)
        lines += [
            f"recall at {share:.1%} false alarms {(positives > limit).mean():.1%} (limit {limit:.3f})",
            f"AUROC {auroc(positives, negatives):.3f}",
        ]
    sources = np.array([row.source for row in rows])
    for label, what in ((1, "fires"), (0, "fires by mistake")):
        chosen = labels == label
        if chosen.any():
            lines.append(f"{what} {np.mean(scores[chosen] >= 0.5):.2%} ({int((scores[chosen] >= 0.5).sum())})")
        for source in sorted(set(sources[chosen])):
            fired = scores[chosen & (sources == source)] >= 0.5
            lines.append(f"    {source:32} {fired.mean():7.1%} of {len(fired)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="repetition")
    parser.add_argument("--detector", default="")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--share", type=float, default=0.01, help="false alarms that are allowed")
    chosen = parser.parse_args()
    detector = chosen.detector or chosen.set
    if detector not in DETECTORS:
        parser.error(f"There is no detector {detector!r}: name one of {', '.join(sorted(DETECTORS))}.")
    rows = read_set(chosen.data, chosen.set)
    scores = run_detector(detector, [row.text for row in rows])
    if chosen.out:
        lines = (json.dumps({"row": at, "score": round(float(score), 6)}) + "\n" for at, score in enumerate(scores))
        chosen.out.write_text("".join(lines), encoding="utf-8")
    print(f"{chosen.set}, by {detector}")
    print(report(rows, scores, chosen.share))


if __name__ == "__main__":
    main()
