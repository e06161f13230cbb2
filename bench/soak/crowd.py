"""Effect of a hundred clients, ninety that never read, one that sends slowly, a million garbage frames (E3 to E5).

    make soak PART=crowd                  # or ARGS="--frames 100000 --talk-seconds 10"

The steps are in tests/daemon/crowded.py. Ends with 1 if the daemon ended, if clients received different orders, if
garbage changed stored data, if the daemon grew by more than 10 MB from garbage or by 5 MB with clients that do not
read, if a good client waited more than 200 ms at p99, or if resources leaked.
"""

import argparse
import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.daemon.crowded import MEGABYTE, measure


def main() -> int:
    """Measure all of it. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--talk-seconds", type=float, default=60.0)
    parser.add_argument("--visits", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=400)
    options = parser.parse_args()
    seen = asyncio.run(
        measure(
            clients=100,
            talkers=10,
            talk_seconds=options.talk_seconds,
            stuck=90,
            frames=options.frames,
            visits=options.visits,
            turns=options.turns,
        )
    )
    pressed = f"{seen.garbage_seconds:.1f} s, {seen.garbage_connections} connections, p99 {seen.garbage_p99:.3f} s"
    pressed += f", grows by {seen.garbage_growth / MEGABYTE:.1f} MB, {seen.log_lines} lines of log"
    change = seen.stuck_p99 / seen.alone_p99 - 1
    rows = (
        ("one talks", f"p99 {seen.alone_p99:.4f} s, grows by {seen.alone_growth / MEGABYTE:.1f} MB"),
        ("100 attached, 10 talk", f"{seen.turns} turns, {seen.orders} order, fan-out p99 {seen.fan_out_p99:.3f} s"),
        (
            "90 never read, one drips",
            f"p99 {seen.stuck_p99:.3f} s ({change:+.0%}), grows by {seen.stuck_growth / MEGABYTE:.1f} MB",
        ),
        (f"{options.frames} frames of garbage", f"{pressed}, {seen.tracebacks} tracebacks"),
        ("changed by it", ", ".join(seen.garbage_changed) or "nothing"),
        (f"{options.visits} visits", f"{seen.descriptors_left} descriptors left, {seen.threads_left} threads"),
    )
    for name, value in rows:
        print(f"{name:28}{value}")
    is_well = seen.orders == 1 and not seen.tracebacks and not seen.garbage_changed and seen.descriptors_left <= 0
    is_well &= seen.stuck_growth <= 5 * MEGABYTE and seen.garbage_growth <= 10 * MEGABYTE
    is_well &= seen.garbage_seconds <= 60
    return 0 if is_well and max(seen.stuck_p99, seen.garbage_p99) <= 0.2 else 1


if __name__ == "__main__":
    sys.exit(main())
