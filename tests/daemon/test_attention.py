"""What runs next: golden cases, and properties of every situation."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from reveries.daemon.occupations.attention import (
    QUIET_SECONDS,
    Lane,
    NextOccupation,
    Occupation,
    OccupationCandidate,
    Situation,
    choose_next,
)
from tests.rows import check_rows

NOW = 1_750_000_000.0
IDLE = Situation(is_talking=False, seconds_since_words=1e9, is_sleep_due=False, held_because="", now=NOW)


def work(name: str, last_run_at: float | None, *, can_run: bool = True, lane: Lane = Lane.LOCAL) -> OccupationCandidate:
    return OccupationCandidate(name, Occupation.WORK, lane, can_run, last_run_at, rest_seconds=1800.0)


OLD = work("old", NOW - 9000)
NEW = work("new", None)
FRESH = work("fresh", NOW - 60)
DONE = work("done", NOW - 9000, can_run=False)
HOSTED = work("hosted", NOW - 9000, lane=Lane.HOSTED)


@check_rows(
    ("situation", "chosen"),
    [
        (IDLE, NextOccupation(Occupation.THINK)),
        (replace(IDLE, candidates=(OLD, NEW)), NextOccupation(Occupation.WORK, "new")),
        (replace(IDLE, candidates=(OLD, FRESH)), NextOccupation(Occupation.WORK, "old")),
        (replace(IDLE, candidates=(FRESH, DONE, HOSTED)), NextOccupation(Occupation.THINK)),
        (replace(IDLE, candidates=(OLD,), is_talking=True), NextOccupation(Occupation.TALK)),
        (replace(IDLE, candidates=(OLD,), is_sleep_due=True), NextOccupation(Occupation.SLEEP)),
        (replace(IDLE, candidates=(OLD,), held_because="Quiet hours."), NextOccupation(Occupation.THINK)),
        (replace(IDLE, candidates=(OLD,), seconds_since_words=QUIET_SECONDS - 1), NextOccupation(Occupation.THINK)),
        # Requested work ignores quiet hours and pauses, but waits for talk and sleep.
        (
            replace(IDLE, candidates=(replace(FRESH, was_asked_for=True), OLD), held_because="Quiet hours."),
            NextOccupation(Occupation.WORK, "fresh"),
        ),
        (
            replace(IDLE, candidates=(replace(OLD, was_asked_for=True),), is_talking=True),
            NextOccupation(Occupation.TALK),
        ),
        (
            replace(IDLE, candidates=(replace(OLD, was_asked_for=True),), is_sleep_due=True),
            NextOccupation(Occupation.SLEEP),
        ),
        # A clock that was set back blocks nothing.
        (replace(IDLE, candidates=(work("a", NOW + 9e6),)), NextOccupation(Occupation.WORK, "a")),
    ],
)
def test_it_turns_to(situation: Situation, chosen: NextOccupation) -> None:
    assert choose_next(situation, Lane.LOCAL) == chosen


def test_what_a_provider_does_waits_for_no_sleep_but_for_words() -> None:
    situation = replace(IDLE, candidates=(OLD, HOSTED), is_sleep_due=True)
    assert choose_next(situation, Lane.HOSTED) == NextOccupation(Occupation.WORK, "hosted")
    assert choose_next(replace(situation, is_talking=True), Lane.HOSTED) == NextOccupation(Occupation.TALK)


candidates = st.lists(
    st.builds(
        OccupationCandidate,
        id=st.text("abcdef", min_size=1, max_size=3),
        occupation=st.just(Occupation.WORK),
        lane=st.sampled_from(Lane),
        can_run=st.booleans(),
        last_run_at=st.none() | st.floats(NOW - 1e5, NOW),
        rest_seconds=st.just(1800.0),
        was_asked_for=st.booleans(),
    ),
    max_size=5,
    unique_by=lambda candidate: candidate.id,
)


@given(
    st.builds(
        Situation,
        is_talking=st.booleans(),
        seconds_since_words=st.floats(0, 1e6),
        is_sleep_due=st.booleans(),
        held_because=st.sampled_from(["", "Quiet hours."]),
        now=st.just(NOW),
        candidates=candidates,
    ),
    st.sampled_from(Lane),
)
def test_no_work_goes_before_words_or_before_sleep_and_none_is_begun_by_itself_while_it_is_held(
    situation: Situation, lane: Lane
) -> None:
    chosen = choose_next(situation, lane)
    assert (chosen.occupation is Occupation.TALK) == situation.is_talking
    assert bool(chosen.candidate_id) == (chosen.occupation is Occupation.WORK)
    if chosen.occupation is Occupation.WORK:
        [project] = [candidate for candidate in situation.candidates if candidate.id == chosen.candidate_id]
        assert project.lane is lane
        assert lane is Lane.HOSTED or not situation.is_sleep_due or situation.held_because
        assert project.was_asked_for or (project.can_run and not situation.held_because)
