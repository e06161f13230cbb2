"""What an erasure that was broken off has left to do, in a file beside the memory (`marker`), for the next wake."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reveries.own_files import sync_to_disk, write_in_its_place


@dataclass(frozen=True, slots=True)
class Unfinished:
    """All that is left of an erasure in the home, or, where that is done, the memory's file to be written anew."""

    is_file_alone: bool = False
    receipt_id: str = ""
    """Of that erasure: where the memory has no such receipt it was broken off before anything was erased. Empty where
    nobody knows."""


FILE_ALONE: Final = Unfinished(is_file_alone=True)
_FILE_ALONE: Final = b"the file alone"


def left_to_do(marker: Path) -> Unfinished | None:
    """None: nothing. Reads the disk. Raises OSError."""
    try:
        content = marker.read_bytes()
    except FileNotFoundError:
        return None
    return FILE_ALONE if content == _FILE_ALONE else Unfinished(receipt_id=content.decode(errors="replace"))


def leave_to_do(marker: Path, what: Unfinished | None) -> None:
    """On the disk when this returns; until then what was left before. Raises OSError."""
    if what is None:
        marker.unlink(missing_ok=True)
        sync_to_disk(marker.parent)
    else:
        write_in_its_place(marker, _FILE_ALONE if what.is_file_alone else what.receipt_id.encode())
