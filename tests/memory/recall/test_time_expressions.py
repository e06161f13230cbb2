"""Time expressions, resolved against the time of the turn, in a table."""

import math
import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.date_order import is_day_first
from reveries.memory.recall.time_expressions import read_times, time_spans
from tests.rows import check_rows

SUNDAY = datetime(2023, 10, 22, 9, 55, tzinfo=UTC).timestamp()

TABLE = [
    ("yesterday", "2023-10-21", "2023-10-22"),
    ("the day before yesterday", "2023-10-20", "2023-10-21"),
    ("what did I say today?", "2023-10-22", "2023-10-23"),
    ("last night", "2023-10-21", "2023-10-22T05:00"),
    ("two weeks ago", "2023-10-05", "2023-10-12"),
    ("3 days ago", "2023-10-19", "2023-10-20"),
    ("a couple of months ago", "2023-08-07", "2023-09-07"),
    ("a year ago", "2022-04-23", "2023-04-23"),
    ("last week", "2023-10-09", "2023-10-16"),
    ("last weekend", "2023-10-14", "2023-10-16"),
    ("this week", "2023-10-16", "2023-10-23"),
    ("last month", "2023-09-01", "2023-10-01"),
    ("next month", "2023-11-01", "2023-12-01"),
    ("last year", "2022-01-01", "2023-01-01"),
    ("last Friday", "2023-10-20", "2023-10-21"),
    ("on Sunday", "2023-10-15", "2023-10-16"),
    ("next Tuesday", "2023-10-24", "2023-10-25"),
    ("next Sunday", "2023-10-29", "2023-10-30"),
    ("next week", "2023-10-23", "2023-10-30"),
    ("next spring", "2024-03-01", "2024-06-01"),
    ("next winter", "2023-12-01", "2024-03-01"),
    ("last spring", "2023-03-01", "2023-06-01"),
    ("last winter", "2022-12-01", "2023-03-01"),
    ("in the fall", "2023-09-01", "2023-12-01"),
    ("the winter of 2021", "2021-12-01", "2022-03-01"),
    ("in May 2023", "2023-05-01", "2023-06-01"),
    ("in May?", "2023-05-01", "2023-06-01"),
    ("in November", "2022-11-01", "2022-12-01"),
    ("in Sept", "2023-09-01", "2023-10-01"),
    ("on 8 May, 2023", "2023-05-08", "2023-05-09"),
    ("the 3rd of June", "2023-06-03", "2023-06-04"),
    ("July 15", "2023-07-15", "2023-07-16"),
    ("December 31st, 2021", "2021-12-31", "2022-01-01"),
    ("2022-02-28", "2022-02-28", "2022-03-01"),
    ("in 2019", "2019-01-01", "2020-01-01"),
    ("a fortnight ago", "2023-10-05", "2023-10-12"),
    ("half a year ago", "2023-04-07", "2023-05-08"),
    ("the Tuesday before last", "2023-10-10", "2023-10-11"),
    ("the week before last", "2023-10-02", "2023-10-09"),
    ("two Sundays ago", "2023-10-08", "2023-10-09"),
    ("on the 14th", "2023-10-14", "2023-10-15"),
    ("Saturday the 14th", "2023-10-14", "2023-10-15"),
    ("Monday 3 April", "2023-04-03", "2023-04-04"),
    ("on Sunday, the 1st of October", "2023-10-01", "2023-10-02"),
    ("the 14th of last month", "2023-09-14", "2023-09-15"),
    ("Tuesday of last week", "2023-10-10", "2023-10-11"),
    ("last week on Tuesday", "2023-10-10", "2023-10-11"),
    ("March last year", "2022-03-01", "2022-04-01"),
    ("on the twenty-first of May", "2023-05-21", "2023-05-22"),
    ("on 10/9", "2023-09-10", "2023-09-11"),
    ("on 9/20/2023", "2023-09-20", "2023-09-21"),
    ("am 10.9.", "2023-09-10", "2023-09-11"),
    ("2023\u5e749\u670810\u65e5", "2023-09-10", "2023-09-11"),
    ("in the first week of March", "2023-03-01", "2023-03-08"),
    ("the last Friday of September", "2023-09-29", "2023-09-30"),
    ("at the end of August", "2023-08-21", "2023-09-01"),
    ("on Christmas Eve", "2022-12-24", "2022-12-25"),
    ("on Easter Monday", "2023-04-10", "2023-04-11"),
    ("two days before Christmas", "2022-12-22", "2022-12-23"),
    ("two days after Easter Sunday", "2023-04-11", "2023-04-12"),
    ("the day after 8 May, 2023", "2023-05-09", "2023-05-10"),
    ("the weekend of 7 October", "2023-10-07", "2023-10-09"),
    ("on the weekend of October 7, 2023", "2023-10-07", "2023-10-09"),
    ("the weekend of the 7th", "2023-10-07", "2023-10-09"),
    ("the weekend before Christmas", "2022-12-17", "2022-12-19"),
    ("the weekend after Easter", "2023-04-15", "2023-04-17"),
    ("two weekends before Christmas", "2022-12-10", "2022-12-12"),
    ("the weekend", "2023-10-21", "2023-10-23"),
    ("the week of 10 October", "2023-10-09", "2023-10-16"),
    ("between 3 and 5 October", "2023-10-03", "2023-10-06"),
    ("over the weekend", "2023-10-21", "2023-10-23"),
    ("last November", "2022-11-01", "2022-12-01"),
    ("vor zehn Tagen", "2023-10-12", "2023-10-13"),
    ("am vorletzten Dienstag", "2023-10-10", "2023-10-11"),
    ("in der ersten Woche im M\u00e4rz", "2023-03-01", "2023-03-08"),
    ("la semaine derni\u00e8re", "2023-10-09", "2023-10-16"),
    ("il y a quinze jours", "2023-10-05", "2023-10-12"),
    ("la veille de No\u00ebl", "2022-12-24", "2022-12-25"),
    ("el martes pasado", "2023-10-17", "2023-10-18"),
    ("hace diez d\u00edas", "2023-10-12", "2023-10-13"),
    ("a finales de agosto", "2023-08-21", "2023-09-01"),
    ("la primavera scorsa", "2023-03-01", "2023-06-01"),
    ("dieci giorni fa", "2023-10-12", "2023-10-13"),
    ("afgelopen dinsdag", "2023-10-17", "2023-10-18"),
    ("drie dagen geleden", "2023-10-19", "2023-10-20"),
    ("in the last week of September", "2023-09-24", "2023-10-01"),
    ("on the last day of February", "2023-02-28", "2023-03-01"),
    ("in der letzten Woche im September", "2023-09-24", "2023-10-01"),
    ("in the last two weeks of March", "2023-03-01", "2023-04-01"),
    ("a week ago last Tuesday", "2023-10-10", "2023-10-11"),
    ("on Tuesday three weeks ago", "2023-09-26", "2023-09-27"),
    ("am Dienstag vor einer Woche", "2023-10-10", "2023-10-11"),
    ("a week ago on Sunday", "2023-10-15", "2023-10-16"),
    ("a month ago on Monday", "2023-09-25", "2023-09-26"),
    ("a week ago yesterday", "2023-10-14", "2023-10-15"),
    ("week ago", "2023-10-12", "2023-10-19"),
    ("What did I do in 2019?", "2019-01-01", "2020-01-01"),
    ("9 Nov 21", "2021-11-09", "2021-11-10"),
    ("on May 5th '22", "2022-05-05", "2022-05-06"),
    ("Was war am 10.9?", "2023-09-10", "2023-09-11"),
    ("Was war am 10. 9.?", "2023-09-10", "2023-09-11"),
    ("am 10. 9. 2022", "2022-09-10", "2022-09-11"),
    ("Wat deed ik op 10-9?", "2023-09-10", "2023-09-11"),
    ("Wat heb ik op 10-9 gedaan?", "2023-09-10", "2023-09-11"),
    ("What happened on 10-9?", "2023-09-10", "2023-09-11"),
    ("el 10-11 de septiembre", "2023-09-10", "2023-09-12"),
    ("Wat deed ik op 10-11 september?", "2023-09-10", "2023-09-12"),
    ("Cosa ho fatto l'8?", "2023-10-08", "2023-10-09"),
    ("vor dreizehn Tagen", "2023-10-09", "2023-10-10"),
    ("il y a dix-huit jours", "2023-10-04", "2023-10-05"),
    ("hace veintid\u00f3s d\u00edas", "2023-09-30", "2023-10-01"),
    ("ventuno giorni fa", "2023-10-01", "2023-10-02"),
    ("op de achtste", "2023-10-08", "2023-10-09"),
    ("twee weken terug", "2023-10-05", "2023-10-12"),
    ("am siebenundzwanzigsten", "2023-09-27", "2023-09-28"),
]


def day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@check_rows(("text", "start", "end"), TABLE)
def test_an_expression_is_the_stretch_of_time_that_it_names(text: str, start: str, end: str) -> None:
    (span,) = time_spans(text, SUNDAY, UTC)
    assert (span.start, span.end) == (day(start), day(end))
    assert span.text in text


def test_the_past_two_weeks_end_now() -> None:
    (span,) = time_spans("in the past two weeks", SUNDAY, UTC)
    assert (span.start, span.end) == (SUNDAY - 14 * 86_400, SUNDAY)


@check_rows(
    "text",
    [
        *("may I go", "I fall down", "march on", "recently", "soon", "99 ways", ""),
        *("May I ask you something?", "The sun was out and I sat down", "Give me a second", "What did June say?"),
        *(
            "5000 years ago",
            "years ago we met",
            "vor Jahren",
            "um 10.11 Uhr",
            "seit 3.5 Jahren",
            "we met on 3-4 occasions",
        ),
        *("on the 5th floor", "3/4 cup of milk", "room 14", "2000 euros", "the Christmas tree", "mon chien est malade"),
        *(
            "So ist das Leben",
            "il y a un chien",
            "hace calor",
            "24/7 support",
            "every Friday we eat fish",
            "on Mondays",
        ),
    ],
)
def test_words_that_are_no_time_are_none(text: str) -> None:
    assert time_spans(text, SUNDAY, UTC) == ()


def test_a_date_in_figures_has_the_order_of_the_owners_country() -> None:
    days = [time_spans("on 10/9", SUNDAY, UTC, is_day_first=first)[0].start for first in (True, False)]
    assert days == [day("2023-09-10"), day("2023-10-09")]
    assert is_day_first("auto", {"LANG": "de_DE.UTF-8"})
    assert not is_day_first("auto", {"LC_TIME": "en_US.UTF-8", "LANG": "de_DE.UTF-8"})
    assert is_day_first("day-month", {"LANG": "en_US.UTF-8"})


@pytest.mark.parametrize(
    ("text", "has_subject"),
    [
        ("What did I do on 10 October?", False),
        ("What was I up to last week?", False),
        ("Was habe ich am Dienstag gemacht?", False),
        ("what did I do in 2021?", False),
        ("\u00bfQu\u00e9 hice ayer?", False),
        ("What did the dentist say on 10 October?", True),
        ("Was hat der Zahnarzt gestern gesagt?", True),
    ],
)
def test_a_question_on_a_day_has_no_subject_but_the_day(text: str, has_subject: bool) -> None:
    reading = read_times(text, SUNDAY, UTC)
    assert len(reading.spans) == 1
    assert reading.has_subject is has_subject


def test_a_day_that_no_month_has_is_no_day() -> None:
    assert time_spans("31 February 2023", SUNDAY, UTC) == ()


def test_several_times_stand_in_the_order_of_the_text() -> None:
    spans = time_spans("Between 3 May 2023 and yesterday, or in 2019, or on Christmas Eve", SUNDAY, UTC)
    assert [span.text for span in spans] == ["Between 3 May 2023 and yesterday", "2019", "on Christmas Eve"]
    assert (spans[0].start, spans[0].end) == (day("2023-05-03"), day("2023-10-22"))


@given(st.text(max_size=80), st.floats(min_value=0.0, max_value=4e9))
def test_any_text_at_any_time_gives_spans_that_begin_before_they_end(text: str, now: float) -> None:
    for span in time_spans(text, now, UTC):
        assert math.isfinite(span.start)
        assert span.start < span.end


@given(st.sampled_from([text for text, _, _ in TABLE]), st.floats(min_value=1e8, max_value=4e9))
def test_every_form_of_the_table_can_be_resolved_on_every_day(text: str, now: float) -> None:
    assert len(time_spans(text, now, UTC)) == 1


@pytest.mark.parametrize("words", ["the ", "in the ", "a ", "1/"])
def test_a_pasted_text_does_not_stop_the_mind_while_it_is_read_for_times(words: str) -> None:
    began = time.perf_counter()
    read_cue(words * (100_000 // len(words)), SUNDAY)
    assert time.perf_counter() - began < 5.0, "it took minutes"


@pytest.mark.parametrize("place", ["{}\n{}", "{1}\n{0}"])
def test_a_question_about_a_day_is_found_before_and_behind_a_pasted_text(place: str) -> None:
    cue = read_cue(place.format("What did I say yesterday?", "Mill River Weir. " * 2000), SUNDAY)
    assert [span.text for span in cue.spans] == ["yesterday"]


ZONES = ["America/Los_Angeles", "Asia/Kolkata", "Europe/Berlin"]


@check_rows("zone", ZONES)
@check_rows("hour", [0, 1, 12, 20, 23])
def test_yesterday_is_the_day_before_by_the_calendar_of_the_place(zone: str, hour: int) -> None:
    here = ZoneInfo(zone)
    (span,) = time_spans(
        "What did I tell you yesterday?", datetime(2026, 11, 20, hour, 30, tzinfo=here).timestamp(), here
    )
    assert span.start == datetime(2026, 11, 19, tzinfo=here).timestamp()
    assert span.end == datetime(2026, 11, 20, tzinfo=here).timestamp()
    assert span.end <= datetime(2026, 11, 20, 0, 10, tzinfo=here).timestamp()


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-24", 24)])
def test_a_day_on_which_the_clock_is_set_is_whole(day: str, hours: int) -> None:
    here = ZoneInfo("Europe/Berlin")
    noon = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=here).timestamp()
    (span,) = time_spans("today", noon, here)
    assert span.end - span.start == hours * 3600
    (weeks,) = time_spans("2 weeks ago", noon, here)
    assert [datetime.fromtimestamp(at, here).hour for at in (weeks.start, weeks.end)] == [0, 0]


def test_the_past_two_weeks_end_now_in_the_hour_that_the_clock_shows_twice() -> None:
    here = ZoneInfo("Europe/Berlin")
    now = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=here).timestamp()
    assert time_spans("in the past two weeks", now, here)[0].end == now


def test_without_a_zone_it_is_that_of_this_machine() -> None:
    (span,) = time_spans("on 8 May 2023", SUNDAY)
    assert (span.start, span.end) == (datetime(2023, 5, 8).timestamp(), datetime(2023, 5, 9).timestamp())
