"""Five hundred kills at random moments during project work in a folder.

    make soak PART=killed_work [ARGS="500"]

Prints one line of JSON; ends with 1 if a command ran twice, a row was wrong, or undoing a task did not restore the
folder byte for byte.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from tests.tools.killed_work import run_rounds


def main() -> int:
    tally = run_rounds(int(sys.argv[1]) if len(sys.argv) > 1 else 500, seed=1)
    print(json.dumps(asdict(tally)))
    return bool(tally.repeated or tally.not_as_told or tally.not_given_back or tally.stuck)


if __name__ == "__main__":
    sys.exit(main())
