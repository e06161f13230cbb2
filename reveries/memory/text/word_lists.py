"""Loads the word lists in this package, each once. English only; other languages match nothing."""

from functools import cache
from importlib import resources

from reveries.index.terms import stem


@cache
def openers() -> frozenset[str]:
    """Ordinary words at the beginning of sentences, which are not names despite their capital."""
    return frozenset(_read_word_list("openers.txt").split())


@cache
def after_subjects() -> frozenset[str]:
    """Words that follow a subject: the first word of a sentence may be a name if one of them comes next."""
    return frozenset(_read_word_list("after_subjects.txt").split())


@cache
def no_names() -> frozenset[str]:
    """Words that occur in the position of a name ("my sister moved", "from work") but are none."""
    return frozenset(_read_word_list("no_names.txt").split())


@cache
def affect() -> dict[str, float]:
    """Valence by stem, -1 to 1."""
    valences: dict[str, float] = {}
    for line in _read_word_list("affect.txt").splitlines():
        if line and not line.startswith("#"):
            valence, *words = line.split()
            valences |= {stem(word): float(valence) for word in words}
    return valences


@cache
def common_words() -> frozenset[str]:
    """Common stems, from the embedder's vocabulary. A word that is not among them may be a name, a code or a number."""
    return frozenset(_read_word_list("common_words.txt").split())


def _read_word_list(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
