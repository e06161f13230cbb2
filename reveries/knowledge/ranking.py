"""Which chunks answer a question: by meaning, by words, and by what the best of them lead to. Pure.

Meaning and words are fused by their ranks (V-70). Then the graph: a chunk that answers well names something, or has a
relation; what it leads to inherits its standing, the more so if it holds what the question still asks for. A chunk that
is about what the question itself names counts by that alone. On documents of our own making (bench/make_talks.py) this
finds 89 % of what two to four chunks answer together within the first five; a third list in the fusion finds 59 %,
and the fusion of two 48 %.

A long question (a letter, a case) is a list of searches, one for each of its sentences: `rank_parts`.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reveries.index.terms import terms_of
from reveries.index.word_scores import idf
from reveries.knowledge.scoring import RRF_CONSTANT, fuse_ranks

SEEDS = 6
"""So many of the best lead on."""
ROUNDS = 2
"""What was led to leads on once more."""
CROWD = 8
"""What more chunks than this are about is no lead."""
_TRUST_FALL = 3.0
"""How fast a seed is trusted less, by how far it is behind the best (whose own score is 1)."""
_REST = 2.0
"""What a chunk counts that holds all that the question asks beyond the one that led to it; being led to counts 1."""
_SHARED, _SHARED_REST = 0.25, 1.33
"""The same for a name that both hold though neither is about it. In the proportions of memory's own (recall/hops)."""
_TELLING_NAMES = 1.5
_BRIDGED = 60
"""So many of the nearest are compared by the names that they hold."""
_LONG_WORDS = 60
"""From so many words on a question is searched for in parts: an embedder reads the beginning of a long one alone."""
_PART_WORDS = 3
_MOST_PARTS = 40
"""A text that is longer than so many sentences is searched for as a whole beyond them."""
PART_DEPTH = 30
"""How many rows of each source count for one part of a long question."""
_PART_CONSTANT = 5
"""Rank fusion within a part: its first rows count far more than its last, or parts could not be told apart."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

Float32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lead:
    """A way from a chunk to another."""

    row: int
    strength: float
    by: str
    """The name that both hold, or the type of the relation."""


class ChunkGraph(Protocol):
    """What ranking asks about the chunks of a project, by row."""

    def leads_from(self, row: int) -> Sequence[Lead]: ...

    def terms_at(self, row: int) -> frozenset[str]:
        """The stems of its telling words."""
        ...

    def names_at(self, row: int) -> frozenset[str]:
        """Those of them that are written with a capital."""
        ...


@dataclass(frozen=True, slots=True)
class RankedSources:
    """What the sources found: rows, best first."""

    semantic: Sequence[int]
    keyword: Sequence[int]
    named: Mapping[int, float] = field(default_factory=dict)
    """Rows that are about what the question names, and how surely: 1 for a name that one row is about."""


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A row with all that brought it where it is."""

    row: int
    score: float
    semantic_rank: int | None
    keyword_rank: int | None
    graph_rank: int | None
    led_from: int | None = None
    led_by: str = ""


@dataclass(slots=True)
class _Reached:
    """What the seeds lead to: by row how much, from which seed and by what."""

    scores: dict[int, float] = field(default_factory=dict)
    ways: dict[int, tuple[int, str]] = field(default_factory=dict)

    def add(self, row: int, score: float, seed: int, by: str) -> None:
        if score > self.scores.get(row, 0.0):
            self.scores[row] = score
            self.ways[row] = (seed, by)


def split_question(question: str) -> list[str]:
    """The whole of a question, and of a long one its sentences."""
    if len(question.split()) < _LONG_WORDS:
        return [question]
    parts = [part.strip() for part in _SENTENCE.split(question)]
    return [question, *(part for part in parts if len(part.split()) >= _PART_WORDS)][: _MOST_PARTS + 1]


def rank_parts(parts: Sequence[RankedSources]) -> list[RankedRow]:
    """Rank the rows that answer the parts of a long question: each row counts by the part that it fits best, so every
    part brings its own best rows to the top.

    On cases made of this project's documentation (three to twelve sections needed, one to four sentences each) 77 % of
    the sections are in the first ten; 59 % when the parts are ranked as one question with the graph, 65 % when the
    scores of the parts are added."""
    scores, semantic, keyword = dict[int, float](), dict[int, int](), dict[int, int]()
    for part in parts:
        near, worded = part.semantic[:PART_DEPTH], part.keyword[:PART_DEPTH]
        for row, score in fuse_ranks({"semantic": near, "keyword": worded}, constant=_PART_CONSTANT).items():
            scores[row] = max(scores.get(row, 0.0), score)
        _keep_best_ranks(semantic, near)
        _keep_best_ranks(keyword, worded)
    greatest = 2.0 / (_PART_CONSTANT + 1)
    return [
        RankedRow(row, scores[row] / greatest, semantic.get(row), keyword.get(row), None)
        for row in _best(scores, len(scores))
    ]


def _keep_best_ranks(ranks: dict[int, int], rows: Sequence[int]) -> None:
    for row, rank in _rank_by_row(rows).items():
        ranks[row] = min(rank, ranks.get(row, rank))


def rank_rows(
    question: str,
    sources: RankedSources,
    graph: ChunkGraph,
    weights: Mapping[str, float] | None = None,
) -> list[RankedRow]:
    """Every row that a source found or a seed leads to, best first; of equal ones the lower number. `graph` is asked
    about few rows only. `weights` are of the sources `semantic` and `keyword`."""
    fused = fuse_ranks({"semantic": sources.semantic, "keyword": sources.keyword}, weights)
    greatest = 2.0 / (RRF_CONSTANT + 1)
    own = {row: score / greatest for row, score in fused.items()}
    scores = own | {row: own.get(row, 0.0) + sure for row, sure in sources.named.items()}
    wanted = frozenset(terms_of(question))
    reached = _Reached()
    near = _best(own, _BRIDGED)
    rarity = _rarity(near, graph)
    for _ in range(ROUNDS):
        best = _best(scores, SEEDS)
        _follow(reached, best, scores, sources.named, wanted, graph)
        _bridge(reached, best, scores, near, wanted, rarity, graph)
        rows = own.keys() | reached.scores.keys() | sources.named.keys()
        scores = {row: own.get(row, 0.0) + reached.scores.get(row, 0.0) + sources.named.get(row, 0.0) for row in rows}
    semantic, keyword = _rank_by_row(sources.semantic), _rank_by_row(sources.keyword)
    by_graph = _rank_by_row(_best(reached.scores, len(reached.scores)))
    return [
        RankedRow(
            row,
            scores[row],
            semantic.get(row),
            keyword.get(row),
            by_graph.get(row),
            *reached.ways.get(row, (None, "")),
        )
        for row in _best(scores, len(scores))
    ]


def _follow(
    reached: _Reached,
    seeds: Sequence[int],
    scores: Mapping[int, float],
    named: Mapping[int, float],
    wanted: frozenset[str],
    graph: ChunkGraph,
) -> None:
    """Add what the seeds, best first, lead to: as far as the seed is trusted, and more for what the question asks
    beyond it. What an earlier round came to stays: a chunk may have passed the one that led to it."""
    for seed in seeds:
        trust = max(named.get(seed, 0.0), _trust(scores, seeds[0], seed))
        left = wanted - graph.terms_at(seed)
        for lead in graph.leads_from(seed):
            if lead.row == seed:
                continue
            held = len(left & graph.terms_at(lead.row)) / len(wanted) if wanted else 0.0
            reached.add(lead.row, trust * lead.strength * (1.0 + _REST * held), seed, lead.by)


def _bridge(
    reached: _Reached,
    seeds: Sequence[int],
    scores: Mapping[int, float],
    near: Sequence[int],
    wanted: frozenset[str],
    rarity: Mapping[str, float],
    graph: ChunkGraph,
) -> None:
    """Add what shares a telling name with a seed that the question does not hold, though it is not about it: a little
    for the name alone, more where it holds what the question asks beyond the seed."""
    most = _TELLING_NAMES * math.log(len(near) + 2.0)
    for seed in seeds:
        trust = _trust(scores, seeds[0], seed)
        names, left = graph.names_at(seed) - wanted, wanted - graph.terms_at(seed)
        for row in near:
            shared = names & graph.terms_at(row)
            if row == seed or not shared:
                continue
            telling = min(1.0, sum(rarity[name] for name in shared) / most)
            held = len(left & graph.terms_at(row)) / len(wanted) if wanted else 0.0
            by = max(sorted(shared), key=rarity.__getitem__)
            reached.add(row, trust * telling * (_SHARED + _SHARED_REST * held), seed, by)


def _rarity(rows: Sequence[int], graph: ChunkGraph) -> dict[str, float]:
    """How telling each term of `rows` is among them (inverse document frequency)."""
    holding = Counter(term for row in rows for term in graph.terms_at(row))
    return {term: idf(len(rows), count) for term, count in holding.items()}


def _trust(scores: Mapping[int, float], best: int, seed: int) -> float:
    return math.exp(-_TRUST_FALL * (scores[best] - scores[seed]))


def _best(scores: Mapping[int, float], count: int) -> list[int]:
    return sorted(scores, key=lambda row: (-scores[row], row))[:count]


def _rank_by_row(rows: Sequence[int]) -> dict[int, int]:
    return {row: place for place, row in enumerate(rows, start=1)}
