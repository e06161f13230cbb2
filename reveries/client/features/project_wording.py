"""How the log and the steps of a project read: sentences instead of names of events and JSON. Pure."""

from typing import Any, Final

import msgspec

from reveries.safe_text import one_line

_ACTIONS: Final = {
    "approval.asked": "asked for your approval",
    "chunk.fell": "no longer valid",
    "coherence.warned": "off track?",
    "folder.changed": "the folder changed",
    "folder.set": "you set the folder",
    "goal.applied": "the new goal counts",
    "goal.said": "you set the goal",
    "grant.given": "you granted",
    "grant.revoked": "you revoked",
    "material.added": "you added",
    "orientation.rewritten": "rewrote the page",
    "planned": "planned",
    "premise.fell": "a premise fell",
    "project.active": "you let it go on",
    "project.archived": "you archived it",
    "project.created": "created",
    "project.paused": "you paused it",
    "question.answered": "you answered",
    "questions.asked": "asked you",
    "task.began": "began",
    "task.blocked": "asked you",
    "task.done": "done",
    "task.failed": "did not work",
    "task.gave_up": "stuck, asked you",
    "task.given_up": "left out",
    "task.needs_research": "needs first",
    "task.undone": "you undid",
    "work.rested": "rested",
}
_TRIGGERS: Final = {
    "activities": "much has happened",
    "all-done": "all tasks are done",
    "answers": "several answers of yours",
    "created": "the first page",
    "criterion": "your answer about what is to be reached",
    "goal": "a goal of yours",
    "intake": "your first answers",
    "length": "it had become too long",
    "milestone": "an area is finished",
    "premise": "something it rested on fell",
    "reached": "your answer whether it is reached",
    "settled": "your answer about what fell",
    "time": "two days have passed",
}
_VERSION: Final = "version "


def describe_action(action: str) -> str:
    """Return an action of the log in words; one that is not known, or a program's name, as it is."""
    return _ACTIONS.get(action, action)


def describe_details(action: str, details: str) -> str:
    """Return the details of a log line, with the triggers of a new page in words."""
    version, colon, trigger = details.partition(": ")
    if action == "orientation.rewritten" and colon and version.startswith(_VERSION):
        return f"{version}, because: {describe_trigger(trigger)}"
    return details


def describe_trigger(trigger: str) -> str:
    """Return why a page was written in words; as it is if that is no list of triggers, which spaces separate."""
    names = trigger.split()
    return ", ".join(_TRIGGERS[one] for one in names) if _TRIGGERS.keys() >= set(names) else trigger


def describe_answer(result: str) -> str:
    """Return a model's answer in words if it is one of the known JSON answers, else as it is."""
    try:
        answer = msgspec.json.decode(result)
    except msgspec.DecodeError:
        return result
    return _describe_object(answer) if isinstance(answer, dict) else result


def _describe_object(answer: dict[str, Any]) -> str:
    step = answer.get("step", answer)
    if not isinstance(step, dict):
        return one_line(str(step))
    if "accepted" in step:
        return f"{'accepted' if step['accepted'] else 'rejected'}: {step.get('why', '')}"
    if step.get("tool") == "finish":
        said = step.get("outcome") or step.get("question") or step.get("topic") or ""
        learned = len(step.get("learnings", ()))
        kept = f" ({learned} learned)" if learned else ""
        return f"finished, {str(step.get('status', '')).replace('_', ' ')}: {said}{kept}"
    fields = [f"{name} {value}" for name, value in step.items() if name != "tool" and value not in ("", [], {}, None)]
    tool = f"{step['tool']}: " if "tool" in step else ""
    return tool + "; ".join(fields)
