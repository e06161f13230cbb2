"""A long run in parts: what is done is kept with the commit it was done on, so that the next run goes on from there."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".soak"


class Parts:
    """The parts of one soak that are done. A part is a few numbers and what was wrong."""

    def __init__(self, name: str, minutes: float) -> None:
        FOLDER.mkdir(exist_ok=True)
        self._path = FOLDER / f"{name}.jsonl"
        self._ends = time.monotonic() + 60 * minutes
        self.commit = _commit()
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        self.done = [part for line in lines if (part := json.loads(line))["commit"] == self.commit]

    @property
    def is_time_left(self) -> bool:
        return time.monotonic() < self._ends

    def add(self, **numbers: object) -> None:
        """This part is done: on the disk when this returns."""
        part = {"commit": self.commit, "at": int(time.time()), **numbers}
        self.done.append(part)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(part) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def sum(self, name: str) -> float:
        """Over all parts."""
        return sum(float(part.get(name, 0)) for part in self.done)

    def tell(self, rows: Sequence[tuple[str, object]]) -> None:
        """The result as it stands, with what it was measured on."""
        for name, value in (("commit", self.commit), *rows):
            print(f"{name:<28} {value}")


def _commit() -> str:
    """The commit, marked where the code is another."""
    asked = ("git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*")
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
