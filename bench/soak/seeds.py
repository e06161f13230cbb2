"""Known plausible faults, injected one at a time into a copy of the code: is each caught by its test (H4)?

    make soak PART=seeds

The list is tests/durability/seeds.py. Each test must pass without the fault first. Ends with 1 if a fault is not
caught. Resumable.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from resumable import Parts

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.durability.seeds import SEEDS, Copy, Seed

_CAUGHT = "caught"


def main() -> int:
    """Plant the faults, print the result, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=35.0)
    options = parser.parse_args()
    parts = Parts("seeds", options.minutes)
    done = {part["seed"]: part["how"] for part in parts.done}
    with tempfile.TemporaryDirectory(prefix="rvseed") as folder:
        copy = Copy(Path(folder))
        for seed in SEEDS:
            if seed.name in done or not parts.is_time_left:
                continue
            done[seed.name] = _sown(copy, seed)
            parts.add(seed=seed.name, how=done[seed.name])
            print(f"{done[seed.name]:10}{seed.name}: {seed.test}", flush=True)
    uncaught = [f"{name} ({how})" for name, how in done.items() if how != _CAUGHT]
    parts.print_rows((("faults", f"{len(done)} of {len(SEEDS)}"), ("not caught", "; ".join(uncaught) or "none")))
    return 1 if uncaught or len(done) < len(SEEDS) else 0


def _sown(copy: Copy, seed: Seed) -> str:
    try:
        return _CAUGHT if copy.is_caught(seed) else "UNCAUGHT"
    except (LookupError, RuntimeError, subprocess.TimeoutExpired) as error:
        return f"not tried: {error}"


if __name__ == "__main__":
    sys.exit(main())
