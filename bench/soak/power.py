"""Ten thousand simulated power cuts, from recordings of the real daemon (A3).

    make soak PART=power                      # or ARGS="--states 2000 --minutes 10"

The system calls of a daemon that is talked to, thinks, sleeps and makes backups are recorded (strace); then disk states
are built that a power cut could have left, with unsynced data missing, partly written, or torn. Each is opened by the
daemon's own code and compared with what had been acknowledged by then. Ends with 1 if anything acknowledged is lost or
a file is damaged. Resumable.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from resumable import Parts

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.durability.cuts import in_memory, record, try_cuts

_STATES_PER_RECORDING = 1000
_LIVES_SECONDS = (5.0, 8.0)


def main() -> int:
    """Simulate power cuts, print the result, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=35.0)
    options = parser.parse_args()
    parts = Parts("power", options.minutes)
    while parts.sum("states") < options.states and parts.is_time_left:
        asyncio.run(_part(parts))
    wrong = [one for part in parts.done for one in part["wrong"]]
    parts.print_rows(
        (
            ("states", f"{parts.sum('states'):.0f} of {options.states}, of {len(parts.done)} recordings"),
            ("acknowledged, in all", f"{parts.sum('acknowledged'):.0f}"),
            ("changes of the disk", f"{parts.sum('events'):.0f}"),
            ("before there was a memory", f"{parts.sum('empty'):.0f}"),
            ("backups seen", f"{parts.sum('backups'):.0f}"),
            ("states with a loss", f"{parts.sum('lost'):.0f}"),
            ("damaged", f"{parts.sum('corrupt'):.0f}"),
            ("seconds", f"{parts.sum('seconds'):.0f}"),
        )
    )
    print("\n".join(wrong[:20]))
    return 1 if wrong or parts.sum("states") < options.states else 0


async def _part(parts: Parts) -> None:
    began, seed = time.monotonic(), len(parts.done)
    place = in_memory()
    with tempfile.TemporaryDirectory(prefix="rvp") as folder, tempfile.TemporaryDirectory(dir=place) as states:
        recording = await record(Path(folder), _LIVES_SECONDS)
        seen = await try_cuts(recording, _STATES_PER_RECORDING, seed, Path(states))
    parts.add(
        states=seen.states,
        acknowledged=recording.ledger.count,
        events=len(recording.happened),
        empty=seen.empty,
        backups=seen.backups,
        lost=seen.lost,
        corrupt=seen.corrupt,
        wrong=seen.wrong,
        seconds=round(time.monotonic() - began, 1),
    )
    print(f"recording {seed}: {seen.states} states, lost {seen.lost}, damaged {seen.corrupt}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
