"""Tells from rows how a project stands, what is next and what is due, with what shows it, in the words of a language.

Nothing is counted that says nothing: what is done stands there with its outcome and who checked it, what of the goal is
reached with the task that shows it. Pure.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

from reveries.projects.answers import CRITERION_TAG
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.model import AgentState, AuditedBy, Criterion, TaskStatus, WorkTask
from reveries.projects.presentation import finished_tasks
from reveries.projects.status_questions import Period, StatusKind, StatusQuestion
from reveries.projects.status_words import ENGLISH, StatusLanguage
from reveries.projects.timeline import DUE_DAYS
from reveries.projects.wake_report import RestReason
from reveries.protocol import Due, TimelineEntry
from reveries.safe_text import format_record, one_line

_TITLE_CHARS: Final = 120
_LINE_CHARS: Final = 160
_OUTCOME_CHARS: Final = 140
_MOST: Final = 3
_MOST_DUE: Final = 6
_OVER: Final = (TaskStatus.DONE, TaskStatus.DROPPED)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of where a project stands on a day."""

    state: AgentState
    timeline: Sequence[TimelineEntry]
    today: date
    facts: ProjectFacts | None = None
    """None: the notes could not be read in time."""
    proposals: int = 0


@dataclass(slots=True)
class StatusText:
    """Sentences on a project, and whose texts are quoted in them."""

    language: StatusLanguage
    sentences: list[str] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    says_something: bool = False
    """Whether it says more than that there is nothing."""

    def add(self, key: str, **values: object) -> None:
        """Add a phrase as a sentence."""
        self.sentences.append(self.language.say(key, **values))
        self.says_something = True

    def add_nothing(self, key: str, **values: object) -> None:
        """Add a sentence that says that there is nothing."""
        self.sentences.append(self.language.say(key, **values))

    def add_list(self, key: str, items: Sequence[str], *, most: int = _MOST, **values: object) -> None:
        """Add a phrase with a list; nothing for an empty one."""
        if items:
            shown = [*items[:most], *([self.language.say("more", number=len(items) - most)] if items[most:] else [])]
            self.add(key, items="; ".join(shown), **values)


def tell_status(kind: StatusKind, standing: Standing, language: StatusLanguage, period: Period | None) -> StatusText:
    """Tell what is asked of one project."""
    told = StatusText(language)
    _TELLERS[kind](told, standing, period)
    return told


def tell_nothing(question: StatusQuestion, today: date) -> str:
    """Say that of all projects none has what is asked for; empty where that says nothing."""
    language, asked = question.language, _asked_days(question.period, today)
    match question.kind:
        case StatusKind.DUE:
            on_one_day = "_on" if asked.first == asked.last else ""
            return language.say(f"nothing_due{on_one_day}", until=language.say_day(asked.last))
        case StatusKind.WAITING:
            return ""
    return language.say("nothing_planned")


def tell_briefly(standing: Standing) -> StatusText:
    """Tell in English what the prompt of any talk about a project begins with: the most telling first."""
    told = StatusText(ENGLISH)
    goal = standing.state.goal
    if goal is not None:
        told.sentences.append(f"The goal: {format_record(goal.text, _TITLE_CHARS)}.")
    _tell_why_it_rests(told, standing)
    _tell_next(told, standing, None)
    _tell_waiting(told, standing, None)
    _tell_due(told, standing, None)
    _tell_criteria(told, standing.state)
    told.add_list("done", _items(told, finished_tasks(standing.state.tasks)[::-1], _describe_done))
    if len(told.sentences) == (goal is not None):
        told.add_nothing("nothing_planned")
    return told


def _asked_days(period: Period | None, today: date) -> Period:
    return period or Period(today, today + timedelta(days=DUE_DAYS))


def _tell_standing(told: StatusText, standing: Standing, period: Period | None) -> None:
    state = standing.state
    _tell_why_it_rests(told, standing)
    _tell_criteria(told, state)
    done = finished_tasks(state.tasks)[::-1]
    told.add_list("done", _items(told, done, _describe_done))
    still_open = _open_tasks(state)
    if not done and still_open:
        told.add("nothing_done")
    elif not done and not standing.proposals:
        told.add_nothing("nothing_planned" if state.goal is not None else "no_goal")
    _tell_next(told, standing, None)
    # A task is told once: as the next one, with its day, or among what is open.
    near = {entry.text for entry in standing.timeline if not entry.line and entry.due is not Due.AHEAD}
    others = [task for task in still_open if task not in _next_tasks(standing)[:1] and one_line(task.title) not in near]
    told.add_list("open", _items(told, others, _describe_open))
    _tell_due(told, standing, None)
    _tell_waiting(told, standing, None)
    _tell_doubts(told, standing)


def _tell_why_it_rests(told: StatusText, standing: Standing) -> None:
    project = standing.state.project
    if project.state == "paused":
        told.add("paused")
    elif project.rested_because == RestReason.NO_MODEL.value:
        told.add("no_model")
    elif project.rested_because == RestReason.BUDGET.value:
        told.add("budget")


def _tell_criteria(told: StatusText, state: AgentState) -> None:
    """What of the goal is reached and by what. A result in doubt shows nothing."""
    criteria = state.page.success_criteria
    tasks = {task.id: task for task in state.tasks}
    shown = [item for item in criteria if _shows(item, tasks.get(item.reached_by))]
    reached = [
        f"{_quote(item.text)} ({told.language.say('by', task=_quote(tasks[item.reached_by].title))})" for item in shown
    ]
    told.add_list("reached", reached)
    told.add_list("not_reached", [_quote(item.text) for item in criteria if item not in shown])
    if criteria:
        told.sources |= state.orientation.foreign_sources
        told.sources |= frozenset[str]().union(*(tasks[item.reached_by].foreign_sources for item in shown))


def _shows(criterion: Criterion, task: WorkTask | None) -> bool:
    return task is not None and not criterion.flagged_because


def _tell_next(told: StatusText, standing: Standing, period: Period | None) -> None:
    in_hand = [task for task in standing.state.tasks if task.is_in_hand]
    told.add_list("in_hand", _items(told, in_hand, _describe_open))
    rest = [task for task in _next_tasks(standing) if task not in in_hand]
    told.add_list("next", _items(told, rest[:1], _describe_open))


def _tell_what_is_next(told: StatusText, standing: Standing, period: Period | None) -> None:
    """What is next, or why nothing is."""
    _tell_why_it_rests(told, standing)
    _tell_next(told, standing, period)
    if not told.sentences:
        told.add_nothing("nothing_next")
    _tell_waiting(told, standing, period)
    first = _next_tasks(standing)[:1]
    others = [task for task in _open_tasks(standing.state) if task not in first and not task.is_in_hand]
    told.add_list("open", _items(told, others, _describe_open))
    if standing.proposals:
        told.add("proposals", number=standing.proposals)


def _next_tasks(standing: Standing) -> list[WorkTask]:
    """Return what can be done next: what the mind would do, else what its owner does, the first due first."""
    state = standing.state
    if state.queue:
        return list(state.queue)
    ready = [task for task in _open_tasks(state) if task.status is not TaskStatus.BLOCKED]
    return sorted(ready, key=lambda task: (not task.due, task.due))


def _tell_due(told: StatusText, standing: Standing, period: Period | None) -> None:
    """What is overdue, and what is due within a week."""
    overdue = [entry for entry in standing.timeline if entry.due is Due.OVERDUE]
    next_titles = {one_line(task.title) for task in _next_tasks(standing)[:1]}
    near = [
        entry for entry in standing.timeline if entry.due is Due.DUE and (entry.line or entry.text not in next_titles)
    ]
    until = told.language.say_day(standing.today + timedelta(days=DUE_DAYS))
    told.add_list("overdue", _entries(told, standing, overdue), most=_MOST_DUE)
    told.add_list("due", _entries(told, standing, near), most=_MOST_DUE, until=until)


def _tell_what_is_due(told: StatusText, standing: Standing, period: Period | None) -> None:
    """What is due in a period, and what is overdue; without a period also what is ahead."""
    asked = _asked_days(period, standing.today)
    overdue = [entry for entry in standing.timeline if entry.due is Due.OVERDUE]
    within = [
        entry
        for entry in standing.timeline
        if entry.due is not Due.OVERDUE and asked.first <= _day_of(entry) <= asked.last
    ]
    on_one_day = "_on" if asked.first == asked.last else ""
    until = told.language.say_day(asked.last)
    told.add_list("overdue", _entries(told, standing, overdue), most=_MOST_DUE)
    told.add_list(f"due{on_one_day}", _entries(told, standing, within), most=_MOST_DUE, until=until)
    if not within:
        told.add_nothing(f"nothing_due{on_one_day}", until=until)
    if period is None:
        ahead = [entry for entry in standing.timeline if _day_of(entry) > asked.last]
        told.add_list("ahead", _entries(told, standing, ahead))


def _tell_what_it_waits_for(told: StatusText, standing: Standing, period: Period | None) -> None:
    _tell_waiting(told, standing, period)
    if not told.sentences:
        told.add_nothing("nothing_waits")


def _tell_waiting(told: StatusText, standing: Standing, period: Period | None) -> None:
    questions = standing.state.open_questions
    told.add_list("waiting", [_quote(question.question, _LINE_CHARS) for question in questions])
    for question in questions[:_MOST]:
        told.sources |= question.foreign_sources
        if CRITERION_TAG in question.context_tags:  # It quotes criteria of the page.
            told.sources |= standing.state.orientation.foreign_sources


def _tell_doubts(told: StatusText, standing: Standing) -> None:
    flagged = [task for task in standing.state.tasks if task.flagged_because and task.status is not TaskStatus.DROPPED]
    told.add_list("doubt", _items(told, flagged, lambda told, task: _quote(task.title)))
    if standing.facts is not None and standing.facts.conflicts:
        told.add("conflicts", number=len(standing.facts.conflicts))
    if standing.proposals:
        told.add("proposals", number=standing.proposals)


_TELLERS: Final = {
    StatusKind.STANDING: _tell_standing,
    StatusKind.NEXT: _tell_what_is_next,
    StatusKind.DUE: _tell_what_is_due,
    StatusKind.WAITING: _tell_what_it_waits_for,
}


def _open_tasks(state: AgentState) -> list[WorkTask]:
    return [task for task in state.tasks if task.status not in _OVER]


def _items(told: StatusText, tasks: Iterable[WorkTask], describe: Callable[[StatusText, WorkTask], str]) -> list[str]:
    """Describe tasks, and note whose texts they hold."""
    described = []
    for task in tasks:
        described.append(describe(told, task))
        told.sources |= task.foreign_sources
    return described


def _describe_done(told: StatusText, task: WorkTask) -> str:
    """A finished task with its outcome and who says so."""
    if task.audited_by is AuditedBy.OWNER:
        return f"{_quote(task.title)} ({told.language.say('by_owner')})"
    outcome = format_record(task.outcome, _OUTCOME_CHARS)
    by = told.language.say("checked" if task.is_audited else "unchecked")
    return f"{_quote(task.title)}: {outcome} ({by})" if outcome else f"{_quote(task.title)} ({by})"


def _describe_open(told: StatusText, task: WorkTask) -> str:
    notes = [
        told.language.say("mine") if task.is_mine else "",
        told.language.say("until", day=_say_due(told, task.due)) if task.due else "",
        told.language.say("held") if task.status is TaskStatus.BLOCKED else "",
    ]
    noted = ", ".join(filter(None, notes))
    return f"{_quote(task.title)} ({noted})" if noted else _quote(task.title)


def _entries(told: StatusText, standing: Standing, entries: Sequence[TimelineEntry]) -> list[str]:
    """Describe days: of a task its title, of a line of a note its words and its place."""
    tasks = {(task.due, one_line(task.title)): task for task in standing.state.tasks}
    described = []
    for entry in entries:
        place = f" ({entry.document}:{entry.line})" if entry.line else ""
        described.append(f"{_quote(entry.text, _LINE_CHARS)}{place}, {_say_due(told, entry.value)}")
        if entry.line and standing.facts is not None:
            told.sources |= standing.facts.bases_of([(entry.document, entry.line)])[1]
        elif (task := tasks.get((entry.value, entry.text))) is not None:
            told.sources |= task.foreign_sources
    return described


def _say_due(told: StatusText, value: str) -> str:
    day, _, time = value.partition("/")[0].partition("T")
    return told.language.say_day(date.fromisoformat(day)) + (f", {time}" if time else "")


def _day_of(entry: TimelineEntry) -> date:
    return date.fromisoformat(entry.value[:10])


def _quote(text: str, chars: int = _TITLE_CHARS) -> str:
    return f"“{format_record(text, chars)}”"
