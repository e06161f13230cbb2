"""Kind, mode and digest of every path in a folder.

Everything is opened relative to a directory handle, so that no link is followed even if the folder changes meanwhile.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

UNREADABLE: Final = "unreadable"
"""The digest of a file that may not be read, or of a folder whose content may not be listed."""
_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileMark(msgspec.Struct, frozen=True):
    """What one path was: enough to detect that it changed."""

    kind: str
    """`file`, `folder` or `link`."""
    mode: int = 0
    digest: str = ""
    """The SHA-256 of a file, the target of a link, or UNREADABLE."""


Marks = dict[str, FileMark]


@contextlib.contextmanager
def open_folder_handle(folder: Path) -> Iterator[int]:
    """Open a directory handle on a folder. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def open_subfolder(root: int, path: str) -> Iterator[int]:
    """Open a subfolder part by part, without following links. Raises OSError, also if a part is a link."""
    handle = os.dup(root)
    try:
        for part in path.split("/") if path else ():
            inner = os.open(part, _DIRECTORY_FLAGS, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def open_parent(root: int, path: str) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a path; yield its handle and the last name of the path. Raises OSError."""
    above, _, name = path.rpartition("/")
    with open_subfolder(root, above) as handle:
        yield handle, name


@contextlib.contextmanager
def open_readable(root: int, path: str) -> Iterator[int]:
    """Open a file below a folder for reading. Raises OSError."""
    with open_parent(root, path) as (handle, name):
        file = os.open(name, _FILE_FLAGS, dir_fd=handle)
    try:
        yield file
    finally:
        os.close(file)


def walk_tree(root: int) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Yield every file, folder and link below a folder, parents first. The flag is False for a folder that cannot be
    listed."""
    waiting: list[tuple[str, os.stat_result | None]] = [("", None)]
    while waiting:
        at, folder_stat = waiting.pop()
        try:
            with open_subfolder(root, at) as handle:
                inside, is_whole = _list_folder(handle), True
        except PermissionError:
            inside, is_whole = [], False
        except (FileNotFoundError, NotADirectoryError):
            continue  # Deleted meanwhile.
        if folder_stat is not None:
            yield at, folder_stat, is_whole
        for name, entry_stat in inside:
            path = f"{at}/{name}" if at else name
            if stat.S_ISDIR(entry_stat.st_mode):
                waiting.append((path, entry_stat))
            elif stat.S_ISREG(entry_stat.st_mode) or stat.S_ISLNK(entry_stat.st_mode):
                yield path, entry_stat, True


def _list_folder(handle: int) -> list[tuple[str, os.stat_result]]:
    inside = []
    for name in sorted(os.listdir(handle)):
        with contextlib.suppress(FileNotFoundError):  # Deleted meanwhile.
            inside.append((name, os.stat(name, dir_fd=handle, follow_symlinks=False)))
    return inside


def mark_folder(folder: Path) -> Marks:
    """Return the mark of every path in a folder. Raises OSError if the folder cannot be open_folder_handle."""
    with open_folder_handle(folder) as root:
        return mark_tree(root)


def mark_tree(root: int) -> Marks:
    """Return the mark of every path below an open folder."""
    marks: Marks = {}
    for path, entry_stat, is_whole in walk_tree(root):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # Deleted meanwhile.
            marks[path] = _read_mark(root, path, entry_stat, is_whole)
    return marks


def _read_mark(root: int, path: str, entry_stat: os.stat_result, is_whole: bool) -> FileMark:
    if stat.S_ISLNK(entry_stat.st_mode):
        with open_parent(root, path) as (handle, name):
            return FileMark("link", 0, os.readlink(name, dir_fd=handle))
    mode = stat.S_IMODE(entry_stat.st_mode)
    if stat.S_ISDIR(entry_stat.st_mode):
        return FileMark("folder", mode, "" if is_whole else UNREADABLE)
    digest = hashlib.sha256()
    try:
        with open_readable(root, path) as file:
            while piece := os.read(file, 1 << 20):
                digest.update(piece)
    except PermissionError:
        return FileMark("file", mode, UNREADABLE)
    return FileMark("file", mode, digest.hexdigest())
