"""What recall multiplies energy with, one value a node: a copy of an episode's fields in arrays. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from reveries.memory.loops import Float32, Float64, Int16, Int64
from reveries.memory.model import Episode

_Days = TypeVar("_Days", int, Int64)

_HOUR_SECONDS = 3600
_DAY_SECONDS = 86_400
_WEEK_HOURS = 168
_LEAST_TIME, _MOST_TIME = -62_135_596_800.0, 253_402_300_799.0
"""Year 1 and the end of year 9999: what a calendar can name."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When it is, as the loops compare it."""

    now: float
    week_hour: int
    """0 to 167, in UTC."""
    year_day: int
    """Month and day: 32 x month + day."""


def moment_of(now: float) -> Moment:
    """`now` in unix seconds, with its place in the week and in the year."""
    hours, days = calendar_of(np.array([now]))
    return Moment(now, int(hours[0]), int(days[0]))


def calendar_of(times: Float64) -> tuple[Int16, Int16]:
    """Hour of the week and day of the year of unix times; any time gives some answer."""
    seconds = np.floor(np.clip(np.nan_to_num(times), _LEAST_TIME, _MOST_TIME)).astype(np.int64)
    hours = (seconds // _HOUR_SECONDS) % _WEEK_HOURS
    return hours.astype(np.int16), _year_day(seconds // _DAY_SECONDS).astype(np.int16)


class NodeFacts:
    """Arrays by node index."""

    def __init__(self, nodes: int) -> None:
        self.accessibility: Float32 = np.ones(nodes, dtype=np.float32)
        self.valence: Float32 = np.zeros(nodes, dtype=np.float32)
        self.last_accessed_at: Float64 = np.zeros(nodes, dtype=np.float64)
        self.created_at: Float64 = np.full(nodes, np.nan, dtype=np.float64)
        self.week_hour: Int16 = np.zeros(nodes, dtype=np.int16)
        self.year_day: Int16 = np.zeros(nodes, dtype=np.int16)

    def grow(self, nodes: int) -> None:
        """Room for node indices below `nodes`."""
        more = NodeFacts(nodes - len(self.valence))
        self.accessibility = np.concatenate([self.accessibility, more.accessibility])
        self.valence = np.concatenate([self.valence, more.valence])
        self.last_accessed_at = np.concatenate([self.last_accessed_at, more.last_accessed_at])
        self.created_at = np.concatenate([self.created_at, more.created_at])
        self.week_hour = np.concatenate([self.week_hour, more.week_hour])
        self.year_day = np.concatenate([self.year_day, more.year_day])

    def put(self, node: int, episode: Episode) -> None:
        """Copy what counts of `episode`."""
        self.accessibility[node] = episode.accessibility
        self.valence[node] = episode.valence
        self.last_accessed_at[node] = episode.last_accessed_at
        if self.created_at[node] != episode.created_at:
            self.created_at[node] = episode.created_at
            self.week_hour[node], self.year_day[node] = _calendar_of_one(episode.created_at)

    def fill(
        self,
        accessibility: Sequence[float] | Float64,
        valence: Sequence[float] | Float64,
        last_accessed_at: Sequence[float] | Float64,
        created_at: Sequence[float] | Float64,
    ) -> None:
        """Set the first nodes, all at once."""
        many = slice(0, len(created_at))
        self.accessibility[many] = accessibility
        self.valence[many] = valence
        self.last_accessed_at[many] = last_accessed_at
        self.created_at[many] = created_at
        self.week_hour[many], self.year_day[many] = calendar_of(self.created_at[many])


def _calendar_of_one(time: float) -> tuple[int, int]:
    second = math.floor(min(max(time, _LEAST_TIME), _MOST_TIME)) if time == time else 0
    return (second // _HOUR_SECONDS) % _WEEK_HOURS, _year_day(second // _DAY_SECONDS)


def _year_day(days: _Days) -> _Days:
    """32 x month + day of days since 1970-01-01, by the proleptic Gregorian calendar: in years that begin in March,
    leap days come last and months follow one formula."""
    era_days = (days + 719_468) % 146_097
    year = (era_days - era_days // 1460 + era_days // 36_524 - era_days // 146_096) // 365
    in_year = era_days - (365 * year + year // 4 - year // 100)
    march_month = (5 * in_year + 2) // 153
    day = in_year - (153 * march_month + 2) // 5 + 1
    month = (march_month + 2) % 12 + 1
    packed: _Days = 32 * month + day
    return packed
