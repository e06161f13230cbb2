"""Words of a real text, for a scripted model that has to think for long: the detectors trip on what is no language."""

import re
from functools import cache
from pathlib import Path

_TEXT = Path(__file__).parents[2] / "LICENSE"


@cache
def _words() -> tuple[str, ...]:
    return tuple(re.findall(r"[A-Za-z][A-Za-z'-]*[.,;]?", _TEXT.read_text(encoding="utf-8")))


def prose(start: int, count: int) -> list[str]:
    """`count` words from the word number `start` on; after the last comes the first again."""
    words = _words()
    return [words[(start + place) % len(words)] for place in range(count)]


def new_words(number: int, count: int = 12) -> str:
    """`count` words of the docs, none of which is among those of another number, as long as they last."""
    words = _different_words()
    return " ".join(words[(number * count + place) % len(words)] for place in range(count))


@cache
def _different_words() -> tuple[str, ...]:
    texts = (file.read_text(encoding="utf-8") for file in sorted((_TEXT.parent / "docs/explain").glob("*.md")))
    by_beginning = {word[:5]: word for text in texts for word in re.findall(r"\b[a-z]{5,}\b", text)}
    return tuple(by_beginning.values())
