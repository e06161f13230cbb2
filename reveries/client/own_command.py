"""How to start this program from a shell, for messages that name the next command."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

_NAME: Final = "reveries"


def own_command(argument: str = "") -> str:
    """Return the command, with an argument: by its name if that is on the PATH or this was started in another way, else
    by the path that it was started by, as after `make wake` in a fresh clone."""
    program = Path(sys.argv[0])
    is_by_path = shutil.which(_NAME) is None and program.name == _NAME
    command = shlex.quote(_shortest_path(program)) if is_by_path else _NAME
    return f"{command} {argument}".strip()


def _shortest_path(program: Path) -> str:
    try:
        return os.path.relpath(program)
    except FileNotFoundError:
        # The working folder is gone.
        return str(program)
