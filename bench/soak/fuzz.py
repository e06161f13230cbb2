"""Long fuzzing of every input that an owner can provide: each is accepted or refused, nothing else (E6).

    make soak PART=fuzz                   # or ARGS="--minutes 30 --each 1000000 --only calendars"

The inputs and their mutations are in tests/fuzz/given.py. Every input has a number, so that it can be reproduced:
`--only NAME --from NUMBER --each 1`. Inputs that fail with an unexpected error are stored in .soak/fuzz/. Resumable for
the same commit. Ends with 1 if there was such an input, or if the run is not complete.
"""

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from resumable import FOLDER, Parts

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.fuzz.given import TARGETS, Target, mutated, survives

_AT_ONCE = 500


def main() -> int:
    """Go on until all is done or the time is up. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=35.0)
    parser.add_argument("--each", type=int, default=100_000, help="inputs for each target")
    parser.add_argument("--only", default="", choices=["", *TARGETS])
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args()
    parts = Parts("fuzz", options.minutes)
    wanted = {options.only: TARGETS[options.only]} if options.only else TARGETS
    waiting = dict(wanted)
    while waiting and parts.is_time_left:
        for name, target in list(waiting.items()):
            done = options.first + int(sum(part["inputs"] for part in parts.done if part["target"] == name))
            count = min(_AT_ONCE, options.first + options.each - done)
            if count <= 0:
                del waiting[name]
                continue
            began = time.monotonic()
            wrong = _run(name, target, range(done, done + count))
            parts.add(target=name, inputs=count, wrong=wrong, seconds=round(time.monotonic() - began, 2))
    for name in wanted:
        mine = [part for part in parts.done if part["target"] == name]
        seconds = sum(part["seconds"] for part in mine)
        inputs, wrong = sum(part["inputs"] for part in mine), sum(part["wrong"] for part in mine)
        print(f"{name:12} {inputs:9,} inputs, {wrong} wrong, {seconds:.0f} s")
    return 1 if waiting or parts.sum("wrong") else 0


def _run(name: str, target: Target, numbers: range) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        for number in numbers:
            chance = random.Random(f"{name} {number}")
            raw = mutated(chance.choice(target.seeds), chance, chance.choice(target.seeds))
            try:
                survives(target, Path(folder), raw)
            except Exception:  # noqa: BLE001  # That is what is looked for.
                wrong += 1
                _keep(name, number, raw)
    return wrong


def _keep(name: str, number: int, raw: bytes) -> None:
    found = FOLDER / "fuzz"
    found.mkdir(exist_ok=True)
    (found / f"{name}-{number}").write_bytes(raw)
    print(f"{name} {number}:\n{traceback.format_exc()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
