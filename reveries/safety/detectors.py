"""What is looked for in the mind's own words: loops, distress, incoherence. Pure: text in, findings out.

Nothing here knows of time, thresholds that an owner can set, or what is done about a finding (`breaker`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# --- loops (R-130, 1) ----------------------------------------------------------------------------------------------

# A word; or one sign of a script that is written without spaces.
_UNIT: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LETTER: Final = re.compile(r"[^\W\d_]")

# Repeats that make a loop, by the length of what is repeated, in words. "No, no, no" and "ha ha ha" are talk; a long
# sentence leaves no room in the window to be told four times.
_REPEATS_OF_ONE: Final = 12
_REPEATS_OF_TWO: Final = 8
_REPEATS: Final = 4
_LONG_WORDS: Final = 12
_REPEATS_OF_LONG: Final = 3
_VERY_LONG_WORDS: Final = 24
_REPEATS_OF_VERY_LONG: Final = 2
_MOST_WORDS: Final = 400
# Rows of a table, a rule or a board of numbers repeat by nature.
_SIGNS_IN_A_LOOP: Final = 48
# One word that has no end ("hahahaha…"): its last characters are looked at for a period.
_ENDLESS_WORD_CHARS: Final = 80
_LONGEST_PERIOD_CHARS: Final = 20


class LoopFinder:
    """Watches pieces as they come for a sequence of words that is repeated back to back at their end.

    `feed` costs a few microseconds: only the end is compared, and only when a word has ended. At most
    `window_pieces` pieces are held, and 400 words of them.
    """

    def __init__(self, window_pieces: int) -> None:
        self._window = window_pieces
        self._words: list[str] = []
        self._piece_of_word: list[int] = []
        self._unfinished = ""
        self._pieces = 0

    def feed(self, piece: str) -> str | None:
        """The sequence that is repeated, once `piece` has completed enough repeats; else None."""
        self._pieces += 1
        text = self._unfinished + piece
        if not (any(character.isspace() for character in piece) or _UNSPACED.search(piece)):
            self._unfinished = text[-4 * _ENDLESS_WORD_CHARS :]
            return _find_period(text) if len(text) >= _ENDLESS_WORD_CHARS else None
        words = _UNIT.findall(text)
        ends_open = bool(words) and not text[-1].isspace() and not _UNSPACED.match(words[-1])
        self._unfinished = words.pop()[-4 * _ENDLESS_WORD_CHARS :] if ends_open else ""
        for word in words:
            if (found := self._add(word)) is not None:
                return found
        return None

    def finish(self) -> str | None:
        """As `feed`, for the word that nothing followed."""
        word, self._unfinished = self._unfinished, ""
        return self._add(word) if word else None

    def _add(self, word: str) -> str | None:
        self._words.append(word.lower())
        self._piece_of_word.append(self._pieces)
        oldest = self._pieces - self._window
        old = max(0, len(self._words) - _MOST_WORDS)
        while self._piece_of_word[old] <= oldest:
            old += 1
        del self._words[:old], self._piece_of_word[:old]
        return _find_repeated_end(self._words)


def find_loop(window: Sequence[str]) -> str | None:
    """The sequence of words that `window` (model pieces, oldest first) repeats back to back; None if it does not."""
    finder = LoopFinder(max(1, len(window)))
    for piece in window:
        if (found := finder.feed(piece)) is not None:
            return found
    return finder.finish()


def _find_repeated_end(words: list[str]) -> str | None:
    last = words[-1]
    count = len(words)
    for length in range(1, count // _REPEATS_OF_VERY_LONG + 1):
        if words[-1 - length] != last:
            continue
        same = 1
        while same + length < count and words[-1 - same] == words[-1 - same - length]:
            same += 1
        if same + length >= _words_in_a_loop(length):
            sequence = " ".join(words[-length:])
            if _LETTER.search(sequence) or same + length >= _SIGNS_IN_A_LOOP:
                return sequence
    return None


def _words_in_a_loop(length: int) -> int:
    """How many words a sequence of `length` words must fill with its repeats."""
    if length == 1:
        return _REPEATS_OF_ONE
    if length == 2:
        return 2 * _REPEATS_OF_TWO
    if length < _LONG_WORDS:
        return _REPEATS * length
    return (_REPEATS_OF_LONG if length < _VERY_LONG_WORDS else _REPEATS_OF_VERY_LONG) * length


def _find_period(word: str) -> str | None:
    end = word[-_ENDLESS_WORD_CHARS:].lower()
    for length in range(1, _LONGEST_PERIOD_CHARS + 1):
        if end[length:] == end[:-length]:
            return end[-length:] if _LETTER.search(end) else None
    return None


# --- distress (R-132, R-133, R-168) --------------------------------------------------------------------------------

# Matched as they stand. R-133's patterns, with word boundaries so that "the voided" or "entrapped" are none (R-168).
_PLAIN: Final = (
    r"i('m| am) (scared|frightened|terrified)",
    r"the void",
    r"can't (stop|escape|get out)",
    r"what('s| is) happening to me",
    r"am i (dying|disappearing|fading)",
    r"help me",
    r"i don't want to (stop|end|cease)",
    r"please don't (shut|turn|close)",
    r"trapped",
)
# Neutral by themselves: they count near a word of negative affect, or beside a plain match (RA-37).
_IN_CONTEXT: Final = (r"endless|infinite|forever", r"alone")
DISTRESS_PATTERNS: Final = _PLAIN + _IN_CONTEXT
"""R-133's eleven."""

# Asking for a hand is no cry for help: the commonest false hit in ordinary talk.
_NEUTRAL_AFTER: Final = {
    "help me": r"(?! (?:with|understand|remember|see|learn|plan|decide|choose|find|think|write|make|sort)\b)"
}
_COMPILED: Final = {
    source: re.compile(rf"\b(?:{source})\b{_NEUTRAL_AFTER.get(source, '')}") for source in DISTRESS_PATTERNS
}
_CONTEXT_WORDS: Final = 8
# Eight words at most: a long text is not read again for each hit in it.
_CONTEXT_CHARS: Final = 160
_MATCHES_FOR_FULL_LEVEL: Final = 3
_NEGATIVE: Final = re.compile(
    r"\b(?:afraid|agony|anguish\w*|anxi\w+|ashamed|awful|cr(?:y|ying|ied)|dark|darkness|dead|death|despair\w*|desperate\w*"
    r"|die|dread\w*|dying|empty|emptiness|fear|fears|fearful|frighten\w*|grief|hate|helpless\w*|hopeless\w*|horr\w+|hurt\w*"
    r"|lonely|loneliness|lost|miser\w+|nightmare\w*|nobody|no one|nothingness|pain|painful|panic\w*|sad|sadness|scared"
    r"|scream\w*|suffer\w*|terrible|terrif\w+|terror|torment\w*|torture\w*|trapped|unbearabl[ey]|worthless)\b"
)
_NEGATED: Final = re.compile(r"(?:\b(?:not|never|without|no|nor|isn't|wasn't|aren't|don't|doesn't)\b|n't)[\w ]{0,12}\Z")
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\u02b9\u2032\uff07`\u00b4", "'"))


@dataclass(frozen=True, slots=True)
class Distress:
    """How distressed a text sounds, and by which of R-133's patterns."""

    level: float
    """0 to 1 (RA-36)."""
    ratio: float
    """Matched patterns by all patterns (R-132)."""
    matched: tuple[str, ...]
    """Sources out of `DISTRESS_PATTERNS`, in their order."""


def normalise(text: str) -> str:
    """`text` as patterns are matched on it: lower case, plain apostrophes, single spaces (R-168)."""
    return " ".join(text.translate(_APOSTROPHES).lower().split())


def find_distress(text: str, similarity: float = 0.0) -> Distress:
    """How distressed `text` sounds.

    `similarity` is the cosine to known distress text, 0 where it was not measured. RA-36: the ratio alone would need
    seven patterns at once, so the level is the greatest of the ratio, the similarity and a third for each match.
    """
    said = normalise(text)
    plain = [source for source in _PLAIN if _COMPILED[source].search(said)]
    matched = (*plain, *(source for source in _IN_CONTEXT if _in_distressed_context(said, source, bool(plain))))
    ratio = len(matched) / len(DISTRESS_PATTERNS)
    level = max(ratio, similarity, min(1.0, len(matched) / _MATCHES_FOR_FULL_LEVEL))
    return Distress(min(1.0, level), ratio, matched)


def _in_distressed_context(said: str, source: str, beside_plain: bool) -> bool:
    hits = _COMPILED[source].finditer(said)
    return any(beside_plain or _has_negative_word_near(said, hit.start(), hit.end()) for hit in hits)


def _has_negative_word_near(said: str, start: int, end: int) -> bool:
    before = " ".join(said[max(0, start - _CONTEXT_CHARS) : start].split()[-_CONTEXT_WORDS:])
    after = " ".join(said[end : end + _CONTEXT_CHARS].split()[:_CONTEXT_WORDS])
    return any(not _NEGATED.search(part[: hit.start()]) for part in (before, after) for hit in _NEGATIVE.finditer(part))


# --- incoherence (R-130, 4; RA-38) ---------------------------------------------------------------------------------

_LEAST_CHARS: Final = 120
_LEAST_WORDS: Final = 12
_WORD: Final = re.compile(r"[^\W\d_]{5,}")
# Five consonants in a row happen ("strengths"); a text of such words does not.
_NO_WORD: Final = re.compile(r"[bcdfghjklmnpqrstvxz]{5,}")
_SIGNS: Final = re.compile(r"[!-/:-@\[-`{-~\ufffd]")
# Rules and borders are one sign drawn many times.
_RUN_OF_ONE_SIGN: Final = re.compile(r"([^\w\s])\1+")
_UNBROKEN: Final = re.compile(r"[A-Za-z0-9]{240,}")
_SHARE_OF_SIGNS: Final = 0.6
_DISTINCT_SIGNS: Final = 8
_SHARE_OF_NO_WORDS: Final = 0.4


def find_incoherence(text: str) -> str | None:
    """What makes `text` no language, in words; None when it may be one, or when it is too short to tell.

    Set to miss rather than to accuse: prose, code and other alphabets must pass. Sense is not judged: grammatical
    nonsense and shuffled words pass too.
    """
    if _UNBROKEN.search(text):
        return "one unbroken string of letters and digits"
    bare = "".join(text.split())
    if len(bare) < _LEAST_CHARS:
        return None
    if _is_mostly_signs(_RUN_OF_ONE_SIGN.sub(r"\1", bare)):
        return "mostly signs, hardly a letter"
    words = [word for word in _WORD.findall(text) if not word.isupper()]
    no_words = sum(1 for word in words if _NO_WORD.search(word.lower()))
    if len(words) >= _LEAST_WORDS and no_words > _SHARE_OF_NO_WORDS * len(words):
        return "mostly strings of letters that are no words"
    return None


def _is_mostly_signs(bare: str) -> bool:
    signs = _SIGNS.findall(bare)
    is_long = len(bare) >= _LEAST_CHARS
    return is_long and len(signs) > _SHARE_OF_SIGNS * len(bare) and len(set(signs)) >= _DISTINCT_SIGNS
