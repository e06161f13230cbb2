"""What of a text stands in a prompt already, by runs of eight words. Pure.

Nothing is told twice: a capable model reads every word of its prompt and takes what comes again for more important, and
its owner pays for it at every turn.
"""

import re
from collections.abc import Iterable
from typing import Final

RUN_WORDS: Final = 8
"""Fewer in a row are common phrases."""
_MOSTLY: Final = 0.5
# A word, or one character of a script that is written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese).
_UNIT = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")


class PromptText:
    """The runs of words of texts that stand in a prompt."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._runs: set[tuple[str, ...]] = set()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Add the runs of `text`. It is called with whole prompts at each turn, so it keeps no places."""
        units = [unit.casefold() for unit in _UNIT.findall(text)]
        if len(units) >= RUN_WORDS:
            self._runs.update(zip(*(units[start:] for start in range(RUN_WORDS)), strict=False))
        elif units:
            self._runs.add(tuple(units))

    def repeated_chars(self, text: str) -> int:
        """Return how many characters of `text` are in runs that stand in the prompt."""
        repeated, until = 0, 0
        for run, start, end in _runs_of(text):
            if run in self._runs:
                repeated += end - max(start, until)
                until = end
        return repeated

    def has_whole(self, text: str) -> bool:
        """Whether every run of `text` stands in the prompt."""
        return all(run in self._runs for run, _, _ in _runs_of(text))

    def mostly_has(self, text: str) -> bool:
        """Whether at least half of `text` stands in the prompt."""
        return bool(text) and self.repeated_chars(text) >= _MOSTLY * len(text)


def _runs_of(text: str) -> list[tuple[tuple[str, ...], int, int]]:
    """Return each run of words with its place; a shorter text is one run."""
    units = [(found.group().casefold(), found.start(), found.end()) for found in _UNIT.finditer(text)]
    if not units:
        return []
    firsts = range(max(1, len(units) - RUN_WORDS + 1))
    windows = (units[first : first + RUN_WORDS] for first in firsts)
    return [(tuple(word for word, _, _ in window), window[0][1], window[-1][2]) for window in windows]


def repeated_share(texts: Iterable[str]) -> float:
    """Return the share of the characters of `texts`, in order, that repeat what stands before them."""
    before, repeated, total = PromptText(), 0, 0
    for text in texts:
        repeated += before.repeated_chars(text)
        total += len(text)
        before.add(text)
    return repeated / total if total else 0.0
