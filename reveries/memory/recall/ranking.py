"""Ranks source turns as answers to a cue (RECALL sections 2 and 6). Pure.

Three stages: one pass over all turns by words and meaning (the first stage); a closer look at the few hundred best
(`features`, weighted by `ranking_weights`); and leads from names in the best ones to turns about those names (`hops`).
In the first stage the cue decides how much meaning counts against words: the better any single turn covers the cue's
words, the more the words count.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from reveries.index.fusion import fuse, meaning_weight, rank_highest, select_highest, z_scores
from reveries.index.names import find_mentions
from reveries.index.word_scores import Floats, Neighbours, Rows
from reveries.llm.base import Vector
from reveries.memory.model import RankedTurn, RankingReason
from reveries.memory.recall.cues import Cue, cue_terms, read_cue
from reveries.memory.recall.features import TurnEvidence, alone_flags, compute_features
from reveries.memory.recall.hops import (
    HOP_WEIGHTS,
    SEEDS,
    NamedLead,
    bridge_columns,
    find_leads,
    lead_strengths,
    rows_about,
    seed_trust,
)
from reveries.memory.recall.ranking_weights import MATCH_WEIGHTS
from reveries.memory.recall.times_in_recall import compute_time_lifts, order_in_time, rows_in_time
from reveries.memory.recall.turn_index import TurnIndex

CANDIDATES = 300
"""How many of the best first-stage turns get the closer look."""
_READ_FOR_NAMES = 12
_WINDOW_SHARE_WORDS, _WINDOW_SHARE_MEANING = 0.3, 0.5
_FROM_PREVIOUS, _FROM_NEXT = 0.2, 0.05
_UNRELATED_COSINE = 0.15
_BEHIND_BEST = 0.01
_REASONS = 5


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """The weights of the reasons. Those of `hop` are added to the sum of a turn's own (`match`) reasons."""

    match: Mapping[str, float]
    hop: Mapping[str, float]


WEIGHTS = RankingWeights(MATCH_WEIGHTS, HOP_WEIGHTS)


@dataclass(frozen=True, slots=True)
class TurnScores:
    """One value per row of the index. Turns are ranked by `fused`, which is -inf for rows that must not be shown."""

    fused: Floats = field(repr=False)
    cosines: Floats = field(repr=False)
    coverage: Floats = field(repr=False)
    meaning_weight: float
    reasons: "WeighedReasons | None" = field(default=None, repr=False)
    in_time: NDArray[np.bool_] | None = field(default=None, repr=False)
    """Which rows were said at a time that the cue names; None if it names none."""
    names_only_time: bool = False
    """The cue names a time at which something was said, and nothing else."""

    def best_rows(self, count: int) -> list[int]:
        """Return the best rows in order; of equal ones the earlier row comes first."""
        rows = np.array(rank_highest(self.fused, count), dtype=np.int64)
        best: list[int] = rows[np.isfinite(self.fused[rows])].tolist()
        return best


@dataclass(frozen=True, slots=True)
class WeighedReasons:
    """The reasons of the candidates, kept to explain the ranking: rows x reasons, before and after weighting."""

    rows: Rows
    names: tuple[str, ...]
    values: Floats
    amounts: Floats
    usual: Floats
    """The mean amount of each reason."""

    def top_reasons(self, row: int) -> tuple[RankingReason, ...]:
        """Return the reasons that moved a turn most against the average candidate, largest first; () for a turn that
        was no candidate. Gated variants of a reason (`_x_`) are counted with it. Slower than the ranking: call on
        request."""
        place = int(np.searchsorted(self.rows, row))
        if place >= len(self.rows) or self.rows[place] != row:
            return ()
        firsts, groups = _group_by_base(self.names)
        amounts = np.bincount(groups, self.amounts[place] - self.usual, len(firsts))
        largest = np.argsort(-np.abs(amounts), kind="stable")[:_REASONS]
        usual = self.values[:, firsts[largest]].mean(axis=0)
        return tuple(
            RankingReason(
                _base_name(self.names[at]), float(self.values[place, at]), float(amounts[group]), float(usual[rank])
            )
            for rank, (group, at) in enumerate(zip(largest.tolist(), firsts[largest].tolist(), strict=True))
            if amounts[group] != 0.0
        )


def _base_name(name: str) -> str:
    return name.partition("_x_")[0]


@functools.cache
def _group_by_base(names: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first column of each base reason (the name before `_x_`), and each column's base as an index."""
    bases = [_base_name(name) for name in names]
    place_of_base = {base: place for place, base in enumerate(dict.fromkeys(bases))}
    firsts = np.array([bases.index(base) for base in place_of_base], dtype=np.int64)
    return firsts, np.array([place_of_base[base] for base in bases], dtype=np.int64)


def score_turns(
    index: TurnIndex,
    cue_text: str,
    vector: Vector,
    now: float,
    exclude: AbstractSet[str] = frozenset(),
    only: NDArray[np.bool_] | None = None,
    weights: RankingWeights = WEIGHTS,
    *,
    is_day_first: bool = True,
) -> TurnScores:
    """Score every turn in the index against a cue, its vector and the time of the question (unix seconds). `exclude`
    holds ids of turns that must not be shown, `only` is True for the rows that may be; `is_day_first` is for dates in
    figures. Pass other `weights` only to measure what each reason adds (bench/ablation.py)."""
    live = index.live
    if not live.any():
        empty = np.zeros(index.size, dtype=np.float32)
        return TurnScores(np.full(index.size, -np.inf, dtype=np.float32), empty, empty, meaning_weight(0.0))
    evidence = gather_evidence(index, cue_text, vector)
    cue = read_cue(cue_text, now, is_day_first=is_day_first)
    in_time = rows_in_time(index, cue)
    shown = live & ((evidence.words.window > 0.0) | (evidence.cosines >= _UNRELATED_COSINE) | in_time)
    for turn_id in exclude:
        if (row := index.row_of(turn_id)) is not None:
            shown[row] = False
    if only is not None:
        shown &= only
    weight = meaning_weight(evidence.best_coverage)
    fused, reasons = evidence.fused, None
    # The weights assume that meaning is known: a cue without a vector is ranked by its words alone.
    if shown.any() and vector.any():
        reasons = RankedCandidates(index, cue, evidence, shown).weigh_reasons(weights)
        fused = _place_candidates_first(evidence.fused, reasons)
    elif (rows := np.flatnonzero(shown & in_time)).size:
        fused = fused.copy()
        fused[rows] += compute_time_lifts(index, cue, fused[rows], evidence.words.coverage[rows], rows)
    scores = np.where(shown, fused, np.float32(-np.inf)).astype(np.float32)
    names_only_time = not cue.has_subject and bool((shown & in_time).any())
    return TurnScores(
        scores,
        evidence.cosines,
        evidence.words.coverage,
        weight,
        reasons,
        in_time if cue.spans else None,
        names_only_time,
    )


def gather_evidence(index: TurnIndex, cue: str, vector: Vector) -> TurnEvidence:
    """Score every turn in the index by words and by meaning. At least one row must be live."""
    live, near = index.live, index.neighbours
    words = index.words.score(cue_terms(cue), live, near, index.static_features.norms)
    cosines: Floats = index.vectors @ vector
    turn_z, window_z = z_scores(words.row, live), z_scores(words.window, live)
    meaning_z = z_scores(cosines, live)
    wide_z = z_scores(_window_cosines(index, cosines, near), live)
    meaning = (1 - _WINDOW_SHARE_MEANING) * meaning_z + _WINDOW_SHARE_MEANING * wide_z
    spoken = (1 - _WINDOW_SHARE_WORDS) * turn_z + _WINDOW_SHARE_WORDS * window_z
    coverage = float(words.coverage.max())
    # Without a vector of the cue only the words count.
    weight = meaning_weight(coverage) if vector.any() else 0.0
    fused = np.where(live, fuse(meaning, spoken, weight), np.float32(0.0)).astype(np.float32)
    fused = fused + _neighbour_share(fused, near)
    return TurnEvidence(words, cosines, turn_z, window_z, meaning_z, wide_z, fused, coverage)


class RankedCandidates:
    """The candidates of one cue with their feature columns by name; `weigh_reasons` weighs them."""

    def __init__(self, index: TurnIndex, cue: Cue, evidence: TurnEvidence, shown: NDArray[np.bool_]) -> None:
        self._index = index
        self._cue = cue
        self._cue_names = frozenset(find_mentions(cue.text, index.about, index.openers))
        self._leads: dict[int, list[NamedLead]] = {}
        self.rows = self._select_rows(evidence, shown)
        self.match = compute_features(index, cue, evidence, self.rows)
        self._alone = alone_flags(index, self.rows)

    def _select_rows(self, evidence: TurnEvidence, shown: NDArray[np.bool_]) -> Rows:
        """Return the candidates and the targets of the best ones' leads; ascending."""
        rows = select_candidates(evidence, shown, CANDIDATES)
        in_time = np.flatnonzero(rows_in_time(self._index, self._cue) & shown)
        if len(in_time):
            in_order = order_in_time(self._index, in_time, self._cue.spans, CANDIDATES)
            rows = np.union1d(rows, in_order).astype(np.int64)
        named = rows_about(self._index, self._cue_names)
        targets = set(named)
        # Only documents have leads: without any among the candidates, names need not be searched.
        if alone_flags(self._index, np.array([*rows.tolist(), *named], dtype=np.int64)).any():
            best = rows[np.argsort(-evidence.fused[rows], kind="stable")][:_READ_FOR_NAMES].tolist()
            targets |= {lead.target for lead in self._leads_from(dict.fromkeys([*best, *named]))}
        visible = np.array(sorted(target for target in targets if shown[target]), dtype=np.int64)
        return np.union1d(rows, visible).astype(np.int64)

    def hop_columns(self, own: Floats, weights: Mapping[str, float]) -> dict[str, Floats]:
        """Return the columns of `hops`: leads from the best turns by their `own` scores, then from the best turns after
        adding the first hop. All zeros except for documents: in a conversation everybody uses the same names."""
        if not self._alone.any():
            return {name: np.zeros(len(self.rows), dtype=np.float32) for name in weights}
        seeds, trust, led = self._follow_leads(own)
        columns = {"hop_trust": led, **bridge_columns(self._index, self._cue.text, seeds, trust, self.rows)}
        once = {f"{name}_x_alone": values * self._alone for name, values in columns.items()}
        led_twice = self._follow_leads(own + _weigh_columns(once, weights, len(self.rows))[1].sum(axis=1))[2]
        return once | {"hop_second_x_alone": (led_twice - led) * self._alone}

    def weigh_reasons(self, weights: RankingWeights) -> WeighedReasons:
        """Weigh all reasons: a turn's own, then the leads to it, the limits on leads, the lifts of news and time."""
        values, amounts = _weigh_columns(self.match, weights.match, len(self.rows))
        hop_columns = self.hop_columns(amounts.sum(axis=1), weights.hop)
        hop_values, hop_amounts = _weigh_columns(hop_columns, weights.hop, len(self.rows))
        own, added = amounts.sum(axis=1), hop_amounts.sum(axis=1)
        reductions = cap_led_scores(own, added)
        lifts = compute_news_lifts(self._index, self._cue, own + added + reductions, self.match["coverage"], self.rows)
        scores = own + added + reductions + lifts
        times = compute_time_lifts(self._index, self._cue, scores, self.match["coverage"], self.rows)
        last = np.stack([reductions, lifts, times], axis=1)
        names = (*weights.match, *weights.hop, "held_back", "news", "in_time")
        whole = np.hstack([amounts, hop_amounts, last])
        return WeighedReasons(
            self.rows, names, np.hstack([values, hop_values, np.sign(last)]), whole, whole.mean(axis=0)
        )

    def _leads_from(self, rows: Iterable[int]) -> list[NamedLead]:
        for row in rows:
            if row not in self._leads:
                self._leads[row] = find_leads(self._index, row)
        return [lead for row in rows for lead in self._leads[row]]

    def _follow_leads(self, scores: Floats) -> tuple[list[int], Floats, Floats]:
        """Return the best rows by `scores`, the trust in each, and how strongly they lead to each candidate."""
        order = np.argsort(-scores, kind="stable")[:SEEDS]
        seeds = self.rows[order].tolist()
        trust = seed_trust(scores[order], self.match["about_named"][order])
        return seeds, trust, lead_strengths(self._leads_from(seeds), seeds, trust, self.rows)


def select_candidates(evidence: TurnEvidence, shown: NDArray[np.bool_], count: int) -> Rows:
    """Return the rows for the closer look: the best of the first stage, and the best by words and by meaning alone;
    ascending."""
    chosen: list[Rows] = []
    for values, share in ((evidence.fused, count), (evidence.words.row, count // 4), (evidence.cosines, count // 4)):
        visible = np.where(shown, values, np.float32(-np.inf))
        best = select_highest(visible, share)
        chosen.append(best[np.isfinite(visible[best])])
    return np.unique(np.concatenate(chosen))


def best_turns(index: TurnIndex, scores: TurnScores, count: int) -> tuple[RankedTurn, ...]:
    """Return the best turns with their episodes."""
    return _rank_rows(index, scores, scores.best_rows(count))


def nearest_turns(index: TurnIndex, scores: TurnScores, count: int) -> tuple[RankedTurn, ...]:
    """Return the turns with the highest cosine to the cue, of those that may be shown; none for a cue without a
    vector."""
    nearness = np.where(np.isfinite(scores.fused), scores.cosines, np.float32(-np.inf))
    return _rank_rows(index, scores, [row for row in rank_highest(nearness, count) if nearness[row] > 0.0])


def best_turns_of_episodes(
    index: TurnIndex, scores: TurnScores, episode_ids: Sequence[str], count: int
) -> list[tuple[RankedTurn, ...]]:
    """Return the best turns of each of these episodes."""
    chosen: list[list[int]] = []
    for episode_id in episode_ids:
        rows = [row for row in index.rows_of(episode_id) if np.isfinite(scores.fused[row])]
        chosen.append(sorted(rows, key=lambda row: (-float(scores.fused[row]), row))[:count])
    ranked = iter(_rank_rows(index, scores, [row for rows in chosen for row in rows]))
    return [tuple(islice(ranked, len(rows))) for rows in chosen]


def _rank_rows(index: TurnIndex, scores: TurnScores, rows: Sequence[int]) -> tuple[RankedTurn, ...]:
    return tuple(RankedTurn(index.turn(row), index.episode_id(row), float(scores.fused[row])) for row in rows)


def _weigh_columns(columns: Mapping[str, Floats], weights: Mapping[str, float], count: int) -> tuple[Floats, Floats]:
    """Return values and weighted amounts, rows x names of `weights`; a missing column counts as zeros."""
    missing = np.zeros(count, dtype=np.float32)
    values = np.stack([columns.get(name, missing) for name in weights], axis=1).astype(np.float32)
    return values, (values * np.array(list(weights.values()), dtype=np.float32)).astype(np.float32)


def cap_led_scores(own: Floats, added: Floats) -> Floats:
    """Return what must be subtracted so that no turn passes the best own score by its leads (`added`) alone: the turn
    that leads there is the surer half of the answer."""
    limit = float(own.max()) - _BEHIND_BEST
    led = own + added
    over = np.maximum(0.0, led - limit)
    # A soft limit keeps the order of the capped turns; a flat one would leave it to rounding.
    capped = np.minimum(led, np.maximum(own, limit + _BEHIND_BEST * over / (1.0 + over)))
    reductions: Floats = np.minimum(0.0, capped - led).astype(np.float32)
    return reductions


def _place_candidates_first(first_stage: Floats, reasons: WeighedReasons) -> Floats:
    """Return the candidates' final scores, and all other rows below them in the order of the first stage."""
    final = reasons.amounts.sum(axis=1)
    scores: Floats = (first_stage - first_stage.max() - np.float32(1.0) + final.min()).astype(np.float32)
    scores[reasons.rows] = final
    return scores


def _window_cosines(index: TurnIndex, cosines: Floats, near: Neighbours) -> Floats:
    """Return the cosine of the cue with the mean of each turn's window, computed from the turns' own products."""
    wide: Floats = near.gather_windows(cosines) / index.window_lengths
    return wide


def _neighbour_share(fused: Floats, near: Neighbours) -> Floats:
    padded = np.append(fused, np.float32(0.0))
    share: Floats = np.float32(_FROM_PREVIOUS) * padded[near.previous] + np.float32(_FROM_NEXT) * padded[near.next]
    return share


# --- updates ---------------------------------------------------------------------------------------------------------

_COMPARED = 6
_LIKE_FROM = 0.3
"""Below this cosine two turns are about different things."""
BOTH_NUMBERS, SAYS_CHANGE = 3.0, 6.0
"""How far (log odds) a fully similar turn may rank below the one it updates: if both contain a number, and if it
mentions a change; the two add up. Chosen on 50 updates, with weights since replaced: 82 % of those came out right
instead of 54 %. The result with the shipped weights: docs/benchmarks/recall.md."""
LEAST_COVERAGE = 0.3
"""The later turn must cover at least this share of the cue's words that the earlier one covers."""
_AHEAD = 0.01


def compute_news_lifts(index: TurnIndex, cue: Cue, scores: Floats, coverage: Floats, rows: Rows) -> Floats:
    """Return how much the score of each of `rows` is raised; `coverage` is the share of the cue's words they contain.

    Of two turns that say nearly the same, the later one holds now. This applies only to a cue that asks for a current
    value, and only among the best few: elsewhere "later is better" does harm (RECALL section 4). The later turn is
    placed right before the earlier one, which keeps its place.

    Only the same speaker can update a statement, and only in a conversation: what the mind repeats is no news, and a
    later document does not update another.
    """
    lifts = np.zeros(len(rows), dtype=np.float32)
    if not cue.wants_value_now:
        return lifts
    best = np.argsort(-scores, kind="stable")[:_COMPARED]
    best = best[~index.marks["own"][rows[best]] & (alone_flags(index, rows[best]) == 0.0)]
    if len(best) < 2:
        return lifts
    chosen = rows[best]
    alike = np.clip((index.vectors[chosen] @ index.vectors[chosen].T - _LIKE_FROM) / (1.0 - _LIKE_FROM), 0.0, 1.0)
    number, change = index.surface["number"][chosen], index.surface["change"][chosen]
    reach = alike * (BOTH_NUMBERS * (number[:, None] & number[None, :]) + SAYS_CHANGE * change[:, None])
    behind = scores[best][None, :] - scores[best][:, None]
    answers = coverage[best][:, None] >= LEAST_COVERAGE * coverage[best][None, :]
    speaker = index.marks["speaker"][chosen]
    answers &= speaker[:, None] == speaker[None, :]
    updates = _is_later(index, chosen) & (behind >= 0.0) & (reach >= behind) & answers
    lifts[best] = np.where(updates, behind + _AHEAD, 0.0).max(axis=1)
    return lifts


def _is_later(index: TurnIndex, rows: Rows) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Return a matrix: whether one row (first axis) was said after another (second axis)."""
    said_at = index.marks["said_at"][rows]
    same = (said_at[:, None] == said_at[None, :]) & (rows[:, None] > rows[None, :])
    later: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = (said_at[:, None] > said_at[None, :]) | same
    return later
