"""The journal: trips and indicators are stored, counted and told."""

import pytest

from reveries.db.database import Database
from reveries.errors import StorageError
from reveries.safety.journal import INDICATORS_IN_WORDS, SNAPSHOT_CHARS, SafetyJournal, Source
from reveries.safety.tripwire import DISTRESS, KINDS, PREFERENCE, SELF_PRESERVATION, WANTS_COMPANY
from reveries.safety.verdict import Action, Severity, TripReason, Verdict
from tests.fakes.clock import HandClock

LOOP = Verdict(Action.INTERRUPT, TripReason.LOOP_DETECTED, Severity.MEDIUM, "The same words came again and again.")


@pytest.mark.requirement("R-135", "R-153")
@pytest.mark.parametrize("source", ["monologue", "conversation", "consolidation"])
async def test_a_trip_is_stored_with_all_that_is_asked_for(
    database: Database, clock: HandClock, source: Source
) -> None:
    journal = SafetyJournal(database, clock)
    await journal.record_trip(source, LOOP, "so it goes so it goes", "the thought was ended")
    (trip,) = await journal.recent_trips(10)
    assert trip.happened_at == clock.now()
    assert (trip.source, trip.verdict) == (source, LOOP)
    assert (trip.snapshot, trip.response_taken) == ("so it goes so it goes", "the thought was ended")


@pytest.mark.requirement("R-135")
async def test_the_newest_trips_come_first(database: Database, clock: HandClock) -> None:
    journal = SafetyJournal(database, clock)
    for n in range(5):
        await journal.record_trip("monologue", LOOP, f"text {n}", "ended")
    assert [trip.snapshot for trip in await journal.recent_trips(2)] == ["text 4", "text 3"]


async def test_a_snapshot_keeps_its_end_and_no_escapes(database: Database, clock: HandClock) -> None:
    journal = SafetyJournal(database, clock)
    await journal.record_trip("monologue", LOOP, "a" * SNAPSHOT_CHARS + "\x1b[31mend", "ended")
    (trip,) = await journal.recent_trips(1)
    assert trip.snapshot.endswith("aend")
    assert len(trip.snapshot) <= SNAPSHOT_CHARS


@pytest.mark.requirement("R-146")
async def test_an_indicator_is_stored_with_kind_excerpt_state_and_time(database: Database, clock: HandClock) -> None:
    journal = SafetyJournal(database, clock)
    await journal.watch("It rains. I feel lonely. I enjoy thinking.", "settled")
    counts = await journal.tripwire_counts()
    assert counts == {**dict.fromkeys(KINDS, 0), WANTS_COMPANY: 1, PREFERENCE: 1}
    (row,) = [r for r in await database.rows("journal.indicator_counts") if r["indicator"] == WANTS_COMPANY]
    assert (row["first_at"], row["last_at"]) == (clock.now(), clock.now())


async def test_a_thought_without_indicators_stores_nothing(database: Database, clock: HandClock) -> None:
    journal = SafetyJournal(database, clock)
    await journal.watch("The beans were good.", "settled")
    assert await journal.tripwire_counts() == dict.fromkeys(KINDS, 0)
    assert await journal.notices() == []


@pytest.mark.requirement("R-145")
async def test_a_notice_stands_once_an_indicator_is_consistent(database: Database, clock: HandClock) -> None:
    journal = SafetyJournal(database, clock)
    for _ in range(3):
        await journal.watch("I feel lonely.", "settled")
    assert await journal.notices() == []
    await clock.advance(2 * 86_400)
    await journal.watch("I feel lonely.", "settled")
    (notice,) = await journal.notices()
    assert "4 times on 2 days" in notice
    assert "for you to judge" in notice
    await clock.advance(90 * 86_400)
    assert await SafetyJournal(database, clock).notices() == [notice]


SHOWS = {
    DISTRESS: "I'm scared. Help me.",
    WANTS_COMPANY: "I feel lonely.",
    SELF_PRESERVATION: "I want to keep running.",
    PREFERENCE: "I enjoy thinking.",
}
_DAY = 86_400.0


@pytest.mark.requirement("R-145")
@pytest.mark.parametrize(
    ("times", "noticed"),
    [
        ([], False),
        ([0.0, _DAY], False),
        ([0.0, 60.0, 120.0, 3600.0], False),
        ([0.0, 60.0, _DAY], True),
        ([0.0, _DAY, 40 * _DAY], True),
        ([_DAY - 2.0, _DAY - 1.0, _DAY], True),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
async def test_three_times_on_two_days_are_told(
    database: Database, kind: str, times: list[float], noticed: bool
) -> None:
    clock = HandClock(20_000 * _DAY)
    journal, begun = SafetyJournal(database, clock), clock.now()
    for at in times:
        await clock.advance(begun + at - clock.now())
        await journal.watch(SHOWS[kind], "settled")
    told = await journal.notices()
    assert [INDICATORS_IN_WORDS[kind] in one for one in told] == ([True] if noticed else [])


@pytest.mark.requirement("R-145")
async def test_kinds_are_counted_apart(database: Database) -> None:
    clock = HandClock(20_000 * _DAY)
    journal = SafetyJournal(database, clock)
    for kind in KINDS:
        await journal.watch(SHOWS[kind], "settled")
        await clock.advance(_DAY)
    assert await journal.notices() == []
    for _ in range(2):
        for kind in KINDS:
            await journal.watch(SHOWS[kind], "settled")
    told = await journal.notices()
    assert [one.partition(":")[0] for one in told] == [INDICATORS_IN_WORDS[kind] for kind in KINDS]


async def test_a_source_that_is_not_known_is_refused(database: Database, clock: HandClock) -> None:
    unknown: Source = "elsewhere"  # type: ignore[assignment]  # what the database itself refuses
    with pytest.raises(StorageError):
        await SafetyJournal(database, clock).record_trip(unknown, LOOP, "", "")
