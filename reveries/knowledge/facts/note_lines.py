"""The lines of notes with what stands around them, as a question is compared with them. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.lines import CHAT_STAMP
from reveries.knowledge.facts.questions import ANAPHORA, PEOPLE, TITLES
from reveries.knowledge.facts.subjects import concepts_of, fold
from reveries.knowledge.facts.vocabulary import VOCABULARY

_GERMAN: Final = frozenset(VOCABULARY.languages["de"]["stop"])
_FULL_LINE_CHARS: Final = 55
"""A line that was broken to fit is at least so long: its sentence may go on in the next."""
_BEFORE_CHARS: Final = 60
"""Before a word: what tells whether it is a name, also in a line of a whole book."""
_FIRST_LINES: Final = 4
"""What a document is about stands in its first lines."""
_HEADING: Final = re.compile(r"^\s*#{1,6}\s|^[^.!?]{2,60}:\s*$|^\s*\*\*[^*]+\*\*\W*$")
_ASKED: Final = re.compile(r"^\s*\w{1,9}\s*:.*\?\s*$")
_NAME: Final = re.compile(r"(?<![\w'’-])[^\W\d_a-zß-öø-ÿ][\w'’-]+")
_WITHIN: Final = re.compile(r"[\w,(&:]\s+[\"'“‘(]?$")
_WITHIN_GERMAN: Final = re.compile(
    r"(?:\b[A-ZÄÖÜ]\w+|\b(?:bei|von|an|ist|heißt|zu|für|&|hat|kommt|macht|bringt))\s+[\"'“‘(]?$"
)
"""German gives every noun a capital: a name stands behind its trade, or where a bare noun seldom stands."""
_NUMBER_BEFORE: Final = re.compile(r"(?:\d|\bund|\boder|\bzwei|\bdrei|\bvier)\s+$")
_ARTICLE: Final = re.compile(
    r"(?:der|die|das|den|dem|des|ein|eine|einen|einem|einer|zum|zur|im|am|vom|beim|kein|keine|unser\w*|mein\w*|ihr\w*|"
    r"jede\w*|diese\w*|neue\w*|pro|ohne)\s+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NoteLine:
    """A line that says something."""

    document: str
    number: int
    """From 1."""
    raw: str
    begin: int
    """Where its words begin, behind the stamp of a chat message."""
    words: Set[str]
    heading: Set[str]
    """Of the headings above it, and of the question that it answers."""
    nearby: Set[str]
    """Of the lines that its sentence goes on in, and of the line before, where it speaks of the same."""
    title: Set[str]
    """Of the file's name, and of who wrote a chat message."""
    folder: Set[str]
    rest: Set[str]
    """Of the first lines of its document."""


def read_note_lines(texts: Mapping[str, str]) -> list[NoteLine]:
    """Return the lines with words of all documents. `texts`: name -> text."""
    return [line for name, text in texts.items() for line in _lines_of(name, text)]


def _lines_of(document: str, text: str) -> Iterator[NoteLine]:
    raws = text.splitlines()
    rest = _words(" ".join([raw for raw in raws if raw.strip()][:_FIRST_LINES]))
    path = PurePosixPath(document)
    named, folders = _words(path.stem), _words(" ".join(path.parts[:-1]))
    header = _words(raws[0]) if path.suffix in (".csv", ".tsv") and raws else frozenset()
    heading: Set[str] = frozenset()
    for place, raw in enumerate(raws):
        if not raw.strip():
            continue
        stamp = CHAT_STAMP.match(raw)
        begin = stamp.end() if stamp else 0
        if _HEADING.match(raw):
            heading = _words(raw)
        before = raws[place - 1] if place else ""
        asked = _words(before) if _ASKED.match(before) else frozenset()
        yield NoteLine(
            document,
            place + 1,
            raw,
            begin,
            _words(raw[begin:]),
            heading | asked | header,
            frozenset() if stamp else _words(" ".join(broken_lines(raws, place))),
            named | _words(raw[:begin]),
            folders,
            rest,
        )


def broken_lines(raws: Sequence[str], place: int) -> Iterator[str]:
    """Yield the line before and the line behind, where a sentence goes on over the end of the line, or speaks of what
    the one before it does."""
    if place and (_goes_on(raws[place - 1], raws[place]) or ANAPHORA.match(raws[place])):
        yield raws[place - 1]
    if place + 1 < len(raws) and _goes_on(raws[place], raws[place + 1]):
        yield raws[place + 1]


def _goes_on(raw: str, following: str) -> bool:
    is_broken = len(raw.rstrip()) >= _FULL_LINE_CHARS
    begins_anew = re.match(r"\s*(?:[-*+•#|>]|\[|\d{1,3}[.)]\s|$)", following)
    return bool(raw.strip()) and is_broken and begins_anew is None and not raw.rstrip().endswith((".", "!", "?", ":"))


def _words(text: str) -> frozenset[str]:
    return frozenset(part for word in words_of(text) for part in re.split(r"['’]", word) if part)


def find_names(lines: Sequence[NoteLine]) -> frozenset[str]:
    """Return the words that name somebody or something in `lines`: always with a capital, within a sentence or behind
    a title, and never behind an article, as nouns of German are."""
    small = {word for line in lines for word in re.findall(r"(?<!\w)[a-zß-öø-ÿ]\w+", line.raw)}
    german = {name for name, count in _count_german(lines).items() if count > 0}
    names: set[str] = set()
    common: set[str] = set()
    seen: set[str] = set()
    for line in lines:
        names.update(re.findall(r"\w+", line.raw[: line.begin].rpartition(" ")[2].casefold()))
        for match in _NAME.finditer(line.raw, line.begin):
            word = match.group().removesuffix("'s").removesuffix("’s")
            before = line.raw[max(line.begin, match.start() - _BEFORE_CHARS) : match.start()]
            if _is_behind_title(before):
                names.add(word.casefold())
            elif word.casefold() in small or _ARTICLE.search(before) or not _is_name_like(word):
                common.add(word.casefold())
            elif (
                (
                    (_WITHIN_GERMAN if line.document in german else _WITHIN).search(before)
                    and not _NUMBER_BEFORE.search(before)
                )
                or word != match.group()
                or word.casefold() in seen
            ):
                names.add(word.casefold())
            seen.add(word.casefold())
    return frozenset(name for name in names - common - TITLES if len(name) > 1 and not name.isdigit())


def _count_german(lines: Sequence[NoteLine]) -> Counter[str]:
    """Return by how many words each document is rather German, which gives every noun a capital, than any other."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts[line.document] += 2 * len(line.words & _GERMAN) - len(line.words & VOCABULARY.stop_words)
    return counts


def _is_behind_title(before: str) -> bool:
    last = before.split()[-1:] or [""]
    return last[0].strip(".").casefold() in TITLES and last[0][:1].isupper()


def _is_name_like(word: str) -> bool:
    plain = word.casefold()
    return not (
        word.isupper()
        or plain in VOCABULARY.months
        or plain in VOCABULARY.weekdays
        or plain in VOCABULARY.stop_words
        or plain in PEOPLE
        or concepts_of(fold(plain))
    )
