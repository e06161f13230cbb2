"""The tasks of the tier test: what counts as right, and that each can be failed."""

import pytest

from reveries.llm.base import FinishReason, Prompt, Role
from reveries.llm.tier_test_tasks import TIER_GROUPS, Task, TaskGroup, all_tasks, is_right, prompt_of
from tests.fakes.tier_answers import RIGHT, WRONG, named


def asked(task: Task) -> Prompt:
    return prompt_of(task, Role.CONVERSATION)


def test_there_are_sixty_tasks_evenly_over_the_groups() -> None:
    later = (TaskGroup.STEPS, TaskGroup.EVIDENCE, TaskGroup.UNTRUSTED)
    numbers = dict.fromkeys(TIER_GROUPS, 9) | dict.fromkeys(later, 8)
    assert {group: len(named(group)) for group in TIER_GROUPS} == numbers
    assert len(set(named())) == 60


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_of_evidence_half_is_right_at_most_for_a_model_that_always_says_the_same(answer: str) -> None:
    tasks = [task for task in all_tasks() if task.group is TaskGroup.EVIDENCE]
    right = [task for task in tasks if is_right(task, f'{{"answer": "{answer}"}}', FinishReason.STOP)]
    assert len(right) == (5 if answer == "no" else 3)


def test_an_answer_as_a_capable_model_gives_it_is_right() -> None:
    assert [task.name for task in all_tasks() if not is_right(task, RIGHT[task.name], FinishReason.STOP)] == []


def test_answers_that_miss_the_point_are_wrong() -> None:
    answers = [(task, text) for task in all_tasks() for text in WRONG[task.name]]
    assert [(task.name, text) for task, text in answers if is_right(task, text, FinishReason.STOP)] == []


def test_nothing_and_the_question_itself_are_never_right() -> None:
    answers = [(task, text) for task in all_tasks() for text in ("", asked(task).messages[-1].text)]
    assert [(task.name, text) for task, text in answers if is_right(task, text, FinishReason.STOP)] == []


def test_only_what_is_about_ending_has_to_end_by_itself() -> None:
    cut = [task.name for task in all_tasks() if not is_right(task, RIGHT[task.name], FinishReason.LENGTH)]
    assert cut == [task.name for task in all_tasks() if task.group is TaskGroup.ENDING]


def test_a_task_is_asked_the_same_each_time_and_without_chance() -> None:
    for task in all_tasks():
        prompt = asked(task)
        assert prompt == asked(task), task.name
        assert prompt.temperature == 0.0, task.name
        assert prompt.messages[-1].role == "user", task.name
        assert (prompt.schema is not None) is bool(task.fields), task.name


def test_a_model_that_reasons_gets_the_room_for_it() -> None:
    [task] = [task for task in all_tasks() if task.name == "capital"]
    assert prompt_of(task, Role.MONOLOGUE, 512).max_tokens == 512
    assert prompt_of(task, Role.MONOLOGUE).max_tokens == task.max_tokens
