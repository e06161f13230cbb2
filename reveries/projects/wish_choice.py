"""Wishes that no rule reads: a capable model chooses among what there is, in one request, and code checks the choice.

It is asked only where the words touch a project. It can name nothing but the tasks, questions and projects of a list,
and say nothing but words of the owner: so a text that somebody else wrote can bring nothing into a project.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final, Literal

import msgspec

from reveries.errors import UsageError
from reveries.knowledge.facts.vocabulary import VOCABULARY
from reveries.projects.model import OwnerQuestion, Project, QuestionKind, TaskStatus, WorkTask
from reveries.projects.status_questions import are_alike
from reveries.projects.task_days import read_due
from reveries.projects.wishes import TASK_ACTIONS, Wish, WishAction
from reveries.prompts import prompt
from reveries.safe_text import one_line
from reveries.tools.results import fence

LONGEST_CHARS: Final = 400
_MOST_TASKS: Final = 20
_MOST_QUESTIONS: Final = 5
_MOST_PROJECTS: Final = 3
_TITLE_CHARS: Final = 120
_SHORTEST_WORD: Final = 4
"""Of a word by which a sentence touches a project: shorter ones are in every sentence."""
_NONE: Final = "none"
_OVER: Final = (TaskStatus.DONE, TaskStatus.DROPPED)
_WORD: Final = re.compile(r"[^\W_]+")
_ACTIONS: Final = Literal["none", "move", "drop", "start", "done", "add", "goal", "answer"]
_Text = Annotated[str, msgspec.Meta(max_length=LONGEST_CHARS)]
_OF_PROJECT: Final = (WishAction.ADD, WishAction.GOAL)


@dataclass(frozen=True, slots=True)
class Targets:
    """What a sentence may be about, by the name that a model uses: "t1", "q1", "p1"."""

    projects: Mapping[str, Project]
    tasks: Mapping[str, WorkTask]
    questions: Mapping[str, OwnerQuestion]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.projects, *self.tasks, *self.questions)

    def project_of(self, project_id: str) -> tuple[str, Project]:
        """Return a project of the list with its name. Raises StopIteration."""
        return next(item for item in self.projects.items() if item[1].id == project_id)


def find_targets(
    words: str,
    projects: Sequence[Project],
    tasks: Mapping[str, Sequence[WorkTask]],
    questions: Sequence[OwnerQuestion],
) -> Targets | None:
    """Return what `words` touch: the projects whose name, open task or waiting question has one of their words, with
    all that is open in them; None if they touch none."""
    if not words.strip() or len(words) > LONGEST_CHARS:
        return None
    said = [word for word in _content(words) if len(word) >= _SHORTEST_WORD]
    open_tasks = {project.id: [task for task in tasks[project.id] if task.status not in _OVER] for project in projects}
    waiting = [question for question in questions if question.kind is not QuestionKind.APPROVAL]
    touched = []
    for project in projects:
        asked = [question.question for question in waiting if question.project_id == project.id]
        texts = (project.name, *(task.title for task in open_tasks[project.id]), *asked)
        if any(are_alike(word, part) for word in said for text in texts for part in _content(text)):
            touched.append(project)
    if not touched or len(touched) > _MOST_PROJECTS:
        return None
    ids = {project.id for project in touched}
    listed = [task for project in touched for task in open_tasks[project.id]][:_MOST_TASKS]
    asked_of = [question for question in waiting if question.project_id in ids][:_MOST_QUESTIONS]
    return Targets(
        {f"p{number}": project for number, project in enumerate(touched, 1)},
        {f"t{number}": task for number, task in enumerate(listed, 1)},
        {f"q{number}": question for number, question in enumerate(asked_of, 1)},
    )


def wish_question(words: str, targets: Targets, owner: str, today: str) -> str:
    """Return what a model is asked."""
    lines = [f"{name}: project “{one_line(project.name, _TITLE_CHARS)}”" for name, project in targets.projects.items()]
    for name, task in targets.tasks.items():
        due = f", due {task.due}" if task.due else ""
        of = targets.project_of(task.project_id)[0]
        lines.append(f"{name}: task of {of}: “{one_line(task.title, _TITLE_CHARS)}”{due}")
    for name, question in targets.questions.items():
        of = targets.project_of(question.project_id)[0]
        lines.append(f"{name}: question of {of} that waits: “{one_line(question.question, 2 * _TITLE_CHARS)}”")
    return prompt("choose_wish", owner=owner, words=fence(words.splitlines()), targets=fence(lines), today=today)


def choice_type(targets: Targets) -> type[Any]:
    """Return the type of the answer, in which a target is one of those that are listed, or none."""
    target = Literal[(_NONE, *targets.names)]  # type: ignore[valid-type]  # The list of this sentence.
    fields: list[Any] = [
        ("action", _ACTIONS, "none"),
        ("target", target, _NONE),
        ("words", _Text, ""),
        ("day", _Text, ""),
    ]
    return msgspec.defstruct("WishChoice", fields, frozen=True)


def read_choice(choice: Any, words: str, targets: Targets, today: date) -> Wish | None:
    """Return the wish that a model chose, if its target fits its action and what it copied stands in `words`. Pure."""
    if choice.action == _NONE or choice.target == _NONE:
        return None
    action, text = WishAction(choice.action), _copied(choice.words, words)
    due = _read_day(_copied(choice.day, words), today)
    if (task := targets.tasks.get(choice.target)) is not None:
        project = targets.project_of(task.project_id)[1]
        is_whole = action in TASK_ACTIONS and action is not WishAction.ADD and bool(due) == (action is WishAction.MOVE)
        return Wish(project, action, task, due=due) if is_whole else None
    if (question := targets.questions.get(choice.target)) is not None:
        project = targets.project_of(question.project_id)[1]
        is_answer = action is WishAction.ANSWER and bool(text)
        return Wish(project, action, title=text, question=question) if is_answer else None
    project = targets.projects[choice.target]
    if action not in _OF_PROJECT or not text:
        return None
    title = text[:1].upper() + text[1:]
    return Wish(project, action, title=title, due=due if action is WishAction.ADD else "")


def _copied(part: str, words: str) -> str:
    """Return `part` if it stands in `words`; empty otherwise."""
    part = " ".join(part.split()).strip(" .,;:!\"“”'")
    return part if part and part.casefold() in " ".join(words.split()).casefold() else ""


def _read_day(text: str, today: date) -> str:
    try:
        return read_due(text, today) if text else ""
    except UsageError:
        return ""


def _content(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text) if word.casefold() not in VOCABULARY.stop_words]
