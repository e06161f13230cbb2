"""Reads from the owner's words in a conversation that they ask how a project stands, what is next or due. Pure.

Only what is sure: a phrase of the vocabulary, and nothing else in the sentence than the name of one project and the
days that are asked about. Whatever is left over makes it another question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from reveries.knowledge.facts.subjects import are_same_word, concepts_of, fold
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation
from reveries.projects.model import Project
from reveries.projects.status_words import STATUS_LANGUAGES, StatusLanguage
from reveries.projects.task_days import days_ahead

LONGEST_CHARS: Final = 160
_WORD: Final = re.compile(r"[^\W_]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+")
_SHORTEST_DEFINITE: Final = 4
_ASKING: Final = re.compile(r"[?？؟¿]")
_ALL_SMALL: Final = frozenset[str]().union(*(language.small for language in STATUS_LANGUAGES.values()))
_GREETINGS: Final = frozenset[str]().union(*(language.greetings for language in STATUS_LANGUAGES.values()))
_OPENERS: Final = frozenset[str]().union(*(language.openers for language in STATUS_LANGUAGES.values()))
_ASKS: Final = frozenset(_WORD.findall(" ".join(VOCABULARY.words("asks")).casefold())) | _OPENERS
_PROJECT_WORDS: Final = ("project", "projekt", "projet", "proyecto", "progetto", "prosjekt", "projecten")
_QUESTION_WORDS: Final = ("question", "frage", "pregunta", "domanda", "vraag", "vragen", "spørsmål")
_UNTIL: Final = re.compile(rf"(?<!\w){alternation(VOCABULARY.words('deadline'))}(?!\w)", re.IGNORECASE)
_SMALL: Final = VOCABULARY.stop_words | _ASKS


class StatusKind(StrEnum):
    """What is asked; the key of its words in status_words.toml."""

    WAITING = "waiting"
    DUE = "due"
    NEXT = "next"
    STANDING = "standing"


@dataclass(frozen=True, slots=True)
class Period:
    """The days that a question is about."""

    first: date
    last: date


@dataclass(frozen=True, slots=True)
class StatusQuestion:
    """A question about projects. `project`: None for all of them; `period`: None if no days are named."""

    kind: StatusKind
    language: StatusLanguage
    project: Project | None = None
    period: Period | None = None


def read_status_question(words: str, projects: Sequence[Project], today: date) -> StatusQuestion | None:
    """Return what `words` ask about one of `projects`, or about all; None unless that is sure."""
    sentence = _only_sentence(words.replace("’", "'"))
    if not sentence or not projects:
        return None
    found = [
        (question, _count_own_words(sentence, language))
        for language in STATUS_LANGUAGES.values()
        if (question := _read_in(sentence, language, projects, today)) is not None
    ]
    return max(found, key=lambda item: item[1], default=(None, 0))[0]


def _only_sentence(words: str) -> str:
    """Return the one sentence of `words` that says something, if it is a question; empty otherwise."""
    words = " ".join(words.split())
    if not words or len(words) > LONGEST_CHARS:
        return ""
    empty = _ALL_SMALL | _GREETINGS
    said = [part for part in _SENTENCE_END.split(words) if not empty.issuperset(_words_of(part))]
    if len(said) != 1:
        return ""
    first = next((word for word in _words_of(said[0]) if word not in _GREETINGS), "")
    return said[0] if _ASKING.search(said[0]) or first in _ASKS else ""


def _words_of(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _count_own_words(sentence: str, language: StatusLanguage) -> int:
    """Count the words of a language: by them one tells which of several that share a phrase is spoken."""
    own = language.small | frozenset(VOCABULARY.languages[language.code]["stop"])
    return sum(word in own for word in _words_of(sentence))


def _read_in(
    sentence: str, language: StatusLanguage, projects: Sequence[Project], today: date
) -> StatusQuestion | None:
    kinds = [kind for kind in StatusKind if language.cues[kind.value].search(sentence)]
    if not kinds:
        return None
    rest = sentence
    for kind in kinds:
        rest = language.cues[kind.value].sub(" ", rest)
    period, rest = _read_period(sentence, rest, language, today)
    left = [word for word in _words_of(rest) if word not in language.small and word not in _SMALL]
    project = find_by_words(left, projects) if left else None
    if project is None and (left or not _asks_of_all(kinds[0], sentence)):
        return None
    return StatusQuestion(kinds[0], language, project, period)


def _asks_of_all(kind: StatusKind, sentence: str) -> bool:
    """Whether a question that names no project asks of all: "what is next?" alone does not."""
    said = _words_of(sentence)
    if any(word.startswith(_PROJECT_WORDS) for word in said) or kind is StatusKind.DUE:
        return True
    return kind is StatusKind.WAITING and any(word.startswith(_QUESTION_WORDS) for word in said)


def find_by_words(words: Sequence[str], projects: Sequence[Project]) -> Project | None:
    """Return the only project whose name has each of `words`, in this language or in another one; of several the one
    whose name they say whole. Pure."""
    matching = [project for project in projects if _names(words, _words_of(project.name))]
    whole = [project for project in matching if _names(_words_of(project.name), words)]
    chosen = whole or matching
    return chosen[0] if len(chosen) == 1 else None


def _names(words: Sequence[str], name: Sequence[str]) -> bool:
    return all(any(are_alike(word, part) for part in name) for word in words)


def are_alike(word: str, part: str) -> bool:
    """Whether two words are forms of one, or mean the same in two languages."""
    if are_same_word(word, part) or fold(word) == fold(part):
        return True
    return not _concepts(word).isdisjoint(_concepts(part))


def _concepts(word: str) -> frozenset[int]:
    """Return the concepts of a word, also where the article is its ending: "båten"."""
    return concepts_of(word) or (concepts_of(word[:-2]) if len(word) > _SHORTEST_DEFINITE else frozenset())


def _read_period(sentence: str, rest: str, language: StatusLanguage, today: date) -> tuple[Period | None, str]:
    """Return the days that are asked about, and `rest` without the words for them."""
    named = [key for key, pattern in language.periods.items() if pattern.search(sentence)]
    for key in named:
        rest = language.periods[key].sub(" ", rest)
    if named:
        return _period_of(max(named, key=lambda key: "_" in key), today), rest
    mentions = days_ahead(rest, today)
    if not mentions:
        return None, rest
    last = mentions[-1]
    first = today if _UNTIL.search(sentence) else last.first
    for mention in reversed(mentions):
        rest = f"{rest[: mention.start]} {rest[mention.end :]}"
    return Period(first, last.last), rest


def _period_of(key: str, today: date) -> Period:
    """Return the days of a named period. A week ends on Sunday."""
    sunday = today + timedelta(days=6 - today.weekday())
    next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    after_next = (next_month + timedelta(days=32)).replace(day=1)
    match key:
        case "day":
            return Period(today, today)
        case "next_day":
            return Period(today + timedelta(days=1), today + timedelta(days=1))
        case "next_week":
            return Period(sunday + timedelta(days=1), sunday + timedelta(days=7))
        case "month":
            return Period(today, next_month - timedelta(days=1))
        case "next_month":
            return Period(next_month, after_next - timedelta(days=1))
    return Period(today, sunday)
