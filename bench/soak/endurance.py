"""Thirty simulated days of a whole mind, fifty turns a day: its use of memory, files, tasks and threads (E7).

    make soak PART=endurance                  # or ARGS="--days 10 --turns 20"

The days are simulated by tests/daemon/endurance.py. Ends with 1 if, after the third day, resident memory grows by more
than 1 MB a day beyond the live memory, if descriptors, tasks or threads grow, if the log was larger than 64 MB, if the
records of sleep are most of the file, or if a task failed without a report. Not resumable: the end of a process frees
its memory, so a restart would hide growth.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from pathlib import Path

import structlog

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from reveries.config import Home, load_settings
from reveries.daemon.process.process_memory import keep_heap_small
from tests.daemon.endurance import MEGABYTE, Endured, endure

_FIRST, _LAST = slice(5), slice(-5, None)
_LEAST_DAYS = 5


def main() -> int:
    """Live through it. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--turns", type=int, default=50, help="a day")
    options = parser.parse_args()
    if options.days < _LEAST_DAYS:
        parser.error(f"--days: {_LEAST_DAYS} at least, for what is said is said of those after the third")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    keep_heap_small()  # As the daemon does.
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="reveries-endurance-") as folder:
        home = Home(Path(folder) / "home")
        seen = asyncio.run(endure(home, load_settings(None), options.days, options.turns, _print_day))
    wrong = seen.wrong()
    print(f"turns, thoughts, episodes  {sum(map(len, seen.seconds_by_day))}, {seen.thoughts}, {seen.episodes}")
    print(f"growth beyond memory       {seen.growth_per_day() / MEGABYTE:.2f} MB a day after day 3")
    print(f"write-ahead log            {max(sample.log for sample in seen.samples) / MEGABYTE:.1f} MB at most")
    print(
        f"records of sleep           {seen.record_bytes / MEGABYTE:.1f} MB of {seen.daily[-1].file / MEGABYTE:.1f} MB"
    )
    for name, percentile in (("median", 50.0), ("p99", 99.0)):
        first, last = (seen.turn_seconds(percentile, days) for days in (_FIRST, _LAST))
        turn = f"a turn, {name}"
        print(
            f"{turn:<26} {first:.3f} s in the first five days, {last:.3f} s in the last five: {last / first:.1f} times"
        )
    print(f"not as it should be        {'; '.join(wrong) or 'nothing'}")
    print(f"seconds                    {time.monotonic() - began:.0f}")
    return 1 if wrong else 0


def _print_day(seen: Endured) -> None:
    now = seen.daily[-1]
    print(
        f"day {len(seen.daily):3}: rss {now.rss / MEGABYTE:7.1f} MB, memory {now.graph / MEGABYTE:6.1f} MB, file "
        f"{now.file / MEGABYTE:6.1f} MB, log {now.log / MEGABYTE:5.1f} MB, {now.descriptors} descriptors, {now.tasks} "
        f"tasks, {now.threads} threads, {seen.thoughts} thoughts, {seen.episodes} episodes",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
