"""Faults that somebody could make, one at a time, in a copy of everything: is each caught by its test (H4)?

    make soak PART=seeds

The list is tests/durability/seeds.py. Ends with 1 when a fault goes uncaught. Goes on where it was left.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from resumable import Parts

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.durability.seeds import SEEDS, is_caught


def main() -> int:
    """Sow, and tell. The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=35.0)
    options = parser.parse_args()
    parts = Parts("seeds", options.minutes)
    done = {part["seed"]: part["caught"] for part in parts.done}
    for seed in SEEDS:
        if seed.name in done or not parts.is_time_left:
            continue
        with tempfile.TemporaryDirectory(prefix="rvseed") as folder:
            done[seed.name] = is_caught(seed, Path(folder))
        parts.add(seed=seed.name, caught=done[seed.name])
        print(f"{'caught  ' if done[seed.name] else 'UNCAUGHT'}  {seed.name}: {seed.test}", flush=True)
    uncaught = [name for name, caught in done.items() if not caught]
    parts.tell((("faults", f"{len(done)} of {len(SEEDS)}"), ("uncaught", "; ".join(uncaught) or "none")))
    return 1 if uncaught or len(done) < len(SEEDS) else 0


if __name__ == "__main__":
    sys.exit(main())
