"""The words that are being written, kept on the disk while they are: a file for each terminal that is open.

The first has draft.txt, the next draft-2.txt, and so on. A terminal holds the lock of its file as long as it runs. What
a terminal left behind is found by the next one that opens: its file has no lock any more. A file that another terminal
has is neither read nor written nor removed. All are the owner's alone (0600).

Where words were sent that the mind has not acknowledged, a mark behind them says since when it may have heard them: a
control character, which no words have, and the time. Without it all stands for what was never sent.
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
    """Of one terminal. Losing the words is no error."""

    def __init__(self, file: Path) -> None:
        self._first = file
        self._file: Path | None = None
        self._lock: int | None = None
        self._kept: tuple[str, float | None] = ("", None)
        self.doubt_since: float | None = None
        """Since when the mind may have heard what was loaded; None when none of it was sent."""
        self.has_others = False
        """Whether more terminals that are gone left words."""

    def load(self) -> str:
        """The words of a terminal that is gone, the first that left some; empty when there are none."""
        for file in self._files():
            if (lock := _open_locked(file)) is None:
                continue
            _drop_file(_mark_beside(file))
            (text, doubt), seen = _read_draft(lock), os.fstat(lock)
            if text and self._lock is None:
                self._file, self._lock, self._kept, self.doubt_since = file, lock, (text, doubt), doubt
                continue
            self.has_others = self.has_others or bool(text)
            if not seen.st_size:
                # Of a terminal that went while it began to write.
                file.unlink(missing_ok=True)
            os.close(lock)
        return self._kept[0]

    def keep(self, text: str, doubt_since: float | None = None) -> bool:
        """Put `text` in the place of what was kept, in one step; nothing for nothing. Whether it is kept now."""
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
        """Leave the file to the next terminal."""
        if self._lock is not None:
            os.close(self._lock)
        self._file = self._lock = None

    def _write_draft(self, text: str) -> None:
        if self._file is None or not self._is_ours(self._file):
            # Nobody's yet; or it was taken away, and the name may be another terminal's by now.
            self.close()
            self._file, self._lock = self._new()
        beside = _mark_beside(self._file)
        opened = own_files.open_new(beside)
        try:
            with os.fdopen(opened, "wb", closefd=False) as written:
                written.write(text.encode("utf-8", "replace"))
            _lock(opened)
            beside.replace(self._file)
        except BaseException:
            os.close(opened)
            _drop_file(beside)
            raise
        if self._lock is not None:
            os.close(self._lock)
        self._lock = opened

    def _remove(self) -> None:
        if self._file is not None and self._is_ours(self._file):
            self._file.unlink(missing_ok=True)
            _drop_file(_mark_beside(self._file))
        self.close()

    def _is_ours(self, file: Path) -> bool:
        return self._lock is not None and _is_at(self._lock, file)

    def _new(self) -> tuple[Path, int]:
        """A file that no terminal has, and its lock. Raises OSError when none can be made."""
        for file in self._files():
            try:
                opened = own_files.open_first(file)
            except FileExistsError:
                continue
            if _lock(opened) and _is_at(opened, file):
                return file, opened
            os.close(opened)
        raise FileExistsError(self._first)

    def _files(self) -> Iterator[Path]:
        yield self._first
        for number in range(2, _MOST_TERMINALS):
            yield self._first.with_name(f"{self._first.stem}-{number}{self._first.suffix}")


def _mark_beside(file: Path) -> Path:
    """Where its next words are written. Who has the file has this one, too; a kill leaves it."""
    return file.with_name(f"{file.name}.new")


def _drop_file(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def _open_locked(file: Path) -> int | None:
    """The file, opened and locked; None where there is none of the owner's, or a terminal has it."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    seen = os.fstat(opened)
    if stat.S_ISREG(seen.st_mode) and seen.st_size <= _LONGEST_BYTES and _lock(opened) and _is_at(opened, file):
        return opened
    os.close(opened)
    return None


def _lock(opened: int) -> bool:
    """Whether nobody else holds it. Where the disk knows no locks, nobody does."""
    with suppress(OSError):
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _is_at(opened: int, file: Path) -> bool:
    """Whether that is still the file of this name: who had it may have put another in its place."""
    try:
        return os.path.samestat(os.fstat(opened), file.lstat())
    except OSError:
        return False


def _read_draft(opened: int) -> tuple[str, float | None]:
    """The words, and since when the mind may have heard some of them."""
    try:
        with os.fdopen(opened, "rb", closefd=False) as file:
            text, _, since = file.read().decode("utf-8", "replace").partition(_MARK)
    except OSError:
        return "", None
    try:
        return plain(text), float(since)
    except ValueError:
        return plain(text), None
