"""Puts a picture of the memory into a file. Its words are private: only the owner may read the file."""

import errno
import importlib
import os
import stat
from pathlib import Path
from typing import Final, Protocol

from reveries.client.picture import Theme, picture
from reveries.errors import InputFileError, UsageError
from reveries.own_files import is_foreign_link
from reveries.protocol import Neighbourhood

_ZOOM: Final = 2
_PRIVATE: Final = 0o600


class Rasteriser(Protocol):
    """What of resvg-py is used."""

    def svg_to_bytes(self, *, svg_string: str, zoom: int) -> bytes: ...


def write_svg(shown: Neighbourhood, file: Path, theme: Theme) -> None:
    """Raises InputFileError when the file cannot be written."""
    _write(file, picture(shown, theme).encode("utf-8"))


def write_png(shown: Neighbourhood, file: Path, theme: Theme, library: str = "resvg_py") -> None:
    """At twice the size, for sharp screens. Raises UsageError without the library that makes it."""
    try:
        rasteriser: Rasteriser = importlib.import_module(library)
    except ImportError as error:
        raise UsageError(
            "A PNG needs resvg-py, which is not installed.",
            advice="Install it beside Reveries (pip install 'reveries[pictures]'), or take --svg.",
        ) from error
    _write(file, bytes(rasteriser.svg_to_bytes(svg_string=picture(shown, theme), zoom=_ZOOM)))


def _write(file: Path, content: bytes) -> None:
    try:
        if is_foreign_link(file):
            raise OSError(errno.EPERM, "it is a link of another user's")
        # A link of the owner's own leads where it leads now; one that is laid from here on is not followed.
        place = file.resolve() if file.is_symlink() else file
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(place, flags, _PRIVATE), "wb") as opened:
            if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                os.fchmod(opened.fileno(), _PRIVATE)  # An older file keeps its mode otherwise.
            opened.write(content)
    except OSError as error:
        raise InputFileError(
            f"{file} cannot be written: {error.strerror}.", advice="Choose another place for the picture."
        ) from error
