"""Checks the files of the home: owner, permissions, what was left behind.

It reads names, modes and sizes, and never opens the database file: only SQLite may do that.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from reveries.client.checkup.place import Place, close_to_others, hold_lock
from reveries.client.wording import plural
from reveries.config import Settings
from reveries.protocol import FIX, Fault, Finding

_PARTIAL_SECONDS = 3600.0

MODE = Fault("file-mode", "wrong", "Other users can read or change the home, a file in it, or the key.", FIX)
OWNER = Fault(
    "file-owner", "wrong", "The home or a file in it belongs to another user.", "Make it yours.", hides_memory=True
)
FOLDER_MISSING = Fault("folder-missing", "watch", "A folder of the home is missing.", FIX)
PARTIAL = Fault("leftover-partial", "watch", "An interrupted backup or download left a partial file.", FIX)


def check(place: Place) -> Iterator[Finding]:
    """Yield what is wrong with the files."""
    if not place.is_usable:
        return
    home = place.home
    # A home without a database is still being set up.
    if home.database_default.exists():
        yield from (FOLDER_MISSING.found(where=path) for path in (home.logs, home.backups) if not path.is_dir())
    if exposed := _exposed_files(place):
        more = f" and {len(exposed) - 1} more" if exposed[1:] else ""
        yield MODE.found(f"Other users can read or change {exposed[0]}{more}.", where=exposed[0])
    foreign = [path for path, file_stat in _own_files(place).items() if file_stat.st_uid != place.machine.uid]
    if foreign:
        advice = f"Make it yours: sudo chown -R $USER {home.path}. Or choose another REVERIES_HOME."
        yield OWNER.found(f"{foreign[0]} belongs to another user.", advice, foreign[0])
    if parts := _partial_files(place):
        names = ", ".join(part.name for part in parts[:3])
        yield PARTIAL.found(f"{plural(len(parts), 'partial file')} of what was aborted: {names}.", "", parts[0])


def _own_files(place: Place) -> dict[Path, os.stat_result]:
    """Return the home, its files, its folders and theirs, its socket, and the key file. Links are skipped."""
    home, settings = place.home, place.settings
    folders = (home.path, home.logs, home.backups)
    paths = [*folders, *(path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()))]
    if isinstance(settings, Settings) and settings.llm.api_key_file:
        paths.append(Path(settings.llm.api_key_file).expanduser())
    stats: dict[Path, os.stat_result] = {}
    for path in paths:
        # Deleted meanwhile, e.g. a write-ahead log or a partial backup.
        with contextlib.suppress(OSError):
            file_stat = path.lstat()
            is_checked = stat.S_ISREG(file_stat.st_mode) or path == home.socket or path in folders
            if is_checked and not stat.S_ISLNK(file_stat.st_mode):
                stats[path] = file_stat
    return stats


def _exposed_files(place: Place) -> list[Path]:
    return [path for path, file_stat in _own_files(place).items() if file_stat.st_mode & 0o077]


def _partial_files(place: Place) -> list[Path]:
    """List partial files of backups and snapshots that were aborted. A file changed within the last hour may still be
    written; a partial download is kept because the next pull resumes it."""
    folders, kinds = (place.home.backups, place.home.path), ("*.partial", "*.partial-journal")
    parts = [file for folder in folders for kind in kinds for file in sorted(folder.glob(kind)) if file.is_file()]
    return [part for part in parts if place.machine.now() - part.lstat().st_mtime >= _PARTIAL_SECONDS]


def _close_files(_: Path, place: Place) -> Iterator[str]:
    for path in _exposed_files(place):
        yield from close_to_others(path, place)


def _create_folder(where: Path, _: Place) -> Iterator[str]:
    where.mkdir(mode=0o700, exist_ok=True)
    yield f"Created {where}."


def _remove_partial_files(_: Path, place: Place) -> Iterator[str]:
    with hold_lock(place.home.lock) as is_ours:
        if not is_ours:
            yield "Kept the partial files: a daemon is awake and may be writing one."
            return
        for part in _partial_files(place):
            part.unlink()
            yield f"Removed {part}."


REPAIRS = {MODE.id: _close_files, FOLDER_MISSING.id: _create_folder, PARTIAL.id: _remove_partial_files}
