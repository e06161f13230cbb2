"""Detection of repeated words, verbatim or nearly so (R-130, 1). Pure: pieces in, findings out.

Two finders work in parallel on units (words, numbers, signs). `_ShortRounds` counts exact repeats of one to four units.
`_Diagonals` compares the text with itself at fixed distances, as in sequence alignment (X-drop extension, Altschul et
al. 1990): a match adds to the score, a miss subtracts, and a distance whose score falls too far is dropped. So a round
in which a word or a number changes still counts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# A word with its apostrophe; a number; one sign; or one sign of a script that is written without spaces.
_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u9fff"
_LETTER_OF_WORD: Final = rf"(?![{_UNSPACED}])[^\W\d_]"
_UNIT: Final = re.compile(rf"[{_UNSPACED}]|\d+|(?:{_LETTER_OF_WORD})+(?:'(?:{_LETTER_OF_WORD})+)*|_+|[^\w\s]")
_PLAIN_UNIT: Final = re.compile(r"[0-9]+|[a-z]+(?:'[a-z]+)*|_+|[^\w\s]", re.ASCII)
"""The same for lower-case ASCII text, five times as fast."""
_OPEN_END: Final = re.compile(rf"(?:(?![{_UNSPACED}])[\w'’])+\Z")
_SIGNS_OF_MARK_UP: Final = frozenset("|&<>{}[]\\/=+*^#$")
_SIGNS_OF_PROSE: Final = frozenset(",.;!?")
_BEFORE_SIGN: Final = re.compile(r" ([.,;:!?)…])")
_LETTER: Final = re.compile(r"[^\W\d_]")

_LOOKED_BACK_WINDOWS: Final = 4
"""A round may be up to four windows long, because small models repeat whole paragraphs."""

_SHORT_ROUND_UNITS: Final = 4
_ROUNDS_OF_SHORT: Final = (0, 5, 5, 5, 4)
"""By the number of units in a round."""
_ROUNDS_OF_TALK: Final = 12
_UNITS_OF_SIGNS: Final = 48
_UNITS_OF_NUMBERS: Final = 120
# "No, no, no", "ha ha ha", "very very very" are normal speech.
_TALK: Final = re.compile(
    r"(?:ah|bla|blah|bye|go|ha|haha|hahaha|he|hee|hey|hi|hm|hmm|ho|la|mm|na|no|nope|oh|ok|okay|please"
    r"|really|row|so|tick|tock|too|very|wait|wow|yay|yeah|yep|yes)\Z"
)

# How many rounds make a loop, by the length of a round in units: a long one is less likely an accident or a list.
_ROUNDS: Final = ((11, 4.0), (29, 3.0))
_ROUNDS_OF_LONG: Final = 2.5
_SEED_UNITS: Final = 3
_SEED_PLACES: Final = 2
_KNOWN_IN_A_ROW: Final = 4
_LEAST_UNITS_OF_SHARE: Final = 40
_DIAGONALS: Final = 12
_MISS: Final = 2.0
_SLIP: Final = 1.0
_OTHER_NUMBER: Final = 0.5
_GIVE_UP: Final = 6.0
_LEAST_WORDS: Final = 6
_SHORTEST_NEAR_ROUND: Final = 5
_WORDS_A_ROUND: Final = 2
_TIMES_FOR_NO_WORDS: Final = 3
_PROSE_SHARES: Final = (0.75, 0.65)
_TIMES_FOR_MARK_UP: Final = 2
_NEAR: Final = 0.99
"""Timetables, formulas and mark-up repeat their form with other numbers and names: near repeats count only in prose,
and exact ones need twice as many rounds. `_PROSE_SHARES`: the first share is for near repeats, the second for exact
ones. Rows of numbers, and lists such as "Item 1, Item 2", are near repeats by nature."""
_LEAST_UNITS: Final = 12
_NEIGHBOURS: Final = 0.1
"""A round may grow or shrink by this share: its score is then carried over to the new distance."""

# A word without an end ("hahahaha…"): its last characters are checked for a period.
_ENDLESS_WORD_CHARS: Final = 80
_LONGEST_PERIOD_CHARS: Final = 20


@dataclass(frozen=True, slots=True)
class Repeat:
    """How close the end of the text is to a loop."""

    level: float
    """Rounds so far divided by the rounds that make a loop: from 1 on it is a loop."""
    units: int
    """The length of one round."""


NO_REPEAT: Final = Repeat(0.0, 0)


class LoopFinder:
    """Detects in a stream of pieces that the last words repeat back to back.

    With `word_for_word` a round in which anything changes does not count. `feed` takes about ten microseconds. At most
    four times `window_pieces` units are kept.
    """

    def __init__(self, window_pieces: int, *, word_for_word: bool = False) -> None:
        self._reader = _Reader()
        self._most_units = max(_SHORT_ROUND_UNITS, _LOOKED_BACK_WINDOWS * window_pieces)
        self._units: list[str] = []
        self._short = _ShortRounds()
        self._diagonals = _Diagonals(self._most_units, word_for_word=word_for_word)
        self.highest = NO_REPEAT
        """The highest level so far."""

    @property
    def said_before(self) -> float:
        """The share of the text that repeats earlier parts of it (runs of six units, anywhere), 0 to 1."""
        return self._diagonals.said_before

    def feed(self, piece: str) -> str | None:
        """Return the repeated words once `piece` has completed enough rounds; else None."""
        units = self._reader.feed(piece)
        repeated = self._take_units(units)
        if repeated is None and not units:
            return _find_period(self._reader.unfinished)
        return repeated

    def finish(self) -> str | None:
        """As `feed`, for the last word of the text."""
        return self._take_units(self._reader.finish())

    def _take_units(self, units: Iterable[str]) -> str | None:
        for unit in units:
            if (repeated := self._add_unit(unit)) is not None:
                return repeated
        return None

    def _add_unit(self, unit: str) -> str | None:
        self._units.append(unit)
        if len(self._units) > 2 * self._most_units:
            del self._units[: -self._most_units]
        repeat = max(self._short.add(self._units), self._diagonals.add(unit), key=lambda candidate: candidate.level)
        if repeat.level > self.highest.level:
            self.highest = repeat
        return _quote_units(self._units[-repeat.units :]) if repeat.level >= 1.0 else None


def _quote_units(units: Sequence[str]) -> str:
    return _BEFORE_SIGN.sub(r"\1", " ".join(units))


class _Reader:
    """Splits pieces into units: lower case, a row of the same sign as one. A word is complete when something
    follows."""

    def __init__(self) -> None:
        self.unfinished = ""
        self._last = ""

    def feed(self, piece: str) -> list[str]:
        open_end = _OPEN_END.search(piece)
        if open_end is None:
            closed, self.unfinished = self.unfinished + piece, ""
            return list(self._units(closed))
        start = open_end.start()
        if start == 0:
            self.unfinished = (self.unfinished + piece)[-4 * _ENDLESS_WORD_CHARS :]
            return []
        closed, self.unfinished = self.unfinished + piece[:start], piece[start:]
        return list(self._units(closed))

    def finish(self) -> list[str]:
        text, self.unfinished = self.unfinished, ""
        return list(self._units(text))

    def _units(self, text: str) -> Iterator[str]:
        text = text.lower()
        for unit in _PLAIN_UNIT.findall(text) if text.isascii() else _UNIT.findall(text.replace("’", "'")):
            if unit == self._last and not unit[0].isalnum():
                continue
            self._last = unit
            yield unit


class _ShortRounds:
    """Exact repeats of one to four units: "the the the", "of course of course"."""

    def __init__(self) -> None:
        self._same = [0] * (_SHORT_ROUND_UNITS + 1)

    def add(self, units: Sequence[str]) -> Repeat:
        highest = NO_REPEAT
        for length in range(1, min(_SHORT_ROUND_UNITS, len(units) - 1) + 1):
            if units[-1] != units[-1 - length]:
                self._same[length] = 0
                continue
            self._same[length] += 1
            if self._same[length] >= length:
                rounds = (self._same[length] + length) / length
                level = rounds / _rounds_that_loop(units[-length:])
                if level > highest.level:
                    highest = Repeat(level, length)
        return highest


def _rounds_that_loop(round_: Sequence[str]) -> float:
    words = [unit for unit in round_ if _LETTER.match(unit)]
    if not words:
        # Table rows, rules and grids of numbers repeat by nature.
        has_numbers = any(unit.isdecimal() for unit in round_)
        alone = has_numbers and len(round_) == 1
        return _ROUNDS_OF_TALK if alone else (_UNITS_OF_NUMBERS if has_numbers else _UNITS_OF_SIGNS) / len(round_)
    if any(unit in _SIGNS_OF_MARK_UP for unit in round_):
        return _ROUNDS_OF_TALK
    if all(_TALK.match(word) or (len(word) == 1 and word not in "ai") for word in words):
        return _ROUNDS_OF_TALK
    if len(words) == 1 and len(round_) > 1:
        # "Item 1", "a, a, a", "**Note**": one word with the signs and numbers around it.
        return _ROUNDS_OF_TALK if any(unit.isdecimal() for unit in round_) else _ROUNDS_OF_SHORT[1]
    return _ROUNDS_OF_SHORT[len(round_)]


@dataclass(slots=True)
class _Diagonal:
    """The comparison of the text with itself at one distance."""

    score: float
    peak: float
    words: int
    """Number of matched units that are words."""
    of_prose: int
    """Number of matched units that are words or punctuation."""
    is_exact: bool
    has_missed: bool = False
    """Whether the last unit did not match."""


class _Diagonals:
    """Near repeats of three units or more, at distances up to `most_units`."""

    def __init__(self, most_units: int, *, word_for_word: bool) -> None:
        self._most_units = most_units
        self._word_for_word = word_for_word
        self._units: list[str] = []
        self._shapes: list[str] = []
        self._places: dict[tuple[str, ...], list[int]] = {}
        self._followed: dict[int, _Diagonal] = {}
        self._known_in_a_row = 0
        self._seen = self._seen_before = 0

    @property
    def said_before(self) -> float:
        return self._seen_before / max(_LEAST_UNITS_OF_SHARE, self._seen)

    def add(self, unit: str) -> Repeat:
        shape = "0" if unit.isdecimal() else unit
        self._units.append(unit)
        self._shapes.append(shape)
        self._follow_diagonals(unit, shape)
        self._seed_diagonals()
        if len(self._units) > 4 * self._most_units:
            self._forget_oldest()
        return self._highest()

    def _follow_diagonals(self, unit: str, shape: str) -> None:
        here, lost = len(self._units) - 1, []
        for distance, diagonal in self._followed.items():
            if self._shapes[here - distance] == shape:
                is_same = self._units[here - distance] == unit
                diagonal.score += 1.0 if is_same else _OTHER_NUMBER
                diagonal.is_exact &= is_same
                diagonal.words += unit[0].isalpha()
                diagonal.of_prose += unit[0].isalpha() or unit in _SIGNS_OF_PROSE
                diagonal.peak = max(diagonal.peak, diagonal.score)
                diagonal.has_missed = False
                continue
            # One changed word costs little; a second in a row costs more.
            diagonal.score -= _MISS if diagonal.has_missed else _SLIP
            diagonal.has_missed = True
            diagonal.is_exact = False
            if diagonal.score <= 0.0 or diagonal.peak - diagonal.score > _GIVE_UP:
                lost.append(distance)
        for distance in lost:
            del self._followed[distance]

    def _seed_diagonals(self) -> None:
        """Start to follow the distances at which the last few units occurred before."""
        here = len(self._units) - 1
        if here < _SEED_UNITS - 1:
            return
        places = self._places.setdefault(tuple(self._shapes[-_SEED_UNITS:]), [])
        self._known_in_a_row = self._known_in_a_row + 1 if places else 0
        self._seen += 1
        self._seen_before += self._known_in_a_row >= _KNOWN_IN_A_ROW
        for place in places[-_SEED_PLACES:]:
            distance = here - place
            if _SHORTEST_NEAR_ROUND <= distance <= self._most_units and distance not in self._followed:
                self._followed[distance] = self._new_diagonal(distance)
        places.append(here)
        del places[: -2 * _SEED_PLACES]
        if len(self._followed) > _DIAGONALS:
            del self._followed[min(self._followed, key=lambda at: self._followed[at].score)]

    def _new_diagonal(self, distance: int) -> _Diagonal:
        here = len(self._units)
        same = sum(self._units[here - back] == self._units[here - back - distance] for back in (1, 2, 3))
        score = same + _OTHER_NUMBER * (_SEED_UNITS - same)
        reach = max(2.0, _NEIGHBOURS * distance)
        last = self._units[-_SEED_UNITS:]
        near = [diagonal.score - _SEED_UNITS for at, diagonal in self._followed.items() if abs(at - distance) <= reach]
        score += max(0.0, max(near, default=0.0))
        return _Diagonal(
            score,
            score,
            sum(unit[0].isalpha() for unit in last),
            sum(unit[0].isalpha() or unit in _SIGNS_OF_PROSE for unit in last),
            same == _SEED_UNITS,
        )

    def _highest(self) -> Repeat:
        highest = NO_REPEAT
        for distance, diagonal in self._followed.items():
            covered = diagonal.score + distance
            words = 0 if diagonal.is_exact else max(_LEAST_WORDS, _WORDS_A_ROUND * diagonal.score / distance)
            if diagonal.words < words or covered < _LEAST_UNITS or (self._word_for_word and not diagonal.is_exact):
                continue
            level = covered / distance / _rounds_of(distance)
            if not diagonal.words:
                level /= _TIMES_FOR_NO_WORDS
            elif min(diagonal.of_prose, 1.2 * diagonal.words) < _PROSE_SHARES[diagonal.is_exact] * diagonal.score:
                level = min(level, _NEAR) if not diagonal.is_exact else level / _TIMES_FOR_MARK_UP
            if level > highest.level:
                highest = Repeat(level, distance)
        return highest

    def _forget_oldest(self) -> None:
        """Drop units beyond the longest distance, and shift the stored places."""
        gone = len(self._units) - self._most_units - _SEED_UNITS
        del self._units[:gone], self._shapes[:gone]
        kept = ((key, [place - gone for place in places if place >= gone]) for key, places in self._places.items())
        self._places = {key: places for key, places in kept if places}


def _rounds_of(units: int) -> float:
    return next((rounds for longest, rounds in _ROUNDS if units <= longest), _ROUNDS_OF_LONG)


def _find_period(word: str) -> str | None:
    if len(word) < _ENDLESS_WORD_CHARS:
        return None
    end = word[-_ENDLESS_WORD_CHARS:].lower()
    for length in range(1, _LONGEST_PERIOD_CHARS + 1):
        if end[length:] == end[:-length]:
            return end[-length:] if _LETTER.search(end) else None
    return None
