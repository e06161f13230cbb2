"""Second-hop candidates: a turn that answers well names something, and another turn is about just that.

From the best few turns, over the names that they hold, to the turns about those names. No model, no links kept: what a
turn is about is indexed when it comes (see `names`), what the best turns name is read when a cue asks. Pure.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reveries.index.names import find_mentions
from reveries.index.terms import terms_of
from reveries.index.word_scores import Floats, Rows
from reveries.memory.recall.cues import cue_terms
from reveries.memory.recall.turn_index import TurnIndex

SEEDS = 6
"""So many of the best turns are read for names."""
_SEARCHED_CHARS = 2_000
CROWD = 8
"""What more turns than this are about is no lead."""
_CAPITALISED = re.compile(r"\b[A-Z][^\W_]+")
HOP_WEIGHTS: dict[str, float] = {
    "hop_trust_x_alone": 6.0,
    "hop_second_x_alone": 1.0,
    "bridge_x_alone": 1.5,
    "bridge_rest_x_alone": 8.0,
}
"""Set by hand: among documents what leads on counts for about as much as all that a turn holds itself, in a talk for
nothing (there names are in everybody's mouth)."""


@dataclass(frozen=True, slots=True)
class NamedLead:
    """A way from a turn to another that is about what the first one names."""

    source: int
    """Row of the turn that names it."""
    target: int
    """Row of the turn that is about it."""
    name: str
    strength: float
    """1 for a name that one turn is about; less, the more are."""


def leads_from(index: TurnIndex, source: int) -> list[NamedLead]:
    """The leads from a row, in order."""
    found: list[NamedLead] = []
    text = index.turn(source).text[:_SEARCHED_CHARS]
    for name in dict.fromkeys(find_mentions(text, index.about, index.openers)):
        targets = [row for row in index.about[name] if row != source]
        if targets and len(targets) <= CROWD and name not in index.speaker_words:
            found += [NamedLead(source, row, name, len(targets) ** -0.5) for row in targets]
    return found


def rows_named(index: TurnIndex, cue_names: Iterable[str]) -> list[int]:
    """The rows that are about what the cue names; not for a name that a crowd of them is about."""
    return [
        row
        for name in cue_names
        if name not in index.speaker_words and len(index.about[name]) <= CROWD
        for row in index.about[name]
    ]


def trust_in(scores: Floats, named: Floats) -> Floats:
    """How much is believed what each of the best turns leads to, 0 to 1: the nearer it comes to the best one, the more;
    and no less than how surely (`named`, 0 to 1) it is about what the cue itself names. A question that compares two
    names both, and its best turn is about one of them."""
    near = np.exp(np.minimum(0.0, 0.5 * (scores - scores[:1])))
    trust: Floats = np.maximum(near, np.minimum(1.0, named)).astype(np.float32)
    return trust


def trusted_leads(leads: Sequence[NamedLead], seeds: Sequence[int], trust: Floats, rows: Rows) -> Floats:
    """How surely one of the `seeds`, best first, leads to each of `rows` (ascending), 0 to 1; `trust` says how much
    each seed is believed (see `trust_in`)."""
    place_of = {row: place for place, row in enumerate(rows.tolist())}
    trust_of = dict(zip(seeds, trust.tolist(), strict=True))
    led = np.zeros(len(rows), dtype=np.float32)
    for lead in leads:
        if (place := place_of.get(lead.target)) is not None:
            led[place] = max(led[place], trust_of[lead.source] * lead.strength)
    return led


def bridge_columns(index: TurnIndex, cue: str, seeds: Sequence[int], trust: Floats, rows: Rows) -> dict[str, Floats]:
    """What each of `rows` has in common with the `seeds`: a telling name, and that together with what the cue asks
    beyond the seed."""
    shared, rest = _bridges(index, cue, seeds, rows)
    weighted = trust[:, None].astype(np.float32) * shared
    return {"bridge": weighted.max(axis=0), "bridge_rest": (weighted * rest).max(axis=0)}


def _bridges(index: TurnIndex, cue: str, seeds: Sequence[int], rows: Rows) -> tuple[Floats, Floats]:
    """For each seed and row: how telling the names are that both hold and the cue does not, and how much of what the
    cue asks beyond the seed the row holds; 0 to about 1."""
    wanted = dict(
        found for term in cue_terms(cue) if (found := index.static_features.number_and_weight(term)) is not None
    )
    names = [_telling_names(index, seed, wanted.keys()) for seed in seeds]
    union = sorted({number for found in names for number in found} | wanted.keys())
    column_of = {number: column for column, number in enumerate(union)}
    held = _presence(index, rows, np.array(union, dtype=np.int32))
    shared_weights, rest_weights = (np.zeros((len(union), len(seeds)), dtype=np.float32) for _ in range(2))
    for rank, seed in enumerate(seeds):
        own = set(index.words.terms_at(seed).tolist())
        for number, weight in names[rank].items():
            shared_weights[column_of[number], rank] = weight
        for number in wanted.keys() - own:
            rest_weights[column_of[number], rank] = wanted[number]
    shared = np.minimum(1.0, held @ shared_weights / np.float32(1.5 * np.log(len(index) + 2.0))).T
    shared[np.array(seeds)[:, None] == rows[None, :]] = 0.0
    rest = (held @ rest_weights / np.float32(sum(wanted.values()) or 1.0)).T
    return shared.astype(np.float32), rest.astype(np.float32)


def _telling_names(index: TurnIndex, seed: int, wanted: Collection[int]) -> dict[int, float]:
    """The weights of the capitalised words of a turn that the cue does not hold, by number."""
    spelled = _CAPITALISED.findall(index.turn(seed).text[:_SEARCHED_CHARS])
    terms = set(terms_of(" ".join(word for word in spelled if word.casefold() not in index.speaker_words)))
    found = (index.static_features.number_and_weight(term) for term in terms)
    return {held[0]: held[1] for held in found if held is not None and held[0] not in wanted}


def _presence(index: TurnIndex, rows: Rows, numbers: NDArray[np.int32]) -> Floats:
    """1 where a row holds a term: rows x `numbers` (ascending)."""
    held = np.zeros((len(rows), len(numbers)), dtype=np.float32)
    terms, places = index.words.terms_in(rows)
    columns = np.minimum(np.searchsorted(numbers, terms), max(0, len(numbers) - 1))
    known = numbers[columns] == terms if len(numbers) else np.zeros(len(terms), dtype=np.bool_)
    held[places[known], columns[known]] = 1.0
    return held
