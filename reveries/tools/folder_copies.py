"""A copy of a folder before a task first changes it, so that the task can be undone (DESIGN-projects.md, section 4).

A copy is complete or absent: it is created under a temporary name and then renamed. It belongs to one task and one
folder. A restore can be interrupted at any point and repeated. Paths that something other than the task changed are
left as they are and reported, and so are paths behind a link. Everything here blocks: callers run it in a thread.
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
    open_folder_handle,
    open_parent,
    open_readable,
    walk_tree,
)
from reveries.tools.sandboxed.folder import split_path

MOST_BYTES: Final = 500_000_000
MOST_FILES: Final = 50_000
KEPT_SECONDS: Final = 7 * 86400.0
_FICLONE: Final = 0x40049409
"""ioctl that lets the file system share the blocks of both files until one of them changes."""
_FILES: Final = "files"
_BEFORE: Final = "before.json"
_AFTER: Final = "after.json"
"""The marks of the folder when the task last stopped; absent while it works, and after it was killed."""
_FOREIGN_CHANGES: Final = "others.json"
"""Paths that something other than the task changed while it waited."""
_RESTORING: Final = "giving.json"
"""Paths of a restore in progress: if it was interrupted, they may be missing and still count as the task's."""
_TEMPORARY_PREFIX: Final = ".reveries-undo-"
_REPLACED_PATH_ERRORS: Final = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.EBUSY}
)
"""Errors that mean that the path, or a folder above it, was replaced: such a path is left as it is."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The result of restoring a folder."""

    restored: tuple[str, ...]
    """Paths that are in their state before the task again."""
    left: tuple[str, ...]
    """Changed paths left as they are: something other than the task changed them, or the origin is unknown."""


class FolderCopies:
    """The folder copies of one mind, by task id and folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, task_id: str, folder: Path) -> bool:
        return (self._copy_path(task_id, folder) / _BEFORE).exists()

    def ensure_copy(self, task_id: str, folder: Path) -> None:
        """Copy `folder` unless this task has a copy of it. When a task continues after a wait, changes made during the
        wait are recorded as not its own. Raises ToolError if the folder is too large."""
        try:
            if self.has(task_id, folder):
                _record_foreign_changes(self._copy_path(task_id, folder), folder)
                return
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open_folder_handle(folder) as root:
                self._refuse_too_large(root)
                self._create_copy(root, folder, self._copy_path(task_id, folder))
        except OSError as error:
            raise ToolError(
                f"The folder cannot be copied before it is changed: {error.strerror}.", advice="Nothing was changed."
            ) from error

    def record_end(self, task_id: str, folder: Path) -> None:
        """Record the state in which the task left the folder, so that later changes can be told apart from its own. If
        the task changed nothing since the last record, that record stays."""
        copy_path = self._copy_path(task_id, folder)
        if self.has(task_id, folder) and not (copy_path / _AFTER).exists():
            with contextlib.suppress(OSError):  # Then only the paths in the task's rows are restored.
                _write_marks(copy_path / _AFTER, mark_folder(folder))

    def restore(self, task_id: str, folder: Path, written: Iterable[tuple[str, str]] = ()) -> RestoreResult:
        """Restore the folder to its state before the task. After a kill it is unknown how the task left the folder:
        then only the paths in `written` count as its own: the paths in its rows, in order, each with the SHA-256 of
        what it wrote. Raises ToolError if there is no copy of this folder."""
        if not self.has(task_id, folder):
            raise self._describe_missing_copy(task_id, folder)
        copy_path = self._copy_path(task_id, folder)
        before = _read_marks(copy_path / _BEFORE)
        try:
            with open_folder_handle(folder) as root:
                _remove_temporary_files(root, before)
                now = mark_tree(root)
                changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
                own = _select_own_paths(copy_path, before, now, changed, written)
                _write_json(copy_path / _RESTORING, own)
                left = {*changed} - {*own} | _restore_paths(root, copy_path / _FILES, before, now, own)
        except OSError as error:
            raise ToolError(
                f"The folder cannot be restored: {error.strerror}.",
                advice="The copy is kept. Fix the problem, then undo the task again.",
            ) from error
        return RestoreResult(tuple(path for path in changed if path not in left), tuple(sorted(left)))

    def drop(self, task_id: str, folder: Path) -> None:
        shutil.rmtree(self._copy_path(task_id, folder), ignore_errors=True)

    def drop_all(self) -> int:
        """Delete all copies, because one may hold something that is being erased; return how many there were."""
        copies = list(self._root.iterdir()) if self._root.exists() else []
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)
        return len(copies)

    def drop_old(self, now: float) -> None:
        """Delete copies older than KEPT_SECONDS, and incomplete ones from an interrupted process."""
        for copy_path in list(self._root.iterdir()) if self._root.exists() else []:
            with contextlib.suppress(OSError):
                if copy_path.name.startswith(".") or now - copy_path.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(copy_path, ignore_errors=True)

    def _copy_path(self, task_id: str, folder: Path) -> Path:
        digest = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
        return self._root / f"{task_id}-{digest[:16]}"

    def _describe_missing_copy(self, task_id: str, folder: Path) -> ToolError:
        for copy_path in self._root.glob(f"{task_id}-*/{_BEFORE}"):
            other = json.loads(copy_path.read_bytes())["folder"]
            return ToolError(
                f"The copy from before this task is of {other}, not of {folder}.",
                advice=f"First make that the project's folder again: reveries project folder NAME {other} --write",
            )
        return ToolError(
            "There is no copy of the folder from before this task.",
            advice=f"A task that changed nothing has none; copies are kept for {KEPT_SECONDS / 86400:.0f} days.",
        )

    def _refuse_too_large(self, root: int) -> None:
        count = size = 0
        for _, entry_stat, _ in walk_tree(root):
            count, size = count + 1, size + (entry_stat.st_size if stat.S_ISREG(entry_stat.st_mode) else 0)
            if size > MOST_BYTES or count > MOST_FILES:
                raise ToolError(
                    f"The folder holds more than {MOST_BYTES // 1_000_000} MB or {MOST_FILES:,} files: it could not be "
                    "given back, so nothing in it is changed.",
                    advice="Give the project a smaller folder: reveries project folder NAME DIR --write",
                )

    def _create_copy(self, root: int, folder: Path, copy_path: Path) -> None:
        making = self._root / f".{copy_path.name}"
        shutil.rmtree(making, ignore_errors=True)
        shutil.rmtree(copy_path, ignore_errors=True)
        making.mkdir(mode=0o700)
        try:
            (making / _FILES).mkdir()
            originals = dict[str, FileMark]()
            for path, entry_stat, is_whole in walk_tree(root):
                with contextlib.suppress(FileNotFoundError):  # Deleted meanwhile.
                    _copy_entry(root, path, making / _FILES / path, entry_stat)
                    originals[path] = FileMark("", stat.S_IMODE(entry_stat.st_mode), "" if is_whole else UNREADABLE)
            # The digests of the copies, with the modes of the originals.
            marks = {
                path: _with_original_mode(mark, originals[path]) for path, mark in mark_folder(making / _FILES).items()
            }
            _write_marks(making / _BEFORE, marks, folder)
            making.rename(copy_path)
        except OSError:
            shutil.rmtree(making, ignore_errors=True)
            raise


def _with_original_mode(copied: FileMark, original: FileMark) -> FileMark:
    if copied.kind == "link":
        return copied
    return msgspec.structs.replace(copied, mode=original.mode, digest=original.digest or copied.digest)


# --- which changes are the task's -------------------------------------------------------------------------------------


def _select_own_paths(
    copy_path: Path, before: Marks, now: Marks, changed: list[str], written: Iterable[tuple[str, str]]
) -> list[str]:
    """Return the changed paths that only the task changed."""
    others, restoring = (
        set[str](_read_json(copy_path / _FOREIGN_CHANGES, [])),
        set[str](_read_json(copy_path / _RESTORING, [])),
    )
    is_known = (copy_path / _AFTER).exists()
    after = _read_marks(copy_path / _AFTER) if is_known else before | _marks_of_written(before, now, written)

    def is_own(path: str) -> bool:
        mark = now.get(path)
        is_half_restored = path in restoring and (mark is None or mark.kind == "folder")
        return is_half_restored or (
            path not in others and after.get(path) == mark and not _is_in_unreadable_folder(path, before)
        )

    return [path for path in changed if is_own(path)]


def _marks_of_written(before: Marks, now: Marks, written: Iterable[tuple[str, str]]) -> Marks:
    """Return the current marks of the files that still match the task's last row for them, and of their new folders."""
    marks: Marks = {}
    for path, digest in {"/".join(split_path(path)): digest for path, digest in written}.items():
        if (mark := now.get(path)) is not None and mark.digest == digest:
            marks[path] = mark
            above = path.rpartition("/")[0]
            while above and above not in before and above in now:
                marks[above] = now[above]
                above = above.rpartition("/")[0]
    return marks


def _is_in_unreadable_folder(path: str, before: Marks) -> bool:
    """Whether a path is in a folder that could not be read before the task."""
    while path := path.rpartition("/")[0]:
        if path in before and before[path].digest == UNREADABLE:
            return True
    return False


def _record_foreign_changes(copy_path: Path, folder: Path) -> None:
    if (copy_path / _AFTER).exists():
        after, now = _read_marks(copy_path / _AFTER), mark_folder(folder)
        others = {path for path in {*after, *now} if after.get(path) != now.get(path)}
        _write_json(copy_path / _FOREIGN_CHANGES, sorted(others.union(_read_json(copy_path / _FOREIGN_CHANGES, []))))
        (copy_path / _AFTER).unlink()


# --- stored state, as ASCII JSON: file names need not be valid UTF-8 --------------------------------------------------


def _write_json(path: Path, value: object) -> None:
    making = path.with_name(f".{path.name}")
    making.write_text(json.dumps(value), encoding="ascii")
    making.rename(path)


def _read_json(path: Path, otherwise: Any) -> Any:
    return json.loads(path.read_bytes()) if path.exists() else otherwise


def _write_marks(path: Path, marks: Marks, folder: Path | None = None) -> None:
    rows = {name: (mark.kind, mark.mode, mark.digest) for name, mark in marks.items()}
    _write_json(path, {"folder": str(folder or ""), "marks": rows})


def _read_marks(path: Path) -> Marks:
    return {name: FileMark(*mark) for name, mark in json.loads(path.read_bytes())["marks"].items()}


# --- copying and restoring --------------------------------------------------------------------------------------------


def _copy_entry(root: int, path: str, target: Path, entry_stat: os.stat_result) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(entry_stat.st_mode):
        with open_parent(root, path) as (handle, name):
            target.symlink_to(os.readlink(name, dir_fd=handle))
    elif stat.S_ISDIR(entry_stat.st_mode):
        # The original mode may forbid writing into the folder, so it is applied only on restore.
        target.mkdir(mode=0o700, exist_ok=True)
    else:
        with open_readable(root, path) as reading, target.open("xb") as writer:
            _copy_bytes(reading, writer.fileno())


def _copy_bytes(reading: int, writing: int) -> None:
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError:
        with open(reading, "rb", closefd=False) as reader, open(writing, "wb", closefd=False) as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)


def _remove_temporary_files(root: int, before: Marks) -> None:
    """Remove temporary files of an interrupted restore."""
    for path, entry_stat, _ in list(walk_tree(root)):
        if (
            path not in before
            and path.rpartition("/")[2].startswith(_TEMPORARY_PREFIX)
            and not stat.S_ISDIR(entry_stat.st_mode)
        ):
            with contextlib.suppress(OSError), open_parent(root, path) as (handle, name):
                os.unlink(name, dir_fd=handle)


def _restore_paths(root: int, files: Path, before: Marks, now: Marks, own: list[str]) -> set[str]:
    """Remove paths children first, restore paths parents first; return those that something else
    replaced in the meantime."""
    left: set[str] = set()

    def apply_to_each(paths: Iterable[str], change: Callable[[int, str, str], None]) -> None:
        for path in [changed_path for changed_path in paths if changed_path not in left]:
            try:
                with open_parent(root, path) as (handle, name):
                    change(handle, name, path)
            except OSError as error:
                if error.errno not in _REPLACED_PATH_ERRORS:
                    raise
                left.add(path)

    removed = [path for path in own if path in now and (path not in before or before[path].kind != now[path].kind)]
    restored = [path for path in own if path in before]
    folders = [path for path in restored if before[path].kind == "folder"]
    apply_to_each(reversed(removed), lambda handle, name, path: _remove_path(handle, name, now[path]))
    apply_to_each(restored, lambda handle, name, path: _restore_entry(handle, name, files / path, before[path]))
    apply_to_each(reversed(folders), lambda handle, name, path: _set_folder_mode(handle, name, before[path].mode))
    return left


def _remove_path(handle: int, name: str, mark: FileMark) -> None:
    with contextlib.suppress(FileNotFoundError):
        if mark.kind == "folder":
            os.rmdir(name, dir_fd=handle)
        else:
            os.unlink(name, dir_fd=handle)


def _restore_entry(handle: int, name: str, copy: Path, mark: FileMark) -> None:
    if mark.kind == "folder":
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=handle)
        _set_folder_mode(handle, name, mark.mode | 0o700)  # The final mode follows once its content is restored.
        return
    temporary = f"{_TEMPORARY_PREFIX}{secrets.token_hex(6)}"
    try:
        if mark.kind == "link":
            os.symlink(mark.digest, temporary, dir_fd=handle)
        else:
            _restore_file(handle, temporary, copy, mark.mode)
        os.replace(temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=handle)
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
    """Set the mode of a folder, even one that may not be opened. Links are not followed."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags | (os.O_PATH if sys.platform == "linux" else os.O_RDONLY), dir_fd=handle)
    try:
        if sys.platform == "linux":
            os.chmod(f"/proc/self/fd/{file}", mode)  # noqa: PTH101  # The only path of an O_PATH handle.
        else:
            os.fchmod(file, mode)
    finally:
        os.close(file)
