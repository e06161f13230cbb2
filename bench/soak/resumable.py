"""Resumable long runs: results are stored together with the code version, so that the next run continues from there."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".soak"
_CODE = ("reveries", "tests", "bench/soak", "requirements.lock", "requirements-dev.lock")
"""What a result depends on: a word in the docs takes no hour of work back."""


class Parts:
    """The finished parts of one soak run. A part is a few numbers and what was wrong."""

    def __init__(self, name: str, minutes: float) -> None:
        FOLDER.mkdir(exist_ok=True)
        self._path = FOLDER / f"{name}.jsonl"
        self._ends = time.monotonic() + 60 * minutes
        self.commit, self._code = commit(), _code()
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        self.done = [part for line in lines if (part := json.loads(line)).get("code") == self._code]

    @property
    def is_time_left(self) -> bool:
        return time.monotonic() < self._ends

    def add(self, **numbers: object) -> None:
        """Write a finished part to the disk and sync. Raises SystemExit if the code changed meanwhile: then it is
        unclear which code was measured."""
        if _code() != self._code:
            sys.exit("The code has changed since this run began: begin it again.")
        part = {"commit": self.commit, "code": self._code, "at": int(time.time()), **numbers}
        self.done.append(part)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(part) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def sum(self, name: str) -> float:
        """Return the sum of `name` over all parts."""
        return sum(float(part.get(name, 0)) for part in self.done)

    def print_rows(self, rows: Sequence[tuple[str, object]]) -> None:
        """Print the result so far and the commit that was measured."""
        for name, value in (("commit", self.commit), *rows):
            print(f"{name:<28} {value}")


def commit() -> str:
    """Return the commit, marked if the code differs from it."""
    return _git("describe", "--always", "--abbrev=12", "--dirty", "--exclude=*").strip()


def _code() -> str:
    """Return a digest of everything that a result depends on, as it is on the disk."""
    listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *_CODE)
    found = hashlib.sha256()
    for name in sorted(filter(None, listed.split("\0"))):
        file = ROOT / name
        found.update(name.encode() + b"\0" + (file.read_bytes() if file.is_file() else b"") + b"\0")
    return found.hexdigest()[:12]


def _git(*words: str) -> str:
    return subprocess.run(("git", "-C", str(ROOT), *words), capture_output=True, text=True, check=True).stdout
