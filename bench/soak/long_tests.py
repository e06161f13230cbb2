"""The tests marked `long`: minutes of the processor each, with a shorter form or another part in CI.

make soak PART=long_tests             # or ARGS="tests/client"
"""

import subprocess
import sys
from typing import Final

from resumable import ROOT

WORKERS: Final = 2


def main() -> int:
    """Run them; a skip is a failure. Return the exit code of pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "long", "--fail-on-skip", "-n", str(WORKERS)]
    return subprocess.run([*command, *sys.argv[1:]], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
