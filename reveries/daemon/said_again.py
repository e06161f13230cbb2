"""What of its own replies the model reads again: each thing once. Pure.

A small model goes on as it finds itself begun. The one that ships greeted a new user in its first reply, greeted them
in every later one, and from the fifth on said nothing else: each reply was put together from those above it. So of an
earlier reply it reads what was new in it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

RUN_WORDS: Final = 4
"""A run of so many words that was there before is a repetition; a shorter sentence counts as a whole."""
REPEATED_SHARE: Final = 0.5
"""A sentence of which more than this share of its runs was there before is left out."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+|\n+")
_WORD: Final = re.compile(r"\w+(?:'\w+)?")

Run = tuple[str, ...]


def only_what_is_new(exchanges: Iterable[tuple[str, str]]) -> Iterator[str]:
    """For each (words, reply) in their order the reply without the sentences that repeat an earlier reply or the words
    of the person up to it; its last sentence where all of it does."""
    seen: set[Run] = set()
    for words, reply in exchanges:
        for sentence in _sentences(words):
            seen.update(_runs(sentence))
        sentences = [(sentence, _runs(sentence)) for sentence in _sentences(reply)]
        new = [sentence for sentence, runs in sentences if not _is_repeated(runs, seen)]
        if len(new) == len(sentences):
            yield reply
        else:
            yield " ".join(new) or sentences[-1][0]
        for _, runs in sentences:
            seen.update(runs)


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def _runs(sentence: str) -> list[Run]:
    words = [word.casefold() for word in _WORD.findall(sentence.replace("\u2019", "'"))]
    if len(words) <= RUN_WORDS:
        return [tuple(words)] if words else []
    return [tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1)]


def _is_repeated(runs: list[Run], seen: set[Run]) -> bool:
    return bool(runs) and sum(run in seen for run in runs) > REPEATED_SHARE * len(runs)
