"""The tasks of the tier test: what counts as right, and that each can be failed."""

import pytest

from reveries.llm.base import FinishReason, Role
from reveries.llm.tier_test_tasks import Task, TaskGroup, all_tasks, is_right, prompt_of
from tests.fakes.tier_answers import RIGHT, WRONG, named

ALL = [pytest.param(task, id=task.name) for task in all_tasks()]


def test_there_are_sixty_tasks_evenly_over_the_groups() -> None:
    later = (TaskGroup.STEPS, TaskGroup.EVIDENCE, TaskGroup.UNTRUSTED)
    assert {group: len(named(group)) for group in TaskGroup} == dict.fromkeys(TaskGroup, 9) | dict.fromkeys(later, 8)
    assert len(set(named())) == 60


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_of_evidence_half_is_right_at_most_for_a_model_that_always_says_the_same(answer: str) -> None:
    tasks = [task for task in all_tasks() if task.group is TaskGroup.EVIDENCE]
    right = [task for task in tasks if is_right(task, f'{{"answer": "{answer}"}}', FinishReason.STOP)]
    assert len(right) == (5 if answer == "no" else 3)


@pytest.mark.parametrize("task", ALL)
def test_an_answer_as_a_capable_model_gives_it_is_right(task: Task) -> None:
    assert is_right(task, RIGHT[task.name], FinishReason.STOP)


@pytest.mark.parametrize("task", ALL)
def test_answers_that_miss_the_point_are_wrong(task: Task) -> None:
    assert [text for text in WRONG[task.name] if is_right(task, text, FinishReason.STOP)] == []


@pytest.mark.parametrize("task", ALL)
def test_nothing_and_the_question_itself_are_never_right(task: Task) -> None:
    for text in ("", prompt_of(task, Role.CONVERSATION).messages[-1].text):
        assert not is_right(task, text, FinishReason.STOP)


@pytest.mark.parametrize("task", ALL)
def test_only_what_is_about_ending_has_to_end_by_itself(task: Task) -> None:
    was_cut = is_right(task, RIGHT[task.name], FinishReason.LENGTH)
    assert was_cut is (task.group is not TaskGroup.ENDING)


@pytest.mark.parametrize("task", ALL)
def test_a_task_is_asked_the_same_each_time_and_without_chance(task: Task) -> None:
    prompt = prompt_of(task, Role.CONVERSATION)
    assert prompt == prompt_of(task, Role.CONVERSATION)
    assert prompt.temperature == 0.0
    assert prompt.messages[-1].role == "user"
    assert (prompt.schema is not None) is bool(task.fields)


def test_a_model_that_reasons_gets_the_room_for_it() -> None:
    [task] = [task for task in all_tasks() if task.name == "capital"]
    assert prompt_of(task, Role.MONOLOGUE, 512).max_tokens == 512
    assert prompt_of(task, Role.MONOLOGUE).max_tokens == task.max_tokens
