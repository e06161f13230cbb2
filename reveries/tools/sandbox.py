"""The sandbox for tools: bubblewrap's arguments, and a check whether it works on this machine.

The sandbox contains the folder and the system (read-only), and nothing else: no network, no home, no environment, no
socket of the daemon, no other process.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reveries.tools.sandboxed.folder import TEMPORARY_PREFIX

PACKAGE: Final = "bubblewrap"
"""The distribution package to install if it is missing."""
MOUNT: Final = "/project"
_CODE_MOUNT: Final = "/worker"
_ENTRY: Final = "reveries.tools.sandboxed.main"
_SERVER_ENTRY: Final = "reveries.tools.mcp_child.main"
_READING_ENTRY: Final = "reveries.tools.reading_child.main"
_READING_CODE: Final = ("tools/reading_child", "tools/sandboxed", "knowledge/reading", "errors.py")
"""What of this package the reading child runs; the rest is not there."""
_DOCUMENT_MOUNT: Final = "/document"
_NETWORK_FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates")
_SYSTEM_FOLDERS: Final = ("/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
_SYSTEM_FILES: Final = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/ssl/openssl.cnf")
_KERNEL_SETTINGS: Final = tuple(
    f"/proc/{setting}" for setting in ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "tty", "mtrr", "pressure")
)
"""Settings of the whole machine: root could write them from within, despite the namespace."""
_KERNEL_SECRETS: Final = tuple(
    f"/proc/{secret}"
    for secret in ("kcore", "keys", "key-users", "kmsg", "kallsyms", "timer_list", "config.gz", "slabinfo")
)
_TEMPORARY_BYTES: Final = 256_000_000
_MOST_DOT_ENTRIES: Final = 300
_PROBE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """What an MCP server can access besides the system: folders of this machine, under their own paths."""

    network: bool
    reads: tuple[Path, ...]
    writes: tuple[Path, ...]
    libraries: tuple[Path, ...]
    """Folders of the protocol's library."""

    def shows(self, program: Path) -> bool:
        """Whether a program, and the target if it is a link, is visible in the sandbox."""
        shown = (Path("/usr"), Path(sys.base_prefix).resolve(), *self.reads, *self.writes)
        system = (Path("/bin"), Path("/sbin"))
        return program.parent in system or all(
            any(path.is_relative_to(at) for at in shown) for path in (program, program.resolve())
        )


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox that is available on this machine."""

    bwrap: str = ""
    """Path of bubblewrap; empty if it is missing or does not work."""
    why_not: str = ""
    """Why there is no sandbox, as a sentence with advice."""

    @property
    def can_run(self) -> bool:
        """Whether commands may be run; they never run outside a sandbox."""
        return bool(self.bwrap)

    def server_command(self, access: "ServerAccess") -> list[str]:
        """The command line of the child process for one MCP server."""
        assert self.can_run
        inside = [_base_python(), *_python([Path(_CODE_MOUNT), *access.libraries], _SERVER_ENTRY)]
        return [self.bwrap, *_server_walls(access), "--", *inside]

    def reading_command(self, document: Path, media_type: str) -> list[str]:
        """The command line of a child that reads one file. Without a sandbox it has only its limits."""
        libraries, package = _library_folders(), Path(__file__).parents[1]
        if not self.can_run:
            code = [package.parent, *libraries]
            return [sys.executable, *_python(code, _READING_ENTRY), str(document), document.name, media_type]
        words = _system_walls(["--unshare-all"])
        for name in _READING_CODE:
            words += ["--ro-bind", str(package / name), f"{_CODE_MOUNT}/reveries/{name}"]
        words += [word for path in libraries for word in ("--ro-bind-try", str(path), str(path))]
        words += ["--ro-bind", str(document), _DOCUMENT_MOUNT, "--chdir", "/tmp"]
        inside = [_base_python(), *_python([Path(_CODE_MOUNT), *libraries], _READING_ENTRY)]
        return [self.bwrap, *words, "--", *inside, _DOCUMENT_MOUNT, document.name, media_type]

    def command(self, folder: Path, *, may_write: bool, may_run: bool = True) -> list[str]:
        """The command line of a child that serves `folder`."""
        access = "write" if may_write else "read"
        if not self.can_run:
            return [sys.executable, *_python([Path(__file__).parents[2]], _ENTRY), str(folder), access, "look"]
        inside = [_base_python(), *_python([Path(_CODE_MOUNT)], _ENTRY), MOUNT, access, "run" if may_run else "look"]
        return [self.bwrap, *_walls(folder, may_write=may_write), "--", *inside]


def find_sandbox() -> Sandbox:
    """Find bubblewrap and check that a child starts in it. Blocks for about 50 ms."""
    executable = shutil.which("bwrap") if sys.platform == "linux" else None
    if executable is None:
        system = "There is no bubblewrap" if sys.platform == "linux" else "Commands are walled in on Linux alone"
        hint = f": install the package {PACKAGE}." if sys.platform == "linux" else "."
        return Sandbox(why_not=f"{system}{hint} Until then files are read and written, and no command is run.")
    sandbox = Sandbox(executable)
    try:
        tried = subprocess.run(
            [executable, *_walls(Path("/usr"), may_write=False), "--", "/usr/bin/env", "true"],
            capture_output=True, timeout=_PROBE_SECONDS, env={}, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return Sandbox(why_not=f"bubblewrap does not start ({type(error).__name__}). No command is run.")
    if tried.returncode:
        error_lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
        why = error_lines[-1][:200] if error_lines else f"it ended with {tried.returncode}"
        return Sandbox(why_not=f"bubblewrap does not work here ({why}). No command is run.")
    return sandbox


def _walls(folder: Path, *, may_write: bool) -> list[str]:
    """Around a folder, with no network."""
    words = [*_system_walls(["--unshare-all"]), *_code_mount("sandboxed")]
    words += ["--bind" if may_write else "--ro-bind", str(folder), MOUNT]
    if may_write:
        # What shells, editors and git read by themselves is not theirs to change.
        for entry in _dot_entries(folder):
            words += ["--ro-bind-try", str(entry), f"{MOUNT}/{entry.relative_to(folder)}"]
    return [*words, "--chdir", MOUNT]


def _server_walls(access: ServerAccess) -> list[str]:
    """Around a program of somebody else: it sees the system, and what the owner listed, under its own name."""
    words = _system_walls(["--unshare-all", *(["--share-net"] if access.network else [])])
    words += _code_mount("mcp_child")
    words += [word for name in _NETWORK_FILES if access.network for word in ("--ro-bind-try", name, name)]
    for kind, paths in (("--ro-bind", (*access.libraries, *access.reads)), ("--bind", access.writes)):
        words += [word for path in paths for word in (kind, str(path), str(path))]
    return [*words, "--chdir", "/tmp"]


def _system_walls(unshared: list[str]) -> list[str]:
    """`--unshare-user` is not left to bwrap: without it root's sandbox would have root's rights. The worker is process
    1: no command can stop or end it, and no other process holds its pipes."""
    words = [
        *unshared, "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--as-pid-1",
        "--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME",
        "/tmp", "--setenv", "LANG", "C.UTF-8", "--setenv", "PYTHONDONTWRITEBYTECODE", "1", "--hostname", "sandbox",
        "--uid", "1000", "--gid", "1000", "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev",
        "--size", str(_TEMPORARY_BYTES), "--tmpfs", "/tmp", "--size", "1000000", "--tmpfs", "/dev/shm",
    ]  # fmt: skip
    words += [*_system_mounts(), *_kernel_mounts()]
    base = str(Path(sys.base_prefix).resolve())
    return words if base.startswith("/usr") else [*words, "--ro-bind", base, base]


def _code_mount(package: str) -> list[str]:
    return ["--ro-bind", str(Path(__file__).parent / package), f"{_CODE_MOUNT}/reveries/tools/{package}"]


def _dot_entries(folder: Path) -> list[Path]:
    """Dot files and folders anywhere in a folder, the first so many; not what lies in them. Links are not followed."""
    entries: list[Path] = []
    for at, folders, files in os.walk(folder):
        names = sorted(
            name for name in (*folders, *files) if name.startswith(".") and not name.startswith(TEMPORARY_PREFIX)
        )
        entries += [path for path in (Path(at) / name for name in names) if not path.is_symlink()]
        folders[:] = [name for name in folders if not name.startswith(".")]
        if len(entries) > _MOST_DOT_ENTRIES:
            break
    return entries[:_MOST_DOT_ENTRIES]


def _system_mounts() -> list[str]:
    """What programs need beside /usr: on most systems links into it."""
    words: list[str] = []
    for path in map(Path, _SYSTEM_FOLDERS):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    return words + [word for name in _SYSTEM_FILES for word in ("--ro-bind-try", name, name)]


def _kernel_mounts() -> list[str]:
    """What stands in /proc and is the whole machine's."""
    settings = [word for name in _KERNEL_SETTINGS if Path(name).exists() for word in ("--ro-bind", name, name)]
    return settings + [
        word for name in _KERNEL_SECRETS if Path(name).exists() for word in ("--ro-bind", "/dev/null", name)
    ]


def _base_python() -> str:
    """The interpreter itself: a virtual environment's is a link to it that is not there inside."""
    return str(Path(sys.executable).resolve())


def _library_folders() -> list[Path]:
    """Where the libraries that read formats are installed."""
    return [Path(path) for path in dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))]


def _python(code: Sequence[Path], entry: str) -> list[str]:
    """Without a site, an environment or the folder it stands in: only the standard library and what is named."""
    begin = f"import sys; sys.path[:0] = {[str(path) for path in code]!r}; from {entry} import main; main()"
    return ["-I", "-S", "-B", "-c", begin]


def why_not_a_folder(folder: Path, home: Path) -> str:
    """Why a folder cannot be a project's, as a sentence; empty where it can."""
    try:
        real, mind = folder.resolve(strict=True), home.resolve()
    except OSError as error:
        return f"{folder} cannot be opened: {error.strerror}."
    if not real.is_dir():
        return f"{folder} is no folder."
    if mind.is_relative_to(real) or real.is_relative_to(mind):
        return f"In {folder} lies the memory of this mind: no tool may see it. Choose a folder for the project alone."
    if real == Path(real.anchor) or real == Path.home().resolve() or str(real) in _NEVER:
        return f"{folder} holds more than one project may see. Choose a folder for the project alone."
    return "" if os.access(real, os.R_OK | os.X_OK) else f"{folder} may not be read."


_NEVER: Final = frozenset(
    {"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/sys"}
    | {"/tmp", "/usr", "/var", "/Users", "/System", "/Library", "/Applications", "/Volumes", "/private"}
)
