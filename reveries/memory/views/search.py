"""Recall for the owner's search: optionally limited to a period, and without dropping weak results. Pure.

A chat turn uses `LiveMemory.recall`. These functions use the same entry points, spreading and factors, but keep what a
turn does not need: episodes below the threshold and beyond the limit.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from itertools import islice
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from reveries.errors import UsageError
from reveries.llm.base import Vector
from reveries.memory.graph.activation import Ranking, Seed, explain_episodes, nearest_seeds, rank_episodes
from reveries.memory.live import SHARE_OF_SPREAD, LiveMemory
from reveries.memory.model import RankedTurn, Recall, RecallContext, RecalledEpisode, Turn
from reveries.memory.recall.outranking import rank_outranked_last, tell_in_order
from reveries.memory.recall.ranking import TurnScores, best_turns, best_turns_of_episodes, score_turns
from reveries.memory.recall.time_expressions import TimeSpan, read_times, to_local_time, to_unix_seconds
from reveries.memory.recall.turn_index import TurnIndex

LIKE_COSINE: Final = 0.45
"""Measured with all-MiniLM-L6-v2: of twelve own pairs about the same thing the lowest cosine was 0.52; of 348 pairs
about different things two were above this threshold. The owner reads the results, so false matches do no harm."""


def turns_like(index: TurnIndex, vectors: Sequence[Vector], without: Collection[str], limit: int) -> list[Turn]:
    """Return up to `limit` turns similar in meaning to any of `vectors`, most similar first, except those with an id in
    `without`. Empty if the vectors are from another embedder than the index."""
    rows = index.vectors
    fitting = [vector for vector in vectors if vector.shape == (rows.dimensions,)]
    if not len(rows) or not fitting:
        return []
    cosines = np.where(index.live, np.max([rows @ vector for vector in fitting], axis=0), -np.inf)
    order = np.argsort(-cosines, kind="stable")
    alike = order[: np.count_nonzero(cosines >= LIKE_COSINE)].tolist()
    others = (row for row in alike if index.turn_id(row) not in without)
    return [index.turn(row) for row in islice(others, limit)]


_TURNS_PER_EPISODE = 3
_LEAST_RANKED_TURNS = 25
_LONGEST_SECONDS = 7 * 86_400.0
"""No episode lasts longer."""


@dataclass(frozen=True, slots=True)
class SearchPeriod:
    """A period in unix seconds, from `start` (included) to `end` (excluded). None: open on that side."""

    start: float | None = None
    end: float | None = None

    @property
    def is_everything(self) -> bool:
        return self.start is None and self.end is None

    def overlaps(self, first: float, last: float) -> bool:
        """Whether the time from `first` to `last` overlaps the period."""
        return (self.end is None or first < self.end) and (self.start is None or last >= self.start)


EVERYTHING: Final = SearchPeriod()


@dataclass(frozen=True, slots=True)
class CueReach:
    """All episodes that a cue's energy reaches, without threshold or limit."""

    scores: TurnScores = field(repr=False)
    ranking: Ranking = field(repr=False)
    """In recall's order, including what is below the threshold."""
    whole: dict[int, float] = field(repr=False)
    """The energy that is compared with the threshold, by episode index."""

    def above(self, threshold: float) -> list[tuple[int, float]]:
        """Return index and energy of the episodes above the threshold, in recall's order."""
        return [(index, energy) for index, energy in self.ranking.order if self.whole.get(index, 0.0) > threshold]


def reach_episodes(
    live: LiveMemory, cue: str, vector: Vector, context: RecallContext, period: SearchPeriod = EVERYTHING
) -> CueReach:
    """Spread the cue's energy as a recall does, from entry points within `period`, and keep everything it reaches."""
    if vector.shape != (live.dimensions,):
        vector = live.no_vector
    graph, settings = live.graph, live.settings
    inside = None if period.is_everything else _said_within(live, period)
    scores = score_turns(
        live.turns,
        cue,
        vector,
        context.now,
        context.exclude_turn_ids,
        inside,
        is_day_first=live.is_day_first,
    )
    near = (
        nearest_seeds(graph, vector, settings.seeds) if period.is_everything else _nearest_within(live, vector, period)
    )
    seeds = live.entry_points(near, vector, scores)
    # A threshold of 0 leaves out only what no energy reached.
    no_threshold = msgspec.structs.replace(settings, activation_threshold=0.0)
    unlimited = replace(context, limit=max(1, len(graph)))
    full_energy = rank_episodes(graph, seeds, unlimited, no_threshold, 1.0)
    ranking = rank_episodes(graph, seeds, unlimited, no_threshold, SHARE_OF_SPREAD)
    return CueReach(scores, ranking, dict(full_energy.order))


def recall_within(live: LiveMemory, cue: str, vector: Vector, context: RecallContext, period: SearchPeriod) -> Recall:
    """Recall only episodes and turns of a period. The turns have their ranking reasons for display."""
    return recall_from_reach(live, reach_episodes(live, cue, vector, context, period), cue, vector, context, period)


def recall_from_reach(
    live: LiveMemory,
    reach: CueReach,
    cue: str,
    vector: Vector,
    context: RecallContext,
    period: SearchPeriod = EVERYTHING,
) -> Recall:
    """Build the recall from what the cue's energy reached."""
    above = reach.above(live.settings.activation_threshold)
    chosen = list(islice((entry for entry in above if _is_inside(live, entry[0], period)), context.limit))
    surfaced = explain_episodes(live.graph, reach.ranking, chosen, context, live.settings)
    recall = Recall(
        cue=cue,
        vector=vector,
        episodes=tuple(with_turns(live, recalled, reach.scores) for recalled in surfaced),
        turns=tuple(
            with_reasons(live, ranked_turn, reach.scores)
            for ranked_turn in best_turns(live.turns, reach.scores, max(_LEAST_RANKED_TURNS, context.limit))
        ),
        edges_touched=reach.ranking.edges_touched,
        names_only_time=reach.scores.names_only_time,
    )
    return rank_outranked_last(tell_in_order(recall), live.claims)


def with_turns(live: LiveMemory, recalled: RecalledEpisode, scores: TurnScores) -> RecalledEpisode:
    """Return `recalled` with its own turns, ranked."""
    (own,) = best_turns_of_episodes(live.turns, scores, [recalled.episode.id], _TURNS_PER_EPISODE)
    return replace(recalled, turns=own)


def with_reasons(live: LiveMemory, turn: RankedTurn, scores: TurnScores) -> RankedTurn:
    """Return `turn` with its ranking reasons for display."""
    row = live.turns.row_of(turn.turn.id)
    if row is None or scores.reasons is None:
        return turn
    return replace(turn, reasons=scores.reasons.top_reasons(row))


def episodes_within(live: LiveMemory, period: SearchPeriod) -> list[int]:
    """Return the indices of the episodes that overlap a period, by start time. Only those that begin shortly before
    the period need an exact check."""
    indices, began = live.graph.indices_by_time()
    first = int(np.searchsorted(began, period.start - _LONGEST_SECONDS)) if period.start is not None else 0
    sure = int(np.searchsorted(began, period.start)) if period.start is not None else 0
    last = int(np.searchsorted(began, period.end)) if period.end is not None else len(began)
    lasting = [int(index) for index in indices[first:sure] if _is_inside(live, int(index), period)]
    return [*lasting, *indices[sure : max(sure, last)].tolist()]


def _is_inside(live: LiveMemory, index: int, period: SearchPeriod) -> bool:
    episode = live.graph.at(index)
    return period.overlaps(episode.created_at, episode.ended_at)


def _said_within(live: LiveMemory, period: SearchPeriod) -> NDArray[np.bool_]:
    said_at = live.turns.marks["said_at"]
    after = said_at >= (period.start if period.start is not None else -np.inf)
    before = said_at < (period.end if period.end is not None else np.inf)
    inside: NDArray[np.bool_] = after & before
    return inside


def _nearest_within(live: LiveMemory, vector: Vector, period: SearchPeriod) -> list[Seed]:
    """Return R-119's entry points among the episodes of a period."""
    indices = episodes_within(live, period)
    if not indices:
        return []
    cosines = live.graph.vectors[indices] @ vector
    order = np.argsort(-cosines, kind="stable")[: live.settings.seeds]
    nearest = [(indices[place], min(1.0, float(cosines[place]))) for place in order.tolist()]
    return [Seed(index, cosine, cosine) for index, cosine in nearest if cosine > 0.0]


_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|hours?|d|days?|w)(?:\s+ago)?", re.IGNORECASE | re.ASCII)
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def parse_period(
    since: str, until: str, now: float, zone: tzinfo | None = None, *, is_day_first: bool = True
) -> SearchPeriod:
    """Parse a period from the beginning of `since` to the end of `until`; an empty text leaves that side open. `zone`
    None is the local time zone; `is_day_first` is for dates in figures. Raises UsageError."""
    start = _read_moment(since, now, zone, is_day_first)[0] if since.strip() else None
    end = _read_moment(until, now, zone, is_day_first)[1] if until.strip() else None
    if start is not None and end is not None and end <= start:
        raise UsageError(f"{until!r} is over before {since!r} begins.", advice="Swap them, or leave one out.")
    return SearchPeriod(start, end)


def _read_moment(text: str, now: float, zone: tzinfo | None, is_day_first: bool) -> tuple[float, float]:
    """Return the start and the (excluded) end of the time that `text` names."""
    text = text.strip()
    if length := _LENGTH.fullmatch(text):
        moment = now - float(length.group(1)) * _SECONDS[length.group(2)[0].lower()]
        return moment, moment
    if re.fullmatch(r"now", text, re.IGNORECASE):
        return now, now
    if (exact := _parse_timestamp(text, zone)) is not None:
        return exact, exact
    times = read_times(text, now, zone, is_day_first=is_day_first)
    if len(times.spans) != 1 or times.has_subject:
        raise UsageError(
            f"{text!r} is no date.",
            advice='For example: 2025-03-04, "4 March", "last spring", "2 weeks ago", yesterday, 3h.',
        )
    return _centre_span(times.spans[0], zone)


def _parse_timestamp(text: str, zone: tzinfo | None) -> float | None:
    """Parse a date with a time of day; None for anything else (a date alone is a period)."""
    if not re.match(r"\d{4}-\d{2}-\d{2}[T ]\d", text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.timestamp() if moment.tzinfo is not None else to_unix_seconds(moment, zone)
    except (ValueError, OverflowError, OSError):
        return None


def _centre_span(span: TimeSpan, zone: tzinfo | None) -> tuple[float, float]:
    """In a cue "two weeks ago" means the week around that day; as a bound it means the day itself."""
    if span.middle is None:
        return span.start, span.end
    day_after = to_local_time(span.middle, zone) + timedelta(days=1)
    return span.middle, to_unix_seconds(day_after, zone)
