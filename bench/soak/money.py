"""Ten thousand schedules of calls through the real ledger, against a provider that keeps a bill of its own (G1).

    make soak PART=money                      # or ARGS="--schedules 1000 --seed 7"

What a schedule is made of stands in tests/llm/money.py. Ends with 1, and the smallest schedule that shows it, when a
bill is over a limit. The databases lie in memory where there is /dev/shm: it is the ledger that is tried, not the disk.
"""

import argparse
import asyncio
import logging
import sys
import time
from pathlib import Path

import hypothesis
import structlog

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.llm.money import SCHEDULES, Played, Schedule, play_schedule


def main() -> int:
    """Play them. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    # Thousands of lines that a process died are what is wanted here, and nothing to read.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None  # Only a place for TemporaryDirectory.
    played: list[Played] = []
    began = time.monotonic()

    @hypothesis.seed(options.seed)
    @hypothesis.settings(
        max_examples=options.schedules,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(SCHEDULES)
    def play(schedule: Schedule) -> None:
        played.append(asyncio.run(play_schedule(schedule, folder)))

    play()
    print(f"schedules played     {len(played):,}")
    print(f"calls asked for      {sum(one.asked for one in played):,}")
    print(f"calls begun          {sum(one.begun for one in played):,}")
    print(f"refused for a limit  {sum(one.refused for one in played):,}")
    print("bills over a limit   0")
    print(f"seconds              {time.monotonic() - began:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
