"""Which backups are kept, by age and by size. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_DAY_SECONDS = 86_400.0
_HOURLY_SECONDS = _DAY_SECONDS
_DAILY_SECONDS = 7 * _DAY_SECONDS
_LEAST_BACKUPS = 2


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup, described by its name: `made_at` in unix seconds."""

    path: Path
    made_at: float
    is_before_migration: bool

    @property
    def name(self) -> str:
        return self.path.name


def select_expired(backups: Iterable[Backup], now: float) -> list[Backup]:
    """Return the backups that may be deleted.

    All of the last 24 hours stay, of the 7 days before that the newest of each day, and those made before a migration.
    The newest of all always stays. Pure.
    """
    hourly = _hourly(backups)
    gone, days = [], set[int]()
    for place, backup in enumerate(hourly):
        age = now - backup.made_at
        day = int(backup.made_at // _DAY_SECONDS)
        if place and age >= _HOURLY_SECONDS and (age >= _HOURLY_SECONDS + _DAILY_SECONDS or day in days):
            gone.append(backup)
        days.add(day)
    return gone


def select_over_limit(backups: Sequence[Backup], sizes: Mapping[str, int], most_bytes: float) -> list[Backup]:
    """Return the backups to delete so that the rest take at most `most_bytes`; `sizes` in bytes, by name.

    The two newest always stay, and so do those made before a migration. After that the newest of each day comes before
    the others of that day. Pure.
    """
    hourly = _hourly(backups)
    days: dict[int, Backup] = {}
    for candidate in hourly:
        days.setdefault(int(candidate.made_at // _DAY_SECONDS), candidate)
    first = hourly[:_LEAST_BACKUPS]
    wanted = [*days.values(), *hourly]
    kept = {backup.name for backup in first}
    taken = sum(sizes[backup.name] for backup in backups if backup.is_before_migration or backup.name in kept)
    for candidate in wanted:
        if candidate.name not in kept and taken + sizes[candidate.name] <= most_bytes:
            kept.add(candidate.name)
            taken += sizes[candidate.name]
    return [backup for backup in hourly if backup.name not in kept]


def _hourly(backups: Iterable[Backup]) -> list[Backup]:
    return sorted(
        (backup for backup in backups if not backup.is_before_migration),
        key=lambda backup: backup.made_at,
        reverse=True,
    )
