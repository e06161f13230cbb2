"""Private files of the owner: never written through someone else's link, and checked before they are trusted.

Links are allowed for what people keep elsewhere on purpose: the home, its folders, the memory and the settings. Such a
link must belong to the owner and lead to something that belongs to the owner.
"""

import os
import stat
from collections.abc import Callable, Iterator
from errno import EPERM
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from reveries.errors import HomeError

_PRIVATE = 0o600
_PIECE_BYTES = 2**23
_ROOT = 0
_MOST_LINKS = 40
"""Linux follows at most this many links in one path (path_resolution(7))."""
_LINKS = frozenset({"config.toml", "memory.db", "logs", "backups", "cache", "themes"})
_FOLDERS = frozenset({"logs", "backups", "cache", "themes", "originals"})
_OURS = ("config.toml", "memory.", "daemon.", "model.", "draft", "client.log", "wakes")
"""Prefixes of the names of the files that Reveries writes into its home."""


def open_own_file(path: Path, mode: int = os.O_TRUNC) -> int:
    """Open `path` for writing and return the descriptor; create it with mode 0600 if it does not exist.

    The file must belong to the owner and have no other hard link. `mode`: O_TRUNC or O_APPEND. Raises OSError, also for
    a symbolic link; then nothing is changed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags | (mode & ~os.O_TRUNC), _PRIVATE)
    try:
        # Compared with the name on disk, because a hard link may have been removed again since it was opened.
        named, opened = path.lstat(), os.fstat(descriptor)
        fault = _file_fault(named, os.geteuid() or named.st_uid)
        if fault or not os.path.samestat(named, opened):
            raise OSError(EPERM, fault or "another file took its name.", str(path))
        if mode & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_replacement(path: Path) -> int:
    """Open a new file at `path` for writing, mode 0600, replacing any existing one. Raises OSError."""
    path.unlink(missing_ok=True)
    return open_new_file(path)


def open_new_file(path: Path) -> int:
    """Open a new file at `path` for writing, mode 0600. Raises OSError; FileExistsError if the name is taken."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, _PRIVATE)


def write_private_file(path: Path, content: bytes) -> None:
    """Write `content` to a new file at `path`, mode 0600, replacing any existing one. Raises OSError."""
    with os.fdopen(open_replacement(path), "wb") as file:
        file.write(content)


def write_private_file_synced(path: Path, content: bytes) -> None:
    """As `write_private_file`; file and name are synced to disk when this returns. Raises OSError."""
    write_private_file(path, content)
    sync_to_disk(path)
    sync_to_disk(path.parent)


def write_private_file_atomically(path: Path, content: bytes) -> None:
    """As `write_private_file_synced`, but the previous file stays until the new one is complete. Raises OSError."""
    partial = path.with_name(f"{path.name}.partial")
    write_private_file(partial, content)
    sync_to_disk(partial)
    partial.replace(path)
    sync_to_disk(path.parent)


def copy_private_file(source: Path, target: Path, report_bytes: Callable[[int], None] = lambda _: None) -> None:
    """Copy `source` to a new file at `target`, mode 0600, synced when this returns; replaces any existing one.

    `report_bytes` is called with the number of bytes copied so far. Raises OSError.
    """
    with source.open("rb") as read, os.fdopen(open_replacement(target), "wb") as written:
        while piece := read.read(_PIECE_BYTES):
            written.write(piece)
            report_bytes(written.tell())
        written.flush()
        os.fsync(written.fileno())


def refuse_unsafe(fault: str, advice: str = "Check it and move it away, then: reveries wake") -> None:
    """Raise HomeError if there is a fault."""
    if fault:
        raise HomeError(f"This is not safe to write to: {fault}", advice=advice)


def is_read_only(folder: Path) -> bool:
    """Whether the file system of `folder` is read-only or cannot be queried."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def is_own_file(path: Path) -> bool:
    """Whether `path` is a regular file (not a pipe or device) that belongs to the owner. Raises OSError."""
    seen = path.stat()
    return stat.S_ISREG(seen.st_mode) and seen.st_uid in (os.geteuid(), _ROOT, expected_owner(path.parent))


def is_foreign_link(path: Path) -> bool:
    """Whether `path` is a symbolic link of another user: in a shared folder, a possible attack."""
    return path.is_symlink() and path.lstat().st_uid not in (os.geteuid(), _ROOT)


def expected_owner(home: Path) -> int:
    """Return the uid that must own the files in `home`: the current user, or for root the owner of the home."""
    current_uid = os.geteuid()
    return home.stat().st_uid if current_uid == _ROOT and home.exists() else current_uid


def find_home_fault(home: Path, uid: int) -> str:
    """Return what in the home does not belong to `uid` or is not safe to write to; empty if there is nothing."""
    for folder in (home, home / "logs", home / "backups"):
        if fault := find_folder_fault(folder, uid):
            return fault
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            is_ours = folder != home or entry.name.startswith(_OURS) or entry.name in _FOLDERS
            if fault := _entry_fault(entry, uid, is_ours=is_ours):
                return f"{entry}: {fault}"
    return find_cache_fault(home / "cache", uid)


def find_cache_fault(cache: Path, uid: int) -> str:
    """Return why the cache of compiled code is not safe to load, or "". Its code runs as the owner, so no links."""
    for folder, names, files in os.walk(cache):
        for path in (Path(folder), *(Path(folder) / name for name in (*names, *files))):
            seen = path.lstat()
            if seen.st_uid not in (uid, _ROOT):
                return f"{path}: it belongs to another user."
            if path != cache and stat.S_ISLNK(seen.st_mode):
                return f"{path}: it is a link, and links are not followed there."
            if _is_writable_by_others(path.stat(), uid):
                return f"{path}: other users can write to it."
    return ""


def _is_writable_by_others(seen: os.stat_result, uid: int) -> bool:
    """Whether other users can write to it. A group with only the owner, as many systems create, does not count."""
    if seen.st_mode & 0o002:
        return True
    if not seen.st_mode & 0o020 or seen.st_gid == _ROOT:
        return False
    import grp  # Imported late: needed only for the few folders that are group-writable.
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(seen.st_gid)
    except KeyError:
        # In a container without user names: the process's own group is safe if it has no other members.
        return seen.st_gid != os.getegid() or _has_other_members(seen.st_gid, uid)
    return group.gr_name != user.pw_name or any(member != user.pw_name for member in group.gr_mem)


def _has_other_members(gid: int, uid: int) -> bool:
    """Whether the system's user database lists anyone but that user in the group."""
    import grp
    import pwd

    same_user = [user for user in pwd.getpwall() if user.pw_uid == uid]
    try:
        members = {*grp.getgrgid(gid).gr_mem} - {user.pw_name for user in same_user}
    except KeyError:
        members = set()
    return bool(members) or any(user.pw_gid == gid and user.pw_uid != uid for user in pwd.getpwall())


def find_memory_fault(database: Path, uid: int) -> str:
    """Return why the memory, or a file next to it with its name, is not safe to use; "" if all is well."""
    if fault := find_folder_fault(database.parent, uid):
        return fault
    for file in (database, *_companion_files(database)):
        may_be_link = file == database
        if fault := _entry_fault(file, uid, is_ours=True, may_be_link=may_be_link):
            return f"{file}: {fault}"
    return ""


class OpenFolder(NamedTuple):
    """A folder or link through which another user could replace the owner's files."""

    folder: Path
    why: str
    is_closable: bool

    @property
    def fault(self) -> str:
        return f"{self.folder}: {self.why}"

    def advice(self, elsewhere: str) -> str:
        """Return what to do; `elsewhere` is the command that chooses another place."""
        move = f"eep the mind elsewhere: {elsewhere}"
        return f"Close it (chmod go-w {quote(str(self.folder))}), or k{move}" if self.is_closable else f"K{move}"


def find_open_memory_folder(database: Path, uid: int) -> OpenFolder | None:
    """Return the memory's folder if other users can write to it (they could place a link where a copy of the memory is
    written), else an open folder above it."""
    folder = database.parent
    if folder.exists() and _is_writable_by_others(folder.stat(), uid):
        why = "other users can write to it, and could place a link where the memory is written."
        return OpenFolder(folder, why, is_closable=True)
    return find_open_ancestor(folder, uid)


def find_open_ancestor(folder: Path, uid: int) -> OpenFolder | None:
    """Return the first folder or link on the path to `folder` whose entries another user can replace after a check.

    That is one that another user owns or can write to. In a sticky folder (/tmp) only its owner can replace the files
    of others.
    """
    trusted = {uid, _ROOT, _displayed_root_uid()}
    for step in dict.fromkeys(_path_steps(folder)):
        try:
            seen = step.lstat()
        except OSError:
            continue
        if seen.st_uid not in trusted:
            why = "it belongs to another user, who could replace what is in it."
            return OpenFolder(step, why, is_closable=False)
        if stat.S_ISDIR(seen.st_mode) and not seen.st_mode & stat.S_ISVTX and _is_writable_by_others(seen, uid):
            why = "other users can write to it, and could replace what is in it."
            return OpenFolder(step, why, is_closable=True)
    return None


def _displayed_root_uid() -> int:
    """Return the uid that is displayed for root's files. In a user namespace without root (PrivateUsers=yes of the
    service, some containers) that is the overflow uid, as for all unmapped users (user_namespaces(7))."""
    try:
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="utf-8").splitlines()]
        if any(int(first) == _ROOT for first, _, _ in ranges):
            return _ROOT
        return int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return _ROOT


def _path_steps(path: Path) -> Iterator[Path]:
    """Yield each folder and link that the system traverses to resolve `path`, without `path` itself."""
    remaining = list(reversed(path.absolute().parts[1:]))
    here, links = Path("/"), 0
    while remaining:
        name = remaining.pop()
        if name == "..":
            here = here.parent
            continue
        yield here
        step = here / name
        try:
            target = step.readlink()
        except OSError:
            here = step
            continue
        links += 1
        if links > _MOST_LINKS:
            return
        yield step
        if target.is_absolute():
            here = Path("/")
        remaining += reversed(target.parts[1:] if target.is_absolute() else target.parts)


def _companion_files(database: Path) -> Iterator[Path]:
    yield from sorted(database.parent.glob(f"{database.name}[-.]*"))
    yield database.with_name(f"{database.stem}.snapshot")


def find_folder_fault(folder: Path, uid: int) -> str:
    """Return why a folder is not safe to use, or "". Its mode matters only if it is a link to outside the home, which
    is closed."""
    try:
        link, seen = folder.lstat(), folder.stat()
    except FileNotFoundError:
        return ""
    if {link.st_uid, seen.st_uid} - {uid, _ROOT}:
        return f"{folder}: it belongs to another user."
    if stat.S_ISLNK(link.st_mode) and folder.name in _FOLDERS and seen.st_mode & 0o022:
        return f"{folder}: it is a link to a folder that other users can write to."
    return ""


def _entry_fault(path: Path, uid: int, *, is_ours: bool, may_be_link: bool = False) -> str:
    try:
        link = path.lstat()
    except FileNotFoundError:
        return ""
    if link.st_uid not in (uid, _ROOT):
        return "it belongs to another user."
    if not is_ours or stat.S_ISSOCK(link.st_mode):
        return ""
    if not stat.S_ISLNK(link.st_mode):
        return "" if stat.S_ISDIR(link.st_mode) and path.name in _FOLDERS else _file_fault(link, uid)
    if not may_be_link and path.name not in _LINKS:
        return "it is a link, and links are not followed there."
    try:
        seen = path.stat()
    except FileNotFoundError:
        return "it is a broken link."
    if stat.S_ISDIR(seen.st_mode) and path.name in _FOLDERS:
        return find_folder_fault(path, uid).removeprefix(f"{path}: ")
    return _file_fault(seen, uid, may_be_read_only=path.name == "config.toml")


def _file_fault(seen: os.stat_result, uid: int, *, may_be_read_only: bool = False) -> str:
    if not stat.S_ISREG(seen.st_mode):
        return "it is not a regular file."
    if seen.st_uid not in (uid, _ROOT):
        return "it belongs to another user."
    if seen.st_nlink > 1 and not may_be_read_only:
        return "it has another name elsewhere (a hard link)."
    return ""


def sync_to_disk(path: Path) -> None:
    """Sync a file, or the names in a folder, to disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
