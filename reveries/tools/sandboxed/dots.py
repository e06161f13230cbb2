"""Revert what a command changed under names that begin with a dot.

Programs load such files without being asked, so nothing that untrusted text caused may stay there. Read-only mounts
protect nearly everything that existed before; this module handles the rest: new entries, entries at a path from which
a folder was moved away, and what no mount covers. Nothing is deleted: an entry is renamed to a name without a dot.
"""

import contextlib
import fnmatch
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HARMLESS_NAMES = (
    *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage", ".coverage.*"),
    *(".*.sw?", ".#*", ".~lock.*#", ".goutputstream-*", ".nfs*", ".fuse_hidden*", ".DS_Store"),
)
"""Caches from which no program takes instructions, and temporary files of editors and the system."""
_MOST_DEPTH = 200
_MOST_FILE_BYTES = 1_000_000
_MOST_KEPT_BYTES = 50_000_000
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class DotEntry:
    """One path whose name, or a folder above it, begins with a dot."""

    kind: int
    mode: int
    identity: tuple[int, ...]
    """Stays the same when the entry is moved together with its folder."""
    parent: int
    is_read_only: bool
    """Protected by a read-only mount."""
    content: bytes | None = None
    """The bytes of a file or the target of a link; None if it is too large or on a read-only mount."""


def walk_handles(folder: str) -> Iterator[tuple[str, list[str], list[str], int]]:
    """Walk like `os.fwalk`, but at most _MOST_DEPTH levels: each level costs a call and a handle, and a command can
    create any number of levels."""
    for at, folders, files, handle in os.fwalk(folder, follow_symlinks=False):
        if at.count("/") - folder.count("/") >= _MOST_DEPTH:
            folders.clear()
        yield at, folders, files, handle


@contextlib.contextmanager
def open_file(handle: int, name: str) -> Iterator[int]:
    """Open a file or folder for reading, without following a link. Raises OSError."""
    file = os.open(name, _FLAGS, dir_fd=handle)
    try:
        yield file
    finally:
        os.close(file)


def find_closed_folders(folder: str) -> set[tuple[int, int]]:
    """Return device and inode of the folders that their owner may not read, write or enter."""
    return {(entry_stat.st_dev, entry_stat.st_ino) for _, _, entry_stat in _walk_closed_folders(folder)}


def reopen_folders(folder: str, closed_before: set[tuple[int, int]]) -> None:
    """Give the owner access to all other closed folders, so that a command cannot hide anything in them."""
    Path(folder).chmod(stat.S_IMODE(Path(folder).stat().st_mode) | 0o700)
    for handle, name, entry_stat in _walk_closed_folders(folder):
        if (entry_stat.st_dev, entry_stat.st_ino) not in closed_before:
            with contextlib.suppress(OSError):
                os.chmod(name, stat.S_IMODE(entry_stat.st_mode) | 0o700, dir_fd=handle)


def _walk_closed_folders(folder: str) -> Iterator[tuple[int, str, os.stat_result]]:
    for _, folders, _, handle in walk_handles(folder):
        for name in folders:
            with contextlib.suppress(OSError):
                entry_stat = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if stat.S_ISDIR(entry_stat.st_mode) and entry_stat.st_mode & 0o700 != 0o700:
                    yield handle, name, entry_stat


def read_dot_entries(folder: str) -> dict[str, DotEntry]:
    """Read every dot entry by path, without the content of read-only mounts."""
    entries: dict[str, DotEntry] = {}
    budget = _MOST_KEPT_BYTES
    for at, folders, files, handle in walk_handles(folder):
        here = "" if at == folder else f"{os.path.relpath(at, folder)}/"
        skipped = {name for name in folders if _is_harmless(name)}
        for name in (*folders, *files):
            path = here + name
            if _is_dotted(path) and not _is_harmless(name):
                with contextlib.suppress(OSError):  # Deleted meanwhile.
                    entries[path] = _read_dot_entry(handle, name, min(budget, _MOST_FILE_BYTES))
                    budget -= len(entries[path].content or b"")
                    skipped |= {name} if entries[path].is_read_only else set()
        folders[:] = [name for name in folders if name not in skipped]
    return entries


def revert_dot_entries(folder: str, before: dict[str, DotEntry]) -> list[str]:
    """Revert all dot entries to their state before the command; return the paths that were renamed or restored."""
    after = read_dot_entries(folder)
    identities = {entry.identity for entry in before.values()}
    changed = {
        path
        for path, now in after.items()
        if now.identity not in identities and _is_changed_by_command(before.get(path), now)
    }
    for path in sorted(changed, reverse=True):
        above, _, name = path.rpartition("/")
        if name.startswith(".") or above not in changed:  # Otherwise it moves together with its folder.
            with contextlib.suppress(OSError):
                _rename_without_dot(Path(folder), path)
    remaining = {entry.identity for path, entry in after.items() if path not in changed}
    missing = [path for path, was in before.items() if was.content is not None and was.identity not in remaining]
    for path in missing:
        with contextlib.suppress(OSError):
            _restore_dot_entry(Path(folder, path), before[path])
    return sorted({*(path for path in changed if path.rpartition("/")[0] not in changed), *missing})


def _is_changed_by_command(was: DotEntry | None, now: DotEntry) -> bool:
    """Whether the command changed this entry. In an unmoved folder no process in the sandbox can replace an entry on a
    read-only mount, so its owner did. A folder itself never counts as changed: its entries are compared instead."""
    if was is None:
        return True
    if was.is_read_only:
        return was.parent != now.parent
    return not stat.S_ISDIR(was.kind) or was.kind != now.kind


def _read_dot_entry(handle: int, name: str, most_bytes: int) -> DotEntry:
    entry_stat = os.stat(name, dir_fd=handle, follow_symlinks=False)
    kind, mode, parent = stat.S_IFMT(entry_stat.st_mode), stat.S_IMODE(entry_stat.st_mode), os.fstat(handle).st_ino
    identity: tuple[int, ...]
    identity = entry_stat.st_dev, entry_stat.st_ino, entry_stat.st_size, entry_stat.st_mtime_ns, entry_stat.st_ctime_ns
    if stat.S_ISDIR(kind):
        identity = identity[:2]  # Each of its entries has its own identity.
    is_read_only, content = False, None
    if stat.S_ISLNK(kind):
        content = os.fsencode(os.readlink(name, dir_fd=handle))
    elif stat.S_ISDIR(kind) or stat.S_ISREG(kind):
        with contextlib.suppress(PermissionError), open_file(handle, name) as file:
            if is_read_only := bool(os.fstatvfs(file).f_flag & os.ST_RDONLY):
                identity = identity[:2]
            elif stat.S_ISREG(kind) and entry_stat.st_size <= most_bytes:
                content = os.read(file, most_bytes)
    return DotEntry(kind, mode, identity, parent, is_read_only, content)


def _rename_without_dot(root: Path, path: str) -> None:
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if part.startswith("."))
    name = "-".join(["dot", *(part.lstrip(".") for part in parts[first:])])[:200]
    place = root.joinpath(*parts[:first])
    candidates = (place / (f"{name}-{number}" if number else name) for number in itertools.count())
    (root / path).rename(next(candidate for candidate in candidates if not os.path.lexists(candidate)))


def _restore_dot_entry(path: Path, was: DotEntry) -> None:
    assert was.content is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(was.kind):
        path.symlink_to(os.fsdecode(was.content))
        return
    with path.open("xb") as writer:
        writer.write(was.content)
        os.fchmod(writer.fileno(), was.mode)


def _is_dotted(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _is_harmless(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _HARMLESS_NAMES)
