"""Which source turns answer a cue (RECALL sections 2 and 6). Pure.

In three steps: one pass over all turns by words and meaning makes a first guess; the few hundred best are looked at
closely (`features`), each reason weighing what `ranking_weights` says; and what the best of them name leads on to turns
about just that (`hops`). How much meaning counts against words in the first guess is for the cue to decide: the better
one single turn meets the cue's words, the more the words count.
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
from reveries.memory.recall.features import TurnEvidence, features_of, is_alone
from reveries.memory.recall.hops import (
    HOP_WEIGHTS,
    SEEDS,
    NamedLead,
    bridge_columns,
    leads_from,
    rows_named,
    trust_in,
    trusted_leads,
)
from reveries.memory.recall.ranking_weights import MATCH_WEIGHTS
from reveries.memory.recall.turn_index import TurnIndex

CANDIDATES = 300
"""So many first guesses are looked at closely."""
_READ_FOR_NAMES = 12
_WINDOW_SHARE_WORDS, _WINDOW_SHARE_MEANING = 0.3, 0.5
_FROM_PREVIOUS, _FROM_NEXT = 0.2, 0.05
_UNRELATED_COSINE = 0.15
_BEHIND_BEST = 0.01
_REASONS = 5


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """What the reasons weigh. The base of `hop` is 1: hops add to what a turn's own reasons came to."""

    match: Mapping[str, float]
    hop: Mapping[str, float]


WEIGHTS = RankingWeights(MATCH_WEIGHTS, HOP_WEIGHTS)


@dataclass(frozen=True, slots=True)
class TurnScores:
    """One value a row of the index. `fused` is what turns are ranked by: -inf where a row is not to be shown."""

    fused: Floats = field(repr=False)
    cosines: Floats = field(repr=False)
    coverage: Floats = field(repr=False)
    meaning_weight: float
    parts: "WeighedReasons | None" = field(default=None, repr=False)

    def best_rows(self, count: int) -> list[int]:
        """Rows, best first; ties go to the row that came first."""
        rows = np.array(rank_highest(self.fused, count), dtype=np.int64)
        best: list[int] = rows[np.isfinite(self.fused[rows])].tolist()
        return best


@dataclass(frozen=True, slots=True)
class WeighedReasons:
    """The close look, kept to explain it: rows x reasons, before and after their weights."""

    rows: Rows
    names: tuple[str, ...]
    values: Floats
    amounts: Floats
    usual: Floats
    """The mean amount of each reason."""

    def told_reasons(self, row: int) -> tuple[RankingReason, ...]:
        """What moved a turn most against the usual candidate, up or down, largest first; () for one that was not looked
        at closely. What a reason weighs more or less in a kind of cue or turn (`_x_`) is counted with it. Only on
        request: it takes longer than ranking the turn did."""
        place = int(np.searchsorted(self.rows, row))
        if place >= len(self.rows) or self.rows[place] != row:
            return ()
        firsts, groups = _group_by_base(self.names)
        amounts = np.bincount(groups, self.amounts[place] - self.usual, len(firsts))
        largest = np.argsort(-np.abs(amounts), kind="stable")[:_REASONS]
        usual = self.values[:, firsts[largest]].mean(axis=0)
        return tuple(
            RankingReason(
                _base(self.names[at]), float(self.values[place, at]), float(amounts[group]), float(usual[rank])
            )
            for rank, (group, at) in enumerate(zip(largest.tolist(), firsts[largest].tolist(), strict=True))
            if amounts[group] != 0.0
        )


def _base(name: str) -> str:
    return name.partition("_x_")[0]


@functools.cache
def _group_by_base(names: tuple[str, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each reason without its `_x_` the column in which it stands first; for each column its place among those."""
    bases = [_base(name) for name in names]
    known = {base: place for place, base in enumerate(dict.fromkeys(bases))}
    firsts = np.array([bases.index(base) for base in known], dtype=np.int64)
    return firsts, np.array([known[base] for base in bases], dtype=np.int64)


def score_turns(
    index: TurnIndex,
    cue_text: str,
    vector: Vector,
    now: float,
    exclude: AbstractSet[str] = frozenset(),
    only: NDArray[np.bool_] | None = None,
    weights: RankingWeights = WEIGHTS,
) -> TurnScores:
    """Score every turn in the index against a cue, its vector and the time at which it is asked (unix seconds);
    `exclude` holds ids of turns not to be shown, `only` is True for the rows that may be. Other `weights` than those
    that ship are for measuring what each reason adds (bench/ablation.py)."""
    live = index.live
    if not live.any():
        empty = np.zeros(index.size, dtype=np.float32)
        return TurnScores(np.full(index.size, -np.inf, dtype=np.float32), empty, empty, meaning_weight(0.0))
    evidence = gather_evidence(index, cue_text, vector)
    shown = live & ((evidence.words.window > 0.0) | (evidence.cosines >= _UNRELATED_COSINE))
    for turn_id in exclude:
        if (row := index.row_of(turn_id)) is not None:
            shown[row] = False
    if only is not None:
        shown &= only
    weight = meaning_weight(evidence.best_coverage)
    fused, parts = evidence.fused, None
    # The reasons were weighed beside meaning: a cue that has no vector is ranked by its words alone.
    if shown.any() and vector.any():
        look = RankedCandidates(index, read_cue(cue_text, now), evidence, shown)
        parts = look.parts(weights)
        fused = _behind(evidence.fused, parts)
    scores = np.where(shown, fused, np.float32(-np.inf)).astype(np.float32)
    return TurnScores(scores, evidence.cosines, evidence.words.coverage, weight, parts)


def gather_evidence(index: TurnIndex, cue: str, vector: Vector) -> TurnEvidence:
    """One pass over every turn in the index: how well words and meaning fit. At least one row must be live."""
    live, near = index.live, index.neighbours
    words = index.words.score(cue_terms(cue), live, near, index.static_features.norms)
    cosines: Floats = index.vectors @ vector
    turn_z, window_z = z_scores(words.row, live), z_scores(words.window, live)
    meaning_z = z_scores(cosines, live)
    wide_z = z_scores(_window_cosines(index, cosines, near), live)
    meaning = (1 - _WINDOW_SHARE_MEANING) * meaning_z + _WINDOW_SHARE_MEANING * wide_z
    spoken = (1 - _WINDOW_SHARE_WORDS) * turn_z + _WINDOW_SHARE_WORDS * window_z
    coverage = float(words.coverage.max())
    # Without a vector of the cue there is no meaning to go by.
    weight = meaning_weight(coverage) if vector.any() else 0.0
    fused = np.where(live, fuse(meaning, spoken, weight), np.float32(0.0)).astype(np.float32)
    fused = fused + _from_neighbours(fused, near)
    return TurnEvidence(words, cosines, turn_z, window_z, meaning_z, wide_z, fused, coverage)


class RankedCandidates:
    """A close look at the candidates of one cue. `match` and `hop` are columns by name; `parts` weighs them."""

    def __init__(self, index: TurnIndex, cue: Cue, evidence: TurnEvidence, shown: NDArray[np.bool_]) -> None:
        self._index = index
        self._cue = cue
        self._cue_names = frozenset(find_mentions(cue.text, index.about, index.openers))
        self._leads: dict[int, list[NamedLead]] = {}
        self.rows = self._rows(evidence, shown)
        self.match = features_of(index, cue, evidence, self.rows)
        self._alone = is_alone(index, self.rows)

    def _rows(self, evidence: TurnEvidence, shown: NDArray[np.bool_]) -> Rows:
        """The candidates, and what the best of them lead to; ascending."""
        rows = candidates(evidence, shown, CANDIDATES)
        named = rows_named(self._index, self._cue_names)
        targets = set(named)
        # Only documents are led to: where none is in sight, nothing is read for names.
        if is_alone(self._index, np.array([*rows.tolist(), *named], dtype=np.int64)).any():
            best = rows[np.argsort(-evidence.fused[rows], kind="stable")][:_READ_FOR_NAMES].tolist()
            targets |= {lead.target for lead in self._leads_from(dict.fromkeys([*best, *named]))}
        led = np.array(sorted(target for target in targets if shown[target]), dtype=np.int64)
        return np.union1d(rows, led).astype(np.int64)

    def hops(self, own: Floats, weights: Mapping[str, float]) -> dict[str, Floats]:
        """The columns of `hops`: from the best by their `own` scores, then from the best when that is weighed in. In a
        talk names are in everybody's mouth and lead nowhere: all zeros but for documents."""
        if not self._alone.any():
            return {name: np.zeros(len(self.rows), dtype=np.float32) for name in weights}
        seeds, trust, led = self._led(own)
        columns = {"hop_trust": led, **bridge_columns(self._index, self._cue.text, seeds, trust, self.rows)}
        once = {f"{name}_x_alone": values * self._alone for name, values in columns.items()}
        led_twice = self._led(own + _weigh_columns(once, weights, len(self.rows))[1].sum(axis=1))[2]
        return once | {"hop_second_x_alone": (led_twice - led) * self._alone}

    def parts(self, weights: RankingWeights) -> WeighedReasons:
        """Everything weighed: what a turn holds itself, then what leads to it, then what leads there in two steps."""
        values, amounts = _weigh_columns(self.match, weights.match, len(self.rows))
        led = self.hops(amounts.sum(axis=1), weights.hop)
        hop_values, hop_amounts = _weigh_columns(led, weights.hop, len(self.rows))
        own, added = amounts.sum(axis=1), hop_amounts.sum(axis=1)
        held = hold_back(own, added)
        news = news_of(self._index, self._cue, own + added + held, self.match["coverage"], self.rows)
        last = np.stack([held, news], axis=1)
        names, whole = (*weights.match, *weights.hop, "held_back", "news"), np.hstack([amounts, hop_amounts, last])
        return WeighedReasons(
            self.rows, names, np.hstack([values, hop_values, np.sign(last)]), whole, whole.mean(axis=0)
        )

    def _leads_from(self, rows: Iterable[int]) -> list[NamedLead]:
        for row in rows:
            if row not in self._leads:
                self._leads[row] = leads_from(self._index, row)
        return [lead for row in rows for lead in self._leads[row]]

    def _led(self, scores: Floats) -> tuple[list[int], Floats, Floats]:
        """The best by `scores`, how much each is believed, and how surely they lead to each candidate."""
        order = np.argsort(-scores, kind="stable")[:SEEDS]
        seeds = self.rows[order].tolist()
        trust = trust_in(scores[order], self.match["about_named"][order])
        return seeds, trust, trusted_leads(self._leads_from(seeds), seeds, trust, self.rows)


def candidates(evidence: TurnEvidence, shown: NDArray[np.bool_], count: int) -> Rows:
    """Rows worth a closer look: the best first guesses, and the best by words and by meaning alone; ascending."""
    chosen: list[Rows] = []
    for values, share in ((evidence.fused, count), (evidence.words.row, count // 4), (evidence.cosines, count // 4)):
        visible = np.where(shown, values, np.float32(-np.inf))
        best = select_highest(visible, share)
        chosen.append(best[np.isfinite(visible[best])])
    return np.unique(np.concatenate(chosen))


def ranked_turns(index: TurnIndex, scores: TurnScores, count: int) -> tuple[RankedTurn, ...]:
    """The best turns with their episodes."""
    return _rank_rows(index, scores, scores.best_rows(count))


def nearest_turns(index: TurnIndex, scores: TurnScores, count: int) -> tuple[RankedTurn, ...]:
    """The turns whose cosine with the cue is highest, of those that may be shown; none for a cue without a vector."""
    nearness = np.where(np.isfinite(scores.fused), scores.cosines, np.float32(-np.inf))
    return _rank_rows(index, scores, [row for row in rank_highest(nearness, count) if nearness[row] > 0.0])


def ranked_turns_of(
    index: TurnIndex, scores: TurnScores, episode_ids: Sequence[str], count: int
) -> list[tuple[RankedTurn, ...]]:
    """The best turns of each of these episodes."""
    chosen: list[list[int]] = []
    for episode_id in episode_ids:
        rows = [row for row in index.rows_of(episode_id) if np.isfinite(scores.fused[row])]
        chosen.append(sorted(rows, key=lambda row: (-float(scores.fused[row]), row))[:count])
    ranked = iter(_rank_rows(index, scores, [row for rows in chosen for row in rows]))
    return [tuple(islice(ranked, len(rows))) for rows in chosen]


def _rank_rows(index: TurnIndex, scores: TurnScores, rows: Sequence[int]) -> tuple[RankedTurn, ...]:
    return tuple(RankedTurn(index.turn(row), index.episode_id(row), float(scores.fused[row])) for row in rows)


def _weigh_columns(columns: Mapping[str, Floats], weights: Mapping[str, float], count: int) -> tuple[Floats, Floats]:
    """Values and amounts, rows x names of `weights`; a column that is not there is all zeros."""
    missing = np.zeros(count, dtype=np.float32)
    values = np.stack([columns.get(name, missing) for name in weights], axis=1).astype(np.float32)
    return values, (values * np.array(list(weights.values()), dtype=np.float32)).astype(np.float32)


def hold_back(own: Floats, added: Floats) -> Floats:
    """What is led to stands behind what is best by itself: what leads on is half of the answer, and the surer half."""
    limit = float(own.max()) - _BEHIND_BEST
    led = own + added
    over = np.maximum(0.0, led - limit)
    # All that is held back keeps its order: a flat limit would leave it to rounding.
    capped = np.minimum(led, np.maximum(own, limit + _BEHIND_BEST * over / (1.0 + over)))
    held: Floats = np.minimum(0.0, capped - led).astype(np.float32)
    return held


def _behind(guesses: Floats, parts: WeighedReasons) -> Floats:
    """The scores of what was looked at; everything else behind it, in the order of the first guesses."""
    final = parts.amounts.sum(axis=1)
    behind: Floats = (guesses - guesses.max() - np.float32(1.0) + final.min()).astype(np.float32)
    behind[parts.rows] = final
    return behind


def _window_cosines(index: TurnIndex, cosines: Floats, near: Neighbours) -> Floats:
    """Cosine of the cue with the mean of a turn's window: the mean's product is the products' mean."""
    wide: Floats = near.gather_windows(cosines) / index.window_lengths
    return wide


def _from_neighbours(fused: Floats, near: Neighbours) -> Floats:
    padded = np.append(fused, np.float32(0.0))
    share: Floats = np.float32(_FROM_PREVIOUS) * padded[near.previous] + np.float32(_FROM_NEXT) * padded[near.next]
    return share


# --- updates ---------------------------------------------------------------------------------------------------------

_COMPARED = 6
_LIKE_FROM = 0.3
"""Below this cosine two turns are about different things."""
BOTH_NUMBERS, SAYS_CHANGE = 3.0, 6.0
"""How far (log odds) a turn that is all alike may lie behind the one it renews: when both hold a number, and when it
speaks of a change; added up. Chosen with 50 updates in sight, with weights that are gone: of those 82 % came out right
instead of 54 %. What it comes to with the weights that ship: docs/benchmarks/recall.md."""
LEAST_COVERAGE = 0.3
"""Of the cue's words the later turn holds at least this share of what the earlier one does."""
_AHEAD = 0.01


def news_of(index: TurnIndex, cue: Cue, scores: Floats, coverage: Floats, rows: Rows) -> Floats:
    """How much each of `rows` is to be lifted; `scores` are theirs, `coverage` how much of the cue's words they hold.

    Of two turns that say nearly the same, the later one holds now. Only for a cue that asks what holds now, and only
    among the best few: everywhere else "later is better" does harm (RECALL section 4). The later turn goes right before
    the earlier one, which stays where it is: both are seen, the newer first.

    Only the one who said something renews it, in a talk: what the mind itself repeats is no news, and a document that
    came later does not renew another.
    """
    lifts = np.zeros(len(rows), dtype=np.float32)
    if not cue.wants_value_now:
        return lifts
    best = np.argsort(-scores, kind="stable")[:_COMPARED]
    best = best[~index.marks["own"][rows[best]] & (is_alone(index, rows[best]) == 0.0)]
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
    renews = _later(index, chosen) & (behind >= 0.0) & (reach >= behind) & answers
    lifts[best] = np.where(renews, behind + _AHEAD, 0.0).max(axis=1)
    return lifts


def _later(index: TurnIndex, rows: Rows) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Whether one row (down) was said after another (across)."""
    said_at = index.marks["said_at"][rows]
    same = (said_at[:, None] == said_at[None, :]) & (rows[:, None] > rows[None, :])
    later: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = (said_at[:, None] > said_at[None, :]) | same
    return later
