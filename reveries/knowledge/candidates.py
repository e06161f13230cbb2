"""Finds the stored chunks that share most with one sentence of a new one (V-123). Pure.

A statement in a long text about other things hardly moves the vector of the whole, so the nearest chunks alone miss its
counterpart. On made messages (bench/contradiction_pairs.py) they hold 4 of 20 contradicting pairs, and twice as many of
them 6; with ten more by sentence it is 11.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from reveries.index.word_scores import idf

Statement = frozenset[str]
"""The stems of the content words of a sentence, and "not" for a negation."""
_SAMPLED_ROWS = 200
"""Rows from which the rarity of terms is estimated."""


class TermRarity:
    """How rare terms are among the chunks of a project, from a sample of them."""

    def __init__(self, sample: Sequence[Sequence[Statement]]) -> None:
        self._size = len(sample)
        self._held = Counter(term for statements in sample for term in frozenset[str]().union(*statements))
        self._known: dict[str, float] = {}

    def __getitem__(self, term: str) -> float:
        """The inverse document frequency of a term."""
        if (rarity := self._known.get(term)) is None:
            rarity = self._known[term] = idf(self._size, self._held[term])
        return rarity


class SentenceCandidates:
    """Rows of an index that share most with one sentence. `read_statements`: the statements of a row, which never
    change."""

    def __init__(self, read_statements: Callable[[int], list[Statement]]) -> None:
        self._statements_at = lru_cache(maxsize=4096)(read_statements)
        self._rarity = TermRarity(())
        self._rarity_row_count = 0
        """How many rows there were when the rarity of terms was estimated."""

    def find(self, statements: Sequence[Statement], rows: Sequence[int], row_count: int, most: int) -> set[int]:
        """Return those of `rows`, `most` at most, that share most with one of `statements`. `row_count`: all rows
        of the index."""
        if not statements:
            return set()
        if row_count >= 2 * self._rarity_row_count:
            self._rarity_row_count = row_count
            step = -(-row_count // _SAMPLED_ROWS)
            self._rarity = TermRarity([self._statements_at(row) for row in range(0, row_count, step)])
        scores = score_by_sentence(statements, [self._statements_at(row) for row in rows], self._rarity)
        ranked = sorted(zip(scores, rows, strict=True), key=lambda scored: (-scored[0], scored[1]))
        return {row for score, row in ranked[:most] if score > 0.0}


def score_by_sentence(
    own: Sequence[Statement], others: Sequence[Sequence[Statement]], rarity: TermRarity
) -> list[float]:
    """For each of `others` its best pair of a sentence with one of `own`: the weight of what both share, times its
    share in the weight of both. Sentences with the same words do not count: they contradict nothing."""
    weights = {term: rarity[term] for statement in own for term in statement}
    sized = [(statement, sum(weights[term] for term in statement)) for statement in own]
    return [_best_pair(sized, statements, weights, rarity) for statements in others]


def _best_pair(
    sized: Sequence[tuple[Statement, float]],
    statements: Sequence[Statement],
    weights: Mapping[str, float],
    rarity: TermRarity,
) -> float:
    best = 0.0
    for statement in statements:
        common = statement & weights.keys()
        most = sum(weights[term] for term in common)
        if most <= best:  # A score is at most the weight of what is shared.
            continue
        whole = most + sum(rarity[term] for term in statement - common)
        for other, size in sized:
            shared = sum(weights[term] for term in other & common)
            if shared > best and other != statement:
                best = max(best, shared * shared / (size + whole - shared))
    return best
