"""What stands in a folder, seen from handles: no link is followed, whatever becomes of the folder meanwhile."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

UNREADABLE: Final = "unreadable"
"""Stands for the digest of what may not be read: of a file, or of a folder, in which nobody knows what lies."""
_DIRECTORY_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FileMark(msgspec.Struct, frozen=True):
    """What one path is: enough to see whether it is another one now."""

    kind: str
    """`file`, `folder` or `link`."""
    mode: int = 0
    digest: str = ""
    """Of a file its SHA-256, of a link where it leads."""


Marks = dict[str, FileMark]


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A handle on a folder. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def beneath(root: int, path: str) -> Iterator[int]:
    """A handle on a folder beneath another, reached part by part. Raises OSError, for a link on the way too."""
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
def parent_of(root: int, path: str) -> Iterator[tuple[int, str]]:
    """A handle on the folder in which a path ends, and the name there. Raises OSError."""
    above, _, name = path.rpartition("/")
    with beneath(root, above) as handle:
        yield handle, name


@contextlib.contextmanager
def readable(root: int, path: str) -> Iterator[int]:
    """A file beneath a folder, open. Raises OSError."""
    with parent_of(root, path) as (handle, name):
        file = os.open(name, _FILE_FLAGS, dir_fd=handle)
    try:
        yield file
    finally:
        os.close(file)


def walk_tree(root: int) -> Iterator[tuple[str, os.stat_result, bool]]:
    """Every file, folder and link beneath a folder, outside in; of a folder, whether all that lies in it is known."""
    waiting: list[tuple[str, os.stat_result | None]] = [("", None)]
    while waiting:
        at, its_own = waiting.pop()
        try:
            with beneath(root, at) as handle:
                inside, is_whole = _list_folder(handle), True
        except PermissionError:
            inside, is_whole = [], False
        except (FileNotFoundError, NotADirectoryError):
            continue  # Gone since.
        if its_own is not None:
            yield at, its_own, is_whole
        for name, found in inside:
            path = f"{at}/{name}" if at else name
            if stat.S_ISDIR(found.st_mode):
                waiting.append((path, found))
            elif stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
                yield path, found, True


def _list_folder(handle: int) -> list[tuple[str, os.stat_result]]:
    inside = []
    for name in sorted(os.listdir(handle)):
        with contextlib.suppress(FileNotFoundError):  # Gone since.
            inside.append((name, os.stat(name, dir_fd=handle, follow_symlinks=False)))
    return inside


def mark_folder(folder: Path) -> Marks:
    """What every path in a folder is. Raises OSError where it cannot be opened."""
    with opened(folder) as root:
        return mark_tree(root)


def mark_tree(root: int) -> Marks:
    """The same, of an open folder."""
    marks: Marks = {}
    for path, found, is_whole in walk_tree(root):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # Gone since.
            marks[path] = _mark(root, path, found, is_whole)
    return marks


def _mark(root: int, path: str, found: os.stat_result, is_whole: bool) -> FileMark:
    if stat.S_ISLNK(found.st_mode):
        with parent_of(root, path) as (handle, name):
            return FileMark("link", 0, os.readlink(name, dir_fd=handle))
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode):
        return FileMark("folder", mode, "" if is_whole else UNREADABLE)
    digest = hashlib.sha256()
    try:
        with readable(root, path) as file:
            while piece := os.read(file, 1 << 20):
                digest.update(piece)
    except PermissionError:
        return FileMark("file", mode, UNREADABLE)
    return FileMark("file", mode, digest.hexdigest())
