"""Read and write files of one folder, and nothing outside it.

Every path is opened part by part from a handle on the folder, without following links, so that the file that was
checked is the file that is read or written, even if the folder changes in the meantime. A file is written under a
temporary name and then renamed: an interrupted write leaves the old file or the new one, and never writes through a
hard link.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reveries.tools.sandboxed.text_decoding import decode_text

MOST_FILE_BYTES = 5_000_000
MOST_ENTRIES = 2_000
MOST_WALKED = 50_000
"""Files that `list_files` looks at in the folder and all below it."""
MOST_PATH_BYTES = 3_000_000
MOST_DEPTH = 24
_MOST_HITS = 200
_LONGEST_LINE = 400
_SEARCH_BYTES = 50_000_000
TEMPORARY_PREFIX = ".reveries-new-"
"""Name prefix of a file that is being written, in the folder itself."""
_LONGEST_PATH = 1_000
_HERE = "."
_BYTE_ORDER_MARK = "\ufeff"
"""The byte order mark with which some editors begin a file: not part of its text, kept on write."""
_MOUNT = "/project"
"""The path of the folder inside the sandbox."""
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderError(Exception):
    """An operation cannot be done; the message is a sentence for the caller."""


@dataclass(frozen=True)
class FolderEntry:
    """One entry of a folder."""

    path: str
    """Bytes that are not valid UTF-8 are surrogate-escaped."""
    is_folder: bool
    size_bytes: int
    changed_at: float
    """Unix time of the last change to its content, in seconds."""


@dataclass(frozen=True)
class FileListing:
    """Files of the folder and of all folders below it."""

    files: list[FolderEntry]
    unseen: list[str]
    """Folders that were not looked into, or not to the end; "" is the whole folder."""


class Folder:
    """Reads and changes files below one folder."""

    def __init__(self, path: str, *, may_write: bool) -> None:
        """Open the folder. Raises OSError if it does not exist."""
        self._root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._may_write = may_write
        if may_write:
            self._remove_temporary_files()

    def close(self) -> None:
        os.close(self._root)

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self, path: str) -> str:
        """Return the whole text of a file. Raises FolderError."""
        try:
            return decode_text(self._read_bytes(path))
        except ValueError:
            raise FolderError(f"{path} is no text, or in an encoding that is not certain: save it as UTF-8.") from None

    def walk(self, path: str = _HERE) -> Iterator[FolderEntry]:
        """Yield the first files below a folder, without dot files and dot folders. Raises FolderError."""
        yield from itertools.islice(self._walk(split_path(path), MOST_ENTRIES, []), MOST_ENTRIES)

    def list_files(self, suffixes: Sequence[str]) -> FileListing:
        """Return the files with one of these lower-case suffixes, without dot files and dot folders."""
        files, unseen, budget = list[FolderEntry](), list[str](), MOST_PATH_BYTES
        for count, entry in enumerate(self._walk([], MOST_WALKED, unseen)):
            if count == MOST_WALKED or budget < 0:
                return FileListing(files, [""])
            if entry.path.lower().endswith(tuple(suffixes)):
                files.append(entry)
                budget -= len(entry.path.encode("utf-8", "surrogateescape"))
        return FileListing(files, unseen)

    def find(self, pattern: str) -> list[FolderEntry]:
        """Return the files whose path matches a shell pattern (`*.md`, `notes/**`). Raises FolderError."""
        wanted = _compile_pattern(pattern)
        return [
            entry
            for entry in self.walk()
            if wanted.fullmatch(entry.path) or wanted.fullmatch(entry.path.split("/")[-1])
        ]

    def search(self, text: str, path: str = _HERE) -> list[tuple[str, int, str]]:
        """Return the lines that contain `text`, ignoring case: path, line number from 1, line. Raises FolderError."""
        wanted, matches, budget = text.casefold(), list[tuple[str, int, str]](), _SEARCH_BYTES
        if not wanted.strip():
            raise FolderError("There is nothing to search for.")
        for entry in self.walk(path):
            budget -= entry.size_bytes
            if budget < 0:
                break
            with contextlib.suppress(FolderError):  # Skip files that are too large or no text.
                for number, line in enumerate(self.read(entry.path).splitlines(), 1):
                    if wanted in line.casefold():
                        matches.append((entry.path, number, line.strip()[:_LONGEST_LINE]))
                        if len(matches) == _MOST_HITS:
                            return matches
        return matches

    def digest(self, path: str) -> str:
        """Return the SHA-256 of a file. Raises FolderError."""
        return hashlib.sha256(self._read_bytes(path)).hexdigest()

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, path: str, text: str, *, is_tainted: bool) -> str:
        """Write a file and create missing folders; return the SHA-256. Raises FolderError."""
        parts = self._writable_parts(path)
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > MOST_FILE_BYTES:
            raise FolderError(f"{path} would have {len(data):,} bytes, more than {MOST_FILE_BYTES:,}.")
        with self._open_folder(parts[:-1], make=True) as handle:
            self._replace(handle, parts[-1], path, data, is_tainted=is_tainted)
        return hashlib.sha256(data).hexdigest()

    def edit(self, path: str, old: str, new: str, *, is_tainted: bool) -> str:
        """Replace the only occurrence of `old`; return the file's new SHA-256. Raises FolderError."""
        self._writable_parts(path)
        try:
            whole = self._read_bytes(path).decode("utf-8")
        except UnicodeDecodeError:
            raise FolderError(f"{path} is not UTF-8: it can only be written anew as a whole.") from None
        text = whole.removeprefix(_BYTE_ORDER_MARK)
        if (count := text.count(old) if old else 0) != 1:
            raise FolderError(f"The words to replace stand {count} times in {path}; they have to stand there once.")
        mark = whole[: len(whole) - len(text)]
        return self.write(path, mark + text.replace(old, new), is_tainted=is_tainted)

    # --- handles ------------------------------------------------------------------------------------------------------

    def _writable_parts(self, path: str) -> list[str]:
        if not self._may_write:
            raise FolderError("This folder may only be read. Its owner opens it: reveries project folder NAME --write")
        parts = split_path(path)
        if not parts:
            raise FolderError("A file needs a name.")
        if any(part.startswith(".") for part in parts):
            raise FolderError(f"{path} is a dot file, or lies in a dot folder: those may only be read.")
        return parts

    def _read_bytes(self, path: str) -> bytes:
        parts = split_path(path)
        if not parts:
            raise FolderError("That is a folder, not a file.")
        with self._open_folder(parts[:-1]) as handle, _open_regular_file(handle, parts[-1], path) as file:
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
                    raise FolderError(_describe_os_error("/".join(parts[: depth + 1]), error)) from None
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)

    def _replace(self, handle: int, name: str, path: str, data: bytes, *, is_tainted: bool) -> None:
        mode = _read_mode(handle, name, path)
        if is_tainted:
            mode &= ~0o111
        temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(6)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(temporary, flags, 0o600, dir_fd=self._root)
            try:
                with os.fdopen(file, "wb") as writer:
                    writer.write(data)
                    os.fchmod(file, mode)
                    writer.flush()
                    os.fsync(file)
                os.rename(temporary, name, src_dir_fd=self._root, dst_dir_fd=handle)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=self._root)
                raise
            os.fsync(handle)
        except OSError as error:
            raise FolderError(_describe_os_error(path, error)) from None

    def _remove_temporary_files(self) -> None:
        """Remove temporary files of a worker that was killed during a write."""
        with os.scandir(self._root) as listed:
            names = [entry.name for entry in listed if entry.name.startswith(TEMPORARY_PREFIX)]
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._root)

    def _walk(self, parts: list[str], most_names: int, unseen: list[str]) -> Iterator[FolderEntry]:
        """Yield files; add to `unseen` the folders that cannot be opened, are too deep or have more than `most_names`
        names."""
        waiting = [parts]
        while waiting:
            at = waiting.pop()
            try:
                with self._open_folder(at) as handle:
                    entries, is_cut = _read_entries(handle, "".join(f"{part}/" for part in at), most_names)
            except FolderError:
                if at is parts:
                    raise
                unseen.append("/".join(at))
                continue  # Deleted meanwhile or not permitted: continue with the others.
            if is_cut:
                unseen.append("/".join(at))
            inner: list[list[str]] = []
            for entry in entries:
                parts_of_entry = entry.path.split("/")
                if parts_of_entry[-1].startswith("."):
                    continue
                if not entry.is_folder:
                    yield entry
                elif len(parts_of_entry) <= MOST_DEPTH:
                    inner.append(parts_of_entry)
                else:
                    unseen.append(entry.path)
            waiting += reversed(inner)


def split_path(path: str) -> list[str]:
    """Split a path relative to the folder, or below /project as commands see it, into its parts. Raises FolderError if
    the path leads out of the folder."""
    if "\0" in path or len(path) > _LONGEST_PATH:
        raise FolderError("That is no path.")
    beneath = path.removeprefix(_MOUNT) if path == _MOUNT or path.startswith(_MOUNT + "/") else path
    parts = [part for part in beneath.split("/") if part not in ("", _HERE)]
    if ".." in parts or (beneath is path and path.startswith("/")):
        raise FolderError(f"{path[:80]} leads out of the folder.")
    return parts


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a shell pattern; `*` matches within one folder, `**` across folders."""
    pieces = re.split(r"(\*\*/?|\*|\?)", pattern.removeprefix(_MOUNT + "/").removeprefix("./")[:200])
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(piece, re.escape(piece)) for piece in pieces))


def _read_entries(handle: int, prefix: str, most: int) -> tuple[list[FolderEntry], bool]:
    """Return the files and folders among the first `most` names of an open folder, without links, devices, pipes and
    sockets, and whether some were not looked at: there are more names, or the system does not tell what they are."""
    with os.scandir(handle) as listed:
        names = sorted(entry.name for entry in listed)
    entries, is_cut = list[FolderEntry](), len(names) > most
    for name in names[:most]:
        try:
            entry_stat = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except FileNotFoundError:  # Deleted meanwhile.
            continue
        except OSError:
            is_cut = True
            continue
        if stat.S_ISDIR(entry_stat.st_mode) or stat.S_ISREG(entry_stat.st_mode):
            entries.append(
                FolderEntry(prefix + name, stat.S_ISDIR(entry_stat.st_mode), entry_stat.st_size, entry_stat.st_mtime)
            )
    return entries, is_cut


@contextlib.contextmanager
def _open_regular_file(handle: int, name: str, path: str) -> Iterator[int]:
    """Open a regular file for reading. Pipes and devices are refused: a pipe may never end."""
    try:
        file = os.open(name, _FILE_FLAGS, dir_fd=handle)
    except OSError as error:
        raise FolderError(_describe_os_error(path, error)) from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise FolderError(f"{path} is no file.")
        yield file
    finally:
        os.close(file)


def _read_mode(handle: int, name: str, path: str) -> int:
    try:
        entry_stat = os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    except OSError as error:
        raise FolderError(_describe_os_error(path, error)) from None
    if not stat.S_ISREG(entry_stat.st_mode):
        raise FolderError(f"{path} is no file: nothing is written over it.")
    return stat.S_IMODE(entry_stat.st_mode) & 0o777


def _read_all(file: int) -> bytes:
    pieces: list[bytes] = []
    left = MOST_FILE_BYTES + 1
    while left > 0 and (piece := os.read(file, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)[:MOST_FILE_BYTES]


def _describe_os_error(path: str, error: OSError) -> str:
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
