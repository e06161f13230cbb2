"""A copy of a folder before a task first changes it, so that the task can be undone (DESIGN-projects.md, section 4).

A copy is whole or not there: it is made beside its place and renamed. It belongs to one task and one folder. Giving it
back can be broken off at any point and done again. What somebody else changed is left alone and told of, and so is
what lies behind a link. Everything here blocks: it runs in a thread.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from reveries.errors import ToolError
from reveries.tools.folder_marks import (
    UNREADABLE,
    FileMark,
    Marks,
    mark_folder,
    mark_tree,
    opened,
    parent_of,
    readable,
    walk_tree,
)
from reveries.tools.sandboxed.folder import path_parts

MOST_BYTES: Final = 500_000_000
MOST_FILES: Final = 50_000
KEPT_SECONDS: Final = 7 * 86400.0
_FICLONE: Final = 0x40049409
"""The file system shares the blocks of both files until one is changed."""
_FILES: Final = "files"
_BEFORE: Final = "before.json"
_AFTER: Final = "after.json"
"""How the task left the folder; there while it does not work, unless it was killed."""
_OTHERS: Final = "others.json"
"""What somebody else changed while the task waited."""
_GIVING: Final = "giving.json"
"""What is being given back: where that was broken off, these may be gone and are the task's all the same."""
_BESIDE: Final = ".reveries-undo-"
_IN_THE_WAY: Final = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.EBUSY}
)
"""A path, or the way to it, is another one than it was: that is left as it is."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of a folder."""

    restored: tuple[str, ...]
    """Paths that are as they were before the task."""
    left: tuple[str, ...]
    """Paths that were changed by somebody else since, or nobody knows by whom, and are left as they are."""


class FolderCopies:
    """The copies of one mind, by the ids of tasks and by folders."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, task_id: str, folder: Path) -> bool:
        return (self._place(task_id, folder) / _BEFORE).exists()

    def take(self, task_id: str, folder: Path) -> None:
        """Copy `folder`, if this task has no copy of it yet. Where the task goes on after it waited, what is not as it
        left it is somebody else's. Raises ToolError for a folder that is too large."""
        try:
            if self.has(task_id, folder):
                _note_others(self._place(task_id, folder), folder)
                return
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with opened(folder) as root:
                self._refuse_too_large(root)
                self._make(root, folder, self._place(task_id, folder))
        except OSError as error:
            raise ToolError(
                f"The folder cannot be copied before it is changed: {error.strerror}.", advice="Nothing was changed."
            ) from error

    def note_end(self, task_id: str, folder: Path) -> None:
        """Write down how the task left the folder: by it is seen what somebody else changed after it. Where the task
        changed nothing since the last time, that one holds."""
        place = self._place(task_id, folder)
        if self.has(task_id, folder) and not (place / _AFTER).exists():
            with contextlib.suppress(OSError):  # Unknown: then only what the task's rows name is given back.
                _store_marks(place / _AFTER, mark_folder(folder))

    def give_back(self, task_id: str, folder: Path, written: Iterable[tuple[str, str]] = ()) -> Undone:
        """Make the folder what it was before the task. Of a task that was killed nobody knows how it left the folder:
        then only what its rows name is its own, `written`, paths with the SHA-256 of what it wrote, in order. Raises
        ToolError where there is no copy of this folder."""
        if not self.has(task_id, folder):
            raise self._no_copy(task_id, folder)
        place = self._place(task_id, folder)
        before = _load_marks(place / _BEFORE)
        try:
            with opened(folder) as root:
                _sweep(root, before)
                now = mark_tree(root)
                changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
                own = _own_paths(place, before, now, changed, written)
                _store(place / _GIVING, own)
                left = {*changed} - {*own} | _give_back_paths(root, place / _FILES, before, now, own)
        except OSError as error:
            raise ToolError(
                f"The folder cannot be given back: {error.strerror}.",
                advice="The copy is kept: see to that, and undo the task again.",
            ) from error
        return Undone(tuple(path for path in changed if path not in left), tuple(sorted(left)))

    def drop(self, task_id: str, folder: Path) -> None:
        shutil.rmtree(self._place(task_id, folder), ignore_errors=True)

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

    def _place(self, task_id: str, folder: Path) -> Path:
        digest = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
        return self._root / f"{task_id}-{digest[:16]}"

    def _no_copy(self, task_id: str, folder: Path) -> ToolError:
        for one in self._root.glob(f"{task_id}-*/{_BEFORE}"):
            other = json.loads(one.read_bytes())["folder"]
            return ToolError(
                f"The copy from before this task is of {other}, and not of {folder}.",
                advice=f"Make that the project's folder again first: reveries project folder NAME {other} --write",
            )
        return ToolError(
            "There is no copy of the folder from before this task.",
            advice=f"A task that changed nothing has none; copies are kept for {KEPT_SECONDS / 86400:.0f} days.",
        )

    def _refuse_too_large(self, root: int) -> None:
        count = size = 0
        for _, found, _ in walk_tree(root):
            count, size = count + 1, size + (found.st_size if stat.S_ISREG(found.st_mode) else 0)
            if size > MOST_BYTES or count > MOST_FILES:
                raise ToolError(
                    f"The folder holds more than {MOST_BYTES // 1_000_000} MB or {MOST_FILES:,} files: it could not be "
                    "given back, so nothing in it is changed.",
                    advice="Give the project a smaller folder: reveries project folder NAME DIR --write",
                )

    def _make(self, root: int, folder: Path, place: Path) -> None:
        making = self._root / f".{place.name}"
        shutil.rmtree(making, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
        making.mkdir(mode=0o700)
        try:
            (making / _FILES).mkdir()
            originals = dict[str, FileMark]()
            for path, found, is_whole in walk_tree(root):
                with contextlib.suppress(FileNotFoundError):  # Gone since.
                    _copy(root, path, making / _FILES / path, found)
                    originals[path] = FileMark("", stat.S_IMODE(found.st_mode), "" if is_whole else UNREADABLE)
            # As they were copied, with the modes of the originals.
            marks = {path: _as_original(one, originals[path]) for path, one in mark_folder(making / _FILES).items()}
            _store_marks(making / _BEFORE, marks, folder)
            making.rename(place)
        except OSError:
            shutil.rmtree(making, ignore_errors=True)
            raise


def _as_original(copied: FileMark, original: FileMark) -> FileMark:
    if copied.kind == "link":
        return copied
    return msgspec.structs.replace(copied, mode=original.mode, digest=original.digest or copied.digest)


# --- whose a change is ------------------------------------------------------------------------------------------------


def _own_paths(
    place: Path, before: Marks, now: Marks, changed: list[str], written: Iterable[tuple[str, str]]
) -> list[str]:
    """Those of the changed paths that nobody but the task changed."""
    others, begun = set[str](_load(place / _OTHERS, [])), set[str](_load(place / _GIVING, []))
    is_known = (place / _AFTER).exists()
    after = _load_marks(place / _AFTER) if is_known else before | _as_rows_say(before, now, written)

    def is_own(path: str) -> bool:
        mark = now.get(path)
        is_half_given_back = path in begun and (mark is None or mark.kind == "folder")
        return is_half_given_back or (path not in others and after.get(path) == mark and not _is_unseen(path, before))

    return [path for path in changed if is_own(path)]


def _as_rows_say(before: Marks, now: Marks, written: Iterable[tuple[str, str]]) -> Marks:
    """Of files that are as the task's last row of them says, how they are now; and the folders it made for them."""
    found: Marks = {}
    for path, digest in {"/".join(path_parts(path)): digest for path, digest in written}.items():
        if (mark := now.get(path)) is not None and mark.digest == digest:
            found[path] = mark
            above = path.rpartition("/")[0]
            while above and above not in before and above in now:
                found[above] = now[above]
                above = above.rpartition("/")[0]
    return found


def _is_unseen(path: str, before: Marks) -> bool:
    """Whether it lies in a folder that could not be read before the task."""
    while path := path.rpartition("/")[0]:
        if path in before and before[path].digest == UNREADABLE:
            return True
    return False


def _note_others(place: Path, folder: Path) -> None:
    if (place / _AFTER).exists():
        after, now = _load_marks(place / _AFTER), mark_folder(folder)
        others = {path for path in {*after, *now} if after.get(path) != now.get(path)}
        _store(place / _OTHERS, sorted(others.union(_load(place / _OTHERS, []))))
        (place / _AFTER).unlink()


# --- what is written down: names need not be UTF-8, which JSON alone can hold ---------------------------------------


def _store(path: Path, value: object) -> None:
    making = path.with_name(f".{path.name}")
    making.write_text(json.dumps(value), encoding="ascii")
    making.rename(path)


def _load(path: Path, otherwise: Any) -> Any:
    return json.loads(path.read_bytes()) if path.exists() else otherwise


def _store_marks(path: Path, marks: Marks, folder: Path | None = None) -> None:
    told = {name: (mark.kind, mark.mode, mark.digest) for name, mark in marks.items()}
    _store(path, {"folder": str(folder or ""), "marks": told})


def _load_marks(path: Path) -> Marks:
    return {name: FileMark(*mark) for name, mark in json.loads(path.read_bytes())["marks"].items()}


# --- copying and giving back ------------------------------------------------------------------------------------------


def _copy(root: int, path: str, target: Path, found: os.stat_result) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(found.st_mode):
        with parent_of(root, path) as (handle, name):
            target.symlink_to(os.readlink(name, dir_fd=handle))
    elif stat.S_ISDIR(found.st_mode):
        # Its own mode may forbid to put something into it: that is set when it is given back.
        target.mkdir(mode=0o700, exist_ok=True)
    else:
        with readable(root, path) as reading, target.open("xb") as writer:
            _copy_bytes(reading, writer.fileno())


def _copy_bytes(reading: int, writing: int) -> None:
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError:
        with open(reading, "rb", closefd=False) as reader, open(writing, "wb", closefd=False) as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)


def _sweep(root: int, before: Marks) -> None:
    """What giving back left half written where it was broken off."""
    for path, found, _ in list(walk_tree(root)):
        if path not in before and path.rpartition("/")[2].startswith(_BESIDE) and not stat.S_ISDIR(found.st_mode):
            with contextlib.suppress(OSError), parent_of(root, path) as (handle, name):
                os.unlink(name, dir_fd=handle)


def _give_back_paths(root: int, files: Path, before: Marks, now: Marks, own: list[str]) -> set[str]:
    """What goes, goes from the inside out; what comes, comes from the outside in. What could not be given back, for
    something else is in the way."""
    left: set[str] = set()

    def each(paths: Iterable[str], change: Callable[[int, str, str], None]) -> None:
        for path in [one for one in paths if one not in left]:
            try:
                with parent_of(root, path) as (handle, name):
                    change(handle, name, path)
            except OSError as error:
                if error.errno not in _IN_THE_WAY:
                    raise
                left.add(path)

    goes = [path for path in own if path in now and (path not in before or before[path].kind != now[path].kind)]
    comes = [path for path in own if path in before]
    folders = [path for path in comes if before[path].kind == "folder"]
    each(reversed(goes), lambda handle, name, path: _remove_path(handle, name, now[path]))
    each(comes, lambda handle, name, path: _restore(handle, name, files / path, before[path]))
    each(reversed(folders), lambda handle, name, path: _set_folder_mode(handle, name, before[path].mode))
    return left


def _remove_path(handle: int, name: str, mark: FileMark) -> None:
    with contextlib.suppress(FileNotFoundError):
        if mark.kind == "folder":
            os.rmdir(name, dir_fd=handle)
        else:
            os.unlink(name, dir_fd=handle)


def _restore(handle: int, name: str, copy: Path, mark: FileMark) -> None:
    if mark.kind == "folder":
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=handle)
        _set_folder_mode(handle, name, mark.mode | 0o700)  # Its own comes when what lies in it is there.
        return
    beside = f"{_BESIDE}{secrets.token_hex(6)}"
    try:
        if mark.kind == "link":
            os.symlink(mark.digest, beside, dir_fd=handle)
        else:
            _restore_file(handle, beside, copy, mark.mode)
        os.replace(beside, name, src_dir_fd=handle, dst_dir_fd=handle)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside, dir_fd=handle)
        raise


def _restore_file(handle: int, name: str, copy: Path, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    writing = os.open(name, flags, 0o600, dir_fd=handle)
    try:
        with copy.open("rb") as reader:
            _copy_bytes(reader.fileno(), writing)
        os.fchmod(writing, mode)
    finally:
        os.close(writing)


def _set_folder_mode(handle: int, name: str, mode: int) -> None:
    """Of a folder that may forbid to be opened, too; not of one that a link leads to."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags | (os.O_PATH if sys.platform == "linux" else os.O_RDONLY), dir_fd=handle)
    try:
        if sys.platform == "linux":
            os.chmod(f"/proc/self/fd/{file}", mode)  # noqa: PTH101  # A handle, by the only name it has.
        else:
            os.fchmod(file, mode)
    finally:
        os.close(file)
