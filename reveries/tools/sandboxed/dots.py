"""What a command did under a name that begins with a dot: programs obey such files by themselves, so nothing that
foreign text led to stays there. The mounts hold nearly all that was there before; this is for the rest: what is new,
what stands where a folder was moved away, and what no mount covers.

Nothing is deleted: what is taken out stands beside, by a name without a dot.
"""

import contextlib
import fnmatch
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MAY_STAY = (
    *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage", ".coverage.*"),
    *(".*.sw?", ".#*", ".~lock.*#", ".goutputstream-*", ".nfs*", ".fuse_hidden*", ".DS_Store"),
)
"""Caches that no program obeys, and what editors and the system put beside a file."""
_MOST_DEPTH = 200
_MOST_FILE_BYTES = 1_000_000
_MOST_KEPT_BYTES = 50_000_000
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class DotEntry:
    """One path that begins with a dot, or lies in a folder that does."""

    kind: int
    mode: int
    identity: tuple[int, ...]
    """It is the same thing wherever it has gone to with the folder that it lies in."""
    parent: int
    is_walled: bool
    """A mount keeps it as it is."""
    content: bytes | None = None
    """Of a file its bytes, of a link where it leads; None where it is too large, or a mount keeps it."""


def walk_handles(folder: str) -> Iterator[tuple[str, list[str], list[str], int]]:
    """As `os.fwalk`, so deep: each level costs a call and a handle, and a command can make as many as it likes."""
    for at, folders, files, handle in os.fwalk(folder, follow_symlinks=False):
        if at.count("/") - folder.count("/") >= _MOST_DEPTH:
            folders.clear()
        yield at, folders, files, handle


@contextlib.contextmanager
def open_file(handle: int, name: str) -> Iterator[int]:
    """A file or a folder, no link, to be looked at. Raises OSError."""
    file = os.open(name, _FLAGS, dir_fd=handle)
    try:
        yield file
    finally:
        os.close(file)


def closed_folders(folder: str) -> set[tuple[int, int]]:
    """Those that do not let their owner in, or change what lies in them."""
    return {(found.st_dev, found.st_ino) for _, _, found in _each_closed(folder)}


def open_folders(folder: str, known: set[tuple[int, int]]) -> None:
    """Let their owner into all others: a command hides nothing in what it closes."""
    Path(folder).chmod(stat.S_IMODE(Path(folder).stat().st_mode) | 0o700)
    for handle, name, found in _each_closed(folder):
        if (found.st_dev, found.st_ino) not in known:
            with contextlib.suppress(OSError):
                os.chmod(name, stat.S_IMODE(found.st_mode) | 0o700, dir_fd=handle)


def _each_closed(folder: str) -> Iterator[tuple[int, str, os.stat_result]]:
    for _, folders, _, handle in walk_handles(folder):
        for name in folders:
            with contextlib.suppress(OSError):
                found = os.stat(name, dir_fd=handle, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode) and found.st_mode & 0o700 != 0o700:
                    yield handle, name, found


def look_at_dots(folder: str) -> dict[str, DotEntry]:
    """Everything under a dot name, not what a mount keeps within one."""
    found: dict[str, DotEntry] = {}
    room = _MOST_KEPT_BYTES
    for at, folders, files, handle in walk_handles(folder):
        here = "" if at == folder else f"{os.path.relpath(at, folder)}/"
        closed = {name for name in folders if _may_stay(name)}
        for name in (*folders, *files):
            path = here + name
            if _is_dotted(path) and not _may_stay(name):
                with contextlib.suppress(OSError):  # Gone since.
                    found[path] = _look(handle, name, min(room, _MOST_FILE_BYTES))
                    room -= len(found[path].content or b"")
                    closed |= {name} if found[path].is_walled else set()
        folders[:] = [name for name in folders if name not in closed]
    return found


def take_back_dots(folder: str, before: dict[str, DotEntry]) -> list[str]:
    """Make everything under a dot name what it was before; what was taken out or put back."""
    after = look_at_dots(folder)
    known = {one.identity for one in before.values()}
    taken = {
        path for path, now in after.items() if now.identity not in known and _is_the_commands(before.get(path), now)
    }
    for path in sorted(taken, reverse=True):
        above, _, name = path.rpartition("/")
        if name.startswith(".") or above not in taken:  # Else it goes with the folder that it lies in.
            with contextlib.suppress(OSError):
                _take_out(Path(folder), path)
    there = {one.identity for path, one in after.items() if path not in taken}
    missing = [path for path, was in before.items() if was.content is not None and was.identity not in there]
    for path in missing:
        with contextlib.suppress(OSError):
            _put_back(Path(folder, path), before[path])
    return sorted({*(path for path in taken if path.rpartition("/")[0] not in taken), *missing})


def _is_the_commands(was: DotEntry | None, now: DotEntry) -> bool:
    """Whether a path is another one than it was, and by the command. In a folder that is still the same one, nobody in
    the sandbox replaces what a mount keeps: its owner did, meanwhile. Of folders, what lies in them is looked at."""
    if was is None:
        return True
    if was.is_walled:
        return was.parent != now.parent
    return not stat.S_ISDIR(was.kind) or was.kind != now.kind


def _look(handle: int, name: str, most_bytes: int) -> DotEntry:
    found = os.stat(name, dir_fd=handle, follow_symlinks=False)
    kind, mode, parent = stat.S_IFMT(found.st_mode), stat.S_IMODE(found.st_mode), os.fstat(handle).st_ino
    identity: tuple[int, ...]
    identity = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
    if stat.S_ISDIR(kind):
        identity = identity[:2]  # Of what lies in it each has its own.
    is_walled, content = False, None
    if stat.S_ISLNK(kind):
        content = os.fsencode(os.readlink(name, dir_fd=handle))
    elif stat.S_ISDIR(kind) or stat.S_ISREG(kind):
        with contextlib.suppress(PermissionError), open_file(handle, name) as file:
            if is_walled := bool(os.fstatvfs(file).f_flag & os.ST_RDONLY):
                identity = identity[:2]
            elif stat.S_ISREG(kind) and found.st_size <= most_bytes:
                content = os.read(file, most_bytes)
    return DotEntry(kind, mode, identity, parent, is_walled, content)


def _take_out(root: Path, path: str) -> None:
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if part.startswith("."))
    name = "-".join(["dot", *(part.lstrip(".") for part in parts[first:])])[:200]
    place = root.joinpath(*parts[:first])
    free = (place / (f"{name}-{number}" if number else name) for number in itertools.count())
    (root / path).rename(next(one for one in free if not os.path.lexists(one)))


def _put_back(path: Path, was: DotEntry) -> None:
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


def _may_stay(name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _MAY_STAY)
