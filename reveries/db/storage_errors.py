"""SQLite's errors as errors of ours: full, damaged, lost, refused."""

import contextlib
from collections.abc import Iterator
from errno import EDQUOT, ENOSPC
from typing import Final

from reveries.db.driver import (
    SQLITE_BUSY,
    SQLITE_CORRUPT,
    SQLITE_FULL,
    SQLITE_IOERR,
    SQLITE_LOCKED,
    SQLITE_NOTADB,
    dbapi,
)
from reveries.db.room import disk_full_error
from reveries.errors import StorageDamagedError, StorageError, StorageLostError

_IOERR_SHMSIZE = 10 | 19 << 8
"""No space for the index of the log. It holds nothing that is stored: the disk is full, not broken."""
_IOERR_WRITE = 10 | 3 << 8


_NO_UTF8: Final = "a text in it is no UTF-8"
_SAID: Final = {
    1: "SQLite does not take a statement",
    3: "the access to it is refused",
    5: "another program holds it",
    6: "another statement holds it",
    8: "it can only be read",
    9: "it was broken off",
    SQLITE_IOERR: "the disk fails",
    SQLITE_CORRUPT: "it is not whole",
    SQLITE_FULL: "the disk is full",
    14: "its file cannot be opened",
    17: "its schema was changed beside us",
    18: "a text is too long for it",
    SQLITE_NOTADB: "it is no database",
}


def describe_driver_error(error: Exception) -> str:
    """Return what a driver error means in our own words (H2).

    The driver's messages quote rows and search terms, so no stored text may come through.
    """
    if isinstance(error, dbapi.IntegrityError):
        return str(error)  # Only our own names: tables, columns, trigger messages.
    name = getattr(error, "sqlite_errorname", None)
    if name is None and (isinstance(error, UnicodeDecodeError) or str(error).startswith("Could not decode")):
        return _NO_UTF8
    description = _SAID.get(primary_error_code(error), "SQLite failed")
    return f"{description} ({name or type(error).__name__})"


def damaged_in_use_error(why: str) -> StorageDamagedError:
    """Return the error for damage that was found while the memory was in use."""
    return StorageDamagedError(
        f"The memory is damaged: {why}.",
        advice="The next wake restores the newest intact backup: reveries wake",
    )


def is_disk_full(error: BaseException | None) -> bool:
    """Whether `error` says that the disk is full."""
    if isinstance(error, OSError):
        return error.errno in (ENOSPC, EDQUOT)
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == SQLITE_FULL or code == _IOERR_SHMSIZE


def is_failed_write(error: BaseException | None) -> bool:
    """Whether a write failed for another reason than a full disk: a quota, perhaps."""
    return getattr(error, "sqlite_errorcode", 0) == _IOERR_WRITE


def primary_error_code(error: Exception) -> int:
    """Return SQLite's primary error code; 0 for any other error."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


@contextlib.contextmanager
def storage_errors() -> Iterator[None]:
    """Convert driver errors to errors of ours."""
    try:
        yield
    except UnicodeDecodeError as error:  # A broken text, or SQLite's message about one.
        raise damaged_in_use_error(describe_driver_error(error)) from error
    except dbapi.IntegrityError as error:
        raise StorageError(
            f"The memory refused a row: {describe_driver_error(error)}.", advice="Nothing of it was stored."
        ) from error
    except dbapi.Error as error:
        primary = primary_error_code(error)
        if is_disk_full(error):
            raise disk_full_error() from error
        if primary in (SQLITE_CORRUPT, SQLITE_NOTADB):
            raise damaged_in_use_error(describe_driver_error(error)) from error
        if primary == SQLITE_IOERR:
            raise StorageLostError(
                f"The disk failed a write: {describe_driver_error(error)}.",
                advice="Check the disk, then: reveries wake",
            ) from error
        if primary in (SQLITE_BUSY, SQLITE_LOCKED):
            raise StorageError(
                "Another program holds the memory's file.", advice="End that program; the mind continues by itself."
            ) from error
        raise StorageError(
            f"The memory cannot be used: {describe_driver_error(error)}.", advice="Nothing was changed."
        ) from error
