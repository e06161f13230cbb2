"""A disk that refuses the N-th write or sync of the real daemon, for every N (A4).

    make soak PART=disk                       # or ARGS="--step 10 --minutes 10 --workers 2"

Each N is a separate run under strace, once with only that call refused and once with every later one too; the series
ends after the last call that a run makes. Ends with 1 if anything is acknowledged after the first refusal, if the
daemon does not end with 74 within two seconds of it, or if acknowledged data is missing in the next run. Several runs
are parallel. A run that took longer than two seconds to end is repeated alone, and that result counts, because other
runs may have kept the machine busy. Resumable.
"""

import argparse
import asyncio
import dataclasses
import itertools
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from resumable import Parts
from side_by_side import side_by_side

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.durability.broken import SYNC, WRITE, Refusal, live_on_a_broken_disk
from tests.durability.cuts import in_memory
from tests.durability.mind import Zygote

_ROWS = tuple(itertools.product((SYNC, WRITE), ("", "+")))
_CLEAN = 3
"""Lives in a row in which nothing was refused: then no life makes so many calls. No two lives are quite the same."""

Life = tuple[str, str]
"""Which call is refused, and when."""


def main() -> int:
    """Refuse calls, print the result, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, default=1, help="every so many N")
    parser.add_argument("--minutes", type=float, default=35.0)
    parser.add_argument("--workers", type=int, default=6, help="lives at a time")
    options = parser.parse_args()
    parts = Parts("disk", options.minutes)
    rows = [_Row(parts, *kind, options.step) for kind in _ROWS]
    for life, seen in side_by_side(_lives, _next_ones(parts, rows), options.workers):
        _keep(parts, life, seen, is_alone=options.workers == 1)
    again = (life for life in _slow_ones(parts) if parts.is_time_left)
    for life, seen in side_by_side(_lives, again, 1):
        _keep(parts, life, seen, is_alone=True)
    return _print_result(parts, rows, options.step)


class _Row:
    """The lives of one call and one flavour, by N."""

    def __init__(self, parts: Parts, call: str, later: str, step: int) -> None:
        self._parts, self._call, self._later, self._step = parts, call, later, step
        self._at = 1

    @property
    def is_done(self) -> bool:
        """Whether every N up to the last that a life reaches was tried."""
        return self._end() is not None

    def next_one(self) -> Life | None:
        """Return the next one that was not begun; None after the last."""
        injected, end = self._injected(), self._end()
        while self._at in injected:
            self._at += self._step
        if end is not None and self._at > end:
            return None
        self._at += self._step
        return self._call, f"{self._at - self._step}{self._later}"

    def _end(self) -> int | None:
        """Return the last N to try, as far as it is known."""
        injected, clean = self._injected(), 0
        for number in itertools.count(1, self._step):
            if number not in injected:
                return None
            clean = 0 if injected[number] else clean + 1
            if clean == _CLEAN:
                return number
        raise AssertionError("There is no end to the numbers.")

    def _injected(self) -> dict[int, int]:
        """Return how many calls were refused so far, by N."""
        return {
            int(part["when"].rstrip("+")): part["injected"]
            for part in self._parts.done
            if part["call"] == self._call and part["when"].endswith("+") == bool(self._later)
        }


def _next_ones(parts: Parts, rows: list[_Row]) -> Iterator[Life]:
    """One of each row in turn, as long as there is time."""
    while ones := [one for row in rows if (one := row.next_one()) is not None]:
        for one in ones:
            if not parts.is_time_left:
                return
            yield one


def _slow_ones(parts: Parts) -> list[Life]:
    """Return the parts that were slow while others ran and were not repeated."""
    alone = {(part["call"], part["when"]) for part in parts.done if part["is_alone"]}
    slow = {(part["call"], part["when"]): None for part in parts.done if part["is_slow"]}
    return [life for life in slow if life not in alone]


def _lives(wanted: Iterator[Life]) -> Iterator[Refusal]:
    """Run in a separate process."""
    zygote = Zygote.start()
    try:
        for call, when in wanted:
            with tempfile.TemporaryDirectory(prefix="rvb", dir=in_memory()) as folder:
                yield asyncio.run(live_on_a_broken_disk(Path(folder), call, when, zygote))
    finally:
        zygote.close()


def _keep(parts: Parts, life: Life, seen: Refusal, *, is_alone: bool) -> None:
    slow = [f"it ended {seen.seconds:.1f} s after a refusal"] if is_alone and seen.is_slow else []
    found = dataclasses.asdict(seen) | {"seconds": round(seen.seconds, 2), "wrong": seen.wrong + slow}
    parts.add(**found, is_slow=seen.is_slow, is_alone=is_alone)
    for one in found["wrong"]:
        print(f"{' '.join(life)}: {one}", flush=True)


def _print_result(parts: Parts, rows: list[_Row], step: int) -> int:
    """Print the result so far and return the exit code."""
    refused = [part for part in parts.done if part["refused"]]
    wrong = [f"{part['call']} {part['when']}: {one}" for part in parts.done for one in part["wrong"]]
    rows_done = sum(row.is_done for row in rows)
    is_done = rows_done == len(rows) and not _slow_ones(parts)
    parts.print_rows(
        (
            ("lives", len(parts.done)),
            ("with a refusal", len(refused)),
            ("acknowledged, in all", f"{parts.sum('acknowledged'):.0f}"),
            ("slowest end, alone", _slowest(part for part in refused if part["is_alone"])),
            ("slowest end, beside others", _slowest(part for part in refused if not part["is_alone"])),
            ("slow beside others", sum(part["is_slow"] and not part["is_alone"] for part in parts.done)),
            (
                f"each {step}. N was tried" if step > 1 else "every N was tried",
                "yes" if is_done else f"no: {rows_done} of {len(rows)} rows",
            ),
            ("wrong", "; ".join(wrong) or "nothing"),
        )
    )
    return 1 if wrong or not is_done else 0


def _slowest(parts: Iterable[dict[str, float]]) -> str:
    return f"{max((part['seconds'] for part in parts), default=0.0):.2f} s"


if __name__ == "__main__":
    sys.exit(main())
