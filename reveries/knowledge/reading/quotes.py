"""Where a quote stands on a page: spaces, hyphens at line ends, ligatures and the case of letters do not matter."""

import unicodedata

from reveries.knowledge.reading.content import PageContent, Word, bounds_of
from reveries.knowledge.reading.layout import Box
from reveries.knowledge.reading.lines import form_lines
from reveries.knowledge.reading.rules import find_rules

_SHORTEST = 4
"""Letters and digits; less stands anywhere."""


def fold_quote(text: str) -> str:
    """Letters and digits alone, in one case, without ligatures."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def locate_quote(page: PageContent, quote: str) -> tuple[Box, ...]:
    """A box for each line of the quote; empty where it does not stand on the page as one piece."""
    wanted = fold_quote(quote)
    if len(wanted) < _SHORTEST:
        return ()
    lines = form_lines(page, find_rules(page))
    words = [(word, number) for number, line in enumerate(lines) for word in line.words]
    folded = [fold_quote(word.text) for word, _ in words]
    start = "".join(folded).find(wanted)
    if start < 0:
        return ()
    end, at = start + len(wanted), 0
    by_line: dict[int, list[Word]] = {}
    for (word, line), text in zip(words, folded, strict=True):
        if text and at < end and at + len(text) > start:
            by_line.setdefault(line, []).append(word)
        at += len(text)
    return tuple(_box(page, parts) for parts in by_line.values())


def _box(page: PageContent, words: list[Word]) -> Box:
    around = bounds_of(words)
    return Box(
        round(around.left / page.width, 5),
        round(around.top / page.height, 5),
        round(around.width / page.width, 5),
        round(around.height / page.height, 5),
    )
