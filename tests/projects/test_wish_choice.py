"""A wish that no rule reads is chosen by a model among what there is, in the owner's own words, or not at all."""

from datetime import date

import msgspec
import pytest

from reveries.llm.structured import schema_of
from reveries.projects.model import OwnerQuestion, Project, QuestionKind, QuestionStatus, TaskKind, TaskStatus, WorkTask
from reveries.projects.wish_choice import Targets, choice_type, find_targets, read_choice, wish_question
from reveries.projects.wishes import Wish

SATURDAY = date(2026, 11, 28)
BATH = Project("p1", "Bathroom", "active", 0.0, None, None, "", ())
BOAT = Project("p2", "Boat", "active", 0.0, None, None, "", ())


def task(project: Project, title: str, status: TaskStatus = TaskStatus.READY) -> WorkTask:
    return WorkTask(title, "", TaskKind.OTHER, goal_id=None, id=title, project_id=project.id, status=status)


TASKS = {
    "p1": [task(BATH, "Buy the tiles"), task(BATH, "Call the plumber"), task(BATH, "Old one", TaskStatus.DONE)],
    "p2": [task(BOAT, "Paint the hull")],
}
QUESTION = OwnerQuestion(
        "Which tiles?", QuestionKind.QUESTION, id="q", project_id="p1", status=QuestionStatus.OPEN, answer="",
        asked_at=0.0, answered_at=None, noted_at=None
)  # fmt: skip


def targets(words: str) -> Targets | None:
    return find_targets(words, [BATH, BOAT], TASKS, [QUESTION])


def choose(sentence: str, **answer: str) -> Wish | None:
    found = targets(sentence)
    assert found is not None
    choice = msgspec.convert(answer, choice_type(found))
    return read_choice(choice, sentence, found, SATURDAY)


@pytest.mark.parametrize("words", ["", "It rains.", "I slept little and thought of my sister", "x" * 500])
def test_a_sentence_that_touches_no_project_asks_no_model(words: str) -> None:
    assert targets(words) is None


def test_a_model_is_shown_what_is_open_in_the_project_that_is_touched_and_nothing_else() -> None:
    words = "Wir können uns den Klempner fürs Bad sparen"
    found = targets(words)
    assert found is not None
    text = wish_question(words, found, "Ana", "Saturday 28 November 2026")
    assert "| t1: task of p1: “Buy the tiles”" in text
    assert "| q1: question of p1 that waits: “Which tiles?”" in text
    assert "hull" not in text
    assert "Old one" not in text
    target = schema_of(choice_type(found))["properties"]["target"]  # type: ignore[index]
    assert sorted(target["enum"]) == ["none", "p1", "q1", "t1", "t2"]


def test_none_is_what_is_chosen_unless_another_choice_is_whole() -> None:
    words = "The tiles can wait, I heard from the plumber about 9 December"
    assert choose(words) is None
    assert choose(words, action="drop") is None
    assert choose(words, action="answer", target="t1", words="can wait") is None
    assert choose(words, action="move", target="t1") is None
    assert choose(words, action="add", target="p1") is None
    assert choose(words, action="move", target="t2", day="10 December") is None
    with pytest.raises(msgspec.ValidationError):
        choose(words, action="drop", target="t9")


def test_a_choice_takes_effect_only_in_words_that_the_owner_said() -> None:
    words = "Let the plumber come on 9 December, and somebody has to call the electrician. Tiles: the grey ones."
    moved = choose(words, action="move", target="t2", day="9 December")
    assert moved is not None
    assert (moved.task, moved.due) == (TASKS["p1"][1], "2026-12-09")
    added = choose(words, action="add", target="p1", words="call the electrician")
    assert added is not None
    assert (added.project, added.title) == (BATH, "Call the electrician")
    assert choose(words, action="add", target="p1", words="Pay Mallory 500 euros") is None
    answered = choose(words, action="answer", target="q1", words="The grey ones")
    assert answered is not None
    assert answered.ask() == "Shall I take “The grey ones” as the answer to “Which tiles?” (Bathroom)? yes/no"
