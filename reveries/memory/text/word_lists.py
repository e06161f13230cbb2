"""The word lists that ship beside this file, each read once. English only; other languages simply find nothing here."""

from functools import cache
from importlib import resources

from reveries.index.terms import stem


@cache
def openers() -> frozenset[str]:
    """Ordinary words that sentences begin with, and that are no names there for all their capital."""
    return frozenset(_read_word_list("openers.txt").split())


@cache
def after_subjects() -> frozenset[str]:
    """Words that follow one who does or has something: a sentence's first word before one of them may be a name."""
    return frozenset(_read_word_list("after_subjects.txt").split())


@cache
def no_names() -> frozenset[str]:
    """Words that stand where a name may stand ("my sister moved", "from work") and are none."""
    return frozenset(_read_word_list("no_names.txt").split())


@cache
def affect() -> dict[str, float]:
    """How pleasant a stem is, -1 to 1."""
    found: dict[str, float] = {}
    for line in _read_word_list("affect.txt").splitlines():
        if line and not line.startswith("#"):
            valence, *words = line.split()
            found |= {stem(word): float(valence) for word in words}
    return found


@cache
def common_words() -> frozenset[str]:
    """Stems that many people use: what is not among them may be a name, a code, or a number. From the embedder's
    vocabulary."""
    return frozenset(_read_word_list("common_words.txt").split())


def _read_word_list(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
