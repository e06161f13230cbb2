"""Reads from the owner's words in a conversation what they want changed in a project. Pure.

Only what is sure: a word of the vocabulary or a day, and nothing else in the sentence than one open task. A question, a
denial or a condition is no wish. Whatever is read waits for a yes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from reveries.errors import UsageError
from reveries.index.terms import stem
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation
from reveries.projects.model import Project, TaskStatus, WorkTask
from reveries.projects.steering_words import STEERING_WORDS
from reveries.projects.task_days import days_ahead, read_due
from reveries.projects.wishes import TASK_ACTIONS, Wish, WishAction

LONGEST_CHARS: Final = 240
_LANGUAGES: Final = STEERING_WORDS.languages
_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_QUESTION: Final = re.compile(r"[?？؟¿]")
_OVER: Final = (TaskStatus.DONE, TaskStatus.DROPPED)
_SHORTEST_WORD: Final = 3
_DAY_KEYS: Final = ("deadline", "this", "before_day", "start", "range")
"""Words before a day."""
_DAY_WORDS: Final = [phrase for key in _DAY_KEYS for phrase in VOCABULARY.words(key)]
_BEFORE_DAY: Final = re.compile(rf"(?:\s*\b{alternation(_DAY_WORDS)}\b)+\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Verb:
    """A word of the vocabulary at its place."""

    action: WishAction
    language: str
    start: int
    end: int


def read_wish(
    words: str, projects: Sequence[Project], tasks: Mapping[str, Sequence[WorkTask]], today: date
) -> Wish | None:
    """Return what `words` want changed; None unless that is sure. `tasks`: those of each project, by its id."""
    words = " ".join(words.split())
    if not words or len(words) > LONGEST_CHARS or _QUESTION.search(words):
        return None
    if (added := _read_addition(words, projects, today)) is not None:
        return added
    verbs = _verbs(words)
    if any(_is_denied(words, verb) for verb in verbs):
        return None
    due, day_spans = _read_day(words, today)
    actions = {verb.action for verb in verbs} - {WishAction.ADD}
    if due and actions <= {WishAction.MOVE}:
        actions = {WishAction.MOVE}
    if len(actions) != 1 or (WishAction.MOVE in actions) != bool(due):
        return None
    # The vocabulary of one language is enough: "due" is no word of the others.
    spans = [*day_spans, *((verb.start, verb.end) for verb in verbs)]
    match = _find_task(_content(words, spans), projects, tasks)
    return Wish(match[0], actions.pop(), match[1], due=due) if match is not None else None


def _verbs(words: str) -> list[_Verb]:
    """Return the longest words of the vocabulary at each place."""
    verbs = [
        _Verb(action, language, match.start(), match.end())
        for language, table in _LANGUAGES.items()
        for action in TASK_ACTIONS
        for match in _pattern(table[action.value]).finditer(words)
    ]
    return [
        verb
        for verb in verbs
        if not any(
            other.start <= verb.start and verb.end <= other.end and other.end - other.start > verb.end - verb.start
            for other in verbs
        )
    ]


def _pattern(phrases: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){alternation(phrases)}(?!\w)", re.IGNORECASE)


def _is_denied(words: str, verb: _Verb) -> bool:
    """Whether a word of the same language denies the verb, or makes it a condition."""
    rest = f"{words[: verb.start]} {words[verb.end :]}"
    return _pattern(_LANGUAGES[verb.language]["not"]).search(rest) is not None


def _read_day(words: str, today: date) -> tuple[str, list[tuple[int, int]]]:
    """Return the day that `words` name, of two the last, with the places of all; empty for none."""
    mentions = days_ahead(words, today)
    spans = [(item.start, item.end) for item in mentions]
    if mentions:
        text = words[max(mentions, key=lambda item: item.end).start :]
        try:
            return read_due(text, today), spans
        except UsageError:
            return "", spans
    near = _pattern(list(STEERING_WORDS.days)).search(words)
    if near is None:
        return "", []
    day = today + timedelta(days=STEERING_WORDS.days[near.group().casefold()])
    return day.isoformat(), [near.span()]


def _content(words: str, spans: Sequence[tuple[int, int]]) -> frozenset[str]:
    """Return the stems of the words that stand outside of `spans` and say what it is about."""
    small = VOCABULARY.stop_words | _SMALL
    return frozenset(
        stem(match.group().casefold())
        for match in _WORD.finditer(words)
        if match.group().casefold() not in small
        and not any(start < match.end() and match.start() < end for start, end in spans)
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.casefold()) for word in _WORD.findall(text) if len(word) >= _SHORTEST_WORD)


def _find_task(
    content: frozenset[str], projects: Sequence[Project], tasks: Mapping[str, Sequence[WorkTask]]
) -> tuple[Project, WorkTask] | None:
    """Return the only open task that has all of `content` in its title, or in that and the name of its project."""
    matching = [
        (project, task, content <= _stems(task.title))
        for project in projects
        for task in tasks[project.id]
        if task.status not in _OVER
        and content & _stems(task.title)
        and content <= _stems(task.title) | _stems(project.name)
    ]
    exact = [item for item in matching if _stems(item[1].title) == content]
    chosen = exact or matching
    return chosen[0][:2] if len(chosen) == 1 else None


def _read_addition(words: str, projects: Sequence[Project], today: date) -> Wish | None:
    """Read "add: call the plumber by Friday", or "add to Boat: ..."."""
    head, colon, title = words.partition(":")
    if not colon or not title.strip():
        return None
    verbs = [verb for verb in _verbs(head) if verb.action is WishAction.ADD]
    if not verbs or any(_is_denied(head, verb) for verb in verbs):
        return None
    others = _content(head, [(verb.start, verb.end) for verb in verbs])
    named = [project for project in projects if others and others <= _stems(project.name)]
    chosen = named if others else list(projects)
    if len(chosen) != 1:
        return None
    due, spans = _read_day(title, today)
    return Wish(chosen[0], WishAction.ADD, title=_without_day(title, spans), due=due)


def _without_day(title: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a title without its day at the end, and without the word before it."""
    text = title
    if spans and not title[spans[-1][1] :].strip(" .!"):
        text = _BEFORE_DAY.sub("", title[: spans[0][0]])
    text = " ".join(text.split()).strip(" .!,;")
    return (text[:1].upper() + text[1:]) or " ".join(title.split())


_SMALL: Final = frozenset(
    [
        *(word for key in ("soon", "polite") for phrase in STEERING_WORDS.words(key) for word in _WORD.findall(phrase)),
        *(word for phrase in _DAY_WORDS for word in _WORD.findall(phrase)),
    ]
)
"""Words that say nothing of what a wish is about."""
