"""Files that are the owner's alone: written through no link that somebody laid, and looked at before they are trusted.

What may be a link is what people keep elsewhere on purpose: the home, its folders, the memory and the settings. Such a
link counts where it is the owner's own and leads to what is theirs.
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
"""Linux follows no more on one way (path_resolution(7))."""
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


def write_in_its_place(path: Path, content: bytes) -> None:
    """A file with `content` at `path`, for the owner alone and on the disk when this returns; what was there before
    stays until then. Raises OSError."""
    partial = path.with_name(f"{path.name}.partial")
    write_new(partial, content)
    sync_to_disk(partial)
    partial.replace(path)
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


def refuse(fault: str, advice: str = "Look at it and move it away, then: reveries wake") -> None:
    """Raises HomeError where there is a fault."""
    if fault:
        raise HomeError(f"This is not safe to write to: {fault}", advice=advice)


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
        # In a container that was given numbers only: its own group, which nobody else is in.
        return seen.st_gid != os.getegid() or _has_members(seen.st_gid, uid)
    return group.gr_name != user.pw_name or any(member != user.pw_name for member in group.gr_mem)


def _has_members(gid: int, uid: int) -> bool:
    """Whether the system's lists name anybody in it but that user."""
    import grp
    import pwd

    named = [user for user in pwd.getpwall() if user.pw_uid == uid]
    try:
        listed = {*grp.getgrgid(gid).gr_mem} - {user.pw_name for user in named}
    except KeyError:
        listed = set()
    return bool(listed) or any(user.pw_gid == gid and user.pw_uid != uid for user in pwd.getpwall())


def fault_of_memory(database: Path, uid: int) -> str:
    """The same of the memory, wherever it is, and of what lies beside it under its name."""
    if fault := fault_of_folder(database.parent, uid):
        return fault
    for file in (database, *_beside(database)):
        may_be_link = file == database
        if fault := _fault_of_entry(file, uid, is_ours=True, may_be_link=may_be_link):
            return f"{file}: {fault}"
    return ""


class OpenFolder(NamedTuple):
    """A folder, or a link, by which somebody else could change what the owner's files are."""

    folder: Path
    why: str
    is_closable: bool

    @property
    def fault(self) -> str:
        return f"{self.folder}: {self.why}"

    def advice(self, elsewhere: str) -> str:
        """What to do; `elsewhere` says how another place is chosen."""
        way_out = f"eep the mind elsewhere: {elsewhere}"
        return f"Close it (chmod go-w {quote(str(self.folder))}), or k{way_out}" if self.is_closable else f"K{way_out}"


def open_around(database: Path, uid: int) -> OpenFolder | None:
    """The folder of the memory, where others may write into it, for who may lays a link where a copy of the memory is
    made; or one that it is in."""
    folder = database.parent
    if folder.exists() and _others_may_write(folder.stat(), uid):
        why = "others may write into it, and could lay something where the memory is written."
        return OpenFolder(folder, why, is_closable=True)
    return open_above(folder, uid)


def open_above(folder: Path, uid: int) -> OpenFolder | None:
    """The first on the way to `folder` by which somebody else can put another folder, or a link, in the place of what
    is in it, at any time after a look: who may write into it, or has it. Where only its owner may move a file (/tmp),
    nobody else but the folder's owner can."""
    trusted = {uid, _ROOT, _shown_for_root()}
    for step in dict.fromkeys(_way_to(folder)):
        try:
            seen = step.lstat()
        except OSError:
            continue
        if seen.st_uid not in trusted:
            why = "it is another user's, who could put something else in the place of what is in it."
            return OpenFolder(step, why, is_closable=False)
        if stat.S_ISDIR(seen.st_mode) and not seen.st_mode & stat.S_ISVTX and _others_may_write(seen, uid):
            why = "others may write into it, and could put something else in the place of what is in it."
            return OpenFolder(step, why, is_closable=True)
    return None


def _shown_for_root() -> int:
    """Whom the system names as the owner of what is root's: in a namespace that does not know root (PrivateUsers=yes of
    the service, some containers), nobody, as for everybody else unknown there (user_namespaces(7))."""
    try:
        known = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="utf-8").splitlines()]
        if any(int(first) == _ROOT for first, _, _ in known):
            return _ROOT
        return int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return _ROOT


def _way_to(path: Path) -> Iterator[Path]:
    """Each folder and each link that the system goes through on its way to `path`, which itself is none of them."""
    to_come = list(reversed(path.absolute().parts[1:]))
    here, links = Path("/"), 0
    while to_come:
        name = to_come.pop()
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
        to_come += reversed(target.parts[1:] if target.is_absolute() else target.parts)


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
