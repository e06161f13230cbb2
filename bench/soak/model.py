"""A memory compared with a simple reference model, through random operations in random order (A10).

    make soak PART=model                  # or ARGS="--examples 500 --minutes 30 --workers 1"
    make soak PART=model ARGS="--seed 17" # repeat one part

The operations are in tests/memory/machine.py. A part has twenty examples of fifty steps, determined by a recorded seed
that is new each time. Resumable for the same commit. Ends with 1 if anything was wrong (its steps are printed) or if
the examples are not complete.
"""

import argparse
import logging
import random
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import structlog
from resumable import Parts
from side_by_side import side_by_side

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.memory.machine import check

_LIVES = 20
_STEPS = 50


@dataclass(frozen=True, slots=True)
class Lived:
    """What the lives of one seed showed."""

    seconds: float
    wrong: str = ""
    """What was found, with its steps."""


def main() -> int:
    """Go on until all is done or the time is up. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=35.0)
    parser.add_argument("--workers", type=int, default=3, help="processes")
    parser.add_argument("--seed", type=int, help="the lives of this seed alone, whatever was done")
    options = parser.parse_args()
    if options.seed is not None:
        return _again(options.seed)
    parts = Parts("model", options.minutes)
    began, before = time.monotonic(), parts.sum("lives")
    for seed, lived in side_by_side(_lives, _seeds(parts, options.examples), options.workers):
        parts.add(seed=seed, lives=_LIVES, seconds=round(lived.seconds, 1), wrong=lived.wrong)
        print(f"seed {seed}: {lived.wrong or 'nothing'} wrong, {parts.sum('lives'):.0f} lives", flush=True)
    lives, wrong = parts.sum("lives"), [str(part["seed"]) for part in parts.done if part["wrong"]]
    parts.print_rows(
        (
            ("lives of 50 steps at most", f"{lives:.0f} of {options.examples}"),
            ("lives a second, now", f"{(lives - before) / (time.monotonic() - began):.2f}"),
            ("seconds of all workers", f"{parts.sum('seconds'):.0f}"),
            ("wrong, by its seed", ", ".join(wrong) or "nothing"),
        )
    )
    return 1 if wrong or lives < options.examples else 0


def _seeds(parts: Parts, examples: int) -> Iterator[int]:
    """Others each time, as long as there is time and too little was lived."""
    while parts.is_time_left and parts.sum("lives") < examples:
        yield random.SystemRandom().getrandbits(32)


def _lives(seeds: Iterator[int]) -> Iterator[Lived]:
    """Run in a separate process."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for seed in seeds:
        began, wrong = time.monotonic(), ""
        try:
            check(_LIVES, _STEPS, seed=seed)
        except Exception:  # noqa: BLE001  # Whatever it is, it was found.
            wrong = traceback.format_exc()
        yield Lived(time.monotonic() - began, wrong)


def _again(seed: int) -> int:
    [lived] = _lives(iter([seed]))
    print(lived.wrong or "nothing wrong")
    return 1 if lived.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
