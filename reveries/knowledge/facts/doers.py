"""Who does what, as notes say it: "Ida brings the ladder", "ladder: Ida", "I bring it" in a message of Ida's. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from reveries.index.terms import words_of
from reveries.knowledge.facts.lines import CHAT_STAMP
from reveries.knowledge.facts.model import Fact, FactKind
from reveries.knowledge.facts.note_lines import NoteLine, find_names, read_note_lines
from reveries.knowledge.facts.questions import PEOPLE, TITLES
from reveries.knowledge.facts.subjects import concepts_of, is_listed
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation

_WORD: Final = r"[^\W\d_][\w’'-]*"
_CLAUSE: Final = re.compile(r"(?<=[.;!?])\s+|,\s+|\s(?:und|and|et|og)\s(?=\w+\s)")
_SENDER: Final = re.compile(
    r"^\W*(?:from|von|de|da|van|fra|remitente|expéditeur|mittente|afzender|avsender)\s*:\s*(?P<name>[^\W\d_]{2,})",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER_LINES: Final = 6
_FIRST_PERSON: Final = re.compile(
    r"(?<![\w’'])(?:I|I'll|I’ll|ich|je|moi|yo|io|ik|jeg|l[oa] (?:traigo|llevo|porto))(?!\w)|(?<!\w)j['’]",
    re.IGNORECASE,
)
_ARROW: Final = re.compile(
    r"^\W*(?P<what>[^:>]{3,60}?)\s*(?::|->|=>|→|=|\s–|\s-)\s*(?P<who>" + _WORD + r")\s*(?:$|[.,;(!])"
)
_SUBJECT: Final = re.compile(
    rf"(?:^\W*|[.:;,] +)(?P<who>[^\W\d_a-zß-öø-ÿ][^\W\d_]+)\s+(?:will\s+|wird\s+|zal\s+|skal\s+)?(?P<verb>{_WORD})"
)
"""A name with which a sentence begins."""
_DOING_WORDS: Final = (
    "brings fetches pays drives paints sews cooks bakes cleans speaks sings plays writes translates buys sells orders "
    "repairs builds carries leads feeds keeps signs decorates photographs collects delivers teaches installs measures "
    "washes cuts films organises waters prints"
)
DOING: Final = frozenset(number for word in _DOING_WORDS.split() for number in concepts_of(word))
"""The concepts of what somebody does, brings or keeps."""
_HAVING: Final = frozenset(VOCABULARY.words("has"))
_ATTENDANCE: Final = re.compile(rf"\W*{alternation(VOCABULARY.words('attendance'))}\W*:", re.IGNORECASE)
_LEAST_NAME_CHARS: Final = 3
_RELATIVES: Final = frozenset(
    {"qui", "die", "che", "que", "som", "who", "that", "wie", "lo", "la", "los", "las", "les"}
)
"""Between a name and what is done: "c'est Bram qui garde la clé"."""
_OPEN: Final = re.compile(r"\?|¿")


def find_doers(texts: Mapping[str, str]) -> list[Fact]:
    """Return who does what, a fact for each person in a clause that says something is done, brought or kept."""
    lines = read_note_lines(texts)
    people = _find_people(lines, texts)
    senders = {name: _sender_of(text) or _sender_in(name, people) for name, text in texts.items()}
    return [fact for line in lines for fact in _doers_of(line, people, senders[line.document])]


def _find_people(lines: Sequence[NoteLine], texts: Mapping[str, str]) -> frozenset[str]:
    """Return the names of people: who writes, stands behind a title, or is named beside something that is done."""
    writers = {_sender_of(text) for text in texts.values()} | {_speaker_of(line) for line in lines}
    names = find_names(lines)
    small = {word for line in lines for word in re.findall(r"(?<!\w)[a-zß-öø-ÿ]\w+", line.raw)}
    guessed = {name for line in lines for name in _named_beside_doing(line, names)}
    guessed |= {name for line in lines for name in _named_first(line)} - small
    others = VOCABULARY.stop_words | VOCABULARY.months.keys()
    people = writers | {name for name in guessed - others if not is_listed(name)}
    return frozenset(name for name in people if len(name) >= _LEAST_NAME_CHARS)


def _speaker_of(line: NoteLine) -> str:
    """Return the first name of who wrote a message of a chat; empty for another line."""
    stamp = CHAT_STAMP.match(line.raw)
    named = re.search(_WORD, (stamp["speaker"] or "") if stamp is not None else "")
    return named.group().casefold() if named is not None else ""


def _named_beside_doing(line: NoteLine, names: Set[str]) -> Iterator[str]:
    """Yield the names in a line that stand beside a word for what people do, or behind an arrow."""
    words = [word.casefold() for word in re.findall(_WORD, line.raw[line.begin :])]
    words = [word for word in words if word not in _RELATIVES]
    for before, word in pairwise(words):
        if word in names and _is_doing(before):
            yield word
        if before in names and _is_doing(word):
            yield before
    arrow = _ARROW.match(line.raw[line.begin :])
    if arrow is not None and arrow["who"][0].isupper() and arrow["who"].casefold() in names:
        yield arrow["who"].casefold()


def _named_first(line: NoteLine) -> Iterator[str]:
    """Yield the words with a capital with which a clause of a line begins, where what somebody does follows."""
    for opening in _SUBJECT.finditer(line.raw[line.begin :]):
        if _is_doing(opening["verb"].casefold()):
            yield opening["who"].casefold()


def _is_doing(word: str) -> bool:
    return word in _HAVING or bool(concepts_of(word) & DOING)


def _sender_of(text: str) -> str:
    header = _SENDER.search("\n".join(text.splitlines()[:_HEADER_LINES]))
    return header["name"].casefold() if header is not None else ""


def _sender_in(document: str, people: Set[str]) -> str:
    """Return the name in a document's name: of whom a letter is, mostly."""
    return next((word for word in words_of(PurePosixPath(document).stem) if word in people), "")


def _doers_of(line: NoteLine, people: Set[str], sender: str) -> Iterator[Fact]:
    if _ATTENDANCE.match(line.raw, line.begin):
        return
    speaker = _speaker_of(line) or sender
    for start, end in _clauses(line):
        clause = line.raw[start:end]
        if _OPEN.search(clause):
            continue
        named = [match for match in re.finditer(_WORD, clause) if _person_of(match.group(), people)]
        # "Joost fetches mother": who is called by a name does it.
        named = [match for match in named if match.group().casefold() in people] or named
        tokens = [word.casefold() for word in re.findall(_WORD, clause)]
        arrow = _ARROW.match(clause)
        is_done = any(map(_is_doing, tokens)) or (arrow is not None and _person_of(arrow["who"], people) != "")
        if not is_done:
            continue
        first = _FIRST_PERSON.search(clause)
        if len(named) == 1 and first is None:
            match = named[0]
            yield _fact(line, start + match.start(), start + match.end(), _person_of(match.group(), people))
        elif not named and first is not None and speaker in people:
            yield _fact(line, start + first.start(), start + first.end(), speaker)


def _person_of(word: str, people: Set[str]) -> str:
    """Return the name of a person in small letters; empty if it is none."""
    plain = re.sub(r"['’]s$", "", word).casefold()
    return plain if word[0].isupper() and (plain in people or plain in PEOPLE) and plain not in TITLES else ""


def _clauses(line: NoteLine) -> Iterator[tuple[int, int]]:
    start = line.begin
    for cut in _CLAUSE.finditer(line.raw, line.begin):
        yield start, cut.start()
        start = cut.end()
    yield start, len(line.raw)


def _fact(line: NoteLine, start: int, end: int, person: str) -> Fact:
    return Fact(FactKind.PERSON, line.raw.strip(), line.document, line.number, start, end, person=person)
