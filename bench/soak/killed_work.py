"""Five hundred kills in the middle of work in a folder, at whatever moment.

    make soak PART=killed_work [ARGS="500"]

Prints one line of JSON; ends with 1 where a command happened twice, a row told what is not so, or undoing a task did
not give the folder back byte for byte.
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
