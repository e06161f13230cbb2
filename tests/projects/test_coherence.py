"""How work keeps to its goal: golden values of the score, and what holds of every project."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.projects.coherence import (
    LEAST_SCORE,
    Coherence,
    describe_coherence,
    measure_coherence,
    score_task,
    shares_words,
)
from reveries.projects.model import Criterion, Orientation, SkillNode, TaskKind, TaskStatus, WorkTask
from reveries.projects.result_audit import read_coherence
from tests.projects.kit import asked_for, finished, open_work, planned
from tests.projects.test_goals_and_input import answers
from tests.rows import check_rows

GOAL = "Build a shed"
PAGE = Orientation(
    "",
    success_criteria=(Criterion("It stays dry in winter"),),
    skill_map=(SkillNode("carpentry", "in_progress"), SkillNode("roofing", dependencies=("carpentry",))),
)


def task(
    title: str, area: str = "", status: TaskStatus = TaskStatus.DONE, *, number: int = 0, goal: str = "g"
) -> WorkTask:
    return WorkTask(
        id=title, project_id="p", goal_id=goal, title=title, description="", kind=TaskKind.FIND_OUT, status=status,
        skill_area=area, started_at=float(number), completed_at=float(number) if status is TaskStatus.DONE else None,
    )  # fmt: skip


def measure(*tasks: WorkTask, warned: dict[str, str] | None = None, page: Orientation = PAGE) -> Coherence:
    return measure_coherence("g", tasks, page, {one.id for one in tasks}, warned or {})


@pytest.mark.requirement("V-91")
@check_rows(
    ("one", "cosine", "score"),
    [
        (task("Count penguins"), 0.0, 0.0),
        (task("Count penguins"), -0.3, 0.0),
        (task("Count penguins"), 0.15, 0.15),
        (task("Count penguins"), 0.62, 0.62),
        # One of two words, of four, of all: 0.15 + 0.85 x share.
        (task("Measure shed"), 0.1, 0.575),
        (task("Measure shed with penguins today"), 0.1, 0.3625),
        (task("Build shed"), 0.1, 1.0),
        # A criterion's words and an area of the skill map count as well; its own area, which a plan names, does not.
        (task("Winter penguins"), 0.0, 0.575),
        (task("Carpentry penguins"), 0.0, 0.575),
        (task("Carpentry penguins", "carpentry"), 0.0, 0.0),
        # Whichever is more; and nothing to judge by is no fault.
        (task("Measure shed"), 0.8, 0.8),
        (task("?"), 0.0, 1.0),
    ],
)
def test_the_score_of_a_task_is_its_words_or_its_meaning_whichever_is_nearer_to_the_goal(
    one: WorkTask, cosine: float, score: float
) -> None:
    assert score_task(one, GOAL, PAGE, cosine) == pytest.approx(score, abs=1e-9)


@pytest.mark.requirement("V-91")
@given(title=st.text("abc shedwinter ", max_size=40), cosine=st.floats(-1.0, 1.0))
def test_a_score_is_a_share_and_a_shared_word_is_enough_not_to_be_warned_of(title: str, cosine: float) -> None:
    one = task(title)
    score = score_task(one, GOAL, PAGE, cosine)
    assert 0.0 <= score <= 1.0
    assert (score >= LEAST_SCORE) == (shares_words(one, GOAL, PAGE) or cosine >= LEAST_SCORE)


@pytest.mark.requirement("V-91")
def test_a_project_has_the_share_of_its_begun_tasks_that_serve_the_goal_and_none_before_the_first() -> None:
    assert measure_coherence("g", [], PAGE, frozenset(), {}).score is None
    four = [task(f"Part {n}", number=n) for n in range(4)]
    assert measure(*four).score == 1.0
    one_off = measure(*four, warned={"Part 1": "Part 1: Penguins."})
    assert (one_off.score, one_off.off_track, one_off.is_drifting) == (0.75, ("Part 1: Penguins.",), False)
    # Neither a dropped task nor one of an earlier goal counts, warned of or not.
    others = [task("Old", goal="before"), task("Left", status=TaskStatus.DROPPED)]
    assert measure(*four, *others, warned={"Old": "x", "Left": "y"}).score == 1.0


@pytest.mark.requirement("V-100")
def test_two_of_the_last_five_tasks_off_track_are_drift_and_an_older_one_counts_no_more() -> None:
    six = [task(f"Part {n}", number=n) for n in range(6)]
    assert measure(*six, warned={"Part 1": "x", "Part 5": "y"}).is_drifting
    assert not measure(*six, warned={"Part 0": "x", "Part 5": "y"}).is_drifting


@pytest.mark.requirement("V-100")
def test_three_tasks_of_one_area_are_named_only_while_another_area_waits() -> None:
    three = [task(f"Saw {n}", "Carpentry", number=n) for n in range(3)]
    waits = task("Look at roofs", "roofing", TaskStatus.READY)
    assert measure(*three, waits).same_area == "Carpentry"
    assert measure(*three).same_area == ""
    assert measure(*three, task("More", "carpentry", TaskStatus.READY)).same_area == ""
    assert measure(*three, task("Paint", "paint", number=9), waits).same_area == ""


@pytest.mark.requirement("V-100")
def test_an_area_that_could_be_begun_and_has_no_task_is_untouched() -> None:
    assert measure().untouched == ()  # Roofing needs carpentry, which is not achieved.
    ready = Orientation("", skill_map=(SkillNode("carpentry", "achieved"), PAGE.skill_map[1]))
    assert measure(page=ready).untouched == ("roofing",)
    assert measure(task("Roofs", "Roofing", TaskStatus.READY), page=ready).untouched == ()


def test_what_does_not_keep_to_the_goal_is_said_in_sentences_and_a_project_on_track_says_nothing() -> None:
    assert describe_coherence(Coherence(begun=4)) == []
    found = Coherence(5, ("Count penguins: No part of it.",), True, "wood", ("a", "b", "c", "d"))
    assert describe_coherence(found) == [
        "Off track? Count penguins: No part of it.",
        "It drifts: several of the last tasks do not seem to serve the goal.",
        "The last 3 tasks were all about wood, while others wait.",
        "There is no task yet for: a, b, c and 1 more.",
    ]


@pytest.mark.requirement("V-91")
async def test_the_score_of_a_project_comes_from_what_was_judged_as_it_was_worked_on(tmp_path: Path) -> None:
    def strays(text: str) -> object:
        match asked_for(text):
            case "plan":
                one = {"description": "", "kind": "find_out", "skill_area": "", "depends_on": [], "rests_on": []}
                titles = ("Measure the shed", "Count penguins", "Paint the shed")
                return planned(text, [{"title": title} | one for title in titles])
            case "coherence":
                return {"why": "Penguins are no part of it.", "serves": False}
            case "step":
                return finished()
        return answers(text)

    async with open_work(tmp_path, strays, most_tasks=3) as work:
        project = await work.begin("Shed", GOAL)
        assert (await read_coherence(work.store, await work.state(project))).score is None
        await work.wake(project)
        found = await read_coherence(work.store, await work.state(project))
        assert found.score == pytest.approx(2 / 3)
        assert found.off_track == ("Count penguins: Penguins are no part of it. (coherence 0.00)",)
