"""What recall multiplies energy with, one value a node: a copy of an episode's fields in arrays. Pure."""

import math
from dataclasses import dataclass

import numpy as np

from reveries.memory.loops import Float32, Float64
from reveries.memory.model import Episode
from reveries.memory.spread_loops import LEAST_TIME, MOST_TIME, year_day


@dataclass(frozen=True, slots=True)
class Moment:
    """When it is, as the loops compare it."""

    now: float
    week_hour: int
    """0 to 167, in UTC."""
    year_day: int
    """32 x month + day."""


def moment_of(now: float) -> Moment:
    """`now` in unix seconds, with its place in the week and in the year."""
    hour = math.floor(min(max(now, LEAST_TIME), MOST_TIME) / 3600.0)
    return Moment(now, hour % 168, year_day(hour // 24))


class NodeFacts:
    """Arrays by node index."""

    def __init__(self, nodes: int) -> None:
        self.accessibility: Float32 = np.ones(nodes, dtype=np.float32)
        self.valence: Float32 = np.zeros(nodes, dtype=np.float32)
        self.last_accessed_at: Float64 = np.zeros(nodes, dtype=np.float64)
        self.created_at: Float64 = np.zeros(nodes, dtype=np.float64)

    def grow(self, nodes: int) -> None:
        """Room for node indices below `nodes`."""
        more = NodeFacts(nodes - len(self.valence))
        self.accessibility = np.concatenate([self.accessibility, more.accessibility])
        self.valence = np.concatenate([self.valence, more.valence])
        self.last_accessed_at = np.concatenate([self.last_accessed_at, more.last_accessed_at])
        self.created_at = np.concatenate([self.created_at, more.created_at])

    def put(self, node: int, episode: Episode) -> None:
        """Copy what counts of `episode`."""
        self.accessibility[node] = episode.accessibility
        self.valence[node] = episode.valence
        self.last_accessed_at[node] = episode.last_accessed_at
        self.created_at[node] = episode.created_at

    def fill(self, accessibility: Float64, valence: Float64, last_accessed_at: Float64, created_at: Float64) -> None:
        """Set the first nodes, all at once."""
        many = slice(0, len(created_at))
        self.accessibility[many] = accessibility
        self.valence[many] = valence
        self.last_accessed_at[many] = last_accessed_at
        self.created_at[many] = created_at
