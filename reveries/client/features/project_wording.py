"""How the log and the steps of a project read: sentences instead of names of events and JSON. Pure."""

import datetime
from typing import Final

_ACTIONS: Final = {
    "approval.asked": "asked for your approval",
    "chunk.fell": "no longer valid",
    "coherence.warned": "off track?",
    "facts.changed": "a note changed",
    "folder.changed": "the folder changed",
    "folder.set": "you set the folder",
    "goal.applied": "the new goal counts",
    "goal.limited": "you set the limit of the goal",
    "goal.said": "you set the goal",
    "grant.given": "you granted",
    "grant.revoked": "you revoked",
    "material.added": "you added",
    "material.removed": "you removed",
    "owner.task_added": "you added the task",
    "owner.task_done": "you did",
    "owner.task_dropped": "you dropped the task",
    "owner.task_edited": "you changed the task",
    "owner.task_moved": "you moved the task",
    "orientation.rewritten": "rewrote the page",
    "planned": "planned",
    "premise.fell": "a premise fell",
    "proposal.accepted": "you accepted",
    "proposal.dismissed": "you dropped",
    "proposals.found": "the notes propose",
    "conflict.decided": "you decided what holds",
    "conflict.judged": "a model judged what does not go together",
    "draft.written": "a draft was written",
    "project.active": "you let it go on",
    "project.archived": "you archived it",
    "project.created": "created",
    "project.paused": "you paused it",
    "question.answered": "you answered",
    "question.asked": "asked you",
    "reached.answered": "you answered whether the goal is reached",
    "questions.asked": "asked you",
    "server.not_started": "did not start",
    "task.began": "began",
    "task.blocked": "asked you",
    "task.created": "new task",
    "task.done": "done",
    "task.failed": "did not work",
    "task.gave_up": "stuck, asked you",
    "task.given_up": "left out",
    "task.needs_research": "needs first",
    "task.planned": "new task",
    "task.undone": "you undid",
    "task.updated": "changed the task",
    "tool.switched_off": "switched off",
    "work.rested": "rested",
}
_PROGRAM_ACTIONS: Final = {
    "question.answered": "answered a question",
    "question.asked": "asked you",
    "task.created": "new task",
    "task.updated": "changed the task",
}
"""What a program does by one of the tools. Any other name is the program's own word, and is not replaced: it must not
read as what you or the mind did."""
_TRIGGERS: Final = {
    "activities": "much has happened",
    "all-done": "all tasks are done",
    "answers": "several answers of yours",
    "created": "the first page",
    "criterion": "your answer about what is to be reached",
    "decision": "something was decided",
    "goal": "a goal of yours",
    "intake": "your first answers",
    "length": "it had become too long",
    "milestone": "an area is finished",
    "planned": "a new plan",
    "premise": "something it rested on fell",
    "reached": "your answer whether it is reached",
    "shown": "a result shows what is reached",
    "settled": "your answer about what fell",
    "redo": "your yes to doing it again",
    "left": "you left it as it is",
    "time": "two days have passed",
}
_PROGRAM: Final = "mcp:"
"""Before the name of a program, in whose name a line is logged."""


def describe_due(due: str) -> str:
    """Return the day of a task as it is shown: `due Tue 8 Dec 2026, 14:00`."""
    return f"due {describe_day(due)}" if due else ""


def describe_day(value: str) -> str:
    """Return a day, a day with a time, or a span, as it is shown; a time alone, or what is none, as it is."""
    try:
        days = [datetime.datetime.fromisoformat(part) for part in value.split("/")]
    except ValueError:
        return value
    shown = " to ".join(f"{day:%a} {day.day} {day:%b %Y}" for day in days)
    return f"{shown}, {days[0]:%H:%M}" if "T" in value else shown


def describe_action(action: str) -> str:
    """Return an action of the log in words; one that is not known, or a program's name, as it is."""
    return _ACTIONS.get(action, action)


def describe_details(action: str, details: str) -> str:
    """Return the details of a log line, with the triggers of a new page and what a program did in words."""
    if action.startswith(_PROGRAM):
        done, _, more = details.partition("\n")
        return ": ".join(filter(None, (_PROGRAM_ACTIONS.get(done, done), more)))
    if action == "orientation.rewritten":
        version, _, trigger = details.partition(": ")
        return f"{version}, because: {describe_trigger(trigger)}"
    return details


def describe_trigger(trigger: str) -> str:
    """Return why a page was written in words; as it is if that is no list of triggers, which spaces separate."""
    names = trigger.split()
    return ", ".join(_TRIGGERS[name] for name in names) if _TRIGGERS.keys() >= set(names) else trigger
