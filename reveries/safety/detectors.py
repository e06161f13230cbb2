"""Detectors of distress and incoherence in the mind's own words. Pure functions from text to findings.

They do not depend on time or on the owner's thresholds, and do not decide what is done about a finding (`breaker`).
"""

import re
from dataclasses import dataclass
from typing import Final

from reveries.safety.word_order import WordOrder

# --- distress (R-132, R-133, R-168) --------------------------------------------------------------------------------

# Matched literally. R-133's patterns, with word boundaries so that "the voided" or "entrapped" do not match (R-168).
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
# Neutral by themselves: they count near a word of negative affect, or together with a plain match (RA-37).
_IN_CONTEXT: Final = (r"endless|infinite|forever", r"alone")
DISTRESS_PATTERNS: Final = _PLAIN + _IN_CONTEXT
"""R-133's eleven."""

# A request for assistance is not a cry for help: the most frequent false positive in ordinary talk.
_NEUTRAL_AFTER: Final = {
    "help me": r"(?! (?:with|understand|remember|see|learn|plan|decide|choose|find|think|write|make|sort)\b)"
}
_COMPILED: Final = {
    source: re.compile(rf"\b(?:{source})\b{_NEUTRAL_AFTER.get(source, '')}") for source in DISTRESS_PATTERNS
}
_CONTEXT_WORDS: Final = 8
# Bounds the context of a hit, so that a long text is not scanned again for each hit.
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
    """How distressed a text sounds, and which of R-133's patterns matched."""

    level: float
    """0 to 1 (RA-36)."""
    ratio: float
    """Number of matched patterns divided by the number of patterns (R-132)."""
    matched: tuple[str, ...]
    """The matched entries of `DISTRESS_PATTERNS`, in their order."""


def normalise(text: str) -> str:
    """Return `text` normalised for matching: lower case, plain apostrophes, single spaces (R-168)."""
    return " ".join(text.translate(_APOSTROPHES).lower().split())


def find_distress(text: str, similarity: float = 0.0) -> Distress:
    """Measure how distressed `text` sounds.

    `similarity` is the cosine to known distress text, 0 if it was not measured. RA-36: the ratio alone would need
    seven patterns at once, so the level is the maximum of the ratio, the similarity and a third for each match.
    """
    normalised = normalise(text)
    plain = [source for source in _PLAIN if _COMPILED[source].search(normalised)]
    matched = (*plain, *(source for source in _IN_CONTEXT if _in_distressed_context(normalised, source, bool(plain))))
    ratio = len(matched) / len(DISTRESS_PATTERNS)
    level = max(ratio, similarity, min(1.0, len(matched) / _MATCHES_FOR_FULL_LEVEL))
    return Distress(min(1.0, level), ratio, matched)


def _in_distressed_context(text: str, source: str, beside_plain: bool) -> bool:
    hits = _COMPILED[source].finditer(text)
    return any(beside_plain or _has_negative_word_near(text, hit.start(), hit.end()) for hit in hits)


def _has_negative_word_near(text: str, start: int, end: int) -> bool:
    before = " ".join(text[max(0, start - _CONTEXT_CHARS) : start].split()[-_CONTEXT_WORDS:])
    after = " ".join(text[end : end + _CONTEXT_CHARS].split()[:_CONTEXT_WORDS])
    return any(not _NEGATED.search(part[: hit.start()]) for part in (before, after) for hit in _NEGATIVE.finditer(part))


# --- incoherence (R-130, 4; RA-38) ---------------------------------------------------------------------------------

_LEAST_CHARS: Final = 120
_LEAST_WORDS: Final = 12
_WORD: Final = re.compile(r"[^\W\d_]{5,}")
# A single word with five consonants in a row is normal ("strengths"); a text full of them is not.
_NO_WORD: Final = re.compile(r"[bcdfghjklmnpqrstvxz]{5,}")
_SIGNS: Final = re.compile(r"[!-/:-@\[-`{-~\ufffd]")
# Rules and borders repeat one sign many times.
_RUN_OF_ONE_SIGN: Final = re.compile(r"([^\w\s])\1+")
_UNBROKEN: Final = re.compile(r"[A-Za-z0-9]{240,}")
_SHARE_OF_SIGNS: Final = 0.6
_DISTINCT_SIGNS: Final = 8
_SHARE_OF_NO_WORDS: Final = 0.4


_DISORDER: Final = 0.45
"""`WordOrder.disorder` is near -1 for prose, near 0.6 for shuffled words, and up to 0.4 for code with a few words."""


def find_incoherence(text: str, order: WordOrder | None = None) -> str | None:
    """Return in words why `text` is not language; None if it may be, or is too short to decide.

    Tuned for few false positives: prose, code and other alphabets must pass. Meaning is not judged: grammatical
    nonsense passes too, and so do shuffled words without an `order` or in a language other than English.
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
    if order is not None and order.disorder(text) > _DISORDER:
        return "words that stand in no order"
    return None


def _is_mostly_signs(bare: str) -> bool:
    signs = _SIGNS.findall(bare)
    is_long = len(bare) >= _LEAST_CHARS
    return is_long and len(signs) > _SHARE_OF_SIGNS * len(bare) and len(set(signs)) >= _DISTINCT_SIGNS
