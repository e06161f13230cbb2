"""What can be said of a text at once and without a model: how it feels, how much it matters, what and whom it names.

Cheap first estimates (RA-15): deep sleep overwrites the salience, nothing overwrites the words. Pure; English word
lists, and a fair guess (0, nothing) for other languages.
"""

import re
from collections import Counter

from reveries.memory.lexicon import affect, stop_words
from reveries.memory.stemming import stem, words_of
from reveries.memory.words import terms_of

_NEGATIONS = frozenset({"not", "no", "never", "don't", "didn't", "isn't", "wasn't", "can't", "couldn't", "won't"})
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "we", "our", "us"})
_ASKS_TO_REMEMBER = re.compile(
    r"\b(?:remember|don't forget|never forget|my name is|call me|important to me|promise)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\d")
_TOKEN = re.compile(r"[^\W_][\w'\u2019-]*|[.!?\u2026:\n\"\u201c(]")
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
)
_DATE = re.compile(
    rf"\b(?:\d{{4}}-\d{{2}}-\d{{2}}|(?:19|20)\d{{2}}|(?:\d{{1,2}}(?:st|nd|rd|th)?[ ])?(?:{_MONTHS})"
    r"(?:[ ]\d{1,2}(?:st|nd|rd|th)?)?)\b",
    re.IGNORECASE,
)
_SENTENCE_ENDS = frozenset('.!?\u2026:\n"\u201c(')
_JOINERS = frozenset({"of", "the", "de", "la", "van", "von", "du", "da"})


def valence_of(text: str) -> float:
    """How pleasant `text` sounds, -1 to 1; 0 when no word says so. A negation turns the next three words around."""
    feelings = affect()
    felt: list[float] = []
    turned = 0
    for word in words_of(text):
        if word in _NEGATIONS:
            turned = 3
            continue
        if (value := feelings.get(stem(word))) is not None and (word not in stop_words() or word in feelings):
            felt.append(-0.5 * value if turned else value)
        turned = max(0, turned - 1)
    if not felt:
        return 0.0
    return max(-1.0, min(1.0, sum(felt) / (len(felt) + 1.0)))


def infer_mood(text: str) -> float:
    """R-88's mood of the one who writes, -1 to 1, without a model. Never fails (R-94)."""
    return valence_of(text)


def salience_of(text: str) -> float:
    """A first guess of how much `text` matters, 0 to 1 (R-69): what is personal, particular, felt, or long enough."""
    words = words_of(text)
    if not words:
        return 0.0
    informative = len(set(terms_of(text)))
    feelings = affect()
    felt = max((abs(feelings.get(stem(word), 0.0)) for word in words), default=0.0)
    personal = min(1.0, sum(word in _FIRST_PERSON for word in words) / 4.0)
    named = min(1.0, len(entities_of(text)) / 3.0)
    score = 0.1 + 0.25 * min(1.0, informative / 30.0) + 0.15 * felt + 0.15 * personal + 0.15 * named
    score += 0.05 * bool(_NUMBER.search(text)) + 0.2 * bool(_ASKS_TO_REMEMBER.search(text))
    return round(min(0.95, score), 3)


def topics_of(text: str, limit: int = 5) -> tuple[str, ...]:
    """What `text` is about: its most frequent telling words (as they are written, lower case), names first."""
    stops = stop_words()
    forms: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for word in words_of(text):
        if word not in stops and len(word) > 2 and not word.isdigit():
            forms.setdefault(stem(word), word)
            counts[stem(word)] += 1
    for name in entities_of(text):
        for word in name.split():
            if stem(word) in counts:
                counts[stem(word)] += 1
    ranked = sorted(counts, key=lambda term: (-counts[term], -len(term), term))
    return tuple(forms[term] for term in ranked[:limit])


def entities_of(text: str) -> tuple[str, ...]:
    """Names and dates in `text`, lower case, in order: capitalised spans, and months, weekdays, years.

    A capital at the beginning of a sentence says nothing by itself: such a word counts when it stands with a capital
    inside a sentence too, or when another capitalised word follows it.
    """
    inside = {word for word, starts in _capitalised(text) if not starts}
    found: dict[str, None] = {}
    for span in _spans(text, inside):
        found.setdefault(span.casefold(), None)
    for match in _DATE.finditer(text):
        if match.group().casefold() not in ("may", "march") or match.group()[0].isupper():
            found.setdefault(match.group().casefold(), None)
    return tuple(found)


def _capitalised(text: str) -> list[tuple[str, bool]]:
    """Capitalised words, each with whether a sentence starts with it."""
    found: list[tuple[str, bool]] = []
    starts = True
    for token in _TOKEN.findall(text):
        if token in _SENTENCE_ENDS:
            starts = True
            continue
        if _is_name_like(token):
            found.append((token, starts))
        starts = False
    return found


def _spans(text: str, inside: set[str]) -> list[str]:
    """Runs of capitalised words ("Isle of Skye"), without a lone capital that only begins a sentence."""
    spans: list[str] = []
    run: list[str] = []
    began_sentence = starts = True
    for token in [*_TOKEN.findall(text), "."]:
        if token not in _SENTENCE_ENDS and _is_name_like(token):
            if not run:
                began_sentence = starts
            run.append(token)
        elif run and token in _JOINERS:
            run.append(token)
        else:
            spans += _span(run, began_sentence, inside)
            run = []
        starts = token in _SENTENCE_ENDS
    return spans


def _span(run: list[str], began_sentence: bool, inside: set[str]) -> list[str]:
    while run and run[-1] in _JOINERS:
        run = run[:-1]
    if run and began_sentence and len(run) == 1 and run[0] not in inside:
        return []
    return [" ".join(word.removesuffix("'s").removesuffix("\u2019s") for word in run)] if run else []


def _is_name_like(token: str) -> bool:
    if not token[0].isupper():
        return False
    plain = token.casefold().replace("\u2019", "'")
    return plain not in stop_words() and plain.removesuffix("'s") not in stop_words()
