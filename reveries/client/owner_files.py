"""Files that the terminal interface leaves for its owner: an export, a copied message, words to be edited.

All of them are private: readable by the owner alone. An older file is never written over.
"""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from reveries.api_keys import without_secrets
from reveries.errors import InputFileError, UsageError
from reveries.safe_text import plain

_PRIVATE: Final = 0o600
_TRIES: Final = 100


def place_named(words: str) -> Path:
    """The place that the owner named. Raises InputFileError where it begins with a user that there is not."""
    try:
        return Path(words).expanduser().absolute()
    except (RuntimeError, OSError) as error:
        raise InputFileError(f"{words}: there is no such place.", advice="Name the place in full: /home/...") from error


def write_new(place: Path, text: str, name: str = "words.md") -> Path:
    """Write `text` into `place`, a folder's file called `name`; into "name-2" and so on where there is such a file. The
    file that was written.

    Raises InputFileError when it cannot be.
    """
    file = place / name if os.path.isdir(place) else place  # noqa: PTH112 - Path's own raises where it may not look
    for number in range(1, _TRIES):
        place = file if number == 1 else file.with_name(f"{file.stem}-{number}{file.suffix}")
        try:
            _write_owner_file(place, plain(text), os.O_EXCL)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputFileError(
                f"{place} cannot be written: {error.strerror}.", advice="Name another place: /export FILE, /copy FILE"
            ) from error
        return place
    raise InputFileError(f"There are {_TRIES} files named like {file}.", advice="Name another place.")


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """VISUAL or EDITOR as words of a command. Raises UsageError when neither says anything."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(name, ""))
        except ValueError:
            continue
        if words:
            return words
    raise UsageError("No editor is set.", advice="Set one: export EDITOR=nano")


async def edit_in_editor(text: str, command: list[str]) -> str:
    """`text` as the owner left it in the editor; the screen must be free for it. Raises UsageError when it fails."""
    with tempfile.TemporaryDirectory(prefix="reveries-") as folder:
        file = Path(folder) / "words.md"
        _write_owner_file(file, text, os.O_EXCL)
        try:
            process = await asyncio.create_subprocess_exec(*command, str(file), env=without_secrets(os.environ))
        except OSError as error:
            raise UsageError(
                f"The editor {command[0]} does not start: {error.strerror}.", advice="See EDITOR."
            ) from error
        code = await process.wait()
        if code != 0:
            raise UsageError(f"The editor ended with {code}: the draft stays as it was.", advice="See EDITOR.")
        return plain(file.read_text(encoding="utf-8", errors="replace")).rstrip("\n")


def _write_owner_file(file: Path, text: str, flag: int) -> None:
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | flag, _PRIVATE)
    with os.fdopen(opened, "w", encoding="utf-8", errors="replace") as writing:
        writing.write(text)
