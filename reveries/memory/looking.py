"""Recall that is looked at: within a stretch of time, and with what is usually cut off. Pure; changes nothing.

A chat turn asks `LiveMemory.recall`. What stands here goes the same way (the same entry points, spreading and factors)
but keeps what a turn has no use for: what stayed under the threshold, and what the limit cut off.
"""

from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from reveries.llm.base import Vector
from reveries.memory.activation import Seed, activate, nearest_seeds
from reveries.memory.live import LiveMemory
from reveries.memory.model import Episode, RankedTurn, Recall, RecallContext, RecalledEpisode
from reveries.memory.ranking import TurnScores, ranked_turns, ranked_turns_of, score_turns

_TURNS_PER_EPISODE = 3
_LEAST_RANKED_TURNS = 25


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time, unix seconds: from `start` until before `end`. None: open on that side."""

    start: float | None = None
    end: float | None = None

    @property
    def is_everything(self) -> bool:
        return self.start is None and self.end is None

    def holds(self, first: float, last: float) -> bool:
        """Whether any of what lasted from `first` to `last` lies in it."""
        return (self.end is None or first < self.end) and (self.start is None or last >= self.start)


@dataclass(frozen=True, slots=True)
class Reach:
    """Everything that a cue's energy reaches, with nothing cut off."""

    scores: TurnScores = field(repr=False)
    seeds: tuple[Seed, ...]
    reached: tuple[RecalledEpisode, ...]
    """In recall's order; also what is under the threshold."""
    whole: dict[str, float] = field(repr=False)
    """The energy that is compared with the threshold, by episode."""
    edges_touched: int

    def surfaced(self, threshold: float) -> list[RecalledEpisode]:
        """What is above the threshold, in recall's order."""
        return [found for found in self.reached if self.whole.get(found.episode.id, 0.0) > threshold]


def reach(live: LiveMemory, cue: str, vector: Vector, context: RecallContext, period: Period | None = None) -> Reach:
    """Let the cue's energy spread as a recall does, from entry points within `period`, and keep all it comes to."""
    if vector.shape != (live.dimensions,):
        vector = live.no_vector
    inside = period if period is not None and not period.is_everything else None
    exclude = context.exclude_turn_ids | (_turns_outside(live, inside) if inside else frozenset())
    scores = score_turns(live.turns, cue, vector, context.now, exclude)
    near = _nearest_within(live, vector, inside) if inside else nearest_seeds(live.graph, vector, live.settings.seeds)
    seeds = live.entry_points(near, vector, scores)
    # The lowest threshold that still leaves out what no energy reached.
    open_wide = msgspec.structs.replace(live.settings, activation_threshold=0.0)
    everything = replace(context, limit=max(1, len(live.graph)))
    reached, edges_touched = activate(live.graph, seeds, everything, open_wide, live.share_of_spread)
    in_full, _ = activate(live.graph, seeds, everything, open_wide, 1.0)
    return Reach(
        scores=scores,
        seeds=tuple(seeds),
        reached=tuple(found for found in reached if inside is None or _is_inside(found.episode, inside)),
        whole={found.episode.id: found.energy for found in in_full},
        edges_touched=edges_touched,
    )


def recall_within(live: LiveMemory, cue: str, vector: Vector, context: RecallContext, period: Period) -> Recall:
    """What comes to mind of a stretch of time: its episodes and its turns alone, as a recall ranks them, the turns with
    their reasons as people are told them."""
    found = reach(live, cue, vector, context, period)
    surfaced = found.surfaced(live.settings.activation_threshold)[: context.limit]
    return Recall(
        cue=cue,
        vector=vector,
        episodes=tuple(with_turns(live, one, found.scores) for one in surfaced),
        turns=tuple(
            told(live, ranked, found.scores)
            for ranked in ranked_turns(live.turns, found.scores, max(_LEAST_RANKED_TURNS, context.limit))
        ),
        edges_touched=found.edges_touched,
    )


def with_turns(live: LiveMemory, found: RecalledEpisode, scores: TurnScores) -> RecalledEpisode:
    """`found` with its own turns, ranked."""
    return replace(found, turns=ranked_turns_of(live.turns, scores, found.episode.id, _TURNS_PER_EPISODE))


def told(live: LiveMemory, ranked: RankedTurn, scores: TurnScores) -> RankedTurn:
    """`ranked` with its reasons as people are told them."""
    row = live.turns.row_of(ranked.turn.id)
    if row is None or scores.parts is None:
        return ranked
    return replace(ranked, reasons=scores.parts.told_reasons(row))


def _is_inside(episode: Episode, period: Period) -> bool:
    return period.holds(episode.created_at, episode.ended_at)


def _turns_outside(live: LiveMemory, period: Period) -> frozenset[str]:
    return frozenset(turn.id for turn, _ in live.turns.entries() if not period.holds(turn.said_at, turn.said_at))


def _nearest_within(live: LiveMemory, vector: Vector, period: Period) -> list[Seed]:
    """R-119's entry points among the episodes of a stretch of time."""
    inside = [episode for episode in live.graph.episodes() if _is_inside(episode, period)]
    indices = [index for episode in inside if (index := live.graph.index_of(episode.id)) is not None]
    if not indices:
        return []
    cosines = live.graph.vectors[indices] @ vector
    order = np.argsort(-cosines, kind="stable")[: live.settings.seeds]
    found = [(indices[place], min(1.0, float(cosines[place]))) for place in order.tolist()]
    return [Seed(index, cosine, cosine) for index, cosine in found if cosine > 0.0]
