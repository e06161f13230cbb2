"""Checks of the file when it is opened, before anything is written."""

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reveries.db.backups import find_backups, find_memory_traces, find_newest_whole, verify_database
from reveries.db.connecting import connect_for_writing
from reveries.db.integrity.index_repair import are_only_indexes_damaged, rebuild_indexes
from reveries.db.integrity.page_sums import PageSums
from reveries.db.integrity.scrubbing import has_space_for_copies
from reveries.db.integrity.seals import is_broken, is_sealed
from reveries.db.integrity.suspected_damage import (
    add_pending_notice,
    damage_note_path,
    read_pending_notice,
    remove_pending_notice,
    write_damage_note,
)
from reveries.db.integrity.write_ahead_log import is_log_broken_off, log_of
from reveries.db.storage_errors import is_disk_full
from reveries.errors import StorageDamagedError
from reveries.own_files import copy_private_file, sync_to_disk

_LOOKED_AT_WHOLE_BYTES: Final = 64 * 2**20
_BROKEN_LOG: Final = (
    "The log of what was stored last is damaged in its middle. What was stored after that place, up to the end of the "
    "last run, is lost."
)

_INDEX_REBUILT: Final = (
    "An index in the memory was damaged, and was rebuilt from its table. As far as the damaged index could be read, no "
    "row is missing."
)
_NOT_KEPT: Final = "There was no space to keep a copy of the damaged file."


def check_for_disk_changes(path: Path, backups: Path | None) -> str:
    """Return what to show the owner about a file that changed although no program wrote to it; empty if it did not.

    Raises StorageDamagedError where its structure is broken, and where it was closed and a backup has as many rows of
    everything. Rows that no backup has are not given up because of damage elsewhere. Reads all of the file.
    """
    if not path.exists():
        return ""
    was_closed, pages = is_sealed(path), PageSums(path)
    if not (is_broken(path) if was_closed else pages.changed()):
        return ""
    looked = verify_database(path)
    if looked.problems:
        raise damaged_file_error(path, looked.problems[0])
    # After a kill more may be stored than the counts show: then the owner is only notified.
    newest = find_newest_whole(backups) if was_closed and backups is not None else None
    if newest is not None and (newest[1].turns, newest[1].rows) == (looked.turns, looked.rows):
        raise damaged_file_error(path, "the disk changed it since it was written")
    rotten_text = " ".join(looked.rotten) or "Which text or number changed is unknown."
    notice = (
        f"The disk changed the memory since it was written. {rotten_text} It stays in use, because no backup is "
        "certain to have all that was stored. Check the disk; to go back all the same: reveries backup restore"
    )
    write_damage_note(path, "the disk changed it since it was written")
    add_pending_notice(path, notice)
    pages.forget()  # Report it once: from now on the current content counts.
    return notice


def keep_broken_log(path: Path) -> str:
    """Copy a log that is damaged in its middle before SQLite cuts it there; return what to show the owner.

    Empty where the log is whole. Raises OSError.
    """
    log = log_of(path)
    if not is_log_broken_off(log):
        return ""
    kept = path.with_name(f"{path.name}.replaced-{int(log.stat().st_mtime)}.wal")
    try:
        copy_private_file(log, kept)
        notice = f"{_BROKEN_LOG} A copy of the log is kept: {kept}. Check the disk."
    except OSError:
        kept.unlink(missing_ok=True)
        notice = f"{_BROKEN_LOG} No copy of the log could be kept. Check the disk."
    add_pending_notice(path, notice)
    return notice


def refuse_missing(path: Path, backups: Path | None) -> bool:
    """Whether the memory existed before, by its backups and the files next to it.

    Raises StorageDamagedError where it did and is missing or empty. Call it before connecting: SQLite deletes a log
    next to an empty file.
    """
    has_backups = backups is not None and bool(find_backups(backups))
    traces = find_memory_traces(path)
    if (has_backups or traces) and not is_there(path):
        evidence = "there are backups of it" if has_backups else f"{traces[0].name} is next to it"
        raise damaged_file_error(path, f"it is {'empty' if path.exists() else 'missing'}, but {evidence}")
    # An interrupted first wake leaves a log and checksums next to an empty first page.
    return has_backups or any(trace.name not in (f"{path.name}-wal", f"{path.name}.pages") for trace in traces)


def is_there(path: Path) -> bool:
    """Whether the memory's file exists and is not empty."""
    return path.exists() and path.stat().st_size > 0


def damaged_file_error(path: Path, why: str) -> StorageDamagedError:
    """Return the error for a memory that is damaged."""
    return StorageDamagedError(
        f"The memory {path} is damaged: {why}.",
        advice="It was not changed. The next wake restores the newest intact backup: reveries wake",
    )


def refuse_damaged(path: Path, *, has_past: bool) -> str:
    """Refuse an empty file, another program's, or one with a broken structure; return what to show after a repair.

    A large file is checked fully only where damage was seen before: that takes a second for each hundred megabytes.
    Only while no one has it open. Raises StorageDamagedError, OSError, and the driver's errors.
    """
    with contextlib.closing(connect_for_writing(path)) as connection:
        tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if not tables and not version and not has_past:
            return ""
        if missing := {"turns", "episodes"} - tables:
            raise damaged_file_error(path, f"there is no table {sorted(missing)[0]} in it" if tables else "it is empty")
        if not version:
            raise damaged_file_error(path, "its schema version is missing")
        is_suspect = damage_note_path(path).exists()
        if not is_suspect and not _is_small(path):
            return ""
        how = "integrity_check" if is_suspect else "quick_check"
        [verdict] = connection.execute(f"PRAGMA {how}(1)").fetchone()
    mended = "" if verdict == "ok" else _repair_indexes(path)
    if verdict != "ok" and not mended:
        raise damaged_file_error(path, str(verdict).replace("\n", " "))
    return mended


def _repair_indexes(path: Path) -> str:
    """Rebuild the indexes if only they are damaged; return what to show the owner, or empty with nothing changed.

    A backup would lose what was said since, so it does not replace a memory for damaged indexes alone. The original
    file is kept where there is space, because a damaged index may have held rows that are lost. Raises OSError.
    """
    if not are_only_indexes_damaged(path):
        return ""
    kept, before, is_kept, is_repaired, notice = _damaged_copy_path(path), _list_damaged_copies(path), False, False, ""
    try:
        is_kept = _keep_file(path, kept)
        copy = f"A copy of the damaged file is kept: {kept}." if is_kept else _NOT_KEPT
        notice = f"{_INDEX_REBUILT} {copy} Check the disk."
        is_repaired = rebuild_indexes(path, lambda: add_pending_notice(path, notice))
    finally:
        if not is_repaired:  # An unchanged file needs no copy.
            remove_pending_notice(path, notice)
            _remove_files(_list_damaged_copies(path) - before)
        elif is_kept:  # One copy is enough.
            _remove_files(
                copy_path
                for copy_path in before
                if copy_path not in (kept, log_of(kept)) and str(copy_path) not in read_pending_notice(path)
            )
    return notice if is_repaired else ""


def _damaged_copy_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.replaced-{int(path.stat().st_mtime)}.harmed")


def _list_damaged_copies(path: Path) -> set[Path]:
    return set(path.parent.glob(f"{path.name}.replaced-*.harmed*"))


def _remove_files(files: Iterable[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _keep_file(path: Path, kept: Path) -> bool:
    """Copy the file and its log; False without space for that and the following repair. Raises OSError."""
    if not has_space_for_copies(path, 2):
        return False
    partial = kept.with_name(f"{kept.name}.partial")
    try:
        if log_of(path).exists():
            copy_private_file(log_of(path), log_of(kept))
        copy_private_file(path, partial)
    except OSError as error:
        _remove_files((partial, log_of(kept)))
        if is_disk_full(error):
            return False
        raise
    partial.replace(kept)
    sync_to_disk(path.parent)
    return True


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= _LOOKED_AT_WHOLE_BYTES
