"""A disk that refuses the N-th write or sync of the real daemon, for one N after the other (A4).

    make soak PART=disk                       # or ARGS="--step 10 --minutes 10"

Each N is a life of its own under strace, once with that one call refused and once with every later one too. Ends with 1
when anything is acknowledged after the first refusal, when the daemon does not end with 74 within two seconds of it, or
when what was acknowledged is not there in the life after. Goes on where it was left.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from resumable import Parts

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.durability.broken import SYNC, WRITE, live_on_a_broken_disk

_LAST = {SYNC: 100, WRITE: 400}
"""About what a thread of a life of four seconds makes of each."""


def main() -> int:
    """Refuse, and tell. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, default=1, help="every so many N")
    parser.add_argument("--minutes", type=float, default=35.0)
    options = parser.parse_args()
    parts = Parts("disk", options.minutes)
    done = {(part["call"], part["when"]) for part in parts.done}
    wanted = [
        (call, f"{number}{later}")
        for call, last in _LAST.items()
        for number in range(1, last + 1, options.step)
        for later in ("", "+")
    ]
    for call, when in wanted:
        if (call, when) not in done and parts.is_time_left:
            _one(parts, call, when)
    found = [part for part in parts.done if (part["call"], part["when"]) in wanted]
    refused = [part for part in found if part["refused"]]
    wrong = [f"{part['call']} {part['when']}: {one}" for part in found for one in part["wrong"]]
    parts.tell(
        (
            ("lives", f"{len(found)} of {len(wanted)}"),
            ("with a refusal", len(refused)),
            ("acknowledged, in all", f"{parts.sum('acknowledged'):.0f}"),
            ("slowest end after it", f"{max((part['seconds'] for part in refused), default=0):.2f} s"),
            ("wrong", "; ".join(wrong) or "nothing"),
        )
    )
    return 1 if wrong or len(found) < len(wanted) else 0


def _one(parts: Parts, call: str, when: str) -> None:
    with tempfile.TemporaryDirectory(prefix="rvb") as folder:
        seen = asyncio.run(live_on_a_broken_disk(Path(folder), call, when))
    parts.add(
        call=call,
        when=when,
        refused=seen.refused,
        exit_code=seen.exit_code,
        seconds=round(seen.seconds, 2),
        acknowledged=seen.acknowledged,
        wrong=seen.wrong,
    )


if __name__ == "__main__":
    sys.exit(main())
