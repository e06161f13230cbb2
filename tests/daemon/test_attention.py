"""What runs next: golden cases, and properties of every situation."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.daemon.occupations.attention import (
    QUIET_SECONDS,
    NextOccupation,
    Occupation,
    Situation,
    WorkableProject,
    choose_next,
)

NOW = 1_750_000_000.0
IDLE = Situation(
    is_talking=False, seconds_since_words=1e9, is_sleep_due=False, held_because="", is_enabled=True, now=NOW,
    seconds_between_wakes=1800.0,
)  # fmt: skip
OLD = WorkableProject("old", True, NOW - 9000)
NEW = WorkableProject("new", True, None)
FRESH = WorkableProject("fresh", True, NOW - 60)
DONE = WorkableProject("done", False, NOW - 9000)


@pytest.mark.parametrize(
    ("situation", "chosen"),
    [
        (IDLE, NextOccupation(Occupation.THINK)),
        (replace(IDLE, projects=(OLD, NEW)), NextOccupation(Occupation.WORK, "new")),
        (replace(IDLE, projects=(OLD, FRESH)), NextOccupation(Occupation.WORK, "old")),
        (replace(IDLE, projects=(FRESH, DONE)), NextOccupation(Occupation.THINK)),
        (replace(IDLE, projects=(OLD,), is_talking=True), NextOccupation(Occupation.TALK)),
        (replace(IDLE, projects=(OLD,), is_sleep_due=True), NextOccupation(Occupation.SLEEP)),
        (replace(IDLE, projects=(OLD,), held_because="Quiet hours."), NextOccupation(Occupation.THINK)),
        (replace(IDLE, projects=(OLD,), is_enabled=False), NextOccupation(Occupation.THINK)),
        (replace(IDLE, projects=(OLD,), seconds_since_words=QUIET_SECONDS - 1), NextOccupation(Occupation.THINK)),
        # Requested work ignores quiet hours and pauses, but waits for talk and sleep.
        (
            replace(IDLE, projects=(replace(FRESH, was_asked_for=True), OLD), held_because="Quiet hours."),
            NextOccupation(Occupation.WORK, "fresh"),
        ),
        (replace(IDLE, projects=(replace(OLD, was_asked_for=True),), is_talking=True), NextOccupation(Occupation.TALK)),
        (
            replace(IDLE, projects=(replace(OLD, was_asked_for=True),), is_sleep_due=True),
            NextOccupation(Occupation.SLEEP),
        ),
        # A clock that was set back blocks nothing.
        (replace(IDLE, projects=(WorkableProject("a", True, NOW + 9e6),)), NextOccupation(Occupation.WORK, "a")),
    ],
)
def test_it_turns_to(situation: Situation, chosen: NextOccupation) -> None:
    assert choose_next(situation) == chosen


projects = st.lists(
    st.builds(
        WorkableProject,
        id=st.text("abcdef", min_size=1, max_size=3),
        can_work=st.booleans(),
        last_worked_at=st.none() | st.floats(NOW - 1e5, NOW),
        was_asked_for=st.booleans(),
    ),
    max_size=5,
    unique_by=lambda one: one.id,
)


@given(
    st.builds(
        Situation,
        is_talking=st.booleans(),
        seconds_since_words=st.floats(0, 1e6),
        is_sleep_due=st.booleans(),
        held_because=st.sampled_from(["", "Quiet hours."]),
        is_enabled=st.booleans(),
        now=st.just(NOW),
        seconds_between_wakes=st.just(1800.0),
        projects=projects,
    )
)
def test_no_work_goes_before_words_or_before_sleep_and_none_is_begun_by_itself_while_it_is_held(
    situation: Situation,
) -> None:
    chosen = choose_next(situation)
    assert (chosen.occupation is Occupation.TALK) == situation.is_talking
    assert bool(chosen.project_id) == (chosen.occupation is Occupation.WORK)
    if chosen.occupation is Occupation.WORK:
        [project] = [one for one in situation.projects if one.id == chosen.project_id]
        assert not (situation.is_sleep_due and not situation.held_because)
        assert project.was_asked_for or (project.can_work and situation.is_enabled and not situation.held_because)
