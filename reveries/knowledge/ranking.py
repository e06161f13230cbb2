"""Rank the chunks of a project for a question by meaning, by words, and by graph links from the best matches. Pure.

Semantic and keyword ranks are fused (V-70). Then the graph is followed: a well-ranked chunk (a seed) passes part of its
score on to chunks about a name that it contains and to related chunks, more if they contain terms of the question that
the seed lacks. A chunk about a name in the question gets a score for that alone. On generated documents
(bench/make_talks.py), where two to four chunks answer a question together, 89 % of them are in the first five; 59 %
with the graph as a third list in the fusion, and 48 % with the fusion of two lists.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reveries.index.terms import terms_of
from reveries.index.word_scores import idf
from reveries.knowledge.model import FoundChunk, SourceRanks
from reveries.knowledge.scoring import RRF_CONSTANT, fuse_ranks

SEEDS = 6
"""How many of the best rows are followed in each round; of a long question one more for each of its sentences."""
MOST_SEEDS = 20
ROUNDS = 2
"""How many times leads are followed."""
CROWD = 8
"""A name that more chunks than this are about is not followed."""
_TRUST_FALL = 3.0
"""Exponential decay of the trust in a seed with its distance from the best score (which is 1)."""
_COVERAGE_BONUS = 2.0
"""Bonus for a chunk that contains all question terms that the seed lacks; being reached counts 1."""
_SHARED_NAME_SCORE, _SHARED_COVERAGE_BONUS = 0.25, 1.33
"""The same two values for a name that both contain and neither is about, in the ratio of memory's recall/hops."""
_DISTINCTIVE_NAMES = 1.5
_LEADER_RANK = 2
"""A row leads both lists if it has the best fused rank and is at most this far down in each."""
_BEHIND_LEADER = 1e-3
_MOST_COMPARED = 60
"""How many of the nearest rows are compared by the names that they contain."""
_LONG_WORDS = 60
"""From this many words on a question is split into parts: an embedder reads only the beginning of a long text."""
_PART_WORDS = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lead:
    """A link from a chunk to another."""

    row: int
    strength: float
    by: str
    """The shared name, or the type of the relation."""


class ChunkGraph(Protocol):
    """What ranking reads about the chunks of a project, by row."""

    def leads_from(self, row: int) -> Sequence[Lead]: ...

    def terms_at(self, row: int) -> frozenset[str]:
        """Return the stems of the content words of a row."""
        ...

    def names_at(self, row: int) -> frozenset[str]:
        """Return the stems of the capitalised words of a row."""
        ...


@dataclass(frozen=True, slots=True)
class RankedSources:
    """The rows that each source returned, best first."""

    semantic: Sequence[int]
    keyword: Sequence[int]
    named: Mapping[int, float] = field(default_factory=dict)
    """Rows about a name in the question, with a confidence: 1 for a name that only one row is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRow(SourceRanks):
    """A row with its ranks, and the seed and link that led to it."""

    row: int
    led_from: int | None = None
    led_by: str = ""


@dataclass(slots=True)
class _GraphScores:
    """The best score from the graph by row, with the seed and the link that gave it."""

    scores: dict[int, float] = field(default_factory=dict)
    ways: dict[int, tuple[int, str]] = field(default_factory=dict)

    def add(self, row: int, score: float, seed: int, by: str) -> None:
        if score > self.scores.get(row, 0.0):
            self.scores[row] = score
            self.ways[row] = (seed, by)


def split_question(question: str) -> list[str]:
    """Return the whole question, followed by its sentences if it is long."""
    if len(question.split()) < _LONG_WORDS:
        return [question]
    parts = [part.strip() for part in _SENTENCE.split(question)]
    return [question, *(part for part in parts if len(part.split()) >= _PART_WORDS)]


def rank_rows(
    question: str,
    sources: RankedSources,
    graph: ChunkGraph,
    parts: int = 1,
    weights: Mapping[str, float] | None = None,
) -> list[RankedRow]:
    """Return every row that a source returned or a seed leads to, best first; ties go to the lower row. `weights` are
    for the sources `semantic` and `keyword`. Only a few rows are looked up in `graph`. `parts`: in how many parts the
    question was searched for; a lead answers one of them and counts that much less."""
    fused = fuse_ranks({"semantic": sources.semantic, "keyword": sources.keyword}, weights)
    greatest = 2.0 / (RRF_CONSTANT + 1)
    own = {row: score / greatest for row, score in fused.items()}
    scores = own | {row: own.get(row, 0.0) + sure for row, sure in sources.named.items()}
    reached = _GraphScores()
    near = _best_rows(own, _MOST_COMPARED)
    rarity = _term_rarity(near, graph)
    wanted = {term: rarity.get(term, idf(len(near), 0)) for term in terms_of(question)}
    for _ in range(ROUNDS):
        seeds = _best_rows(scores, min(SEEDS + parts - 1, MOST_SEEDS))
        _follow_leads(reached, seeds, scores, sources.named, wanted, graph)
        _follow_shared_names(reached, seeds, scores, near, wanted, rarity, graph)
        rows = own.keys() | reached.scores.keys() | sources.named.keys()
        scores = {
            row: own.get(row, 0.0) + reached.scores.get(row, 0.0) / parts + sources.named.get(row, 0.0) for row in rows
        }
    semantic, keyword = _rank_by_row(sources.semantic), _rank_by_row(sources.keyword)
    if own and max(semantic.get(near[0], SEEDS), keyword.get(near[0], SEEDS)) <= _LEADER_RANK:
        scores = _keep_behind_leader(scores, near[0], sources.named, frozenset(wanted), graph)
    by_graph = _rank_by_row(_best_rows(reached.scores, len(reached.scores)))
    return [
        RankedRow(
            scores[row], semantic.get(row), keyword.get(row), by_graph.get(row),
            row=row, led_from=led_from, led_by=led_by,
        )
        for row in _best_rows(scores, len(scores))
        for led_from, led_by in [reached.ways.get(row, (None, ""))]
    ]  # fmt: skip


def _keep_behind_leader(
    scores: Mapping[int, float],
    leader: int,
    named: Mapping[int, float],
    wanted: frozenset[str],
    graph: ChunkGraph,
) -> dict[int, float]:
    """The scores, with the rows that passed the `leader` of both lists right behind it, in their order, unless they
    contain a question term that it lacks, or are about a name in the question and contain as many."""
    covered, limit = wanted & graph.terms_at(leader), scores[leader]
    kept = dict(scores)
    for row, score in scores.items():
        if row == leader or score < limit:
            continue
        terms = wanted & graph.terms_at(row)
        if terms < covered or (terms == covered and row not in named):
            over = score - limit
            kept[row] = limit - _BEHIND_LEADER / (1.0 + over)
    return kept


def put_later_first(results: Sequence[FoundChunk], precedes: Callable[[str, str], bool]) -> list[FoundChunk]:
    """The results with what another result preceded directly before it: of two values that both hold, the later one is
    shown first. What was replaced or fell stays where it is."""
    ordered: list[FoundChunk] = []
    for result in results:
        earlier = (
            place
            for place, other in enumerate(ordered)
            if other.chunk.stands and result.chunk.stands and precedes(other.chunk.id, result.chunk.id)
        )
        place = next(earlier, None)
        if place is None:
            ordered.append(result)
        else:
            ordered.insert(place, replace(result, score=ordered[place].score))
    return ordered


def _follow_leads(
    reached: _GraphScores,
    seeds: Sequence[int],
    scores: Mapping[int, float],
    named: Mapping[int, float],
    wanted: Mapping[str, float],
    graph: ChunkGraph,
) -> None:
    """Add the rows that the seeds (best first) lead to, scored by the trust in the seed and by the question terms
    (`wanted`, with their rarity) that the seed lacks. Scores of earlier rounds stay: a chunk may have overtaken the
    seed that led to it."""
    for seed in seeds:
        trust = max(named.get(seed, 0.0), _seed_trust(scores, seeds[0], seed))
        missing = wanted.keys() - graph.terms_at(seed)
        for lead in graph.leads_from(seed):
            if lead.row == seed:
                continue
            coverage = _coverage(wanted, missing & graph.terms_at(lead.row))
            reached.add(lead.row, trust * lead.strength * (1.0 + _COVERAGE_BONUS * coverage), seed, lead.by)


def _follow_shared_names(
    reached: _GraphScores,
    seeds: Sequence[int],
    scores: Mapping[int, float],
    near: Sequence[int],
    wanted: Mapping[str, float],
    rarity: Mapping[str, float],
    graph: ChunkGraph,
) -> None:
    """Add the near rows that share a distinctive name with a seed, if the question does not contain that name: a small
    score for the name, more for question terms that the seed lacks."""
    most = _DISTINCTIVE_NAMES * math.log(len(near) + 2.0)
    for seed in seeds:
        trust = _seed_trust(scores, seeds[0], seed)
        names, missing = graph.names_at(seed) - wanted.keys(), wanted.keys() - graph.terms_at(seed)
        for row in near:
            shared = names & graph.terms_at(row)
            if row == seed or not shared:
                continue
            distinctiveness = min(1.0, sum(rarity[name] for name in shared) / most)
            coverage = _coverage(wanted, missing & graph.terms_at(row))
            by = max(sorted(shared), key=rarity.__getitem__)
            reached.add(
                row, trust * distinctiveness * (_SHARED_NAME_SCORE + _SHARED_COVERAGE_BONUS * coverage), seed, by
            )


def _coverage(wanted: Mapping[str, float], matched: Collection[str]) -> float:
    """Return the share of the question's terms, weighted by rarity, that were found: 0 to 1."""
    return sum(wanted[term] for term in matched) / sum(wanted.values()) if wanted else 0.0


def _term_rarity(rows: Sequence[int], graph: ChunkGraph) -> dict[str, float]:
    """Return the inverse document frequency of each term within `rows`."""
    holding = Counter(term for row in rows for term in graph.terms_at(row))
    return {term: idf(len(rows), count) for term, count in holding.items()}


def _seed_trust(scores: Mapping[int, float], best: int, seed: int) -> float:
    return math.exp(-_TRUST_FALL * (scores[best] - scores[seed]))


def best_cosines(vectors: Float32, cues: Float32) -> Float32:
    """The cosine of each row with the part of the question that it fits best. `cues`: one row per part."""
    best: Float32 = (vectors @ cues.T).max(axis=1).astype(np.float32)
    return best


def _best_rows(scores: Mapping[int, float], count: int) -> list[int]:
    return sorted(scores, key=lambda row: (-scores[row], row))[:count]


def _rank_by_row(rows: Sequence[int]) -> dict[int, int]:
    return {row: place for place, row in enumerate(rows, start=1)}
