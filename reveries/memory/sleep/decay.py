"""What time does to memory: salience falls, what has faded is harder to reach; and which episodes leave memory for the
disk: those that have faded, matter little and were not recalled for long; and, where more are live than fit, those
hardest to reach. Pure.

Nothing is lost by it (R-116): a dormant episode keeps its row, its quotes, its links and its vectors. A deep recall
finds it, and a strong cue wakes it. No more fade out of reach in one pass than may be merged away without asking: a
clock that jumped, or a year away, does not empty the memory at once, and the log shows it going.
"""

import heapq
import math
from collections.abc import Iterable

from reveries.config import MemorySettings
from reveries.memory.changes import ChangeSet, Dormancy, Fading
from reveries.memory.model import Episode
from reveries.memory.sleep.claims.verification import allowed_at_once

LEAST_ACCESSIBILITY = 0.1
FADED_BELOW = 0.5
"""An episode below this accessibility counts as faded (R-171)."""
_DAY_SECONDS = 86_400.0
_WORTH_WRITING_SECONDS = 3600.0


def decay_salience(salience: float, days: float, half_life_days: float, floor: float) -> float:
    """R-115: halves every `half_life_days`, not below `floor`, and never rises: what lies under the floor stays."""
    return min(salience, max(floor, salience * _left(days, half_life_days)))


def prune_accessibility(accessibility: float, days: float, half_life_days: float) -> float:
    """R-116, RA-29: halves every `half_life_days`, not below 0.1."""
    return min(accessibility, max(LEAST_ACCESSIBILITY, accessibility * _left(days, half_life_days)))


def fade_episodes(episodes: Iterable[Episode], now: float, half_life_days: float, floor: float) -> ChangeSet:
    """R-114..R-116 for all `episodes`: salience since the last access or pass (RA-28); accessibility only once the
    salience has come down to the floor. Less than an hour is left for the next pass."""
    fadings: list[Fading] = []
    for episode in episodes:
        since = now - max(episode.last_accessed_at, episode.last_decayed_at)
        if since < _WORTH_WRITING_SECONDS:
            continue
        days = since / _DAY_SECONDS
        salience = decay_salience(episode.salience, days, half_life_days, floor)
        is_at_floor = episode.salience <= floor
        accessibility = (
            prune_accessibility(episode.accessibility, days, half_life_days) if is_at_floor else episode.accessibility
        )
        fadings.append(Fading(episode.id, salience, accessibility, now))
    return ChangeSet(fadings=tuple(fadings))


def _left(days: float, half_life_days: float) -> float:
    return math.exp2(-max(0.0, days) / half_life_days)


FADED = "faded"
LIMIT = "limit"
"""Why an episode goes dormant."""


def is_spent(episode: Episode, now: float, settings: MemorySettings) -> bool:
    """Whether an episode goes dormant by itself. Salience never falls below its floor, so the floor counts as low."""
    least_salience = max(settings.dormant_salience, settings.minimum_salience)
    idle_days = (now - max(episode.last_accessed_at, episode.created_at)) / _DAY_SECONDS
    return (
        episode.accessibility <= settings.dormant_accessibility
        and episode.salience <= least_salience
        and idle_days >= settings.dormant_after_idle_days
    )


def select_dormant_episodes(
    candidates: Iterable[Episode], live_count: int, now: float, settings: MemorySettings
) -> tuple[Dormancy, ...]:
    """All that go dormant now: of the spent ones those idle longest, as many as one pass may take out of reach, then
    the least reachable above the limit.

    `candidates`, of `live_count` live episodes, hold every one that may be spent, and of the others at least as many of
    the least reachable as are above the limit (`least_reachable` of the graph).
    """
    held = list(candidates)
    spent = sorted((one for one in held if is_spent(one, now, settings)), key=_idle_longest)
    spent = spent[: int(min(len(spent), allowed_at_once(live_count, settings)))]
    faded = tuple(Dormancy(one.id, now, FADED) for one in spent)
    excess = live_count - len(spent) - settings.live_episodes
    if excess <= 0:
        return faded
    gone = {one.id for one in spent}
    staying = (one for one in held if one.id not in gone)
    return (*faded, *(Dormancy(one.id, now, LIMIT) for one in heapq.nsmallest(excess, staying, key=_order_of_reach)))


def _idle_longest(episode: Episode) -> tuple[float, str]:
    return (max(episode.last_accessed_at, episode.created_at), episode.id)


def _order_of_reach(episode: Episode) -> tuple[float, float, float, str]:
    return (episode.accessibility, episode.salience, episode.last_accessed_at, episode.id)
