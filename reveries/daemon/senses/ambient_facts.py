"""True facts that may calm a mind (R-138, R-139), read from the real state; what is unknown stays empty."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo

from reveries.clock import Clock
from reveries.db.database import Database
from reveries.memory.memory import Memory
from reveries.safety.ambient import AmbientData

_HISTORY_DAYS = 14
_LEAST_DAYS = 4
"""Days of the last fourteen with a conversation at the same time of day that make a habit."""
_FELT = 0.3
_PARTS = ((5, "morning"), (12, "afternoon"), (17, "evening"), (22, ""))
"""The first hour of each part of the day; nights are not predicted."""


async def load_ambient_data(
    memory: Memory, database: Database, clock: Clock, owner_name: str, *, is_running_normally: bool
) -> AmbientData:
    """Load facts on the daemon and the last conversation."""
    stats, now = await memory.stats(), clock.now()
    topic, mood = await _load_last_talk(memory, database)
    rows = await database.rows("gaps.ended_since", {"since": now - _HISTORY_DAYS * 86400.0})
    return AmbientData(
        now=datetime.fromtimestamp(now),
        owner_name=owner_name,
        last_topic=topic,
        last_mood=mood,
        episodes=stats.episodes,
        turns=stats.turns,
        all_stored=await database.is_intact(),
        predicted_next=predict_next_talk([float(row["ended_at"]) for row in rows], now, None),
        is_running_normally=is_running_normally,
    )


async def _load_last_talk(memory: Memory, database: Database) -> tuple[str, str]:
    """Return the topic and the owner's mood; both empty if unknown or tainted by untrusted text."""
    rows = await database.rows("conversations.latest_chat")
    episode = memory.live.graph.latest_of(str(rows[0]["id"])) if rows else None
    gap = memory.open_gap
    if episode is None or gap is None or episode.tainted or not episode.topics:
        return "", ""
    return episode.topics[0], mood_word(gap.felt)


def mood_word(felt: float) -> str:
    """Return an adjective for a valence from -1 to 1. Pure."""
    return "cheerful" if felt >= _FELT else "troubled" if felt <= -_FELT else "calm"


def predict_next_talk(began: Sequence[float], now: float, zone: tzinfo | None) -> str:
    """Predict the next conversation: "this evening", "tomorrow morning"; empty if there is no habit. Pure.

    `began` are the times (unix seconds) at which conversations began within the last two weeks.
    """
    days: dict[str, set[date]] = defaultdict(set)
    for at in began:
        if now - _HISTORY_DAYS * 86400.0 <= at <= now:
            moment = datetime.fromtimestamp(at, zone)
            days[_hour_part(moment.hour)].add(moment.date())
    today = datetime.fromtimestamp(now, zone)
    coming: list[tuple[str, str]] = []
    for day, named in ((today, "this"), (today + timedelta(days=1), "tomorrow")):
        coming += [
            (f"{named} {part}", part) for hour, part in _PARTS if part and (day is not today or hour > today.hour)
        ]
    likely = [(words, len(days[part])) for words, part in coming if len(days[part]) >= _LEAST_DAYS]
    # The strongest habit; of equal ones the next.
    return max(likely, key=lambda habit: habit[1])[0] if likely else ""


def _hour_part(hour: int) -> str:
    return next((part for first, part in reversed(_PARTS) if hour >= first), "")
