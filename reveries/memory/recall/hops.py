"""Second-hop candidates: turns about something that one of the best turns names.

From the best few turns, through the names they contain, to the turns about those names. Needs no model and stores no
links: what a turn is about is indexed when it is added (see `names`); the names in the best turns are read at query
time. Pure.
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
"""How many of the best turns are searched for names."""
_SEARCHED_CHARS = 2_000
CROWD = 8
"""A name that more turns than this are about gives no leads."""
_CAPITALISED = re.compile(r"\b[A-Z][^\W_]+")
HOP_WEIGHTS: dict[str, float] = {
    "hop_trust_x_alone": 6.0,
    "hop_second_x_alone": 1.0,
    "bridge_x_alone": 1.5,
    "bridge_rest_x_alone": 8.0,
}
"""Set by hand: among documents a lead counts about as much as everything in the turn itself; in a conversation it
counts nothing, because there everybody uses the same names."""


@dataclass(frozen=True, slots=True)
class NamedLead:
    """A lead from a turn that contains a name to a turn that is about it."""

    source: int
    """Row of the turn that contains the name."""
    target: int
    """Row of the turn that is about it."""
    name: str
    strength: float
    """1 if one turn is about the name, less if several are."""


def find_leads(index: TurnIndex, source: int) -> list[NamedLead]:
    """Return the leads from a row, in order."""
    leads: list[NamedLead] = []
    text = index.turn(source).text[:_SEARCHED_CHARS]
    for name in dict.fromkeys(find_mentions(text, index.about, index.openers)):
        targets = [row for row in index.about[name] if row != source]
        if targets and len(targets) <= CROWD and name not in index.speaker_words:
            leads += [NamedLead(source, row, name, len(targets) ** -0.5) for row in targets]
    return leads


def rows_about(index: TurnIndex, cue_names: Iterable[str]) -> list[int]:
    """Return the rows that are about a name in the cue, except for names with more than CROWD such rows."""
    return [
        row
        for name in cue_names
        if name not in index.speaker_words and len(index.about[name]) <= CROWD
        for row in index.about[name]
    ]


def seed_trust(scores: Floats, named: Floats) -> Floats:
    """Return how much the leads of each of the best turns count, 0 to 1: more if its score is near the best one's, and
    at least how surely it is about a name in the cue (`named`, 0 to 1). A comparing question names two things, and its
    best turn is about only one of them."""
    near = np.exp(np.minimum(0.0, 0.5 * (scores - scores[:1])))
    trust: Floats = np.maximum(near, np.minimum(1.0, named)).astype(np.float32)
    return trust


def lead_strengths(leads: Sequence[NamedLead], seeds: Sequence[int], trust: Floats, rows: Rows) -> Floats:
    """Return how strongly one of the `seeds`, best first, leads to each of `rows` (ascending), 0 to 1; `trust` is that
    of each seed (see `seed_trust`)."""
    place_of = {row: place for place, row in enumerate(rows.tolist())}
    trust_of = dict(zip(seeds, trust.tolist(), strict=True))
    strengths = np.zeros(len(rows), dtype=np.float32)
    for lead in leads:
        if (place := place_of.get(lead.target)) is not None:
            strengths[place] = max(strengths[place], trust_of[lead.source] * lead.strength)
    return strengths


def bridge_columns(index: TurnIndex, cue: str, seeds: Sequence[int], trust: Floats, rows: Rows) -> dict[str, Floats]:
    """Return what each of `rows` has in common with the `seeds`: a distinctive name (`bridge`), and that name together
    with the cue's words that the seed lacks (`bridge_rest`)."""
    shared, rest = _bridges(index, cue, seeds, rows)
    weighted = trust[:, None].astype(np.float32) * shared
    return {"bridge": weighted.max(axis=0), "bridge_rest": (weighted * rest).max(axis=0)}


def _bridges(index: TurnIndex, cue: str, seeds: Sequence[int], rows: Rows) -> tuple[Floats, Floats]:
    """Return for each seed and row the weight of the names that both contain and the cue does not, and the share of the
    cue's words missing from the seed that the row contains; each 0 to about 1."""
    wanted = dict(
        entry for term in cue_terms(cue) if (entry := index.static_features.number_and_weight(term)) is not None
    )
    names = [_distinctive_names(index, seed, wanted.keys()) for seed in seeds]
    union = sorted({number for weights in names for number in weights} | wanted.keys())
    column_of = {number: column for column, number in enumerate(union)}
    presence = _term_presence(index, rows, np.array(union, dtype=np.int32))
    shared_weights, rest_weights = (np.zeros((len(union), len(seeds)), dtype=np.float32) for _ in range(2))
    for rank, seed in enumerate(seeds):
        own = set(index.words.terms_at(seed).tolist())
        for number, weight in names[rank].items():
            shared_weights[column_of[number], rank] = weight
        for number in wanted.keys() - own:
            rest_weights[column_of[number], rank] = wanted[number]
    shared = np.minimum(1.0, presence @ shared_weights / np.float32(1.5 * np.log(len(index) + 2.0))).T
    shared[np.array(seeds)[:, None] == rows[None, :]] = 0.0
    rest = (presence @ rest_weights / np.float32(sum(wanted.values()) or 1.0)).T
    return shared.astype(np.float32), rest.astype(np.float32)


def _distinctive_names(index: TurnIndex, seed: int, wanted: Collection[int]) -> dict[int, float]:
    """Return the weights, by term number, of a turn's capitalised words that are not in the cue."""
    spelled = _CAPITALISED.findall(index.turn(seed).text[:_SEARCHED_CHARS])
    terms = set(terms_of(" ".join(word for word in spelled if word.casefold() not in index.speaker_words)))
    entries = (index.static_features.number_and_weight(term) for term in terms)
    return {entry[0]: entry[1] for entry in entries if entry is not None and entry[0] not in wanted}


def _term_presence(index: TurnIndex, rows: Rows, numbers: NDArray[np.int32]) -> Floats:
    """Return 1 where a row contains a term, else 0; shape rows x `numbers` (ascending)."""
    presence = np.zeros((len(rows), len(numbers)), dtype=np.float32)
    terms, places = index.words.terms_in(rows)
    columns = np.minimum(np.searchsorted(numbers, terms), max(0, len(numbers) - 1))
    is_present = numbers[columns] == terms if len(numbers) else np.zeros(len(terms), dtype=np.bool_)
    presence[places[is_present], columns[is_present]] = 1.0
    return presence
