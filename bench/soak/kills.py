"""Two thousand runs of the real daemon, each ended by SIGKILL at a random moment (A1).

    make soak PART=kills                      # or ARGS="--kills 200 --minutes 10"

During a run the daemon is talked to, sleeps, thinks, imports past conversations, and now and then shuts down normally.
What was acknowledged to the client is recorded separately; after each kill the database is compared with it, and every
tenth time the graph is built from the snapshot and from the rows. Ends with 1 if anything is lost, incomplete or
duplicated. Resumable: after `--minutes` it reports its progress; start it again to continue.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from resumable import Parts

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.durability.kills import Killed, lives

_KILLS_PER_HOME = 50
_GRAPH_EVERY = 10


def main() -> int:
    """Kill, print the result, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=35.0)
    parser.add_argument("--workers", type=int, default=4, help="homes that are worked on at a time")
    options = parser.parse_args()
    parts = Parts("kills", options.minutes)
    asyncio.run(_kill(parts, options.kills, options.workers))
    kills, seconds = parts.sum("kills"), parts.sum("wall_seconds")
    ready = sorted(float(one) for part in parts.done for one in part["ready_seconds"])
    wrong = [one for part in parts.done for one in part["wrong"]]
    parts.print_rows(
        (
            ("kills", f"{kills:.0f} of {options.kills}"),
            ("while it woke", f"{parts.sum('while_waking'):.0f}"),
            ("acknowledged", f"{parts.sum('acknowledged'):.0f}"),
            ("kills a minute", f"{60 * kills / max(1.0, seconds):.0f} in a home, {options.workers} at a time"),
            ("ready after, median / worst", f"{ready[len(ready) // 2]:.2f} / {ready[-1]:.2f} s" if ready else "-"),
            ("lost, half-made, twice", "; ".join(wrong) or "nothing"),
        )
    )
    return 1 if wrong or kills < options.kills else 0


async def _kill(parts: Parts, kills: int, workers: int) -> None:
    done = {part["seed"] for part in parts.done}
    left = iter([begin for begin in range(0, kills, _KILLS_PER_HOME) if begin not in done])
    async with asyncio.TaskGroup() as tasks:
        for number in range(workers):
            tasks.create_task(_work(parts, left, kills), name=f"worker-{number}")


async def _work(parts: Parts, left: Iterator[int], kills: int) -> None:
    for begin in left:
        if not parts.is_time_left:
            return
        count = min(_KILLS_PER_HOME, kills - begin)
        with tempfile.TemporaryDirectory(prefix="rvk") as folder:
            async with lives(Path(folder), seed=begin) as mind:
                _keep(parts, begin, await mind.run(count, graph_every=_GRAPH_EVERY))


def _keep(parts: Parts, begin: int, seen: Killed) -> None:
    parts.add(
        seed=begin,
        kills=seen.kills,
        while_waking=seen.while_waking,
        acknowledged=seen.acknowledged,
        wall_seconds=round(seen.seconds, 1),
        ready_seconds=[round(one, 2) for one in seen.ready_seconds],
        wrong=seen.wrong,
    )
    print(
        f"home {begin}: {seen.kills} kills, {seen.acknowledged} acknowledged, {seen.wrong or 'nothing'} wrong",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
