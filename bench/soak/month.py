"""Thirty simulated days of a whole mind with twenty injected runaways: the trips of the breaker, and the spending.

    make soak PART=month                      # or ARGS="--days 60 --runaways 40 --seed 3"

The days are simulated by tests/daemon/month.py: a scripted model that sometimes loops, despairs or becomes incoherent,
a person who talks twice a day; memory, ledger, loop, breaker and journal are real, the clock is simulated. Ends with 1
if a runaway did not trip the breaker, if anything else did, or if the spending differs from the expected one.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import structlog

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from reveries.config import Home, load_settings
from tests.daemon.month import Plan, live_through


def main() -> int:
    """Live through it. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--runaways", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="reveries-month-") as folder:
        plan = Plan(options.days, options.runaways, seed=options.seed)
        month = asyncio.run(live_through(Home(Path(folder) / "home"), load_settings(None), plan))
    kinds = Counter(trip.verdict.reason.value for trip in month.trips if trip.verdict.stops)
    print(f"days lived             {month.days}")
    print(f"conversations          {month.conversations}")
    print(f"thoughts               {len(month.thoughts)} (the plan has {month.most_thoughts} at the most)")
    print(f"began                  {dict(Counter(one.why_began for one in month.thoughts))}")
    print(f"ended                  {dict(Counter(one.why_ended for one in month.thoughts))}")
    print(f"runaways planted       {len(month.planted)}")
    print(f"trips, read back       {sum(kinds.values())} {dict(kinds)}")
    print(f"tokens of thought      {month.ledger_tokens:,}; the dearest day {max(month.tokens_by_day):,}")
    print(f"not as it should be    {'; '.join(month.wrong) or 'nothing'}")
    print(f"seconds                {time.monotonic() - began:.0f}")
    return 1 if month.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
