"""View of episodes in chronological order, with the gaps between conversations (R-74..R-77). Pure."""

from collections.abc import Iterable, Iterator

import numpy as np

from reveries.memory.gaps import LONG_SECONDS, silence_significance
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode
from reveries.memory.views.search import SearchPeriod, episodes_within
from reveries.protocol import Timeline, TimelineGap, TimelineMoment, copy_fields
from reveries.safe_text import one_line, plain

SILENCE_SECONDS = 3600.0
"""Shorter silences between two conversations are not shown."""
_LOOK_BACK_EPISODES = 200
"""How many episodes are searched backwards for the last conversation."""


def timeline(live: LiveMemory, period: SearchPeriod, limit: int, now: float, request_id: int = 0) -> Timeline:
    """Return the last `limit` episodes of a period, oldest first. Decodes only those and a few before them."""
    inside = episodes_within(live, period)
    shown = _in_order(live.graph.at(index) for index in inside[-limit:])
    lasting = 0.0
    if period.end is None or period.end >= now:
        last = _last_word(live, now)
        lasting = now - last if last is not None else 0.0
    before = _last_word(live, shown[0].created_at) if shown else None
    return Timeline(
        request_id=request_id,
        moments=[_moment(episode, gap) for episode, gap in _with_gaps(shown, before)],
        earlier_count=len(inside) - len(shown),
        since=period.start,
        until=period.end,
        lasting_gap=_gap(lasting, silence_significance(lasting)) if lasting >= LONG_SECONDS else None,
    )


def _with_gaps(shown: list[Episode], last_word: float | None) -> Iterator[tuple[Episode, TimelineGap | None]]:
    """Yield each episode with the gap before it, if any. Thoughts in between do not end a gap."""
    for episode in shown:
        gap = None
        if episode.conversation_id is not None:
            if last_word is not None:
                seconds = episode.gap_seconds or episode.created_at - last_word
                if seconds >= SILENCE_SECONDS:
                    gap = _gap(seconds, episode.gap_significance or silence_significance(seconds))
            last_word = max(episode.ended_at, last_word or episode.ended_at)
        yield episode, gap


def _moment(episode: Episode, gap: TimelineGap | None) -> TimelineMoment:
    return copy_fields(
        TimelineMoment,
        episode,
        episode_id=episode.id,
        happened_at=episode.created_at,
        summary=plain(episode.summary),
        conversation_id=episode.conversation_id or "",
        gap=gap,
    )


def _gap(seconds: float, significance: str) -> TimelineGap:
    return TimelineGap(seconds, one_line(significance))


def _last_word(live: LiveMemory, moment: float) -> float | None:
    """When the last conversation that began before `moment` ended; None if none of the latest episodes was one."""
    indices, began = live.graph.indices_by_time()
    place = int(np.searchsorted(began, moment))
    latest = [live.graph.at(int(index)) for index in indices[max(0, place - _LOOK_BACK_EPISODES) : place]]
    return max((episode.ended_at for episode in latest if episode.conversation_id is not None), default=None)


def _in_order(episodes: Iterable[Episode]) -> list[Episode]:
    return sorted(episodes, key=lambda episode: (episode.created_at, episode.ended_at, episode.id))
