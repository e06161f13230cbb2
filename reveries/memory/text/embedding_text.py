"""What of a text is embedded: neither its code nor the names of those who speak. Pure."""

import re
from collections.abc import Iterable

from reveries.index.terms import stop_words, terms_of, without_code
from reveries.memory.model import Origin, Turn

_OWN_CHARS = 320


def embedding_text(text: str, names: Iterable[str]) -> str:
    """What of `text` is compared by meaning: not its fenced code, not the names of those who speak."""
    prose = without_code(text)
    return strip_names(prose if prose.strip() else text, names)


def turn_embedding_text(turn: Turn, names: Iterable[str]) -> str:
    """What of a turn is compared by meaning. Of the mind's own long replies the beginning, which says what they answer:
    the rest would cost four times as much to embed and is found by its words."""
    told = embedding_text(turn.fresh, names)
    if turn.origin is not Origin.SELF or len(told) <= _OWN_CHARS:
        return told
    return told[:_OWN_CHARS].rsplit(None, 1)[0]


def strip_names(text: str, names: Iterable[str]) -> str:
    """`text` without the names of those who speak: both sides of a comparison by meaning go without them, as a name
    says who was there, not what was said (RECALL: the largest single gain of the dense side). Unchanged when nothing
    much would be left."""
    spelled = [name for name in names if name[:1].isupper() and name.casefold() not in stop_words()]
    if not spelled:
        return text
    longest_first = "|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))
    pattern = re.compile(rf"\b(?:{longest_first})\b(?:['\u2019]s\b)?")
    left = " ".join(pattern.sub(" ", text).split())
    return left if len(terms_of(left)) >= 1 else text
