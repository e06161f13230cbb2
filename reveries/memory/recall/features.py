"""Ranking features of a turn as an answer to a cue: one row per candidate, one column per reason. Pure.

The weights are in `ranking_weights`. Values are comparable between memories: scores are in standard deviations above
the mean of all live turns, times in days, shares from 0 to 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from reveries.index.names import find_mentions, name_words
from reveries.index.terms import is_unspaced
from reveries.index.word_scores import Floats, Neighbours, Rows, WordScores, saturate_counts
from reveries.memory.recall.cues import Cue, cue_terms
from reveries.memory.recall.ranking_weights import MATCH_WEIGHTS
from reveries.memory.recall.turn_index import TurnIndex

_Value = TypeVar("_Value", np.float32, np.bool_)


@dataclass(frozen=True, slots=True)
class TurnEvidence:
    """The scores from one pass over all turns; one value per row."""

    words: WordScores = field(repr=False)
    cosines: Floats = field(repr=False)
    turn_z: Floats = field(repr=False)
    window_z: Floats = field(repr=False)
    meaning_z: Floats = field(repr=False)
    wide_meaning_z: Floats = field(repr=False)
    fused: Floats = field(repr=False)
    """The first-stage score, which selects the candidates."""
    best_coverage: float


def compute_features(
    index: TurnIndex, cue: Cue, evidence: TurnEvidence, rows: Rows, gated: Iterable[str] = MATCH_WEIGHTS
) -> dict[str, Floats]:
    """Return the feature columns for `rows`, including the gated ones ("length_x_mind") named in `gated`."""
    near = index.neighbours
    columns = _match_columns(index, evidence, rows)
    columns |= _neighbour_columns(index, evidence, near, rows)
    columns |= _surface_columns(index, cue, near, rows)
    columns |= _speaker_columns(index, cue, rows)
    columns |= _time_columns(index, cue, rows)
    columns |= _phrase_columns(index, cue, rows)
    columns |= _name_columns(index, cue, rows)
    columns |= _conversation_columns(index, evidence, rows)
    columns |= _exchange_columns(index, evidence, cue, near, rows)
    gates: dict[str, Floats | np.float32] = {
        "coverage": np.float32(evidence.best_coverage),
        "statement": np.float32(not cue.asks),
        "to_mind": np.float32(cue.asks_mind),
        # Embedders of one language give all text in other scripts nearly the same vector.
        "unspaced": np.float32(_unspaced_share(cue)),
        "alone": alone_flags(index, rows),
        # In such conversations half of the turns are the mind's own.
        "mind": mind_flags(index, rows),
    }
    return columns | _gate_columns(columns, gates, gated)


def alone_flags(index: TurnIndex, rows: Rows) -> Floats:
    """Return 1 for a turn with no neighbours, such as a document; else 0."""
    near = index.neighbours
    return ((near.previous[rows] >= index.size) & (near.next[rows] >= index.size)).astype(np.float32)


def mind_flags(index: TurnIndex, rows: Rows) -> Floats:
    """Return 1 for a turn of a conversation with the mind (its own turn, or next to one); else 0."""
    near, own = index.neighbours, index.marks["own"]
    is_mind = own[rows] | _values_at(own, near.previous[rows]) | _values_at(own, near.next[rows])
    flags: Floats = is_mind.astype(np.float32)
    return flags


def _unspaced_share(cue: Cue) -> float:
    terms = cue_terms(cue.text)
    return sum(map(is_unspaced, terms)) / max(1, len(terms))


def _match_columns(index: TurnIndex, evidence: TurnEvidence, rows: Rows) -> dict[str, Floats]:
    return {
        "words": evidence.turn_z[rows],
        "window_words": evidence.window_z[rows],
        "meaning": evidence.meaning_z[rows],
        "window_meaning": evidence.wide_meaning_z[rows],
        "coverage": evidence.words.coverage[rows],
        "window_coverage": evidence.words.window_coverage[rows],
        "words_of_best": evidence.words.row[rows] / np.float32(max(1e-6, float(evidence.words.row.max()))),
        "cosine": evidence.cosines[rows],
    }


def _neighbour_columns(index: TurnIndex, evidence: TurnEvidence, near: Neighbours, rows: Rows) -> dict[str, Floats]:
    before, after = near.previous[rows], near.next[rows]
    words, meaning = evidence.turn_z, evidence.meaning_z
    return {
        "words_before": _values_at(words, before),
        "words_after": _values_at(words, after),
        "meaning_before": _values_at(meaning, before),
        "meaning_after": _values_at(meaning, after),
    }


def _values_at(values: NDArray[_Value], rows: Rows) -> NDArray[_Value]:
    """Return the values at `rows`, 0 for a missing neighbour (see Neighbours). `values` must not be empty."""
    selected: NDArray[_Value] = values[np.minimum(rows, len(values) - 1)]
    selected[rows >= len(values)] = 0
    return selected


def _surface_columns(index: TurnIndex, cue: Cue, near: Neighbours, rows: Rows) -> dict[str, Floats]:
    surface = index.surface
    records = surface[rows]
    length = records["log_length"]
    usual_length, spread = index.static_features.usual_length
    names = np.minimum(records["names"], 3).astype(np.float32) / 3.0
    return {
        "length": (length - usual_length) / max(0.1, spread),
        "short": (length < np.log(8.0)).astype(np.float32),
        "asks": records["asks"].astype(np.float32),
        "ends_asking": records["ends_asking"].astype(np.float32),
        "after_question": _values_at(surface["ends_asking"], near.previous[rows]).astype(np.float32),
        "greets": records["greets"].astype(np.float32),
        "first_person": records["first_person"].astype(np.float32),
        "number": records["number"].astype(np.float32),
        "time_word": records["time"].astype(np.float32),
        "names": names,
        "time_for_when": records["time"] * np.float32(cue.wants_time),
        "number_for_many": records["number"] * np.float32(cue.wants_number),
        "names_for_who": names * np.float32(cue.wants_person or cue.wants_place),
        "own": index.marks["own"][rows].astype(np.float32),
        "begins": (near.previous[rows] >= index.size).astype(np.float32),
    }


def _speaker_columns(index: TurnIndex, cue: Cue, rows: Rows) -> dict[str, Floats]:
    """Return whether the cue names the turn's speaker, or only another speaker of this memory."""
    cue_words = frozenset(name_words(cue.text))
    codes = [
        code
        for name in index.speakers
        if name[:1].isupper() and name.casefold() in cue_words and (code := index.speaker_code(name)) is not None
    ]
    named = np.isin(index.marks["speaker"][rows], codes).astype(np.float32)
    return {"speaker": named, "other_speaker": (1.0 - named) * np.float32(bool(codes))}


def _time_columns(index: TurnIndex, cue: Cue, rows: Rows) -> dict[str, Floats]:
    """Return how soon after and how soon before the times in the cue each turn was said: 1 within them."""
    after, before = (np.zeros(len(rows), dtype=np.float32) for _ in range(2))
    said_at = index.marks["said_at"][rows]
    for span in cue.spans:
        late = np.maximum(0.0, said_at - span.end) / 86_400.0
        early = np.maximum(0.0, span.start - said_at) / 86_400.0
        after = np.maximum(after, np.where(early > 0.0, 0.0, np.exp(-late / 10.0)).astype(np.float32))
        before = np.maximum(before, np.where(late > 0.0, 0.0, np.exp(-early / 10.0)).astype(np.float32))
    return {"after_then": after, "before_then": before}


def _phrase_columns(index: TurnIndex, cue: Cue, rows: Rows) -> dict[str, Floats]:
    """Return the share of the cue's adjacent word pairs that are also in the turn, with at most one word between."""
    numbers = index.words.numbers_of(cue_terms(cue.text), index.live)
    pairs = {pair for pair in pairwise(numbers) if pair[0] != pair[1]}
    together = np.zeros(len(rows), dtype=np.float32)
    if pairs:
        terms, places = index.words.terms_in(rows)
        apart = [(terms[:-gap], terms[gap:], places[:-gap] == places[gap:], places[:-gap]) for gap in (1, 2)]
        for first, second in pairs:
            matches = [at[(left == first) & (right == second) & is_same] for left, right, is_same, at in apart]
            together[np.unique(np.concatenate(matches))] += 1.0 / len(pairs)
    return {"phrases": together}


def _exchange_columns(
    index: TurnIndex, evidence: TurnEvidence, cue: Cue, near: Neighbours, rows: Rows
) -> dict[str, Floats]:
    """Return features of an exchange, the owner's words with the mind's reply to them.

    `brings` is how much of the cue a reply contains that the words it answers do not; a reply that only repeats them
    brings nothing. `reply_brings` is that value for the words that were answered; `answered_meaning` is how well the
    words that a reply answers match the cue.
    """
    own = index.marks["own"]
    is_own, is_answered = own[rows], ~own[rows] & _values_at(own, near.next[rows])
    replies = np.where(is_own, rows, near.next[rows])
    brings = np.zeros(len(rows), dtype=np.float32)
    answers = np.flatnonzero(is_own | is_answered)
    brings[answers] = _new_word_share(index, cue, replies[answers], near.previous[replies[answers]])
    asked = near.previous[rows]
    return {
        "brings": brings * is_own,
        "reply_brings": brings * is_answered,
        "answered_meaning": _values_at(evidence.meaning_z, asked) * is_own,
    }


def _new_word_share(index: TurnIndex, cue: Cue, replies: Rows, asked: Rows) -> Floats:
    """Return the BM25 score of each reply as a share of the cue's total weight, counting only words that are not in the
    turn it answers (`asked`; the index's size if there is none)."""
    weight_of = dict(
        entry for term in cue_terms(cue.text) if (entry := index.static_features.number_and_weight(term)) is not None
    )
    if not weight_of or not len(replies):
        return np.zeros(len(replies), dtype=np.float32)
    numbers = np.array(sorted(weight_of), dtype=np.int32)
    weights = np.array([weight_of[number] for number in numbers.tolist()], dtype=np.float32)
    counts = _term_counts(index, replies, numbers)
    answers = np.flatnonzero(asked < index.size)
    counts[answers] *= _term_counts(index, asked[answers], numbers) == 0.0
    norms = index.static_features.norms.row[replies][:, None]
    # Not as a matrix product: BLAS once reported an invalid value here, though all operands are finite by construction.
    share: Floats = ((saturate_counts(counts, norms) * weights).sum(axis=1) / weights.sum()).astype(np.float32)
    return share


def _term_counts(index: TurnIndex, rows: Rows, numbers: NDArray[np.int32]) -> Floats:
    """Return how often each of `rows` contains each term of `numbers` (ascending, not empty)."""
    counts = np.zeros((len(rows), len(numbers)), dtype=np.float32)
    terms, places = index.words.terms_in(rows)
    columns = np.minimum(np.searchsorted(numbers, terms), len(numbers) - 1)
    is_present = numbers[columns] == terms
    np.add.at(counts, (places[is_present], columns[is_present]), 1.0)
    return counts


def _name_columns(index: TurnIndex, cue: Cue, rows: Rows) -> dict[str, Floats]:
    """Return how surely each turn is about something that the cue names, 0 to 1."""
    about = np.zeros(len(rows), dtype=np.float32)
    exact: dict[int, float] = {}
    for key in find_mentions(cue.text, index.about, index.openers):
        if key in index.speaker_words:
            continue
        for row in index.about[key]:
            exact[row] = max(exact.get(row, 0.0), min(1.0, len(key.split()) / 2.0) / len(index.about[key]) ** 0.5)
    if exact:
        about[:] = [exact.get(row, 0.0) for row in rows.tolist()]
    return {"about_named": about}


def _conversation_columns(index: TurnIndex, evidence: TurnEvidence, rows: Rows) -> dict[str, Floats]:
    """Return the mean of the three best first-stage scores in each turn's conversation."""
    codes = index.marks["conversation"][rows]
    fused = evidence.fused[rows]
    order = np.lexsort((-fused, codes))
    sorted_codes = codes[order]
    starts = (
        np.flatnonzero(np.append(True, sorted_codes[1:] != sorted_codes[:-1]))
        if len(rows)
        else np.zeros(0, dtype=np.int64)
    )
    sizes = np.diff(np.append(starts, len(rows)))
    place = np.arange(len(rows)) - np.repeat(starts, sizes)
    best = np.where(place < 3, np.maximum(fused[order], 0.0), 0.0)
    sums = np.add.reduceat(best, starts) if len(rows) else best
    conversation = np.empty(len(rows), dtype=np.float32)
    conversation[order] = np.repeat(sums / 3.0, sizes)
    return {"conversation": conversation}


def _gate_columns(
    columns: Mapping[str, Floats], gates: Mapping[str, Floats | np.float32], names: Iterable[str]
) -> dict[str, Floats]:
    """Return the gated columns, which apply to some kinds of cue or turn only: "length_x_mind" is "length" for turns of
    a conversation with the mind, else 0."""
    gated: dict[str, Floats] = {}
    for name in names:
        column, *gated_by = name.split("_x_")
        if gated_by:
            gated[name] = columns[column]
        for gate in gated_by:
            gated[name] = gated[name] * gates[gate]
    return gated
