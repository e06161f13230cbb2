"""What an erasure that was broken off has left to do, in a file beside the memory (`marker`), for the next wake."""

from pathlib import Path
from typing import Final

from reveries.own_files import write_to_disk

EVERYTHING: Final = b""
FILE_ALONE: Final = b"the file alone"
"""To write the memory's file anew: all else is done."""


def left_to_do(marker: Path) -> bytes | None:
    """`EVERYTHING`, `FILE_ALONE`, or None: nothing. Reads the disk."""
    try:
        return marker.read_bytes()
    except FileNotFoundError:
        return None


def leave_to_do(marker: Path, what: bytes | None) -> None:
    """On the disk when this returns. Raises OSError."""
    if what is None:
        marker.unlink(missing_ok=True)
    else:
        write_to_disk(marker, what)
