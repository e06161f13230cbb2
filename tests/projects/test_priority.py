"""Which task is next: golden values of V-79 and V-80, and what holds of every order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.projects.model import Orientation, Phase, TaskKind, TaskStatus, WorkLogEntry, WorkTask
from reveries.projects.priority import factors_of, in_order
from tests.rows import check_rows

DAY = 86400.0
NOW = 1_750_000_000.0
PAGE = Orientation("", current_phase=Phase.RESEARCH, active_priorities=("chords", "rhythm"))


def task(title: str, area: str = "", *, goal: str = "g", needs: tuple[str, ...] = (), age_days: float = 0) -> WorkTask:
    return WorkTask(
        id=title, project_id="p", goal_id=goal, title=title, description="", kind=TaskKind.FIND_OUT,
        status=TaskStatus.READY, skill_area=area, needs=needs, created_at=NOW - age_days * DAY,
    )  # fmt: skip


def entry(area: str) -> WorkLogEntry:
    return WorkLogEntry("task.done", "", NOW, None, area)


@pytest.mark.requirement("V-79", "V-80")
@check_rows(
    ("one", "recent", "score"),
    [
        # first priority 10, goal 8, no needs 5, "research" in phase research 3, balance 2, new 0
        (task("Research voicings", "Chords"), [], 28.0),
        # second priority 9
        (task("Research swing", "rhythm"), [], 27.0),
        # both named: no more than the most
        (task("Research chords and rhythm"), [], 28.0),
        # no priority, another goal: needs 5, balance 2
        (task("Tune the piano", "upkeep", goal="old"), [], 7.0),
        # its area was worked on last
        (task("Tune the piano", "upkeep"), [entry("upkeep")], 13.0),
        # the fourth newest entry counts no more
        (task("Tune the piano", "upkeep"), [entry("a"), entry("b"), entry("c"), entry("upkeep")], 15.0),
        # an unfinished need takes the 5
        (task("Tune the piano", needs=("x",)), [], 10.0),
        # half a week old: half a point
        (task("Tune the piano", age_days=3.5), [], 15.5),
        (task("Tune the piano", age_days=365), [], 16.0),
    ],
)
def test_the_score_of_a_task_is_the_sum_of_six_weighted_factors(
    one: WorkTask, recent: list[WorkLogEntry], score: float
) -> None:
    assert factors_of(one, PAGE, "g", frozenset(), recent, NOW).score == pytest.approx(score, abs=1e-9)


@pytest.mark.requirement("V-79")
def test_practice_counts_in_the_phase_of_execution_and_a_done_need_is_none() -> None:
    page = Orientation("", current_phase=Phase.EXECUTION)
    found = factors_of(task("Write a practice plan", needs=("x",)), page, "g", frozenset({"x"}), [], NOW)
    assert (found.phase, found.dependency) == (1.0, 1.0)


@given(
    titles=st.lists(st.sampled_from(["chords", "rhythm", "research", "tune", "oil"]), max_size=8),
    ages=st.lists(st.floats(-10, 1000), min_size=8, max_size=8),
)
def test_an_order_is_of_the_same_tasks_by_score_and_does_not_hang_on_how_they_stood(
    titles: list[str], ages: list[float]
) -> None:
    tasks = [task(f"{title} {place}", age_days=ages[place]) for place, title in enumerate(titles)]
    ordered = in_order(tasks, PAGE, "g", frozenset(), [], NOW)
    scores = [factors_of(one, PAGE, "g", frozenset(), [], NOW).score for one in ordered]
    assert scores == sorted(scores, reverse=True)
    assert ordered == in_order(tasks[::-1], PAGE, "g", frozenset(), [], NOW)
    assert sorted(one.id for one in ordered) == sorted(one.id for one in tasks)
