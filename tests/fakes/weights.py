"""Weights that are on a disk as far as anybody looks who does not load them."""

import os
from pathlib import Path

from reveries.llm.assets import asset


def put_weights(folder: Path, name: str, head: bytes = b"") -> None:
    """Files of the right size with their stamps, holes behind the `head`: they take no room."""
    for file in asset(name).file:
        path = folder / name / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head)
        os.truncate(path, file.size_bytes)
        stamp = f"{file.sha256} {path.stat().st_mtime_ns}\n"
        path.with_name(f"{path.name}.ok").write_text(stamp, encoding="ascii")
