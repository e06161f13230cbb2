"""Checks of the home folder from outside: type, owner, permissions, free space.

It reads names, modes and sizes, and never opens the database file: only SQLite may do that.
"""

import stat
from collections.abc import Iterator
from pathlib import Path

from reveries.client.checkup.machine import CheckupMachine
from reveries.client.wording import plural, size
from reveries.config import Home
from reveries.errors import HomeError
from reveries.own_files import find_open_ancestor
from reveries.protocol import Finding, make_finding

LOW_SPACE_BYTES = 200_000_000
FULL_DISK_BYTES = 4_000_000
_LARGE_LOGS_BYTES = 100_000_000
_NETWORK = ("nfs", "cifs", "smb", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs", "fuse.rclone", "davfs")
_OTHERS = 0o077
_PARTIAL_SECONDS = 3600.0


def check_home(home: Home, machine: CheckupMachine) -> list[Finding]:
    """Check the folder; a fault that makes the other checks pointless is returned alone."""
    try:
        home.check()
    except HomeError as error:
        return [make_finding("home-too-deep", error.message, error.advice, str(home.path))]
    try:
        mode = home.path.stat().st_mode
    except OSError:
        return [make_finding("home-missing", f"There is no home {home.path} yet.", where=str(home.path))]
    if not stat.S_ISDIR(mode):
        return [make_finding("home-not-folder", f"{home.path} is not a folder.", where=str(home.path))]
    return [
        *_check_folder(home, mode, machine),
        *_check_subfolders(home),
        *_check_files(home, machine),
        *_check_free_space(home, machine),
    ]


def is_usable(findings: list[Finding]) -> bool:
    """Whether there is a home that can be checked further."""
    return not {"home-too-deep", "home-missing", "home-not-folder"} & {finding.fault for finding in findings}


def list_partial_files(home: Home, now: float) -> list[Path]:
    """List partial files of backups and snapshots that were aborted. A file changed within the last hour may still be
    written; a partial download is kept because the next pull resumes it."""
    begun = ("*.partial", "*.partial-journal")
    parts = [file for folder in (home.backups, home.path) for name in begun for file in sorted(folder.glob(name))]
    return [part for part in parts if part.is_file() and now - part.lstat().st_mtime >= _PARTIAL_SECONDS]


def list_exposed_files(home: Home) -> list[Path]:
    """List files of the home that others may read or write. Links are skipped."""
    return [path for path, mode in _list_modes(home) if mode & _OTHERS and not stat.S_ISSOCK(mode)]


def _check_folder(home: Home, mode: int, machine: CheckupMachine) -> Iterator[Finding]:
    where = str(home.path)
    if home.path.stat().st_uid != machine.uid:
        yield make_finding("home-owner", f"The home {home.path} belongs to another user.", where=where)
    if above := find_open_ancestor(home.path, machine.uid):
        advice = above.advice("REVERIES_HOME=~/elsewhere reveries wake")
        yield make_finding("home-in-open-folder", above.fault, advice, where)
    if mode & _OTHERS:
        yield make_finding(
            "home-mode", f"The home {home.path} has mode {stat.S_IMODE(mode):o}; it should be 700.", where=where
        )
    if not machine.may_write(home.path):
        yield make_finding("home-not-writable", f"The home {home.path} cannot be written.", where=where)
    kind = machine.file_system(home.path)
    if kind.startswith(_NETWORK):
        yield make_finding("home-on-network", f"The home {home.path} is on {kind}.", where=where)


def _check_subfolders(home: Home) -> Iterator[Finding]:
    # A home without a database is still being set up.
    if home.database_default.exists():
        for folder in (home.logs, home.backups):
            if not folder.is_dir():
                yield make_finding("folder-missing", f"The folder {folder} is missing.", where=str(folder))


def _check_files(home: Home, machine: CheckupMachine) -> Iterator[Finding]:
    if exposed := list_exposed_files(home):
        sentence = f"{plural(len(exposed), 'file')} of the home can be read by others, the first: {exposed[0]}."
        yield make_finding("file-mode", sentence, where=str(exposed[0]))
    foreign = [path for path, _ in _list_modes(home) if path.lstat().st_uid != machine.uid and path != home.socket]
    if foreign:
        sentence = f"{plural(len(foreign), 'file')} of the home belong to another user, the first: {foreign[0]}."
        yield make_finding("file-owner", sentence, f"Make them yours: sudo chown -R $USER {home.path}", str(foreign[0]))
    if parts := list_partial_files(home, machine.now()):
        sentence = (
            f"{plural(len(parts), 'partial file')} of what was aborted: {', '.join(part.name for part in parts[:3])}."
        )
        yield make_finding("leftover-partial", sentence, where=str(parts[0]))


def _check_free_space(home: Home, machine: CheckupMachine) -> Iterator[Finding]:
    where = str(home.path)
    free_space = machine.free_space(home.path)
    if free_space.free_bytes < FULL_DISK_BYTES:
        yield make_finding("disk-full", f"The disk of {home.path} has {size(free_space.free_bytes)} left.", where=where)
    elif free_space.free_bytes < LOW_SPACE_BYTES:
        yield make_finding(
            "disk-low", f"The disk of {home.path} has only {size(free_space.free_bytes)} left.", where=where
        )
    if free_space.free_inodes == 0:
        yield make_finding("disk-no-inodes", f"The disk of {home.path} has no room for more files.", where=where)
    logs = sum(path.lstat().st_size for path in home.logs.glob("*")) if home.logs.is_dir() else 0
    if logs > _LARGE_LOGS_BYTES:
        yield make_finding("logs-large", f"The logs take {size(logs)}.", where=str(home.logs))


def _list_modes(home: Home) -> list[tuple[Path, int]]:
    """List the files of the home and its folders with their modes, without links."""
    paths: list[Path] = []
    for folder in (home.path, home.logs, home.backups):
        try:
            paths += sorted(folder.iterdir())
        except OSError:
            continue
    modes = []
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except OSError:  # Deleted meanwhile, e.g. a write-ahead log or a partial backup.
            continue
        if stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and path in (home.logs, home.backups)):
            modes.append((path, mode))
    return modes
