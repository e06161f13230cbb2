"""A copy of the package with one guard taken out: a test of durability must then fail (H4)."""

import shutil
from pathlib import Path

from tests.durability.mind import ROOT


def seeded(folder: Path, *changes: tuple[str, str, str]) -> Path:
    """`reveries` in `folder`, with each (file, old text, new text) done once. What belongs on PYTHONPATH to run it."""
    # With what was compiled: what is not changed need not be compiled again.
    shutil.copytree(ROOT / "reveries", folder / "reveries")
    for name, old, new in changes:
        file = folder / "reveries" / name
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise LookupError(f"{name} has {text.count(old)} times: {old}")
        file.write_text(text.replace(old, new), encoding="utf-8")
    return folder
