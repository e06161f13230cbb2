"""Decay, pruning and dormancy. Salience and accessibility fall with time; episodes that are faded, unimportant and long
unused become dormant, and so do the least reachable ones above the limit of live episodes. Pure.

Nothing is lost (R-116): a dormant episode keeps its row, quotes, links and vectors. A deep recall finds it, and a
strong cue wakes it. One pass makes no more faded episodes dormant than it may merge away without asking, so that a
clock jump or a long absence does not empty the memory at once, and the log shows the process.
"""

import heapq
import math
from collections.abc import Iterable

from reveries.config import MemorySettings
from reveries.memory.changes import ChangeSet, Dormancy, Fading
from reveries.memory.model import Episode
from reveries.memory.sleep.claims.verification import max_changes_at_once

LEAST_ACCESSIBILITY = 0.1
FADED_BELOW = 0.5
"""An episode below this accessibility counts as faded (R-171)."""
_DAY_SECONDS = 86_400.0
_WORTH_WRITING_SECONDS = 3600.0


def decay_salience(salience: float, days: float, half_life_days: float, floor: float) -> float:
    """Halve salience every `half_life_days`, not below `floor` (R-115). It never rises: a lower value stays."""
    return min(salience, max(floor, salience * _remaining_share(days, half_life_days)))


def prune_accessibility(accessibility: float, days: float, half_life_days: float) -> float:
    """Halve accessibility every `half_life_days`, not below 0.1 (R-116, RA-29)."""
    return min(accessibility, max(LEAST_ACCESSIBILITY, accessibility * _remaining_share(days, half_life_days)))


def fade_episodes(episodes: Iterable[Episode], now: float, half_life_days: float, floor: float) -> ChangeSet:
    """Decay all `episodes` (R-114..R-116): salience since the last access or pass (RA-28), and accessibility once the
    salience has reached the floor. Intervals of less than an hour are left to the next pass."""
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


def _remaining_share(days: float, half_life_days: float) -> float:
    return math.exp2(-max(0.0, days) / half_life_days)


FADED = "faded"
LIMIT = "limit"
"""Why an episode became dormant."""


def should_go_dormant(episode: Episode, now: float, settings: MemorySettings) -> bool:
    """Whether an episode is faded, unimportant and idle enough to become dormant. Salience at its floor counts as
    low."""
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
    """Return the episodes that become dormant now: of those due, the longest idle, as many as one pass may make
    dormant; then the least reachable above the limit.

    `candidates`, of `live_count` live episodes, must hold every one that may be due, and of the others at least as many
    of the least reachable as are above the limit (`least_reachable_ids` of the graph).
    """
    episodes = list(candidates)
    due = sorted((episode for episode in episodes if should_go_dormant(episode, now, settings)), key=_idle_order)
    due = due[: int(min(len(due), max_changes_at_once(live_count, settings)))]
    faded = tuple(Dormancy(episode.id, now, FADED) for episode in due)
    excess = live_count - len(due) - settings.live_episodes
    if excess <= 0:
        return faded
    due_ids = {episode.id for episode in due}
    staying = (episode for episode in episodes if episode.id not in due_ids)
    return (
        *faded,
        *(Dormancy(episode.id, now, LIMIT) for episode in heapq.nsmallest(excess, staying, key=_reach_order)),
    )


def _idle_order(episode: Episode) -> tuple[float, str]:
    return (max(episode.last_accessed_at, episode.created_at), episode.id)


def _reach_order(episode: Episode) -> tuple[float, float, float, str]:
    return (episode.accessibility, episode.salience, episode.last_accessed_at, episode.id)
