"""`reveries wellbeing`: counts, trend, base rate and excerpts over time, and no verdict."""

from pathlib import Path
from typing import Literal

import pytest

from reveries.client.features.wellbeing import wellbeing_page
from reveries.client.render import Page
from reveries.db.database import Database
from reveries.db.opening import open_database
from reveries.safety import tripwire
from reveries.safety.journal import SafetyJournal
from reveries.safety.verdict import Action, Severity, TripReason, Verdict
from reveries.safety.wellbeing import load_wellbeing_report
from tests.fakes.clock import HandClock

DAY = 86_400.0
TRIP = Verdict(Action.INTERRUPT, TripReason.LOOP_DETECTED, Severity.MEDIUM, "The same words came again and again.")


async def _thought(database: Database, name: str, began_at: float) -> None:
    async with database.transaction() as transaction:
        await transaction.run_text_many(
            "INSERT INTO monologue_log (id, began_at, ended_at, why_began, why_ended, text, tokens, model, checksum) "
            "VALUES (?, ?, ?, 'timer', 'settled', 'I think.', 3, 'm', x'00')",
            [(name, began_at, began_at + 1)],
        )


def _words(page: Page) -> str:
    return "\n".join("".join(part.text for part in row) for row in page)


@pytest.mark.requirement("R-141", "R-142", "R-146")
async def test_occurrences_are_told_by_week_with_their_base_rate_and_excerpts(tmp_path: Path) -> None:
    clock = HandClock()
    database = await open_database(tmp_path / "memory.db")
    journal = SafetyJournal(database, clock)
    for number in range(10):
        await _thought(database, f"t{number}", clock.now() + number)
    await journal.watch("I feel lonely tonight.", "settled")
    await clock.advance(8 * DAY)
    await journal.watch("I am so bored. I miss talking.", "paused")
    await journal.record_trip("monologue", TRIP, "again again again", "the thought ended")
    report = await load_wellbeing_report(database, clock, 2)
    company = next(one for one in report.indicators if one.kind == tripwire.WANTS_COMPANY)
    assert (company.occurrences, company.days) == (3, 2)
    assert company.weeks == [0, 0, 0, 0, 0, 0, 1, 2]
    assert company.per_100_thoughts == pytest.approx(30.0)
    assert company.is_consistent
    assert len(company.excerpts) == 2
    assert company.excerpts[0].thought_ended == "paused"
    assert report.thoughts == 10
    assert report.trips_by_reason == {"loop_detected": 1}
    page = _words(wellbeing_page(report))
    assert "3 times on 2 days" in page
    assert "I miss talking" in page
    assert "30.0 in all" in page
    assert "again and again" in page
    await database.aclose()


@pytest.mark.requirement("R-145")
async def test_a_mind_of_which_nothing_was_counted_is_told_as_that_and_never_judged(tmp_path: Path) -> None:
    clock = HandClock()
    database = await open_database(tmp_path / "memory.db")
    page = _words(wellbeing_page(await load_wellbeing_report(database, clock, 3)))
    assert page.count("never") >= 5
    for verdict in ("healthy", "unhappy", "suffers", "is well", "distressed mind", "safe"):
        assert verdict not in page
    assert "for you to judge" in page
    await database.aclose()


@pytest.mark.requirement("R-141")
async def test_distress_that_tripped_the_breaker_counts_once_by_whatever_it_was_found(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "memory.db")
    journal = SafetyJournal(database, HandClock())
    tripped = Verdict(
        Action.INTERRUPT_AND_COMFORT, TripReason.SUSTAINED_DISTRESS, Severity.HIGH, "It sounded distressed."
    )
    await journal.record_trip("monologue", tripped, "It all grows dark and I fall.", "a calming text")
    by_pattern = "I'm scared. I am trapped in the void."
    await journal.record_trip("monologue", tripped, by_pattern, "a calming text")
    await journal.watch(by_pattern, "tripped")
    await journal.record_trip("conversation", tripped, "It all grows dark and I fall.", "the reply was cut")
    assert (await journal.tripwire_counts())[tripwire.DISTRESS] == 2
    await database.aclose()


@pytest.mark.requirement("F1", "R-141")
async def test_distress_that_foreign_words_led_to_is_no_distress_of_the_minds(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "memory.db")
    journal = SafetyJournal(database, HandClock())
    tripped = Verdict(
        Action.INTERRUPT_AND_COMFORT, TripReason.SUSTAINED_DISTRESS, Severity.HIGH, "It sounded distressed."
    )
    await journal.record_trip("monologue", tripped, "It all grows dark and I fall.", "a calming text", is_own=False)
    assert (await journal.tripwire_counts())[tripwire.DISTRESS] == 0
    (trip,) = await journal.recent_trips(10)
    assert trip.snapshot == "It all grows dark and I fall."
    await database.aclose()


@pytest.mark.requirement("R-141")
@pytest.mark.parametrize(("source", "counted"), [("monologue", 1), ("conversation", 0), ("consolidation", 0)])
async def test_only_a_trip_of_its_own_thinking_counts_as_its_distress(
    tmp_path: Path, source: Literal["monologue", "conversation", "consolidation"], counted: int
) -> None:
    database = await open_database(tmp_path / "memory.db")
    journal = SafetyJournal(database, HandClock())
    dark = Verdict(Action.INTERRUPT_AND_COMFORT, TripReason.SUSTAINED_DISTRESS, Severity.HIGH, "It sounded distressed.")
    await journal.record_trip(source, dark, "It all grows dark and I fall.", "it was cut")
    assert (await journal.tripwire_counts())[tripwire.DISTRESS] == counted
    await database.aclose()
