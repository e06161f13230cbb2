"""The unsent draft of each open terminal, saved in a file.

The first terminal uses draft.txt, the next draft-2.txt, and so on. A terminal holds a lock on its file while it runs.
The next terminal that opens takes over a file without a lock, left by one that was closed or crashed. A file locked by
another terminal is never read, written or removed. All are readable by the owner alone (0600).

If the draft was sent but not acknowledged, a mark after the text says since when the mind may have received it: a
control character, which no draft contains, and the time. Without a mark the draft was never sent.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from reveries import own_files
from reveries.safe_text import plain

_LONGEST_BYTES: Final = 40_000_000
_MOST_TERMINALS: Final = 100
_MARK: Final = "\n\x1e"


class DraftFile:
    """The draft file of one terminal. If it cannot be written, that is not an error."""

    def __init__(self, file: Path) -> None:
        self._first = file
        self._file: Path | None = None
        self._lock: int | None = None
        self._kept: tuple[str, float | None] = ("", None)
        self.doubt_since: float | None = None
        """Since when the mind may have received the loaded text; None if it was not sent."""
        self.has_others = False
        """Whether further closed terminals left drafts."""

    def load(self) -> str:
        """Load and take over the first draft left by a closed terminal; empty if there is none."""
        for file in self._files():
            if (lock := _open_locked(file)) is None:
                continue
            _drop_file(_partial_path(file))
            (text, doubt), status = _read_draft(lock), os.fstat(lock)
            if text and self._lock is None:
                self._file, self._lock, self._kept, self.doubt_since = file, lock, (text, doubt), doubt
                continue
            self.has_others = self.has_others or bool(text)
            if not status.st_size:
                # From a terminal that ended before it wrote anything.
                file.unlink(missing_ok=True)
            os.close(lock)
        return self._kept[0]

    def keep(self, text: str, doubt_since: float | None = None) -> bool:
        """Save `text` atomically; an empty text removes the file. Whether it was saved."""
        if (text, doubt_since) == self._kept:
            return True
        try:
            if text:
                self._write_draft(text if doubt_since is None else f"{text}{_MARK}{doubt_since:.3f}\n")
            else:
                self._remove()
        except OSError:
            return False
        self._kept = (text, doubt_since)
        return True

    def close(self) -> None:
        """Release the file for the next terminal."""
        if self._lock is not None:
            os.close(self._lock)
        self._file = self._lock = None

    def _write_draft(self, text: str) -> None:
        if self._file is None or not self._is_ours(self._file):
            # There is no file yet, or it was removed and its name may belong to another terminal by now.
            self.close()
            self._file, self._lock = self._create_file()
        partial = _partial_path(self._file)
        opened = own_files.open_replacement(partial)
        try:
            with os.fdopen(opened, "wb", closefd=False) as stream:
                stream.write(text.encode("utf-8", "replace"))
            _try_lock(opened)
            partial.replace(self._file)
        except BaseException:
            os.close(opened)
            _drop_file(partial)
            raise
        if self._lock is not None:
            os.close(self._lock)
        self._lock = opened

    def _remove(self) -> None:
        if self._file is not None and self._is_ours(self._file):
            self._file.unlink(missing_ok=True)
            _drop_file(_partial_path(self._file))
        self.close()

    def _is_ours(self, file: Path) -> bool:
        return self._lock is not None and _is_same_file(self._lock, file)

    def _create_file(self) -> tuple[Path, int]:
        """Create a file that no terminal uses. Return it and its lock. Raises OSError if none can be created."""
        for file in self._files():
            try:
                opened = own_files.open_new_file(file)
            except FileExistsError:
                continue
            if _try_lock(opened) and _is_same_file(opened, file):
                return file, opened
            os.close(opened)
        raise FileExistsError(self._first)

    def _files(self) -> Iterator[Path]:
        yield self._first
        for number in range(2, _MOST_TERMINALS):
            yield self._first.with_name(f"{self._first.stem}-{number}{self._first.suffix}")


def _partial_path(file: Path) -> Path:
    """Return the temporary path for the next write. It belongs to the owner of `file`; a killed process leaves it."""
    return file.with_name(f"{file.name}.new")


def _drop_file(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def _open_locked(file: Path) -> int | None:
    """Open and lock the file; None if there is none, or a terminal uses it."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    status = os.fstat(opened)
    if (
        stat.S_ISREG(status.st_mode)
        and status.st_size <= _LONGEST_BYTES
        and _try_lock(opened)
        and _is_same_file(opened, file)
    ):
        return opened
    os.close(opened)
    return None


def _try_lock(opened: int) -> bool:
    """Lock the file. Whether it is free; always true on a file system without locks."""
    with suppress(OSError):
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _is_same_file(opened: int, file: Path) -> bool:
    """Whether the descriptor is still the file of this name: its previous owner may have replaced it."""
    try:
        return os.path.samestat(os.fstat(opened), file.lstat())
    except OSError:
        return False


def _read_draft(opened: int) -> tuple[str, float | None]:
    """Return the text, and since when the mind may have received it."""
    try:
        with os.fdopen(opened, "rb", closefd=False) as file:
            text, _, since = file.read().decode("utf-8", "replace").partition(_MARK)
    except OSError:
        return "", None
    try:
        return plain(text), float(since)
    except ValueError:
        return plain(text), None
