"""Estimates valence, salience and topics of a text without a model.

Cheap first estimates (RA-15); deep sleep overwrites the salience. Pure. Uses English word lists, and returns neutral
values (0, empty) for other languages.
"""

import re
from collections import Counter

from reveries.index.terms import stem, stop_words, terms_of, words_of
from reveries.memory.text.entities import entities_of
from reveries.memory.text.word_lists import affect

_NEGATIONS = frozenset({"not", "no", "never", "cannot", "hardly", "without", "nobody", "nothing", "neither", "nor"})
_FIRST_PERSON = frozenset({"i", "i'm", "i've", "i'd", "i'll", "my", "me", "mine", "we", "our", "us"})
_ASKS_TO_REMEMBER = re.compile(
    r"\b(?:remember|don't forget|never forget|my name is|call me|important to me|promise)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\d")
_TURNED_WORDS = 3
_TURNED_SHARE = -0.5
"""Factor for a negated word: the opposite feeling, but weaker ("not happy" is mildly unpleasant)."""
_TURNS_BACK = frozenset({"but", "however", "although", "though", "yet"})
_STRONGER = frozenset(
    {
        "very",
        "so",
        "really",
        "extremely",
        "incredibly",
        "absolutely",
        "totally",
        "completely",
        "deeply",
        "truly",
        "super",
    }
)
_WEAKER = frozenset({"slightly", "somewhat", "bit", "little", "fairly", "rather", "kinda"})
_STRONGER_BY, _WEAKER_BY = 1.4, 0.6
_NEVER_MORE = re.compile(
    r"\b(?:never|not|can't|cannot|couldn't|won't|wouldn't|hasn't|haven't|hadn't|don't|didn't)"
    r"(?=(?:\s+\w+){0,3}?\s+(?:so|this|more|as|\w+er|better|worse)\b)"
    r"(?=\s+(?:been|be|felt|feel|seen|had|have|get|known|experienced)\b)",
)
"""A negation that strengthens: "never been so happy", "could not be happier"."""
_EAGER = re.compile(r"\b(?:can't|cannot|can not|couldn't) wait\b|\bnot only\b|\bno doubt\b|\bnot just\b|\bno wonder\b")


def valence_of(text: str) -> float:
    """Estimate how pleasant `text` sounds, -1 to 1; 0 if no word indicates it.

    A negation inverts the next three words, up to a "but"; "never been so happy" counts as stronger.
    """
    feelings = affect()
    values: list[float] = []
    turned, strength = 0, 1.0
    for word in words_of(_without_emphatic_negations(text)):
        if word in _TURNS_BACK:
            turned = 0
        elif _is_negation(word):
            turned, strength = _TURNED_WORDS, 1.0
            continue
        elif word in _STRONGER or word in _WEAKER:
            strength = _STRONGER_BY if word in _STRONGER else _WEAKER_BY
            continue
        elif (value := feelings.get(_positive_form(word))) is not None:
            values.append(value * strength * (_TURNED_SHARE if turned else 1.0))
        turned, strength = max(0, turned - 1), 1.0
    if not values:
        return 0.0
    return max(-1.0, min(1.0, sum(values) / (len(values) + 1.0)))


def _without_emphatic_negations(text: str) -> str:
    """Replace negations that do not negate ("can't wait", "never been so")."""
    plain = text.casefold().replace("\u2019", "'").replace("could not", "couldn't")
    plain = _EAGER.sub(lambda match: "excited" if match.group().endswith("wait") else "", plain)
    return _NEVER_MORE.sub("very", plain)


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _positive_form(word: str) -> str:
    """Return the stem of `word`; for "happier" and "happiest" that of "happy"."""
    for ending in ("ier", "iest"):
        if word.endswith(ending):
            return stem(word.removesuffix(ending) + "y")
    return stem(word)


def infer_mood(text: str) -> float:
    """Infer the writer's mood (R-88), -1 to 1, without a model. Never fails (R-94)."""
    return valence_of(text)


def salience_of(text: str) -> float:
    """Estimate how much `text` matters, 0 to 1 (R-69), by personal words, names, numbers, feeling and length."""
    words = words_of(text)
    if not words:
        return 0.0
    informative = len(set(terms_of(text)))
    feelings = affect()
    feeling = max((abs(feelings.get(stem(word), 0.0)) for word in words), default=0.0)
    personal = min(1.0, sum(word in _FIRST_PERSON for word in words) / 4.0)
    named = min(1.0, len(entities_of(text)) / 3.0)
    score = 0.1 + 0.25 * min(1.0, informative / 30.0) + 0.15 * feeling + 0.15 * personal + 0.15 * named
    score += 0.05 * bool(_NUMBER.search(text)) + 0.2 * bool(_ASKS_TO_REMEMBER.search(text))
    return round(min(0.95, score), 3)


def topics_of(text: str, limit: int = 5) -> tuple[str, ...]:
    """Return the topics of `text`: its most frequent content words (as written, lower case); names count double."""
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
