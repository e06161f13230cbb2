"""Checks the files and folders that the settings name."""

from collections.abc import Iterator
from pathlib import Path

from reveries.client.checkup.place import Place
from reveries.config import Settings
from reveries.protocol import Fault, Finding

CALENDAR_MISSING = Fault(
    "calendar-missing", "watch", "There is no such calendar.", "reveries config set calendar.path FILE"
)
FOLDER_MISSING = Fault("database-folder-missing", "wrong", "There is no such folder.", "Create it.", hides_memory=True)


def check(place: Place) -> Iterator[Finding]:
    """Yield which of them are missing."""
    if not isinstance(settings := place.settings, Settings):
        return
    if (calendar := settings.calendar.path) and not Path(calendar).expanduser().exists():
        yield CALENDAR_MISSING.found(f"The calendar {calendar} does not exist.", where="calendar.path")
    if settings.storage.db_path and not (folder := place.home.database(settings).parent).is_dir():
        yield FOLDER_MISSING.found(f"The database folder {folder} does not exist.", where="storage.db_path")
