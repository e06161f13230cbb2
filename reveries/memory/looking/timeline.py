"""What happened, in its order: episodes and the silences between conversations (R-74..R-77). Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from reveries.memory.live import LiveMemory
from reveries.memory.looking.searching import Period, episodes_within
from reveries.memory.model import Episode
from reveries.memory.silence import LONG_SECONDS, meaning_of

SILENCE_SECONDS = 3600.0
"""Shorter ones between two conversations are no gap worth showing."""
_LOOKED_BACK = 200
"""Among so many episodes one is of a conversation."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Nobody spoke, for so long."""

    seconds: float
    significance: str


@dataclass(frozen=True, slots=True)
class Moment:
    """An episode, and the silence before it if there was one."""

    episode: Episode
    silence: Silence | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Oldest first. `earlier_count` more of the period came before them."""

    moments: tuple[Moment, ...]
    earlier_count: int
    later_silence: Silence | None
    """From the last of them until now, when nothing of the period's end cuts it off."""


def timeline(live: LiveMemory, period: Period, limit: int, now: float) -> Timeline:
    """The last `limit` episodes of a period. Only those, and the few before them, are looked at."""
    inside = episodes_within(live, period)
    shown = _in_order(live.graph.at(index) for index in inside[-limit:])
    lasting = 0.0
    if period.end is None or period.end >= now:
        last = _last_word(live, now)
        lasting = now - last if last is not None else 0.0
    before = _last_word(live, shown[0].created_at) if shown else None
    return Timeline(
        moments=tuple(_with_silences(shown, before)),
        earlier_count=len(inside) - len(shown),
        later_silence=Silence(lasting, meaning_of(lasting)) if lasting >= LONG_SECONDS else None,
    )


def _with_silences(shown: list[Episode], last_word: float | None) -> Iterator[Moment]:
    """A thought in between breaks no silence: it is not a conversation."""
    for episode in shown:
        silence = None
        if episode.conversation_id is not None:
            if last_word is not None:
                seconds = episode.gap_seconds or episode.created_at - last_word
                if seconds >= SILENCE_SECONDS:
                    silence = Silence(seconds, episode.gap_significance or meaning_of(seconds))
            last_word = max(episode.ended_at, last_word or episode.ended_at)
        yield Moment(episode, silence)


def _last_word(live: LiveMemory, moment: float) -> float | None:
    """When the last conversation that began before `moment` was over; None when the latest few were none."""
    indices, began = live.graph.by_time()
    place = int(np.searchsorted(began, moment))
    latest = [live.graph.at(int(index)) for index in indices[max(0, place - _LOOKED_BACK) : place]]
    return max((episode.ended_at for episode in latest if episode.conversation_id is not None), default=None)


def _in_order(episodes: Iterable[Episode]) -> list[Episode]:
    return sorted(episodes, key=lambda episode: (episode.created_at, episode.ended_at, episode.id))
