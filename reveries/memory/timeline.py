"""What happened, in its order: episodes and the silences between conversations (R-74..R-77). Pure."""

from dataclasses import dataclass

from reveries.memory.gaps import LONG_GAP_SECONDS, meaning_of
from reveries.memory.live import LiveMemory
from reveries.memory.looking import Period
from reveries.memory.model import Episode

SILENCE_SECONDS = 3600.0
"""Shorter ones between two conversations are no gap worth showing."""


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
    """The last `limit` episodes of a period."""
    told = sorted(live.graph.episodes(), key=lambda episode: (episode.created_at, episode.ended_at, episode.id))
    silences = _silences(told)
    inside = [episode for episode in told if period.holds(episode.created_at, episode.ended_at)]
    shown = inside[-limit:]
    talks = [episode.ended_at for episode in told if episode.conversation_id is not None]
    lasting = now - max(talks) if talks and (period.end is None or period.end >= now) else 0.0
    return Timeline(
        moments=tuple(Moment(episode, silences.get(episode.id)) for episode in shown),
        earlier_count=len(inside) - len(shown),
        later_silence=Silence(lasting, meaning_of(lasting)) if lasting >= LONG_GAP_SECONDS else None,
    )


def _silences(told: list[Episode]) -> dict[str, Silence]:
    """The silence before an episode, by its id. A thought in between breaks no silence: it is not a conversation."""
    found: dict[str, Silence] = {}
    last_word: float | None = None
    for episode in told:
        if episode.conversation_id is None:
            continue
        if last_word is not None:
            seconds = episode.gap_seconds or episode.created_at - last_word
            if seconds >= SILENCE_SECONDS:
                found[episode.id] = Silence(seconds, episode.gap_significance or meaning_of(seconds))
        last_word = max(episode.ended_at, last_word or episode.ended_at)
    return found
