"""Features of a turn that do not depend on a cue: its length, and whether it asks or contains a number, a time, a name
or the first person. Computed once when the turn is indexed and stored as one packed record per turn; `StaticFeatures`
has what is computed from a whole index when a cue first needs it. Pure."""

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reveries.index.arrays import Int32
from reveries.index.terms import words_of
from reveries.index.word_scores import Neighbours, Norms
from reveries.index.words import WordIndex

SURFACE = np.dtype(
    [
        ("log_length", np.float32),
        ("asks", np.bool_),
        ("ends_asking", np.bool_),
        ("number", np.bool_),
        ("time", np.bool_),
        ("names", np.uint8),
        ("first_person", np.bool_),
        ("greets", np.bool_),
        ("change", np.bool_),
    ]
)
"""log_length: log(1 + words). asks: a question mark anywhere. ends_asking: at the end. names: capitalised words inside
sentences, at most 255. greets: it begins with a greeting. change: it says that something has changed."""

_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|couple)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|week(?:s|end)?|months?|years?|days?|morning|evening|night|"
    r"recently|"
    r"since|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|spring|summer|autumn|winter|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_NAME_INSIDE = re.compile(r"(?<=[a-z,;] )[A-Z][a-z\u00e0-\u00ff]+")
_FIRST_PERSON = frozenset(["i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "we", "we're", "we've", "our", "us"])
_GREETINGS = frozenset(
    ["hi", "hey", "hello", "bye", "goodbye", "thanks", "thank", "wow", "congrats", "awesome", "great", "cool"]
)
_CHANGE = re.compile(
    r"\b(?:(?:increas|decreas|updat|chang|extend|adjust|shorten|reduc|rais|improv|postpon|reschedul|switch|upgrad|lower)\w*"
    r"|now|recently|no longer|anymore|instead of|moved|went (?:up|down)|grew|dropped|new)\b",
    re.IGNORECASE,
)


def surface_features(text: str) -> tuple[float, bool, bool, bool, bool, int, bool, bool, bool]:
    """Return one record of SURFACE, in its field order."""
    words = words_of(text)
    return (
        math.log1p(len(words)),
        "?" in text,
        text.rstrip().endswith("?"),
        bool(_NUMBER.search(text)),
        bool(_TIME.search(text)),
        min(255, len(_NAME_INSIDE.findall(text))),
        not _FIRST_PERSON.isdisjoint(words),
        bool(words) and words[0] in _GREETINGS,
        bool(_CHANGE.search(text)),
    )


@dataclass(frozen=True, slots=True)
class TurnColumns:
    """The columns of an index that `StaticFeatures` reads, one value per row."""

    live: NDArray[np.bool_]
    surface: NDArray[np.void]
    """Records of SURFACE."""
    previous: Int32
    """The previous row in the same conversation; -1 for none."""
    following: Int32


class StaticFeatures:
    """Features of one state of an index; after a change of the index a new object is needed."""

    def __init__(self, words: WordIndex, columns: TurnColumns) -> None:
        self._words = words
        self._columns = columns
        self._weights: dict[str, tuple[int, float] | None] = {}

    @cached_property
    def neighbours(self) -> Neighbours:
        """Previous and next rows in the same conversation; `size` where there is none."""
        size = len(self._columns.live)
        previous, following = self._columns.previous.astype(np.int64), self._columns.following.astype(np.int64)
        return Neighbours(np.where(previous < 0, size, previous), np.where(following < 0, size, following))

    @cached_property
    def norms(self) -> Norms:
        """BM25's length normalisation."""
        return self._words.norms(self._columns.live, self.neighbours)

    def number_and_weight(self, term: str) -> tuple[int, float] | None:
        """Return a term's number and its inverse document frequency; None if no live row contains it."""
        if term not in self._weights:
            words, live = self._words, self._columns.live
            numbers = words.numbers_of([term], live)
            self._weights[term] = (numbers[0], words.weight_of(term, live)) if numbers else None
        return self._weights[term]

    @cached_property
    def usual_length(self) -> tuple[np.float32, float]:
        """Mean and standard deviation of the live turns' `log_length`; there must be a live turn."""
        usual = self._columns.surface["log_length"][self._columns.live]
        return usual.mean(), float(usual.std())
