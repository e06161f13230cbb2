"""Reads from the owner's words in a conversation a goal, a project to be begun, or the answer to a waiting question.
Pure.

As with tasks only what is sure: a phrase of the vocabulary at the beginning, and one project or question that is meant.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Final

from reveries.index.terms import stem
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation
from reveries.projects.model import OwnerQuestion, Project, QuestionKind
from reveries.projects.status_questions import find_by_words
from reveries.projects.wishes import NAME_AND_GOAL, Wish, WishAction

LONGEST_CHARS: Final = 600
LONGEST_NAME_CHARS: Final = 60
_WORD: Final = re.compile(r"[^\W_]+")
_QUESTION: Final = re.compile(r"[?？؟¿]")
_FEWEST_WORDS: Final = 2
_FEWEST_SHARED: Final = 2
_SHARED: Final = 0.6
"""Of the words of a question, in a sentence that answers it."""
_SHORTEST_WORD: Final = 3
_LANGUAGES: Final[Mapping[str, Mapping[str, list[str]]]] = tomllib.loads(
    resources.files(__package__).joinpath("goal_words.toml").read_text(encoding="utf-8")
)
_SMALL: Final = VOCABULARY.stop_words | frozenset(_WORD.findall(" ".join(VOCABULARY.words("asks")).casefold()))


def _words(key: str) -> str:
    return alternation(dict.fromkeys(word for table in _LANGUAGES.values() for word in table[key]))


_GOAL: Final = re.compile(
    rf"(?:{_words('goal')})\s+(?P<of>[^:]{{2,60}}?)(?:(?:\s+{_words('is')})?\s*:|\s+{_words('is')})\s+(?P<text>.+)",
    re.IGNORECASE,
)
_POLITE: Final = re.compile(rf"(?:(?:{_words('polite')})[\s,]+)+", re.IGNORECASE)
_POLITE_END: Final = re.compile(rf"[\s,]+(?:{_words('polite')})$", re.IGNORECASE)
_PROJECT: Final = (
    rf"(?:{_words('make')})\s+(?:(?:{_words('polite')})\s+)?(?:(?:{_words('article')})\s+)?(?:{_words('project')})"
)
_BEGIN: Final = re.compile(
    rf"(?:{_PROJECT}(?:(?:\s+an)?(?:\s+(?:{_words('about')})\s|\s*:)|(?=.*\san$))|(?:{_words('begin')})(?:\s*:|\s))"
    rf"\s*(?P<text>.+?)(?:\s+an)?",
    re.IGNORECASE,
)
"""German puts the end of "anlegen" behind the name, or before "for"."""
_WANT: Final = re.compile(rf"(?:{_words('want')})[\s,]+(?P<text>.+)", re.IGNORECASE)
_INFINITIVE: Final = re.compile(r"(?:i|jeg)\b", re.IGNORECASE)
_WORK: Final = re.compile(rf"(?<!\w){_words('work')}(?!\w)", re.IGNORECASE)
_ANSWER: Final = re.compile(rf"(?:{_words('answer')})(?P<about>[^:]{{0,60}})(?::|\s|$)\s*(?P<text>.*)", re.IGNORECASE)


def read_goal_wish(words: str, projects: Sequence[Project]) -> Wish | None:
    """Return the goal or the project that `words` ask for; None unless that is sure."""
    words = " ".join(words.replace("’", "'").split())
    if (plain := _plain_request(words)) != words:
        return read_goal_wish(plain, projects)
    if not words or len(words) > LONGEST_CHARS or _QUESTION.search(words):
        return None
    if (said := _GOAL.fullmatch(words)) is not None:
        project = find_by_words(_content(said["of"]), projects) if _content(said["of"]) else None
        return Wish(project, WishAction.GOAL, title=_text(said["text"])) if project is not None else None
    if (said := _BEGIN.fullmatch(words)) is not None:
        return _read_beginning(said["text"], projects)
    said = _WANT.fullmatch(words)
    if said is None or _WORK.search(said["text"]) is None or len(said["text"].split()) <= _FEWEST_WORDS:
        return None
    # Where the verb is no infinitive what follows is no goal by itself: then all that was said is.
    text = _text(said["text"] if _INFINITIVE.match(words) else words)
    named = [project for project in projects if _is_named(project, text)]
    if len(named) > 1:
        return None
    return Wish(named[0], WishAction.ADD, title=text) if named else Wish(None, WishAction.PURSUE, title=text)


def _plain_request(words: str) -> str:
    """Return a request to begin a project without its courtesies ("could you ... please?"), anything else as it is."""
    opening = _POLITE.match(words)
    plain = words[opening.end() :].rstrip(" .!?") if opening is not None else words
    plain = _POLITE_END.sub("", plain)
    return plain if _BEGIN.fullmatch(plain) is not None else words


def _read_beginning(text: str, projects: Sequence[Project]) -> Wish | None:
    head, _, goal = text.partition(":")
    name = _without_article(head)
    if not name or len(name) > LONGEST_NAME_CHARS or name.casefold() in {item.name.casefold() for item in projects}:
        return None
    goal = _text(goal) if goal.strip() else ""
    return Wish(None, WishAction.BEGIN, title=f"{name}{NAME_AND_GOAL}{goal}" if goal else name)


def read_answer_wish(words: str, projects: Sequence[Project], questions: Sequence[OwnerQuestion]) -> Wish | None:
    """Return the answer that `words` give to one of the waiting `questions`; None unless it is sure which one.

    It is said to be one ("the answer is ...") while one question waits, or its sentence says most of the question's own
    words and more. What approves a call of a tool is said to the question itself.
    """
    words = " ".join(words.replace("’", "'").split())
    waiting = [question for question in questions if question.kind is not QuestionKind.APPROVAL]
    if not words or len(words) > LONGEST_CHARS or _QUESTION.search(words) or not waiting:
        return None
    text, chosen = words, [question for question in waiting if _is_answered(question.question, words)]
    if (said := _ANSWER.fullmatch(words)) is not None:
        text = said["text"].strip(" :,") or said["about"].strip(" :,")
        about = set(_stems(said["about"]))
        chosen = [item for item in waiting if about & set(_stems(item.question))] if about else waiting
        chosen = chosen if len(chosen) == 1 else waiting
    if len(chosen) != 1 or not text:
        return None
    project = next((project for project in projects if project.id == chosen[0].project_id), None)
    return Wish(project, WishAction.ANSWER, title=text, question=chosen[0]) if project is not None else None


def _is_answered(question: str, words: str) -> bool:
    asked, said = set(_stems(question)), set(_stems(words))
    shared = asked & said
    return len(shared) >= max(_FEWEST_SHARED, _SHARED * len(asked)) and bool(said - asked)


def _is_named(project: Project, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(project.name)}(?!\w)", text, re.IGNORECASE) is not None


def _content(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text) if word.casefold() not in _SMALL]


def _stems(text: str) -> list[str]:
    return [stem(word) for word in _content(text) if len(word) >= _SHORTEST_WORD or word.isdecimal()]


def _without_article(text: str) -> str:
    words = text.strip(' .!,;"“”').split()
    while words and words[0].casefold() in VOCABULARY.stop_words and len(words) > 1:
        words = words[1:]
    name = " ".join(words)
    return name[:1].upper() + name[1:]


def _text(text: str) -> str:
    text = text.strip().rstrip(" .!")
    return text[:1].upper() + text[1:]
