"""What the checks ask of the machine: user, free space, mounts, packages. Tests replace it."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """Free bytes and free inodes; inodes are None where the file system does not count them."""

    free_bytes: int
    free_inodes: int | None


@dataclass(frozen=True, slots=True)
class CheckupMachine:
    """The real one by default. `now` is in unix seconds."""

    uid: int = field(default_factory=os.getuid)
    now: Callable[[], float] = time.time
    free_space: Callable[[Path], FreeSpace] = field(default_factory=lambda: free_space_at)
    may_write: Callable[[Path], bool] = field(default_factory=lambda: may_write)
    file_system: Callable[[Path], str] = field(default_factory=lambda: file_system_of)
    is_installed: Callable[[str], bool] = field(default_factory=lambda: is_installed)
    path_files: Callable[[], list[str]] = field(default_factory=lambda: unexpected_path_files)
    greet_seconds: float = 5.0
    """How long a running daemon may take to answer the handshake."""


def free_space_at(folder: Path) -> FreeSpace:
    """Return the free space on the disk of `folder`. Raises OSError."""
    stats = os.statvfs(folder)
    return FreeSpace(stats.f_bavail * stats.f_frsize, stats.f_favail if stats.f_files else None)


def may_write(folder: Path) -> bool:
    """Whether this user may create files in `folder` and the file system is writable."""
    try:
        return os.access(folder, os.W_OK | os.X_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY
    except OSError:
        return False


def file_system_of(folder: Path) -> str:
    """Return the type of the file system of `folder` ("ext4", "nfs4"); empty if unknown."""
    try:
        rows = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    mounts = [row.split(" ") for row in rows]
    place = str(folder)
    within = [m for m in mounts if len(m) > 2 and (place == m[1] or place.startswith(f"{m[1].rstrip('/')}/"))]
    # Of several mounts at one path, the last one is visible.
    return max(enumerate(within), key=lambda pair: (len(pair[1][1]), pair[0]))[1][2] if within else ""


def is_installed(package: str) -> bool:
    """Whether Python can find `package`, without importing it."""
    from importlib.util import find_spec

    return find_spec(package) is not None


def unexpected_path_files() -> list[str]:
    """List .pth files that run code whenever this Python starts and that belong to no installed package (F13)."""
    import site
    import sys
    from importlib.metadata import distributions

    folders = {Path(place) for place in (*site.getsitepackages(), site.getusersitepackages(), *sys.path) if place}
    code_files = {file for folder in folders for file in _path_files(folder) if _runs_code(file)}
    if not code_files:
        return []
    packaged = {
        Path(str(distribution.locate_file(file))).resolve()
        for distribution in distributions()
        for file in distribution.files or ()
        if file.suffix == ".pth"
    }
    return sorted(str(file) for file in code_files if file.resolve() not in packaged)


def _path_files(folder: Path) -> list[Path]:
    try:
        return [file for file in folder.iterdir() if file.suffix == ".pth"]
    except OSError:
        return []


def _runs_code(file: Path) -> bool:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return True
    return any(line.startswith(("import ", "import\t")) for line in lines)
