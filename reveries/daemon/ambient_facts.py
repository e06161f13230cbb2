"""What is true now that may calm a mind (R-138, R-139): read from the real state; what is not known stays empty."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo

from reveries.clock import Clock
from reveries.db.database import Database
from reveries.memory.memory import Memory
from reveries.safety.ambient import AmbientData

_LOOKED_BACK_DAYS = 14
_LEAST_DAYS = 4
"""On so many of the last fourteen days a conversation began at that time of day: then it is a habit."""
_FELT = 0.3
_PARTS = ((5, "morning"), (12, "afternoon"), (17, "evening"), (22, ""))
"""From which hour on it is called so; nights are not foretold."""


async def calm_data(
    memory: Memory, database: Database, clock: Clock, owner_name: str, *, is_running_normally: bool
) -> AmbientData:
    """What the daemon knows of itself and of the last conversation."""
    stats, now = await memory.stats(), clock.now()
    topic, mood = await _last_talk(memory, database)
    rows = await database.rows("gaps.ended_since", {"since": now - _LOOKED_BACK_DAYS * 86400.0})
    return AmbientData(
        now=datetime.fromtimestamp(now),
        owner_name=owner_name,
        last_topic=topic,
        last_mood=mood,
        episodes=stats.episodes,
        turns=stats.turns,
        all_stored=await database.is_intact(),
        predicted_next=predicted([float(row["ended_at"]) for row in rows], now, None),
        is_running_normally=is_running_normally,
    )


async def _last_talk(memory: Memory, database: Database) -> tuple[str, str]:
    """What it was about and how the owner seemed; both empty where that is not known, or not of the owner alone."""
    rows = await database.rows("conversations.latest_chat")
    episode = memory.live.graph.last_of(str(rows[0]["id"])) if rows else None
    gap = memory.open_gap
    if episode is None or gap is None or episode.tainted or not episode.topics:
        return "", ""
    return episode.topics[0], mood_word(gap.felt)


def mood_word(felt: float) -> str:
    """A valence, -1 to 1, as an adjective. Pure."""
    return "cheerful" if felt >= _FELT else "troubled" if felt <= -_FELT else "calm"


def predicted(began: Sequence[float], now: float, zone: tzinfo | None) -> str:
    """When the next conversation is likely: "this evening", "tomorrow morning"; empty where there is no habit. Pure.

    `began` are the times (unix seconds) at which conversations began within the last two weeks.
    """
    days: dict[str, set[date]] = defaultdict(set)
    for at in began:
        if now - _LOOKED_BACK_DAYS * 86400.0 <= at <= now:
            moment = datetime.fromtimestamp(at, zone)
            days[_hour_part(moment.hour)].add(moment.date())
    today = datetime.fromtimestamp(now, zone)
    coming: list[tuple[str, str]] = []
    for day, named in ((today, "this"), (today + timedelta(days=1), "tomorrow")):
        coming += [
            (f"{named} {part}", part) for hour, part in _PARTS if part and (day is not today or hour > today.hour)
        ]
    likely = [(words, len(days[part])) for words, part in coming if len(days[part]) >= _LEAST_DAYS]
    # The strongest habit; of equal ones the next to come.
    return max(likely, key=lambda one: one[1])[0] if likely else ""


def _hour_part(hour: int) -> str:
    return next((part for first, part in reversed(_PARTS) if hour >= first), "")
