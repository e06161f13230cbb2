"""A memory beside a plain model of what it acknowledged, through random deeds in random order (A10).

    make soak PART=model                  # or ARGS="--examples 500 --minutes 30"

What can happen stands in tests/memory/machine.py. Parts of ten lives of fifty steps; what is done counts for the same
commit, the next run goes on from there. Ends with 1 when anything was wrong (its steps are printed) or when the lives
are not done.
"""

import argparse
import logging
import sys
import time
from pathlib import Path

import structlog
from resumable import Parts

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.memory.machine import check

_LIVES = 10
_STEPS = 50


def main() -> int:
    """Go on until all is done or the time is up. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=35.0)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    parts = Parts("model", options.minutes)
    while parts.is_time_left and parts.sum("lives") < options.examples:
        began = time.monotonic()
        check(_LIVES, _STEPS)
        parts.add(lives=_LIVES, seconds=round(time.monotonic() - began, 1))
        print(f"{parts.sum('lives'):.0f} lives", flush=True)
    parts.tell(
        (
            ("lives of 50 steps at most", f"{parts.sum('lives'):.0f} of {options.examples}"),
            ("seconds", f"{parts.sum('seconds'):.0f}"),
            ("wrong", "nothing"),
        )
    )
    return 0 if parts.sum("lives") >= options.examples else 1


if __name__ == "__main__":
    sys.exit(main())
