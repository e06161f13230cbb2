"""What a value in notes is of: the words of its clause, its line, and what stands above it. Pure."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Final

from reveries.index.terms import stem, words_of
from reveries.knowledge.facts.concept_families import is_common
from reveries.knowledge.facts.counts import nouns_behind
from reveries.knowledge.facts.lines import CHAT_STAMP
from reveries.knowledge.facts.model import Fact, FactKind
from reveries.knowledge.facts.note_lines import broken_lines
from reveries.knowledge.facts.questions import LIGHT_WORDS
from reveries.knowledge.facts.subjects import concepts_of, first_concepts_of, fold
from reveries.knowledge.facts.value_marks import ValueMarks, read_marks
from reveries.knowledge.facts.vocabulary import VOCABULARY, language_of

_KEY_CHARS: Final = 6
"""Letters that tell one word from another in any language; the rest is mostly ending."""
_LEAST_SKELETON_CHARS: Final = 4
_LABEL_WORDS: Final = 6
_LABEL: Final = re.compile(
    r"^(?:\W|\d+[.)])*(?P<label>[^:*\d]{2,60}?)\s*(?::(?!\d)|[.:]\*\*|\*\*|\s->|\s=|\s–\s|\s-\s)"
)
"""What stands before a colon, an arrow or a dash, or in bold at the beginning."""
_CLAUSE: Final = re.compile(
    r"[.;!?]\s+|,\s+|:\s+|\s[-–—]\s|\s(?:and|und|et|y|e|en|og|but|aber|mais|pero|ma|maar|men)\s"
)
_SENTENCE: Final = re.compile(r"[.;!?]\s+")
_EACH_WORDS: Final = frozenset(
    word
    for key in ("each", "rate", "deadline", "clock_at", "about", "at_most", "at_least")
    for phrase in VOCABULARY.words(key)
    for word in phrase.split()
    if key != "deadline" or " " not in phrase
)
"""They tell how a value is meant, not of what."""
_SUBJECT_HEADER: Final = re.compile(
    r"^\W*(?:subject|betreff|objet|asunto|oggetto|onderwerp|emne)\W*:\s*(?P<of>.*)$", re.IGNORECASE | re.MULTILINE
)
_FIRST_LINES: Final = 8
_LEAST_CLAUSE_WORDS: Final = 2
"""A thing, and what is said of it: "oven, width 118 cm"."""


@dataclass(frozen=True, slots=True)
class SubjectWord:
    """A word that says something about what a line is about."""

    text: str
    keys: frozenset[str]
    """What it has in common with words of the same meaning or form, in any language."""
    is_comparable: bool
    """Whether another language would show the same word by one of its keys."""


@dataclass(frozen=True)
class DescribedFact:
    """A fact with the words that say what it is of."""

    fact: Fact
    raw: str
    """Its line as it stands in the document."""
    clause: tuple[SubjectWord, ...]
    rest: tuple[SubjectWord, ...]
    """Of its line."""
    above: tuple[SubjectWord, ...]
    """Of the heading, the header of its column, the question before and the line that it goes on."""
    title: tuple[SubjectWord, ...]
    """Of the file's name, the document's title and a mail's subject."""
    heading: tuple[SubjectWord, ...]
    """Of the heading above it alone."""
    name: tuple[SubjectWord, ...]
    """Of the file's name alone."""
    adjacent: tuple[SubjectWord, ...]
    """The word before the value, and its label."""
    counted: tuple[SubjectWord, ...]
    """The words behind a number of things, or before it where none follow."""
    language: str
    """That of the document."""

    @cached_property
    def marks(self) -> ValueMarks:
        """What its line says of the value."""
        return read_marks(self.raw, self.fact.start, self.fact.end)

    @cached_property
    def clause_keys(self) -> frozenset[str]:
        return _keys_of(self.clause)

    @cached_property
    def rest_keys(self) -> frozenset[str]:
        return _keys_of(self.rest)

    @cached_property
    def above_keys(self) -> frozenset[str]:
        return _keys_of(self.above)

    @cached_property
    def title_keys(self) -> frozenset[str]:
        return _keys_of(self.title)

    @cached_property
    def adjacent_keys(self) -> frozenset[str]:
        return _keys_of(self.adjacent)

    @cached_property
    def counted_keys(self) -> frozenset[str]:
        return _keys_of(self.counted)

    @cached_property
    def keys(self) -> frozenset[str]:
        return self.clause_keys | self.rest_keys | self.above_keys | self.title_keys

    @cached_property
    def clause_concepts(self) -> frozenset[int]:
        """The concepts that its clause names, or its label."""
        return frozenset(int(key[1:]) for key in self.clause_keys if key.startswith("="))


def _keys_of(words: Sequence[SubjectWord]) -> frozenset[str]:
    return frozenset[str]().union(*(word.keys for word in words))


@dataclass(frozen=True, slots=True)
class _Page:
    """A document as its facts are described."""

    lines: Sequence[str]
    language: str
    light: Set[str]
    header: Sequence[str]
    """The cells of the first line of a table in a file of its own."""
    title: tuple[SubjectWord, ...]
    name: tuple[SubjectWord, ...]


def describe_facts(facts: Sequence[Fact], documents: Mapping[str, str]) -> list[DescribedFact]:
    """Return `facts` with the words that say what each is of. `documents`: name -> text."""
    pages = {name: _read_page(name, text) for name, text in documents.items()}
    empty = _read_page("", "")
    return [_describe(fact, pages.get(fact.document, empty)) for fact in facts]


def _read_page(name: str, text: str) -> _Page:
    lines = text.splitlines()
    language = language_of(text)
    light = LIGHT_WORDS.get(language, frozenset())
    first = next((line for line in lines if line.strip()), "")
    is_table = name.casefold().endswith((".csv", ".tsv"))
    header = next(csv.reader([first], delimiter=max(";,\t|", key=first.count)), []) if is_table else []
    subject = _SUBJECT_HEADER.search("\n".join(lines[:_FIRST_LINES]))
    heading = first if first.lstrip().startswith("#") else ""
    path = re.sub(r"[\d_-]+", " ", PurePosixPath(name).stem)
    title = " ".join((path, heading, subject["of"] if subject is not None else ""))
    return _Page(lines, language, light, header, tuple(_words(title, light)), tuple(_words(path, light)))


def _describe(fact: Fact, page: _Page) -> DescribedFact:
    raw = page.lines[fact.line - 1] if 0 < fact.line <= len(page.lines) else fact.text
    stamp = CHAT_STAMP.match(raw)
    begin = stamp.end() if stamp else 0
    named = fact.person.split() if fact.kind is FactKind.PERSON else []
    light = page.light | {fold(name) for name in named}
    clause = tuple(_words(_clause_of(raw, begin, fact), light))
    texts = {word.text for word in clause}
    value = f"{raw[begin : fact.start]} {raw[fact.end :]}" if fact.end > fact.start else raw[begin:]
    rest = tuple(word for word in _words(value, light) if word.text not in texts)
    above = tuple(_words(" ".join(_lines_above(fact, page)), light))
    heading = tuple(_words(_heading_above(fact, page), light))
    before = [word for word in _words(raw[begin : fact.start], light) if not is_common(word.keys)]
    adjacent = tuple(dict.fromkeys([*before[-1:], *(before[:1] if _label_of(raw[begin:], fact.start - begin) else ())]))
    counted: tuple[SubjectWord, ...] = ()
    if fact.kind is FactKind.COUNT:
        behind = [read_word(noun) for noun in nouns_behind(raw[fact.end :]) if is_content(noun)]
        behind = [word for word in behind if not is_common(word.keys)]
        counted = tuple(behind[:2]) or tuple(before[-2:])
    return DescribedFact(
        fact, raw, clause, rest, above, page.title, heading, page.name, adjacent, counted, page.language
    )


def _words(text: str, light: Set[str] = frozenset()) -> Iterator[SubjectWord]:
    """Return the words of a text that say what it is about, each once."""
    plain = re.sub(r"(?<!\w)(?:[cdjlmnst]|qu|dell|nell|all|dall|un)['’](?=\w)", " ", text, flags=re.IGNORECASE).replace(
        "-", " "
    )
    for word in dict.fromkeys(words_of(plain)):
        if is_content(word) and (fold(word) not in light or is_common(read_word(word).keys)):
            yield read_word(word)


@lru_cache(maxsize=1 << 16)
def read_word(word: str) -> SubjectWord:
    """Return a word with its keys: its meanings, its beginning, and its consonants, which most languages keep."""
    keys = {f"={concept}" for concept in concepts_of(word) | first_concepts_of(word)}
    if word in VOCABULARY.ordinals:
        keys.add(f"#{VOCABULARY.ordinals[word]}")
    is_comparable = bool(keys)
    keys.add(fold(stem(word))[:_KEY_CHARS])
    if len(word) >= _KEY_CHARS and len(skeleton := _skeleton_of(word)) >= _LEAST_SKELETON_CHARS:
        keys.add(f"~{skeleton}")
    return SubjectWord(word, frozenset(keys), is_comparable)


def _skeleton_of(word: str) -> str:
    """Return the first consonants of a word as most languages write them: "réservoir" and "reservoir" are "rsrvr"."""
    plain = fold(word).replace("ph", "f").replace("qu", "k").replace("ck", "k").replace("ch", "k")
    plain = plain.translate(str.maketrans("czwvyjx", "kskkiik")).replace("th", "t")
    consonants = re.sub(r"[aeiouh]", "", plain[1:])
    return re.sub(r"(.)\1+", r"\1", plain[0] + consonants)[: _LEAST_SKELETON_CHARS + 1]


def is_content(word: str) -> bool:
    """Whether a word may say what a line is about."""
    is_named_time = word in VOCABULARY.months or word in VOCABULARY.weekdays
    is_unit = word in VOCABULARY.units or word in VOCABULARY.currencies
    return (
        len(word) > 2
        and not any(sign.isdigit() for sign in word)
        and not (
            is_named_time
            or (is_unit and word not in VOCABULARY.ordinals)
            or word in VOCABULARY.stop_words
            or word in _EACH_WORDS
        )
    )


def _clause_of(raw: str, begin: int, fact: Fact) -> str:
    """Return the label of a line and the clause around the value, without the value itself."""
    named = _label_of(raw[begin:], fact.start - begin)
    clause_end = _SENTENCE if fact.kind is FactKind.PERSON else _CLAUSE
    around = _clause_around(raw[begin:], max(fact.start - begin, 0), max(fact.end - begin, 0), clause_end)
    return f"{named} {around}" if any(_words(f"{named} {around}")) else raw[begin:]


def _label_of(text: str, end: int) -> str:
    """Return the label with which a line begins before the value at `end`; empty if it has none."""
    label = _LABEL.match(text)
    is_label = label is not None and len(label["label"].split()) <= _LABEL_WORDS and label.end() <= end
    return label["label"] if label is not None and is_label else ""


def _clause_around(raw: str, start: int, end: int, clause_end: re.Pattern[str]) -> str:
    """Return the clause around a value without the value itself; one that says hardly more, with those before it."""
    cuts = [0, *(match.end() for match in clause_end.finditer(raw)), len(raw)]
    first = max(cut for cut in cuts if cut <= start)
    last = min((cut for cut in cuts if cut >= end), default=len(raw))
    while first > 0 and len(list(_words(f"{raw[first:start]} {raw[end:last]}"))) < _LEAST_CLAUSE_WORDS:
        first = max(cut for cut in cuts if cut < first)
    return f"{raw[first:start]} {raw[end:last]}"


def _heading_above(fact: Fact, page: _Page) -> str:
    return next((line for line in reversed(page.lines[: fact.line - 1]) if line.lstrip().startswith("#")), "")


def _lines_above(fact: Fact, page: _Page) -> Iterator[str]:
    """Yield the heading over a line, the name of its column, the question that it answers, and what it goes on."""
    yield _heading_above(fact, page)
    before = page.lines[fact.line - 2] if fact.line >= 2 else ""
    if re.match(r"\s*\w{1,9}\s*:.*\?\s*$", before):
        yield before
    if page.header and fact.line > 1:
        raw = page.lines[fact.line - 1]
        column = raw[: fact.start].count(max(";,\t|", key=raw.count))
        yield page.header[column] if column < len(page.header) else ""
    yield from broken_lines(page.lines, fact.line - 1)
