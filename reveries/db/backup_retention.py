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
    for place, one in enumerate(hourly):
        age = now - one.made_at
        day = int(one.made_at // _DAY_SECONDS)
        if place and age >= _HOURLY_SECONDS and (age >= _HOURLY_SECONDS + _DAILY_SECONDS or day in days):
            gone.append(one)
        days.add(day)
    return gone


def select_over_limit(backups: Sequence[Backup], sizes: Mapping[str, int], most_bytes: float) -> list[Backup]:
    """Return the backups to delete so that the rest take at most `most_bytes`; `sizes` in bytes, by name.

    The two newest always stay, and so do those made before a migration. After that the newest of each day comes before
    the others of that day. Pure.
    """
    hourly = _hourly(backups)
    days: dict[int, Backup] = {}
    for one in hourly:
        days.setdefault(int(one.made_at // _DAY_SECONDS), one)
    first = hourly[:_LEAST_BACKUPS]
    wanted = [*days.values(), *hourly]
    kept = {one.name for one in first}
    taken = sum(sizes[one.name] for one in backups if one.is_before_migration or one.name in kept)
    for one in wanted:
        if one.name not in kept and taken + sizes[one.name] <= most_bytes:
            kept.add(one.name)
            taken += sizes[one.name]
    return [one for one in hourly if one.name not in kept]


def _hourly(backups: Iterable[Backup]) -> list[Backup]:
    return sorted((one for one in backups if not one.is_before_migration), key=lambda one: one.made_at, reverse=True)
