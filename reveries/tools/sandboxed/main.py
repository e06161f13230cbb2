"""The sandboxed child process: it reads one request per line and answers with one line. It exits when its input ends.

python -I -S -c "..." FOLDER read|write run|look
"""

import contextlib
import ctypes
import dataclasses
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from reveries.tools.sandboxed.commands import run_command
from reveries.tools.sandboxed.folder import FileListing, Folder, FolderEntry, FolderError

_PR_SET_DUMPABLE = 4
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9
_MOST_REQUEST_CHARS = 20_000_000


def main() -> None:
    """Serve until the daemon closes the pipe."""
    path, access, commands = sys.argv[1:4]
    _block_tracing()
    sys.stdout.reconfigure(newline="\n")  # type: ignore[union-attr]  # stdout is the pipe.
    folder = Folder(path, may_write=access == "write")
    operations = _list_operations(folder, path, may_run=commands == "run")
    _send({"ready": os.getpid()})
    for line in sys.stdin:
        _send(_answer_request(operations, line))


def _block_tracing() -> None:
    """Prevent commands in the same sandbox from opening its pipes through /proc or tracing it to forge an answer."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def _list_operations(folder: Folder, path: str, *, may_run: bool) -> dict[str, Callable[..., object]]:
    def run(command: str, seconds: float, is_tainted: bool) -> object:
        if not may_run:
            raise FolderError("Nothing is run here: there is no sandbox. See: reveries doctor")
        result = run_command(command, path, seconds, is_tainted=is_tainted)
        return dataclasses.asdict(result) | {"taken_back": [_format_path(taken) for taken in result.taken_back]}

    return {
        "read": folder.read,
        "find": lambda pattern: [_format_entry(entry) for entry in folder.find(pattern)],
        "list_files": lambda suffixes: _format_listing(folder.list_files(suffixes)),
        "search": lambda text, path: [[_format_path(at), *match] for at, *match in folder.search(text, path)],
        "digest": folder.digest,
        "write": lambda path, text, is_tainted: folder.write(path, text, is_tainted=is_tainted),
        "edit": lambda path, old, new, is_tainted: folder.edit(path, old, new, is_tainted=is_tainted),
        "run": run,
    }


def _format_entry(entry: FolderEntry) -> dict[str, Any]:
    return dataclasses.asdict(entry) | {"path": _format_path(entry.path)}


def _format_listing(listing: FileListing) -> dict[str, Any]:
    """Return a listing in a short form: there may be thousands of files."""
    files = [(_format_path(file.path), file.size_bytes, file.changed_at) for file in listing.files]
    return {"files": files, "unseen": [_format_path(path) for path in listing.unseen]}


def _format_path(path: str) -> str:
    """Replace what is not valid UTF-8, because prompts and database rows cannot contain it."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _answer_request(operations: dict[str, Callable[..., object]], line: str) -> dict[str, Any]:
    try:
        if len(line) > _MOST_REQUEST_CHARS:
            raise FolderError("That is too much at once.")
        request = json.loads(line)
        return {"answer": operations[request["operation"]](**request["arguments"])}
    except FolderError as error:
        return {"refused": str(error)}
    except OSError as error:
        return {"refused": f"It cannot be done: {error.strerror or 'unknown error'}."}
    except Exception as error:  # noqa: BLE001  # A named boundary: one failed request must not end the child.
        return {"refused": f"It cannot be done ({type(error).__name__})."}


def _send(answer: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
