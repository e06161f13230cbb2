"""Changes of projects that the owner's words in a conversation ask for. Nothing changes before a yes. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from reveries.projects.model import OwnerQuestion, Project, WorkTask

_MOST_SHOWN_CHARS: Final = 200
NAME_AND_GOAL: Final = ": "
"""Between the name of a project to be begun and its goal."""


class WishAction(StrEnum):
    """What is to change; of a task, the key of its words in steering_words.toml."""

    MOVE = "move"
    DROP = "drop"
    START = "start"
    DONE = "done"
    ADD = "add"
    GOAL = "goal"
    """A goal for a project that there is."""
    ANSWER = "answer"
    """The answer to a question that waits."""
    BEGIN = "begin"
    """A project by its name, perhaps with a goal."""
    PURSUE = "pursue"
    """A goal in a project of its own, named after it."""


TASK_ACTIONS: Final = (WishAction.MOVE, WishAction.DROP, WishAction.START, WishAction.DONE, WishAction.ADD)


@dataclass(frozen=True, slots=True)
class Wish:
    """A change that the owner's words ask for. `project`: None for one to be begun; `task`: None for one to be added;
    `title`: of a task to be added, or the goal, the answer, the name."""

    project: Project | None
    action: WishAction
    task: WorkTask | None = None
    title: str = ""
    due: str = ""
    question: OwnerQuestion | None = None

    @property
    def is_tainted(self) -> bool:
        """Whether it names a task or a question that others' text led to."""
        named = (self.task, self.question)
        return any(item is not None and bool(item.foreign_sources) for item in named)

    def ask(self) -> str:
        """Return the question that a yes applies."""
        return f"{self._ask_in_words()} yes/no"

    def _ask_in_words(self) -> str:
        project = self.project.name if self.project is not None else ""
        title = _shown(self.task.title if self.task is not None else self.title)
        name = f"“{title}” ({project})"
        match self.action:
            case WishAction.MOVE:
                old = f" from {say_day(self.task.due)}" if self.task is not None and self.task.due else ""
                return f"Shall I change the due date of {name}{old} to {say_day(self.due)}?"
            case WishAction.DROP:
                return f"Shall I drop the task {name}?"
            case WishAction.START:
                return f"Shall I put the task {name} first, to be begun now?"
            case WishAction.DONE:
                return f"Shall I mark the task {name} as done?"
            case WishAction.ADD:
                day = f", due {say_day(self.due)}" if self.due else ""
                return f"Shall I add the task {name}{day}?"
            case WishAction.GOAL:
                return f"Shall I set this goal for {project}: “{title}”? It takes the place of any other goal of it."
            case WishAction.ANSWER:
                asked = _shown(self.question.question) if self.question is not None else ""
                return f"Shall I take “{title}” as the answer to “{asked}” ({project})?"
            case WishAction.BEGIN:
                new, goal = split_beginning(self.title)
                with_goal = f" with the goal “{_shown(goal)}”" if goal else ""
                return f"Shall I begin a project “{_shown(new)}”{with_goal}?"
            case WishAction.PURSUE:
                return f"Shall I begin a project with the goal “{title}”?"


def say_day(due: str) -> str:
    """Return a due day as it is said: 6 March 2027, 14:00."""
    day = datetime.fromisoformat(due)
    return f"{day.day} {day:%B %Y}" + (f", {day:%H:%M}" if "T" in due else "")


def split_beginning(title: str) -> tuple[str, str]:
    """Return the name and the goal of a project to be begun; the goal may be empty."""
    name, _, goal = title.partition(NAME_AND_GOAL)
    return name, goal


def _shown(text: str) -> str:
    return " ".join(text.split())[:_MOST_SHOWN_CHARS]
