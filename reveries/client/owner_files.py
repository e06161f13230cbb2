"""Files that the terminal interface writes for the owner: exports, copied messages, drafts in an editor.

All are readable by the owner alone. An existing file is never overwritten.
"""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from reveries.api_keys import remove_secrets
from reveries.errors import InputFileError, UsageError
from reveries.safe_text import plain

_PRIVATE: Final = 0o600
_TRIES: Final = 100


def resolve_path(words: str) -> Path:
    """Return the absolute path for the owner's input. Raises InputFileError if it begins with an unknown user."""
    try:
        return Path(words).expanduser().absolute()
    except (RuntimeError, OSError) as error:
        raise InputFileError(f"{words} is not a valid path.", advice="Give the full path: /home/...") from error


def write_unique_file(place: Path, text: str, name: str = "words.md") -> Path:
    """Write `text` to `place`; if that is a folder, to the file `name` in it. If that exists, "name-2" and so on is
    used. Return the file.

    Raises InputFileError if it cannot be written.
    """
    file = place / name if os.path.isdir(place) else place  # noqa: PTH112 - Path.is_dir raises where access is denied
    for number in range(1, _TRIES):
        place = file if number == 1 else file.with_name(f"{file.stem}-{number}{file.suffix}")
        try:
            _write_owner_file(place, plain(text), os.O_EXCL)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputFileError(
                f"{place} cannot be written: {error.strerror}.", advice="Choose another path: /export FILE, /copy FILE"
            ) from error
        return place
    raise InputFileError(f"There are {_TRIES} files named like {file}.", advice="Choose another path.")


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return VISUAL or EDITOR as the words of a command. Raises UsageError if neither is set."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(name, ""))
        except ValueError:
            continue
        if words:
            return words
    raise UsageError("No editor is set.", advice="Set one: export EDITOR=nano")


async def edit_in_editor(text: str, command: list[str]) -> str:
    """Let the owner edit `text` in an editor, which needs the whole screen. Raises UsageError if the editor fails."""
    with tempfile.TemporaryDirectory(prefix="reveries-") as folder:
        file = Path(folder) / "words.md"
        _write_owner_file(file, text, os.O_EXCL)
        try:
            process = await asyncio.create_subprocess_exec(*command, str(file), env=remove_secrets(os.environ))
        except OSError as error:
            raise UsageError(
                f"The editor {command[0]} could not be started: {error.strerror}.", advice="Check EDITOR."
            ) from error
        code = await process.wait()
        if code != 0:
            raise UsageError(
                f"The editor failed with exit code {code}. The draft was not changed.", advice="Check EDITOR."
            )
        return plain(file.read_text(encoding="utf-8", errors="replace")).rstrip("\n")


def _write_owner_file(file: Path, text: str, flag: int) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | flag, _PRIVATE)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
        stream.write(text)
