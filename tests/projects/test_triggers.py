"""When a page is written anew and a plan is due."""

import pytest

from reveries.projects.model import (
    Orientation,
    OwnerQuestion,
    QuestionKind,
    QuestionStatus,
    SkillNode,
    TaskKind,
    TaskStatus,
    WorkTask,
)
from reveries.projects.triggers import rewrite_after_answers, rewrite_after_task, rewrite_by_default
from tests.rows import check_rows

QUIET = {
    "tokens": 100, "most_tokens": 2500, "seconds_since_rewrite": 0.0, "activities_since_rewrite": 0, "has_work": True,
    "last_trigger": "goal",
}  # fmt: skip


@pytest.mark.requirement("V-92")
@check_rows(
    ("changed", "trigger"),
    [
        ({}, ""),
        ({"tokens": 2501}, "length"),
        ({"tokens": 2500}, ""),
        ({"tokens": 9000, "last_trigger": "length"}, ""),
        ({"seconds_since_rewrite": 48 * 3600.0}, "time"),
        ({"seconds_since_rewrite": 48 * 3600.0, "has_work": False}, ""),
        ({"activities_since_rewrite": 50}, "activities"),
        ({"activities_since_rewrite": 49}, ""),
    ],
)
def test_what_makes_a_page_due_when_no_event_did(changed: dict[str, object], trigger: str) -> None:
    assert rewrite_by_default(**{**QUIET, **changed}) == trigger  # type: ignore[arg-type]


def _task(area: str, status: TaskStatus) -> WorkTask:
    return WorkTask(
        "t", "", TaskKind.FIND_OUT, goal_id="g", id=f"{area}{status}", project_id="p", status=status, skill_area=area
    )


@pytest.mark.requirement("V-92")
def test_a_milestone_is_the_last_open_task_of_a_top_level_skill() -> None:
    page = Orientation("", skill_map=(SkillNode("chords"), SkillNode("voicings", parent="chords")))
    done = _task("Chords", TaskStatus.DONE)
    other = _task("rhythm", TaskStatus.READY)
    assert rewrite_after_task(done, [done, other], page) == "milestone"
    assert rewrite_after_task(done, [done, other, _task("chords", TaskStatus.BLOCKED)], page) == ""
    below = _task("voicings", TaskStatus.DONE)
    assert rewrite_after_task(below, [below, other], page) == ""
    assert rewrite_after_task(done, [done], page) == "all-done"


@pytest.mark.requirement("V-92")
def test_three_answers_for_which_tasks_waited_make_a_page_due() -> None:
    def answered(*blocks: str) -> OwnerQuestion:
        return OwnerQuestion(
            "?",
            QuestionKind.QUESTION,
            id="q",
            project_id="p",
            status=QuestionStatus.ANSWERED,
            answer="a",
            asked_at=0.0,
            answered_at=1.0,
            noted_at=None,
            blocks=blocks,
        )

    assert rewrite_after_answers([answered("t1"), answered("t2"), answered("t3")]) == "answers"
    assert rewrite_after_answers([answered("t1"), answered("t2"), answered()]) == ""
