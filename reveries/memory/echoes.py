"""Finds the parts of a reply or thought that only repeat its prompt: recalled memories, rules, the words just said.
They are stored with the text but not learned again as new. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence

RUN_WORDS = 6
"""This many consecutive words in common are taken as a repetition, not a coincidence."""

Span = tuple[int, int]
"""Start and end, in characters."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_TAIL = re.compile(r"[^\w\s]*")
_LETTER = re.compile(r"\w")


def find_echoes(text: str, shown: Iterable[str]) -> tuple[Span, ...]:
    """Return the parts of `text` that occur word for word in one of `shown`, in order, ignoring case and
    punctuation."""
    words = _words(text)
    if len(words) < RUN_WORDS:
        return _match_whole_text(text, words, shown)
    shown_runs = {run for source in shown for run in _runs([word for word, _, _ in _words(source)])}
    covered = [False] * len(words)
    for at, run in enumerate(_runs([word for word, _, _ in words])):
        if run in shown_runs:
            covered[at : at + RUN_WORDS] = [True] * RUN_WORDS
    return tuple(_spans(text, words, covered))


def fresh_text(text: str, spans: Sequence[Span]) -> str:
    """Return `text` without `spans`, with a line break at each cut so that no sentence joins separate parts."""
    if not spans:
        return text
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces.append(text[at:start])
        at = end
    pieces.append(text[at:])
    left = "\n".join(piece.strip() for piece in pieces if _LETTER.search(piece))
    return left if len(_words(left)) > _REMNANT_WORDS else ""


_REMNANT_WORDS = 3
"""This few words between echoes ("You said:") carry no content."""


def clip_spans(spans: Iterable[Span], start: int, end: int) -> tuple[Span, ...]:
    """Return the parts of `spans` between `start` and `end`, relative to `start`."""
    cut = ((max(a, start) - start, min(b, end) - start) for a, b in spans)
    return tuple((a, b) for a, b in cut if a < b)


def _match_whole_text(text: str, words: Sequence[tuple[str, int, int]], shown: Iterable[str]) -> tuple[Span, ...]:
    """A text too short for a run is an echo if all of it occurs in one of `shown`."""
    text_words = [word for word, _, _ in words]
    if len(text_words) <= _REMNANT_WORDS:
        return ()
    mark = f" {' '.join(text_words)} "
    sources = (f" {' '.join(word for word, _, _ in _words(source))} " for source in shown)
    return ((0, len(text)),) if any(mark in source for source in sources) else ()


def _words(text: str) -> list[tuple[str, int, int]]:
    return [(match.group().casefold().replace("\u2019", "'"), *match.span()) for match in _WORD.finditer(text)]


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(words[at : at + RUN_WORDS]) for at in range(len(words) - RUN_WORDS + 1))


def _spans(text: str, words: Sequence[tuple[str, int, int]], covered: Sequence[bool]) -> Iterator[Span]:
    start: int | None = None
    end = 0
    for (_, begins, ends), is_covered in zip(words, covered, strict=True):
        if is_covered:
            start = begins if start is None else start
            end = ends
        elif start is not None:
            yield start, _with_tail(text, end)
            start = None
    if start is not None:
        yield start, _with_tail(text, end)


def _with_tail(text: str, end: int) -> int:
    """Extend a span's end past its closing punctuation."""
    match = _TAIL.match(text, end)
    return match.end() if match else end
