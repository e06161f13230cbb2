"""Tasks that only the owner can do: the owner is asked, and the answer is the outcome. No model."""

from reveries.projects.model import NewQuestion, OwnerQuestion, QuestionStatus, WorkTask
from reveries.projects.task_execution import ResultStatus, TaskResult, Workplace


def ask_owner(place: Workplace, task: WorkTask) -> TaskResult:
    """Ask the owner what the task asks for; with an answer, the task is done."""
    if (answered := _answer_of(place, task)) is not None:
        outcome = f"{answered.answered_by or 'You'} said: “{answered.answer}”"
        return TaskResult(ResultStatus.COMPLETE, outcome, is_audited=not answered.answered_by)
    title = task.title.rstrip(".")
    asked = title if title.endswith("?") else f"“{title}” needs your input. What should I write down?"
    question = NewQuestion(asked, context=task.description, blocks=(task.id,), task_id=task.id)
    return TaskResult(ResultStatus.BLOCKED, question=question)


def _answer_of(place: Workplace, task: WorkTask) -> OwnerQuestion | None:
    """Return the latest answer to this task's own questions."""
    own = [
        question
        for question in place.state.questions
        if question.task_id == task.id and question.status is QuestionStatus.ANSWERED
    ]
    if not own:
        return None
    place.seen_sources.update(own[-1].foreign_sources)
    return own[-1]
