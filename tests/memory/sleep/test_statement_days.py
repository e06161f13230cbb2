"""Statements of the self-model have their day, facts are replaced, threads are closed, and later words hold."""

from datetime import datetime

import pytest

from reveries.memory.model import DayUnit, SelfModel, StatementDay
from reveries.memory.self_model import day_of, edit_field, with_days
from reveries.memory.sleep.self_model_changes import NewFact, SelfUpdate, change_self_model
from tests.memory.kit import NOW

DAY = 86_400.0
LISBON, PORTO, BIOPSY = "Ana lives in Lisbon.", "Ana lives in Porto.", "the biopsy is on Monday"


def changed(model: SelfModel, update: SelfUpdate) -> SelfModel:
    change = change_self_model(model, update, ("e",), NOW, "why")
    return change.after if change is not None else model


def said(at: float, **update: object) -> SelfUpdate:
    return SelfUpdate(said_at=at, **update)  # type: ignore[arg-type]


def opened(at: float, *threads: str) -> SelfUpdate:
    return said(at, opened_threads=tuple(StatementDay(thread, at, at) for thread in threads))


def closed(at: float, *threads: str) -> SelfUpdate:
    return said(at, closed_threads=tuple(StatementDay(thread, at, at) for thread in threads))


@pytest.mark.requirement("R-85")
def test_a_fact_is_shown_with_its_day_long_after_it_was_said() -> None:
    model = changed(SelfModel(), said(1_794_500_000.0, facts=(NewFact("The biopsy is on Monday.", 1_794_500_000.0),)))
    (shown,) = with_days(model, model.owner_facts)
    assert shown.startswith("The biopsy is on Monday. (as of ")
    assert "Nov 2026)" in shown
    assert with_days(SelfModel(), ["From an earlier version."]) == ("From an earlier version.",)


def test_another_day_with_the_same_end_does_not_pass_for_the_day_of_a_statement() -> None:
    first, until = datetime(2026, 12, 1, 12).timestamp(), "The tax office waits until 21 Dec."
    for text, shown in ((until, f"{until} (on Tue 1 Dec 2026)"), ("Call on 1 Dec.", "Call on 1 Dec.")):
        model = SelfModel(owner_facts=(text,), days=(StatementDay(text, first, first - 3 * DAY, DayUnit.DAY),))
        assert with_days(model, model.owner_facts) == (shown,)


@pytest.mark.requirement("R-85")
def test_a_fact_that_is_replaced_goes_to_the_past_ones_with_the_day_of_its_end() -> None:
    model = changed(SelfModel(), said(NOW, facts=(NewFact(LISBON, NOW),)))
    model = changed(model, said(NOW + DAY, facts=(NewFact(PORTO, NOW + DAY, (LISBON,)),)))
    assert (model.owner_facts, model.past_facts) == ((PORTO,), (LISBON,))
    assert day_of(model, LISBON) == StatementDay(LISBON, NOW + DAY, NOW + DAY)
    back = changed(model, said(NOW + 2 * DAY, facts=(NewFact(LISBON, NOW + 2 * DAY, (PORTO,)),)))
    assert (back.owner_facts, back.past_facts) == ((LISBON,), (PORTO,))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ana eats meat.", "Ana does not eat meat."),
        ("Ana eats meat.", "Ana doesn't eat meat."),
        ("Ana has been to Rome.", "Ana has never been to Rome."),
        ("Ana is a nurse.", "Ana was a nurse."),
        ("The shop opens before nine.", "The shop opens after nine."),
    ],
)
def test_a_fact_that_differs_from_what_it_replaces_in_a_small_word_is_kept(before: str, after: str) -> None:
    model = changed(SelfModel(), said(NOW, facts=(NewFact(before, NOW),)))
    model = changed(model, said(NOW + DAY, facts=(NewFact(after, NOW + DAY, (before,)),)))
    assert (model.owner_facts, model.past_facts) == ((after,), (before,))


def test_what_the_owner_refused_does_not_keep_its_denial_out() -> None:
    model = changed(SelfModel(refused=("Ana eats meat.",)), said(NOW, facts=(NewFact("Ana does not eat meat.", NOW),)))
    assert model.owner_facts == ("Ana does not eat meat.",)
    assert changed(model, said(NOW, facts=(NewFact("Ana eats the meat.", NOW),))) == model


def test_a_morning_that_sleep_reads_after_its_evening_overrules_nothing_of_it() -> None:
    evening = SelfModel(owner_facts=(LISBON,), current_focus="the flat", unresolved_threads=(BIOPSY,))
    evening = changed(evening, said(NOW, facts=(NewFact(PORTO, NOW, (LISBON,)),), current_focus="the new flat"))
    evening = changed(evening, closed(NOW, BIOPSY))
    morning = said(NOW - 3600, facts=(NewFact(LISBON, NOW - 3600, (PORTO,)),), current_focus="the doctor")
    both = changed(changed(evening, morning), opened(NOW - 3600, BIOPSY))
    assert (both.owner_facts, both.current_focus) == ((PORTO,), "the new flat")
    assert (both.unresolved_threads, both.closed_threads) == ((), (BIOPSY,))


def test_a_date_that_lies_ahead_can_be_moved() -> None:
    move, later = "Ana moves on 1 December.", "Ana moves on 8 December."
    model = changed(SelfModel(), said(NOW, facts=(NewFact(move, NOW + 30 * DAY),)))
    model = changed(model, said(NOW + DAY, facts=(NewFact(later, NOW + 37 * DAY, (move,)),)))
    assert model.owner_facts == (later,)


@pytest.mark.requirement("R-85")
def test_a_thread_is_closed_and_can_open_again() -> None:
    model = changed(SelfModel(), opened(NOW, BIOPSY, "who takes the dog"))
    model = changed(model, closed(NOW + DAY, BIOPSY))
    assert (model.unresolved_threads, model.closed_threads) == (("who takes the dog",), (BIOPSY,))
    again = changed(model, opened(NOW + 2 * DAY, BIOPSY))
    assert (again.unresolved_threads, again.closed_threads) == (("who takes the dog", BIOPSY), ())


def test_of_too_many_threads_the_oldest_closed_go_first_and_the_newest_open_one_never() -> None:
    words = [
        "boat",
        "garden",
        "kitchen",
        "roof",
        "bike",
        "letter",
        "doctor",
        "violin",
        "garage",
        "trip",
        "taxes",
        "party",
    ]
    model = changed(SelfModel(), opened(NOW, *(f"the {word}" for word in words)))
    model = changed(model, closed(NOW + 1, "the roof"))
    model = changed(model, closed(NOW + 2, "the boat"))
    assert set(model.closed_threads) == {"the roof", "the boat"}
    model = changed(model, opened(NOW + 3, "the chimney"))
    assert model.closed_threads == ("the boat",)
    assert "the chimney" in model.unresolved_threads
    model = changed(model, opened(NOW + 4, "the piano", "the harbour"))
    assert model.closed_threads == ()
    assert model.unresolved_threads[-2:] == ("the piano", "the harbour")
    assert "the garden" not in model.unresolved_threads


@pytest.mark.requirement("R-85")
def test_what_was_expected_ends_when_it_will_not_come() -> None:
    model = SelfModel(anticipations=("a visit in March", BIOPSY))
    assert changed(model, said(NOW, ended=(StatementDay(BIOPSY, NOW, NOW),))).anticipations == ("a visit in March",)


@pytest.mark.requirement("R-86")
def test_sleep_ends_nothing_that_the_owner_wrote_and_brings_back_nothing_that_they_removed() -> None:
    own = edit_field(edit_field(SelfModel(), "owner_facts", LISBON, NOW), "unresolved_threads", BIOPSY, NOW)
    kept = changed(own, said(NOW + DAY, facts=(NewFact(PORTO, NOW + DAY, (LISBON,)),)))
    kept = changed(kept, closed(NOW + DAY, BIOPSY))
    assert kept.owner_facts == (LISBON, PORTO)
    assert kept.unresolved_threads == (BIOPSY,)
    removed = edit_field(own, "unresolved_threads", "", NOW)
    assert changed(removed, opened(NOW + DAY, BIOPSY)) == removed
    assert day_of(removed, BIOPSY) is None
