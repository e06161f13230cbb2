"""What time does to memory: salience falls, what has faded is harder to reach, nothing is ever deleted. Pure."""

import math
from collections.abc import Iterable

from reveries.memory.changes import ChangeSet, Fading
from reveries.memory.model import Episode

LEAST_ACCESSIBILITY = 0.1
FADED_BELOW = 0.5
"""An episode below this accessibility counts as faded (R-171)."""
_DAY_SECONDS = 86_400.0
_WORTH_WRITING_SECONDS = 3600.0


def decayed(salience: float, days: float, half_life_days: float, floor: float) -> float:
    """R-115: halves every `half_life_days`, not below `floor`, and never rises: what lies under the floor stays."""
    return min(salience, max(floor, salience * _left(days, half_life_days)))


def pruned(accessibility: float, days: float, half_life_days: float) -> float:
    """R-116, RA-29: halves every `half_life_days`, not below 0.1."""
    return min(accessibility, max(LEAST_ACCESSIBILITY, accessibility * _left(days, half_life_days)))


def fade(episodes: Iterable[Episode], now: float, half_life_days: float, floor: float) -> ChangeSet:
    """R-114..R-116 for all `episodes`: salience since the last access or pass (RA-28); accessibility only once the
    salience has come down to the floor. Less than an hour is left for the next pass."""
    fadings: list[Fading] = []
    for episode in episodes:
        since = now - max(episode.last_accessed_at, episode.last_decayed_at)
        if since < _WORTH_WRITING_SECONDS:
            continue
        days = since / _DAY_SECONDS
        salience = decayed(episode.salience, days, half_life_days, floor)
        is_at_floor = episode.salience <= floor
        accessibility = pruned(episode.accessibility, days, half_life_days) if is_at_floor else episode.accessibility
        fadings.append(Fading(episode.id, salience, accessibility, now))
    return ChangeSet(fadings=tuple(fadings))


def _left(days: float, half_life_days: float) -> float:
    return math.exp2(-max(0.0, days) / half_life_days)
