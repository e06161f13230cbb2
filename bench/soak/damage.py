"""A thousand bit flips in the memory of a sleeping mind: how many are detected, and does any wake an empty mind (A8)?

    make soak PART=damage                     # or ARGS="--flips 200"

Half of the files were closed (they have a seal), half were left by a kill (without a seal: only row checksums and
SQLite's own check protect them). Ends with 1 if a flip in a sealed file is not detected, or if any wakes an empty mind.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import warnings
from pathlib import Path

import structlog

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.durability.damage import Flips, remember, try_flips


def main() -> int:
    """Flip bits, print the result, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    warnings.simplefilter("ignore")  # What is in a vector after a flip may be anything.
    closed, killed = asyncio.run(_flip(options.flips // 2, options.seed))
    for name, seen in (("closed", closed), ("killed", killed)):
        print(f"{name}: {seen.flips} flips, {seen.changed} changed what can be read")
        print(f"  put back by the wake     {seen.put_back}")
        print(f"  told by the wake         {seen.told}")
        print(f"  told by the next backup  {seen.at_backup}")
        print(f"  not noticed              {seen.unnoticed}")
        print(f"  empty minds              {seen.empty}")
    return 1 if closed.unnoticed or closed.empty or killed.empty else 0


async def _flip(count: int, seed: int) -> tuple[Flips, Flips]:
    with tempfile.TemporaryDirectory(prefix="rvd") as folder:
        whole = _make_folder(Path(folder))
        await remember(whole)
        closed = await try_flips(whole, Path(folder), count, seed, is_sealed=True)
        return closed, await try_flips(whole, Path(folder), count, seed + 1, is_sealed=False)


def _make_folder(folder: Path) -> Path:
    (folder / "whole").mkdir()
    return folder / "whole"


if __name__ == "__main__":
    sys.exit(main())
