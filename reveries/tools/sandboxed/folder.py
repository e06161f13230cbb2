"""The files of one folder, and nothing beside it.

Every path is walked part by part from a handle on the folder, without following a link: what a name meant when it was
looked at is what is read or written, whatever happens to the folder meanwhile. A file is written beside its place and
renamed into it: whoever is stopped leaves the old file or the new one, and a hard link into the folder is never
written through.
"""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass

MOST_FILE_BYTES = 5_000_000
MOST_ENTRIES = 2_000
MOST_DEPTH = 24
_MOST_HITS = 200
_LONGEST_LINE = 400
_SEARCH_BYTES = 50_000_000
BESIDE = ".reveries-new-"
"""How a file is named while it is written, in the folder itself."""
_LONGEST_PATH = 1_000
_HERE = "."
_MARK = "\ufeff"
"""With which some editors begin a file: no part of its text, and kept."""
_MOUNT = "/project"
"""Where commands in the sandbox see the folder."""
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderError(Exception):
    """Why something cannot be done, as a sentence for whoever asked."""


@dataclass(frozen=True)
class FolderEntry:
    """One name in a folder."""

    path: str
    """As the system names it: what is no UTF-8 in it is escaped."""
    is_folder: bool
    size_bytes: int


class Folder:
    """Reads and changes files beneath one folder."""

    def __init__(self, path: str, *, may_write: bool) -> None:
        """Raises OSError where there is no such folder."""
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._may_write = may_write
        if may_write:
            self._sweep()

    def close(self) -> None:
        os.close(self._root)

    # --- looking ------------------------------------------------------------------------------------------------------

    def read(self, path: str) -> str:
        """A text file whole. Raises FolderError."""
        return self._read_text(path).removeprefix(_MARK)

    def list_entries(self, path: str = _HERE) -> list[FolderEntry]:
        """What lies directly in a folder, by name. Raises FolderError."""
        with self._open_folder(path_parts(path)) as handle:
            return list(_entries(handle, "" if path in ("", _HERE) else path.strip("/") + "/"))

    def walk(self, path: str = _HERE) -> Iterator[FolderEntry]:
        """Every file beneath a folder, dot folders left out. Raises FolderError."""
        yield from self._walk(path_parts(path))

    def find(self, pattern: str) -> list[FolderEntry]:
        """Files whose path matches a shell pattern (`*.md`, `notes/**`). Raises FolderError."""
        wanted = _compile_pattern(pattern)
        return [one for one in self.walk() if wanted.fullmatch(one.path) or wanted.fullmatch(one.path.split("/")[-1])]

    def search(self, text: str, path: str = _HERE) -> list[tuple[str, int, str]]:
        """Lines that hold `text`, whatever the case: path, line number from 1, the line. Raises FolderError."""
        wanted, found, left = text.casefold(), list[tuple[str, int, str]](), _SEARCH_BYTES
        if not wanted.strip():
            raise FolderError("There is nothing to search for.")
        for entry in self.walk(path):
            left -= entry.size_bytes
            if left < 0:
                break
            with contextlib.suppress(FolderError):  # What is too large, or no text, holds no line.
                for number, line in enumerate(self.read(entry.path).splitlines(), 1):
                    if wanted in line.casefold():
                        found.append((entry.path, number, line.strip()[:_LONGEST_LINE]))
                        if len(found) == _MOST_HITS:
                            return found
        return found

    def digest(self, path: str) -> str:
        """The SHA-256 of a file. Raises FolderError."""
        return hashlib.sha256(self._read_bytes(path)).hexdigest()

    # --- changing -----------------------------------------------------------------------------------------------------

    def write(self, path: str, text: str, *, is_tainted: bool) -> str:
        """Make a file what `text` is; folders on the way are made. Its SHA-256. Raises FolderError."""
        parts = self._writable_parts(path)
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > MOST_FILE_BYTES:
            raise FolderError(f"{path} would have {len(data):,} bytes, more than {MOST_FILE_BYTES:,}.")
        with self._open_folder(parts[:-1], make=True) as handle:
            self._replace(handle, parts[-1], path, data, is_tainted=is_tainted)
        return hashlib.sha256(data).hexdigest()

    def edit(self, path: str, old: str, new: str, *, is_tainted: bool) -> str:
        """Replace the one place where `old` stands. The file's SHA-256. Raises FolderError."""
        self._writable_parts(path)
        whole = self._read_text(path)
        text = whole.removeprefix(_MARK)
        if (count := text.count(old) if old else 0) != 1:
            raise FolderError(f"The words to replace stand {count} times in {path}; they have to stand there once.")
        mark = whole[: len(whole) - len(text)]
        return self.write(path, mark + text.replace(old, new), is_tainted=is_tainted)

    # --- handles ------------------------------------------------------------------------------------------------------

    def _writable_parts(self, path: str) -> list[str]:
        if not self._may_write:
            raise FolderError("This folder may only be read. Its owner opens it: reveries project folder NAME --write")
        parts = path_parts(path)
        if not parts:
            raise FolderError("A file needs a name.")
        if any(part.startswith(".") for part in parts):
            raise FolderError(f"{path} is a dot file, or lies in a dot folder: those may only be read.")
        return parts

    def _read_text(self, path: str) -> str:
        try:
            return self._read_bytes(path).decode("utf-8")
        except UnicodeDecodeError:
            raise FolderError(f"{path} is no text.") from None

    def _read_bytes(self, path: str) -> bytes:
        parts = path_parts(path)
        if not parts:
            raise FolderError("That is a folder, not a file.")
        with self._open_folder(parts[:-1]) as handle, _file(handle, parts[-1], path) as file:
            size = os.fstat(file).st_size
            if size > MOST_FILE_BYTES:
                raise FolderError(f"{path} has {size:,} bytes, more than {MOST_FILE_BYTES:,}.")
            return _read_all(file)

    @contextlib.contextmanager
    def _open_folder(self, parts: list[str], *, make: bool = False) -> Iterator[int]:
        handle = os.dup(self._root)
        try:
            for depth, part in enumerate(parts):
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=handle)
                try:
                    inner = os.open(part, _DIRECTORY_FLAGS, dir_fd=handle)
                except OSError as error:
                    raise FolderError(_why_not("/".join(parts[: depth + 1]), error)) from None
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)

    def _replace(self, handle: int, name: str, path: str, data: bytes, *, is_tainted: bool) -> None:
        mode = _mode_of(handle, name, path)
        if is_tainted:
            mode &= ~0o111
        beside = f"{BESIDE}{secrets.token_hex(6)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(beside, flags, 0o600, dir_fd=self._root)
            try:
                with os.fdopen(file, "wb") as writer:
                    writer.write(data)
                    os.fchmod(file, mode)
                    writer.flush()
                    os.fsync(file)
                os.rename(beside, name, src_dir_fd=self._root, dst_dir_fd=handle)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(beside, dir_fd=self._root)
                raise
            os.fsync(handle)
        except OSError as error:
            raise FolderError(_why_not(path, error)) from None

    def _sweep(self) -> None:
        """What a worker that was killed in the middle of writing left behind."""
        with os.scandir(self._root) as listed:
            names = [one.name for one in listed if one.name.startswith(BESIDE)]
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._root)

    def _walk(self, parts: list[str]) -> Iterator[FolderEntry]:
        waiting, count = [parts], 0
        while waiting:
            at = waiting.pop()
            try:
                with self._open_folder(at) as handle:
                    entries = list(_entries(handle, "".join(f"{part}/" for part in at)))
            except FolderError:
                if at is parts:
                    raise
                continue  # Gone since, or closed to us: it hides no other.
            inner: list[list[str]] = []
            for entry in entries:
                parts_of_entry = entry.path.split("/")
                if parts_of_entry[-1].startswith("."):
                    continue
                if entry.is_folder and len(parts_of_entry) <= MOST_DEPTH:
                    inner.append(parts_of_entry)
                elif not entry.is_folder:
                    count += 1
                    yield entry
                    if count == MOST_ENTRIES:
                        return
            waiting += reversed(inner)


def path_parts(path: str) -> list[str]:
    """The names on the way to a path beneath the folder, which commands know as /project. Raises FolderError for one
    that leads out of it."""
    if "\0" in path or len(path) > _LONGEST_PATH:
        raise FolderError("That is no path.")
    beneath = path.removeprefix(_MOUNT) if path == _MOUNT or path.startswith(_MOUNT + "/") else path
    parts = [part for part in beneath.split("/") if part not in ("", _HERE)]
    if ".." in parts or (beneath is path and path.startswith("/")):
        raise FolderError(f"{path[:80]} leads out of the folder.")
    return parts


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """A shell pattern; `*` stays within a folder, `**` does not."""
    pieces = re.split(r"(\*\*/?|\*|\?)", pattern.removeprefix(_MOUNT + "/").removeprefix("./")[:200])
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(piece, re.escape(piece)) for piece in pieces))


def _entries(handle: int, prefix: str) -> Iterator[FolderEntry]:
    """Files and folders of an open folder, by name; links, devices, pipes and sockets are none."""
    with os.scandir(handle) as listed:
        names = sorted(one.name for one in listed)
    for name in names[:MOST_ENTRIES]:
        with contextlib.suppress(OSError):  # Gone since.
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode):
                yield FolderEntry(prefix + name, stat.S_ISDIR(found.st_mode), found.st_size)


@contextlib.contextmanager
def _file(handle: int, name: str, path: str) -> Iterator[int]:
    """A regular file, open. A pipe would never end, a device is not the folder's."""
    try:
        file = os.open(name, _FILE_FLAGS, dir_fd=handle)
    except OSError as error:
        raise FolderError(_why_not(path, error)) from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise FolderError(f"{path} is no file.")
        yield file
    finally:
        os.close(file)


def _mode_of(handle: int, name: str, path: str) -> int:
    try:
        found = os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    except OSError as error:
        raise FolderError(_why_not(path, error)) from None
    if not stat.S_ISREG(found.st_mode):
        raise FolderError(f"{path} is no file: nothing is written over it.")
    return stat.S_IMODE(found.st_mode) & 0o777


def _read_all(file: int) -> bytes:
    pieces: list[bytes] = []
    left = MOST_FILE_BYTES + 1
    while left > 0 and (piece := os.read(file, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)[:MOST_FILE_BYTES]


def _why_not(path: str, error: OSError) -> str:
    reasons = {
        errno.ENOENT: "is not there",
        errno.ELOOP: "is a link: links are not followed",
        errno.ENOTDIR: "is no folder, or a link to one: links are not followed",
        errno.EISDIR: "is a folder",
        errno.EACCES: "may not be opened",
        errno.EPERM: "may not be opened",
        errno.EROFS: "may only be read",
        errno.ENXIO: "is no file",
        errno.ENAMETOOLONG: "has too long a name",
        errno.ENOSPC: "found no room on the disk",
        errno.EDQUOT: "found no room on the disk",
    }
    return f"{path[:200]} {reasons.get(error.errno or 0, 'cannot be used: ' + (error.strerror or 'unknown error'))}."
