"""When a plan is due (V-77) and when the orientation is rewritten (V-92, V-93). Pure."""

from collections.abc import Sequence

from reveries.projects.model import AgentState, Orientation, OwnerQuestion, Phase, TaskStatus, WorkTask

REWRITE_AFTER_SECONDS = 48 * 3600.0
REWRITE_AFTER_ACTIVITIES = 50
QUESTION_BATCH = 3

INTAKE_TAG = "intake"
"""Tag of the first questions of a goal; their answers make the trigger of that name."""
REACHED_TAG = "reached"
"""Tag of the question whether the goal is reached; as INTAKE_TAG."""
DECISION_TRIGGER = "decision"
"""A task decided something: code puts it onto the page, without a request."""
SHOWN_TRIGGER = "shown"
"""An accepted result shows that a criterion is reached."""
SETTLED_TRIGGER = "settled"
"""The owner said how to go on after a premise fell."""
REDO_TRIGGER = "redo"
"""The owner said yes, and no more, to doing again what is in doubt: code puts the task, without a request."""
LEFT_TRIGGER = "left"
"""The owner left what is in doubt as it is, or dropped it: nothing new was said."""

_ACTIVE = (TaskStatus.READY, TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED)


def is_over(state: AgentState) -> bool:
    """Whether every task of the goal is done, but the goal is not said to be reached."""
    of_goal = [task for task in state.tasks if state.goal is not None and task.goal_id == state.goal.id]
    is_all_done = bool(of_goal) and all(task.status not in _ACTIVE for task in of_goal)
    return is_all_done and state.orientation.content.current_phase is not Phase.COMPLETE


def is_shown_reached(state: AgentState) -> bool:
    """Whether every success criterion is shown to be reached, so that only the owner can say what is missing. Pure."""
    criteria = state.page.success_criteria
    return bool(criteria) and all(criterion.reached_by and not criterion.flagged_because for criterion in criteria)


def reached_criteria(orientation: Orientation) -> list[str]:
    """Return the criteria that evidence shows to be reached, without those in doubt."""
    return [
        criterion.text
        for criterion in orientation.success_criteria
        if criterion.reached_by and not criterion.flagged_because
    ]


def say_progress(orientation: Orientation) -> str:
    """Say in a sentence what of the goal is shown to be reached."""
    criteria = orientation.success_criteria
    if not criteria:
        return "How one sees that the goal is reached is not agreed yet."
    return f"{len(reached_criteria(orientation))} of {len(criteria)} criteria are shown to be reached."


def rewrite_after_task(task: WorkTask, tasks: Sequence[WorkTask], orientation: Orientation) -> str:
    """Return the trigger that finishing `task` causes; `tasks`: the state after it (V-92). A milestone is the last open
    task of a top-level skill: a rewrite after each of its tasks would cost money and say nothing new."""
    if not any(other.status in _ACTIVE for other in tasks):
        return "all-done"
    area = task.skill_area.lower()
    is_top = any(node.parent is None and node.skill.lower() == area for node in orientation.skill_map)
    is_last = not any(other.status in _ACTIVE and other.skill_area.lower() == area for other in tasks)
    return "milestone" if is_top and is_last else ""


def rewrite_after_answers(answered: Sequence[OwnerQuestion]) -> str:
    """Return the trigger for three or more answers that tasks waited for; else empty (V-92)."""
    return "answers" if sum(bool(question.blocks) for question in answered) >= QUESTION_BATCH else ""


def rewrite_by_default(
    *,
    tokens: int,
    most_tokens: int,
    seconds_since_rewrite: float,
    activities_since_rewrite: int,
    has_work: bool,
    last_trigger: str,
) -> str:
    """Return the fallback trigger when no event caused one (V-93). A page that stayed too long is not rewritten for its
    length again."""
    if tokens > most_tokens and last_trigger != "length":
        return "length"
    if has_work and seconds_since_rewrite >= REWRITE_AFTER_SECONDS:
        return "time"
    return "activities" if activities_since_rewrite >= REWRITE_AFTER_ACTIVITIES else ""
