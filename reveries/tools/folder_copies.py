"""A copy of a folder before a task first changes it, so that the task can be undone (DESIGN-projects.md, section 4).

A copy is whole or not there: it is made beside its place and renamed. Giving it back can be broken off at any point and
done again. What somebody else changed after the task is left alone and told of. Everything here blocks: it runs in a
thread.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from reveries.errors import ToolError

MOST_BYTES: Final = 500_000_000
MOST_FILES: Final = 50_000
KEPT_SECONDS: Final = 7 * 86400.0
_FICLONE: Final = 0x40049409
"""The file system shares the blocks of both files until one is changed."""
_FILES: Final = "files"
_BEFORE: Final = "before.json"
_AFTER: Final = "after.json"
_BESIDE: Final = ".reveries-undo-"


class FileMark(msgspec.Struct, frozen=True):
    """What one path is: enough to see whether it is another one now."""

    kind: str
    """`file`, `folder` or `link`."""
    mode: int = 0
    digest: str = ""
    """Of a file its SHA-256, of a link where it leads."""


Marks = dict[str, FileMark]


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a folder."""

    restored: tuple[str, ...]
    """Paths that are as they were before the task."""
    left: tuple[str, ...]
    """Paths that were changed by somebody else since, and are left as they are."""


class FolderCopies:
    """The copies of one mind, by the ids of tasks."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, task_id: str) -> bool:
        return (self._root / task_id / _BEFORE).exists()

    def take(self, task_id: str, folder: Path) -> None:
        """Copy `folder`, if this task has no copy yet. Raises ToolError for one that is too large."""
        if self.has(task_id):
            return
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._refuse_too_large(folder)
        place, making = self._root / task_id, self._root / f".{task_id}"
        shutil.rmtree(making, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        making.mkdir(mode=0o700)
        try:
            modes: dict[str, int] = {}
            (making / _FILES).mkdir()
            for path, found in _walk_folder(folder):
                _copy(folder / path, making / _FILES / path, found)
                modes[path] = stat.S_IMODE(found.st_mode)
            # As they were copied, with the modes of the originals.
            marks = {
                path: mark if mark.kind == "link" else msgspec.structs.replace(mark, mode=modes[path])
                for path, mark in mark_folder(making / _FILES).items()
            }
            (making / _BEFORE).write_bytes(msgspec.json.encode(marks))
            making.rename(place)
        except OSError as error:
            shutil.rmtree(making, ignore_errors=True)
            raise ToolError(
                f"The folder cannot be copied before it is changed: {error.strerror}.", advice="Nothing was changed."
            ) from error

    def note_end(self, task_id: str, folder: Path) -> None:
        """Write down how the task left the folder: by it is seen what somebody else changed after it."""
        if self.has(task_id):
            marks = msgspec.json.encode(mark_folder(folder))
            making = self._root / task_id / f".{_AFTER}"
            making.write_bytes(marks)
            making.rename(self._root / task_id / _AFTER)

    def give_back(self, task_id: str, folder: Path) -> Undone:
        """Make the folder what it was before the task. Raises ToolError where there is no copy."""
        if not self.has(task_id):
            raise ToolError(
                "There is no copy of the folder from before this task.",
                advice=f"A task that changed nothing has none; copies are kept for {KEPT_SECONDS / 86400:.0f} days.",
            )
        place = self._root / task_id
        before = msgspec.json.decode((place / _BEFORE).read_bytes(), type=Marks)
        after = None
        with contextlib.suppress(FileNotFoundError):
            after = msgspec.json.decode((place / _AFTER).read_bytes(), type=Marks)
        for stale in folder.rglob(f"{_BESIDE}*"):
            stale.unlink(missing_ok=True)
        now = mark_folder(folder)
        changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
        left = [path for path in changed if after is not None and after.get(path) != now.get(path)]
        mended = [path for path in changed if path not in set(left)]
        # What goes, goes from the inside out; what comes, comes from the outside in.
        for path in reversed(mended):
            if path in now and (path not in before or before[path].kind != now[path].kind):
                _remove_path(folder / path, now[path])
        for path in mended:
            if path in before:
                _restore(place / _FILES / path, folder / path, before[path])
        for path in reversed(mended):
            if path in before and before[path].kind == "folder":
                (folder / path).chmod(before[path].mode)
        return Undone(tuple(mended), tuple(left))

    def drop(self, task_id: str) -> None:
        shutil.rmtree(self._root / task_id, ignore_errors=True)

    def drop_all(self) -> int:
        """Something is to be forgotten, and a copy may hold it; how many were there."""
        names = list(self._root.iterdir()) if self._root.exists() else []
        for one in names:
            shutil.rmtree(one, ignore_errors=True)
        return len(names)

    def drop_old(self, now: float) -> None:
        """Those of more than seven days, and what a kill left half made."""
        for one in list(self._root.iterdir()) if self._root.exists() else []:
            with contextlib.suppress(OSError):
                if one.name.startswith(".") or now - one.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(one, ignore_errors=True)

    def _refuse_too_large(self, folder: Path) -> None:
        count = size = 0
        for _, found in _walk_folder(folder):
            count, size = count + 1, size + (found.st_size if stat.S_ISREG(found.st_mode) else 0)
            if size > MOST_BYTES or count > MOST_FILES:
                raise ToolError(
                    f"The folder holds more than {MOST_BYTES // 1_000_000} MB or {MOST_FILES:,} files: it could not be "
                    "given back, so nothing in it is changed.",
                    advice="Give the project a smaller folder: reveries project folder NAME DIR --write",
                )


def mark_folder(folder: Path) -> Marks:
    """What every path in a folder is."""
    return {path: _mark(folder / path, found) for path, found in _walk_folder(folder)}


def _mark(path: Path, found: os.stat_result) -> FileMark:
    if stat.S_ISLNK(found.st_mode):
        return FileMark("link", 0, str(path.readlink()))
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode):
        return FileMark("folder", mode)
    digest = hashlib.sha256()
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return FileMark("file", mode, "unreadable")
    with os.fdopen(file, "rb") as reader:
        while piece := reader.read(1 << 20):
            digest.update(piece)
    return FileMark("file", mode, digest.hexdigest())


def _walk_folder(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every file, folder and link beneath `folder`, outside in; links are not followed."""
    waiting = [""]
    while waiting:
        at = waiting.pop()
        with contextlib.suppress(FileNotFoundError, PermissionError), os.scandir(folder / at) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                path = f"{at}/{entry.name}" if at else entry.name
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(path)
                if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
                    yield path, found


def _copy(source: Path, target: Path, found: os.stat_result) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(found.st_mode):
        target.symlink_to(source.readlink())
    elif stat.S_ISDIR(found.st_mode):
        target.mkdir(exist_ok=True)
        # Its own mode may forbid to put something into it: that is set when it is given back.
        target.chmod(stat.S_IMODE(found.st_mode) | 0o700)
    else:
        _copy_file(source, target)
        target.chmod(stat.S_IMODE(found.st_mode))


def _copy_file(source: Path, target: Path) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(reading, "rb") as reader, target.open("xb") as writer:
        try:
            fcntl.ioctl(writer.fileno(), _FICLONE, reader.fileno())
        except OSError:
            shutil.copyfileobj(reader, writer, 1 << 20)


def _remove_path(path: Path, mark: FileMark) -> None:
    if mark.kind != "folder":
        path.unlink(missing_ok=True)
        return
    with contextlib.suppress(OSError):  # Something that is left alone still lies in it.
        path.rmdir()


def _restore(copy: Path, target: Path, mark: FileMark) -> None:
    if mark.kind == "folder":
        target.mkdir(parents=True, exist_ok=True)
        target.chmod(mark.mode | 0o700)  # Its own comes when what lies in it is there.
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f"{_BESIDE}{target.name[:100]}")
    beside.unlink(missing_ok=True)
    if mark.kind == "link":
        beside.symlink_to(mark.digest)
    else:
        _copy_file(copy, beside)
        beside.chmod(mark.mode)
    beside.replace(target)
