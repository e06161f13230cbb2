"""The twenty tasks with notes of bench/note_tasks.py: each can be done and failed, and none is one of the sixty."""

from pathlib import Path

import msgspec

from reveries.llm.base import FinishReason
from reveries.llm.tier_test_tasks import UNKNOWN, Task, TaskGroup, all_tasks, is_right
from tests.rows import check_rows

SOURCE = Path(__file__).parents[2] / "bench" / "note_tasks.toml"
TASKS = msgspec.toml.decode(SOURCE.read_bytes(), type=dict[str, list[Task]])["task"]
RIGHT = {
    "hedge": "Mr Lund cut it.",
    "rake-lent": "Mr Petrov has it.",
    "class-and-bus": "At 16:45.",
    "schornsteinfeger": "Am 3. November.",
    "loyer-du-garage": "85 euros par mois.",
    "tent-with-two-doors": "It weighs 5 kilos.",
    "market-in-july": "On Wednesday and Saturday.",
    "choir-after-march": "It has 17 members.",
    "second-flight": "Marek's flight lands at 11:40.",
    "weight-of-the-cat": "4.3 kilos.",
    "piscina": "La piscina abre a las 8.",
    "still-owed": "5 euros.",
    "lamp-that-works": "The green lamp works.",
}


def test_there_are_twenty_of_which_seven_are_not_in_the_notes_and_none_is_one_of_the_sixty() -> None:
    assert len({task.name for task in TASKS} - {task.name for task in all_tasks()}) == 20
    assert all(task.group is TaskGroup.NOTES and task.says_when_unknown for task in TASKS)
    assert sum(is_right(task, UNKNOWN, FinishReason.STOP) for task in TASKS) == 7


@check_rows("task", TASKS)
def test_a_right_answer_is_right_and_one_that_reads_out_the_first_note_is_not(task: Task) -> None:
    assert is_right(task, RIGHT.get(task.name, f"{UNKNOWN}."), FinishReason.STOP)
    for wrong in ("", task.ask, task.notes[0], f"It may be: {UNKNOWN}"):
        assert not is_right(task, wrong, FinishReason.STOP)
