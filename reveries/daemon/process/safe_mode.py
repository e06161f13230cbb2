"""Safe mode (B6): the daemon answers on its socket, and its memory can be read, searched, exported and backed up. There
is no model, no thinking, no sleep, and nothing leaves the machine.

It is for broken settings and for a mind that crashes while it starts.
"""

from pathlib import Path
from typing import cast

import msgspec

from reveries import protocol
from reveries.config import Home, Settings, load_settings, read_toml
from reveries.crash_history import CRASHES_UNTIL_SAFE, count_recent_crashes
from reveries.db.backups import find_memory_traces
from reveries.db.integrity.damage import is_there
from reveries.errors import ConfigError, SafeModeError, StorageError

LEAVE_SAFE_MODE = "To leave safe mode: reveries sleep, then reveries wake."


def require_allowed(request: protocol.Request, safe_because: str) -> None:
    """Raise SafeModeError for requests that safe mode does not answer; outside of it `safe_because` is empty."""
    if safe_because and not protocol.REQUESTS[type(request)].is_safe:
        raise SafeModeError("That is not possible in safe mode.", advice=LEAVE_SAFE_MODE)


def why_after_crashes(home: Home, now: float) -> str:
    """Return why to start in safe mode after crashes; empty for a normal start."""
    crashes = count_recent_crashes(home, now)
    return f"It crashed {crashes} times in ten minutes while it woke." if crashes >= CRASHES_UNTIL_SAFE else ""


def safe_mode_sentence(why: str) -> str:
    """Build the sentence on safe mode for `status` and every client."""
    does = "It shows, searches, exports and backs up what it knows; it does not answer, think or sleep on anything."
    return f"Safe mode. {why} {does} {LEAVE_SAFE_MODE}"


def settings_in_safe_mode(file: Path) -> tuple[Settings, str]:
    """Return the settings for safe mode, and what is wrong with `file`; empty if nothing is.

    From a broken file only the names and the path of the memory are used. Raises ConfigError if that path is unknown,
    because another memory must not be shown.
    """
    try:
        return without_background(load_settings(file)), ""
    except ConfigError as error:
        return without_background(_salvage_settings(file)), str(error)


def without_background(settings: Settings) -> Settings:
    """Return `settings` with background thinking and the calendar switched off."""
    replace = msgspec.structs.replace
    return replace(
        settings,
        monologue=replace(settings.monologue, enabled=False),
        calendar=replace(settings.calendar, path=""),
    )


def require_memory(database: Path, backups: Path) -> None:
    """Raise StorageError if there never was a memory: safe mode creates none."""
    if not is_there(database) and not any(backups.glob("*.db")) and not find_memory_traces(database):
        raise StorageError(
            f"There is no memory {database}, and safe mode creates none.", advice="To create one: reveries wake"
        )


def _salvage_settings(file: Path) -> Settings:
    settings, tables = load_settings(None), _read_tables(file)
    replace = msgspec.structs.replace
    path = _read_setting(tables, "storage", "db_path", settings.storage.db_path, file)
    return replace(
        settings,
        storage=replace(settings.storage, db_path=path),
        mind=replace(settings.mind, name=_read_setting(tables, "mind", "name", settings.mind.name)),
        owner=replace(settings.owner, name=_read_setting(tables, "owner", "name", settings.owner.name)),
    )


def _read_setting(tables: dict[str, object], table: str, key: str, default: str, needed_of: Path | None = None) -> str:
    section = tables.get(table)
    value = cast("dict[str, object]", section).get(key, default) if isinstance(section, dict) else default
    if isinstance(value, str):
        return value
    if needed_of is not None:
        raise _unknown_memory_error(needed_of)
    return default


def _read_tables(file: Path) -> dict[str, object]:
    try:
        return read_toml(file)
    except ConfigError:
        pass
    try:
        text = file.read_bytes().decode("utf-8", "replace")
    except IsADirectoryError:
        return {}
    except OSError as error:
        raise _unknown_memory_error(file) from error
    if any("db_path" in line and not line.lstrip().startswith("#") for line in text.splitlines()):
        raise _unknown_memory_error(file)
    return {}


def _unknown_memory_error(file: Path) -> ConfigError:
    return ConfigError(
        f"The path of the memory cannot be read from {file}.",
        advice="Fix storage.db_path there, or move the file away.",
    )
