"""A fact with the words that say what it is of: its clause, its line, and what stands above. Pure."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from reveries.index.terms import stem, words_of
from reveries.knowledge.facts.lines import CHAT_STAMP
from reveries.knowledge.facts.model import Fact
from reveries.knowledge.facts.note_lines import broken_lines
from reveries.knowledge.facts.questions import LIGHT_WORDS
from reveries.knowledge.facts.subjects import concepts_of, fold
from reveries.knowledge.facts.vocabulary import VOCABULARY, language_of

_KEY_CHARS: Final = 6
"""Letters that tell one word from another in any language; the rest is mostly ending."""
_LABEL_WORDS: Final = 5
_LABEL: Final = re.compile(r"^(?:\W|\d+[.)])*(?P<label>[^:*\d]{2,60}?)\s*(?::(?!\d)|[.:]\*\*|\*\*)")
"""What stands before a colon, or in bold at the beginning."""
_CLAUSE: Final = re.compile(r"[.;!?]\s+|,\s+|\s[-–—]\s|\s(?:and|und|et|y|e|en|og)\s")
_EACH_WORDS: Final = frozenset(
    word
    for key in ("each", "rate", "deadline", "clock_at")
    for phrase in VOCABULARY.words(key)
    for word in phrase.split()
    if key != "deadline" or " " not in phrase
)
"""They tell how a value is meant, not of what."""


@dataclass(frozen=True)
class DescribedFact:
    """A fact with the words that say what it is about."""

    fact: Fact
    near: frozenset[str]
    """Keys of the words of its clause."""
    line: frozenset[str]
    context: frozenset[str]
    """Keys of the words of the heading, the question above and the file's name."""
    heading: frozenset[str]
    """Keys of the words of the heading alone."""
    names: Mapping[str, str]
    """Key -> the word as it stands there."""
    language: str
    """That of the document."""

    @cached_property
    def all(self) -> frozenset[str]:
        return self.line | self.context


def describe_facts(facts: Sequence[Fact], documents: Mapping[str, str]) -> list[DescribedFact]:
    """Return `facts` with the words that say what each is of. `documents`: name -> text."""
    lines = {name: text.splitlines() for name, text in documents.items()}
    languages = {name: language_of(text) for name, text in documents.items()}
    return [_describe(fact, lines.get(fact.document, []), languages.get(fact.document, "")) for fact in facts]


def _describe(fact: Fact, lines: Sequence[str], language: str) -> DescribedFact:
    raw = lines[fact.line - 1] if 0 < fact.line <= len(lines) else fact.text
    stamp = CHAT_STAMP.match(raw)
    begin = stamp.end() if stamp else 0
    above = _words_above(fact, lines)
    names = {key_of(word): word for word in words_of(" ".join((above, raw[begin:]))) if _is_content(word)}
    light = LIGHT_WORDS.get(language, frozenset())
    near, line, context = (_keys(text, light) for text in (_subject(raw, begin, fact), raw[begin:], above))
    heading = _keys(_heading_above(fact, lines), light)
    return DescribedFact(fact, near, line, context - line, heading, names, language)


def _keys(text: str, light: Set[str] = frozenset()) -> frozenset[str]:
    return frozenset(key_of(word) for word in words_of(text) if _is_content(word) and fold(word) not in light)


def _subject(raw: str, begin: int, fact: Fact) -> str:
    """Return the words that say what a value is of: the label before a colon, else those of its clause."""
    label = _LABEL.match(raw[begin:])
    is_label = label and len(label["label"].split()) <= _LABEL_WORDS and begin + label.end() <= fact.start
    named = label["label"] if label and is_label else ""
    is_heading = label is not None and label.group().endswith("*")
    if fact.day is None and not is_heading and _keys(named):
        return named
    clause = f"{named} {_clause_around(raw[begin:], fact.start - begin, fact.end - begin)}"
    return clause if _keys(clause) else raw[begin:]


def _words_above(fact: Fact, lines: Sequence[str]) -> str:
    """Return the heading over a line, the question that it answers, and the words of the file's name."""
    heading = _heading_above(fact, lines)
    before = lines[fact.line - 2] if fact.line >= 2 else ""
    asked = before if re.match(r"\s*\w{1,9}\s*:.*\?\s*$", before) else ""
    name = re.sub(r"[\d_-]+", " ", PurePosixPath(fact.document).stem)
    return " ".join((heading, asked, name, *broken_lines(lines, fact.line - 1)))


def _heading_above(fact: Fact, lines: Sequence[str]) -> str:
    return next((line for line in reversed(lines[: fact.line - 1]) if line.lstrip().startswith("#")), "")


def _clause_around(raw: str, start: int, end: int) -> str:
    """Return the clause around a value without the value itself; one that says nothing else, with those before it."""
    cuts = [0, *(match.end() for match in _CLAUSE.finditer(raw)), len(raw)]
    first = max(cut for cut in cuts if cut <= start)
    last = min((cut for cut in cuts if cut >= end), default=len(raw))
    while first > 0 and not _keys(f"{raw[first:start]} {raw[end:last]}"):
        first = max(cut for cut in cuts if cut < first)
    return f"{raw[first:start]} {raw[end:last]}"


def key_of(word: str) -> str:
    """Return what tells a word from others: what it means in any language, where that is one thing, else its begin."""
    concepts = concepts_of(word)
    return f"={min(concepts)}" if len(concepts) == 1 else stem(word)[:_KEY_CHARS]


def _is_content(word: str) -> bool:
    is_named_time = word in VOCABULARY.months or word in VOCABULARY.weekdays
    is_unit = word in VOCABULARY.units or word in VOCABULARY.currencies
    return (
        len(word) > 2
        and not any(sign.isdigit() for sign in word)
        and not (is_named_time or is_unit or word in VOCABULARY.stop_words or word in _EACH_WORDS)
    )
