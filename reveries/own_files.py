"""Files that are the owner's alone: written through no link that somebody laid, and looked at before they are trusted.

What may be a link is what people keep elsewhere on purpose: the home, its folders, the memory and the settings. Such a
link counts where it is the owner's own and leads to what is theirs.
"""

import os
import stat
from collections.abc import Callable, Iterator
from errno import EPERM
from pathlib import Path

from reveries.errors import HomeError

_PRIVATE = 0o600
_PIECE_BYTES = 2**23
_ROOT = 0
_LINKS = frozenset({"config.toml", "memory.db", "logs", "backups", "cache", "themes"})
_FOLDERS = frozenset({"logs", "backups", "cache", "themes"})
_OURS = ("config.toml", "memory.", "daemon.", "model.sock", "draft", "client.log", "wakes")
"""How the names of what Reveries writes into its home begin."""


def open_own(path: Path, how: int = os.O_TRUNC) -> int:
    """A descriptor to write to `path`, made 0600 where nothing is: a file of the owner's that has no other name. `how`:
    O_TRUNC or O_APPEND. Raises OSError, for a link too; then nothing is changed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    opened = os.open(path, flags | (how & ~os.O_TRUNC), _PRIVATE)
    try:
        # As it stands under its name: of what was opened through a hard link that is gone again one cannot tell.
        seen, behind = path.lstat(), os.fstat(opened)
        fault = _fault(seen, os.geteuid() or seen.st_uid)
        if fault or not os.path.samestat(seen, behind):
            raise OSError(EPERM, fault or "somebody else took its name.", str(path))
        if how & os.O_TRUNC:
            os.ftruncate(opened, 0)
    except BaseException:
        os.close(opened)
        raise
    return opened


def open_new(path: Path) -> int:
    """A descriptor to write to a file made at `path`, 0600, in the place of what had that name. Raises OSError."""
    path.unlink(missing_ok=True)
    return open_first(path)


def open_first(path: Path) -> int:
    """The same where nothing has that name. Raises OSError, FileExistsError where something has."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, _PRIVATE)


def write_new(path: Path, content: bytes) -> None:
    """The same with `content` in it. Raises OSError."""
    with os.fdopen(open_new(path), "wb") as file:
        file.write(content)


def write_to_disk(path: Path, content: bytes) -> None:
    """The same, on the disk under its name when this returns. Raises OSError."""
    write_new(path, content)
    sync_to_disk(path)
    sync_to_disk(path.parent)


def copy_new(source: Path, target: Path, copied: Callable[[int], None] = lambda _: None) -> None:
    """The same with what is in `source`, on the disk when this returns; `copied` is told how many bytes are. Raises
    OSError."""
    with source.open("rb") as read, os.fdopen(open_new(target), "wb") as written:
        while piece := read.read(_PIECE_BYTES):
            written.write(piece)
            copied(written.tell())
        written.flush()
        os.fsync(written.fileno())


def refuse(fault: str) -> None:
    """Raises HomeError where there is a fault."""
    if fault:
        raise HomeError(
            f"This is not safe to write to: {fault}", advice="Look at it and move it away, then: reveries wake"
        )


def is_read_only(folder: Path) -> bool:
    """Whether its disk takes nothing, or cannot be asked."""
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def is_file_of_yours(path: Path) -> bool:
    """Whether a file, and nothing that one waits for, stands there, and is the owner's. Raises OSError."""
    seen = path.stat()
    return stat.S_ISREG(seen.st_mode) and seen.st_uid in (os.geteuid(), _ROOT, owner_of(path.parent))


def is_foreign_link(path: Path) -> bool:
    """Whether a link of another user's lies there: in a folder of everybody's, a trap."""
    return path.is_symlink() and path.lstat().st_uid not in (os.geteuid(), _ROOT)


def owner_of(home: Path) -> int:
    """Whose the files in `home` have to be: of whoever runs this; where root does, of whoever has the home."""
    mine = os.geteuid()
    return home.stat().st_uid if mine == _ROOT and home.exists() else mine


def fault_in_home(home: Path, uid: int) -> str:
    """What in the home cannot be the owner's doing, or is not safe to write to; empty where all is well."""
    for folder in (home, home / "logs", home / "backups"):
        if fault := fault_of_folder(folder, uid):
            return fault
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            is_ours = folder != home or entry.name.startswith(_OURS) or entry.name in _FOLDERS
            if fault := _fault_of_entry(entry, uid, is_ours=is_ours):
                return f"{entry}: {fault}"
    return fault_of_cache(home / "cache", uid)


def fault_of_cache(cache: Path, uid: int) -> str:
    """The same of compiled code that is to be loaded: whatever is in it runs as the owner. A link leads to no code."""
    for folder, names, files in os.walk(cache):
        for path in (Path(folder), *(Path(folder) / name for name in (*names, *files))):
            seen = path.lstat()
            if seen.st_uid not in (uid, _ROOT):
                return f"{path}: it is another user's."
            if path != cache and stat.S_ISLNK(seen.st_mode):
                return f"{path}: it is a link, and none is followed there."
            if _others_may_write(path.stat(), uid):
                return f"{path}: others may write to it."
    return ""


def _others_may_write(seen: os.stat_result, uid: int) -> bool:
    """A group of the owner's own, as many systems give to each of their users, is nobody else."""
    if seen.st_mode & 0o002:
        return True
    if not seen.st_mode & 0o020 or seen.st_gid == _ROOT:
        return False
    import grp  # Late: for the few folders that a group may write.
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(seen.st_gid)
    except KeyError:
        return True
    return group.gr_name != user.pw_name or any(member != user.pw_name for member in group.gr_mem)


def fault_of_memory(database: Path, uid: int) -> str:
    """The same of the memory, wherever it is, of what lies beside it under its name, and of its folder: who may write
    into that lays a link where a copy of the memory is made."""
    folder = database.parent
    if fault := fault_of_folder(folder, uid) or fault_above(folder, uid):
        return fault
    if folder.exists() and _others_may_write(folder.stat(), uid):
        return f"{folder}: others may write into it, and could lay something where the memory is written."
    for file in (database, *_beside(database)):
        may_be_link = file == database
        if fault := _fault_of_entry(file, uid, is_ours=True, may_be_link=may_be_link):
            return f"{file}: {fault}"
    return ""


def fault_above(folder: Path, uid: int) -> str:
    """The same of the folders that `folder` is in: who may write into one can put another folder, or a link, in the
    place of what is in it, at any time after a look. Where only its owner may move a file (/tmp), nobody else can."""
    for above in dict.fromkeys((*folder.absolute().parents, *folder.resolve().parents)):
        try:
            seen = above.stat()
        except OSError:
            continue
        if not seen.st_mode & stat.S_ISVTX and _others_may_write(seen, uid):
            return f"{above}: others may write into it, and could put something else in the place of what is in it."
    return ""


def _beside(database: Path) -> Iterator[Path]:
    yield from sorted(database.parent.glob(f"{database.name}[-.]*"))
    yield database.with_name(f"{database.stem}.snapshot")


def fault_of_folder(folder: Path, uid: int) -> str:
    """The same of a folder itself. In the home, which is closed, its mode does not matter; elsewhere it does."""
    try:
        link, seen = folder.lstat(), folder.stat()
    except FileNotFoundError:
        return ""
    if {link.st_uid, seen.st_uid} - {uid, _ROOT}:
        return f"{folder}: it is another user's."
    if stat.S_ISLNK(link.st_mode) and folder.name in _FOLDERS and seen.st_mode & 0o022:
        return f"{folder}: it is a link to a folder that others may write into."
    return ""


def _fault_of_entry(path: Path, uid: int, *, is_ours: bool, may_be_link: bool = False) -> str:
    try:
        link = path.lstat()
    except FileNotFoundError:
        return ""
    if link.st_uid not in (uid, _ROOT):
        return "it is another user's."
    if not is_ours or stat.S_ISSOCK(link.st_mode):
        return ""
    if not stat.S_ISLNK(link.st_mode):
        return "" if stat.S_ISDIR(link.st_mode) and path.name in _FOLDERS else _fault(link, uid)
    if not may_be_link and path.name not in _LINKS:
        return "it is a link, and none is followed there."
    try:
        seen = path.stat()
    except FileNotFoundError:
        return "it is a link that leads nowhere."
    if stat.S_ISDIR(seen.st_mode) and path.name in _FOLDERS:
        return fault_of_folder(path, uid).removeprefix(f"{path}: ")
    return _fault(seen, uid, may_be_read_only=path.name == "config.toml")


def _fault(seen: os.stat_result, uid: int, *, may_be_read_only: bool = False) -> str:
    if not stat.S_ISREG(seen.st_mode):
        return "it is no file."
    if seen.st_uid not in (uid, _ROOT):
        return "it is another user's."
    if seen.st_nlink > 1 and not may_be_read_only:
        return "it has another name elsewhere (a hard link)."
    return ""


def sync_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
