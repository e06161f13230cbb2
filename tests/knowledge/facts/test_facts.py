"""What has a value in people's notes is found, in their languages, and nothing is that only looks like it."""

from datetime import date, timedelta
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.knowledge.facts.days import DateOrder, find_days
from reveries.knowledge.facts.extraction import extract_facts
from reveries.knowledge.facts.model import Bound, DayStatus, Fact, FactKind
from reveries.knowledge.facts.numbers import read_figures
from reveries.knowledge.facts.quantities import find_quantities

TODAY = date(2026, 11, 27)
"""A Friday."""


def facts_of(text: str, kind: FactKind, name: str = "note.md", **settings: str) -> list[Fact]:
    return [fact for fact in extract_facts(name, dedent(text), TODAY, **settings) if fact.kind is kind]


def values(text: str, kind: FactKind, name: str = "note.md", **settings: str) -> list[str]:
    return [" ".join(filter(None, (fact.value, fact.unit))) for fact in facts_of(text, kind, name, **settings)]


def test_days_are_read_in_seven_languages() -> None:
    expected = {
        "The plumber comes on 9 December.": "2026-12-09",
        "Der Termin ist am Mittwoch, 9. Dezember, um 14 Uhr.": "2026-12-09T14:00",
        "Rendez-vous le 9 décembre à 14h30": "2026-12-09T14:30",
        "La cita es el miércoles 9 de diciembre a las 10.30 h": "2026-12-09T10:30",
        "Consegna entro il 9 dicembre": "2026-12-09",
        "De levering is op 9 december om half acht": "2026-12-09T19:30",
        "Møtet er onsdag 9. desember kl. 18": "2026-12-09T18:00",
        "Dentist Dec 9, 2026 at 9 am": "2026-12-09T09:00",
        "school closed 21 December to 3 January": "2026-12-21/2027-01-03",
        "Wir sind vom 3. bis 7. März 2027 weg": "2027-03-03/2027-03-07",
        "We clean up on the first Monday of March": "2027-03-01",
        "back in three weeks": "2026-12-18",
        "volgende week woensdag Joost bellen": "2026-12-02",
        "Imbianchino venerdì 4 dicembre, dalle 9 alle 13": "2026-12-04T09:00",
        "affitto dal 1° dicembre": "2026-12-01",
        "La gira de 2024 fue del 3 al 14 de mayo": "2024-05-03/2024-05-14",
    }
    for text, value in expected.items():
        assert values(text, FactKind.DATE) == [value], text


def test_days_and_sums_in_languages_that_are_not_read_are_no_other_values() -> None:
    for text, value in {
        "Spotkanie zarządu 22 stycznia 2027, koszt 2 400 funtów": ["2027-01-22", "2400 GBP"],
        "W piątek 5 marca 2027 płacimy 1 350,50 złotych": ["2027-03-05", "1350.5 PLN"],
        "Mødet er mandag den 22. marts 2027 kl. 19": ["2027-03-22T19:00"],
        "Mötet är lördagen den 8 maj 2027 och kostar 90 kronor": ["2027-05-08", "90 SEK"],
        "Schůze 22. ledna 2027, cena 1 500 Kč": ["2027-01-22", "1500 CZK"],
        "Reunião a 22 de março de 2027": ["2027-03-22"],
        "Kokous 22. tammikuuta 2027": ["2027-01-22"],
    }.items():
        facts = extract_facts("note.md", text, TODAY)
        assert [" ".join(filter(None, (fact.value, fact.unit))) for fact in facts] == value, text


def test_what_only_looks_like_a_day_is_none() -> None:
    for text in (
        "Anodes of 2.5 kg, 15.000 mm² of air",
        "Sheila may come, and 5 may not",
        "the 2nd floor, 3rd attempt",
        "every Friday at seven",
        "Ring 01632 960 118 or ISBN 978-84-555-0172-3",
        "in version 3.12 and 4.1.2",
        "Thursdays in the hall",
    ):
        assert values(text, FactKind.DATE) == [], text


def test_a_day_is_counted_from_the_day_on_which_its_line_was_written() -> None:
    diary = """\
        sat 14 nov
        mum comes on Tuesday

        thu 26 nov
        the van is back tomorrow
        """
    assert values(diary, FactKind.DATE) == ["2026-11-17", "2026-11-27"]
    chat = "[18/11/26, 21:04] Ibai: sábado 28 sí o no\n[24/11/26, 08:00] Ane: tomorrow I can't"
    assert [fact.value for fact in facts_of(chat, FactKind.DATE)] == ["2026-11-28", "2026-11-25"]
    assert values("Date: 2 March 2026\n\nYour report is due on 11 May.", FactKind.DATE) == ["2026-05-11"]


def test_a_bare_number_of_a_day_takes_the_month_that_is_spoken_of() -> None:
    letter = "Date: 10 November 2026\n\n* Draft by Friday 4 December.\n* The fund wants it on the 14th."
    assert values(letter, FactKind.DATE) == ["2026-12-04", "2026-12-14"]


@pytest.mark.parametrize(
    "line",
    [
        "The tiles come not before 10 December.",
        "No delivery until 10 December.",
        "Die Fliesen kommen nicht vor dem 10. Dezember.",
        "Pas avant le 10 décembre pour le plombier.",
        "Niet voor 10 december leverbaar.",
        "El fontanero no viene antes del 10 de diciembre.",
        "L'idraulico non viene prima del 10 dicembre.",
        "Leveres ikke før den 10. desember.",
    ],
)
def test_the_day_before_which_nothing_comes_is_not_called_off(line: str) -> None:
    (fact,) = facts_of(line, FactKind.DATE)
    assert fact.value == "2026-12-10"
    assert fact.day is not None
    assert not fact.day.is_cancelled


def test_cancelled_days_and_deadlines_are_told_apart() -> None:
    cancelled = facts_of("The concert on 12 December is called off.", FactKind.DATE)[0]
    assert cancelled.day is not None
    assert cancelled.day.status_on(TODAY) is DayStatus.CANCELLED
    denied = facts_of("Niet op 10 december, dan ben ik in Antwerpen.", FactKind.DATE)[0]
    assert denied.day is not None
    assert denied.day.is_cancelled
    moved = facts_of("Il sopralluogo del 20 dicembre è rinviato al 27.", FactKind.DATE)
    assert [(fact.value, fact.day and fact.day.is_cancelled) for fact in moved] == [
        ("2026-12-20", True),
        ("2026-12-27", False),
    ]
    due = facts_of("Bitte bestätigen Sie bis spätestens 5. Dezember 2026;", FactKind.DATE)[0]
    assert due.day is not None
    assert (due.day.bound, due.day.status_on(TODAY)) == (Bound.BY, DayStatus.AHEAD)


def test_a_denial_reaches_only_the_day_that_it_speaks_of() -> None:
    for text in (
        "No painting in the whole of the upper floor until 9 December, says Mr Holm\nDentist on 11 December at 9:00",
        "nicht vor dem 9. dezember heizen, sonst springt putz\nschlüssel bei ute\nelternabend 11. dezember um 9 uhr",
        "Pas avant le 9 décembre, dit le couvreur.\nRendez-vous le 11 décembre à 9h00",
        "No antes del 9 de diciembre; la cita es el 11 de diciembre a las 9.00 h",
        "Niet voor 9 december, maar de glaszetter komt op 11 december om 9:00",
    ):
        days = [fact for fact in facts_of(text, FactKind.DATE) if fact.value == "2026-12-11T09:00"]
        assert [fact.day and fact.day.is_cancelled for fact in days] == [False], text
    for text in (
        "Rehearsal on 11 December. It is cancelled.",
        "Probe am 11. Dezember. Sie fällt aus.",
        "Prova l'11 dicembre. È annullata.",
        "11 december: geen repetitie op de zolder",
    ):
        assert [fact.day and fact.day.is_cancelled for fact in facts_of(text, FactKind.DATE)] == [True], text
    article = facts_of("Fest am 11. Dezember. Die Probe fällt aus.", FactKind.DATE)[0]
    assert article.day is not None
    assert not article.day.is_cancelled


def test_of_a_span_of_hours_the_first_is_shown_and_another_line_gives_none() -> None:
    for text in (
        "Tue 8 December 9-11.30 Uhr",
        "8. Dezember, 9 bis 11.30 Uhr",
        "le 8 décembre de 9h à 11h30",
        "8 December from nine to 11:30",
        "8 dicembre, dalle 9 alle 11:30",
        "8 de diciembre, de 9 a 11:30",
        "8 december, 9-11.30 uur",
        "8. desember kl. 9–11.30",
        "le mardi 8 décembre, 9 h",
    ):
        assert values(text, FactKind.DATE) == ["2026-12-08T09:00"], text
        assert not values(text, FactKind.TIME) + values(text, FactKind.MEASURE), text
    assert values("8 December 2-4.30 pm", FactKind.DATE) == ["2026-12-08T14:00"]
    lines = "the man with the big van brings the whole kitchen on 8 december\nchoir in the old school at 18:30"
    assert values(lines, FactKind.DATE) == ["2026-12-08"]


def test_a_day_takes_year_and_month_from_what_stands_around_it() -> None:
    expected = {
        "Hochzeit am 12. Juni 2027.\nRückflug 20. Juni.": ["2027-06-12", "2027-06-20"],
        "# Mariage, juin 2027\n\nVol retour 20 juin": ["2027-06-20"],
        "De reis is van 19 tot 21 juni 2027.\n14 juni koffers klaar": ["2027-06-19/2027-06-21", "2027-06-14"],
        "We were there on 14 June.": ["2026-06-14"],
        "## December\n\n- Wed 9: dentist\n- Sat 12: market": ["2026-12-09", "2026-12-12"],
        "## Februar\n\nDi 2. Zahnarzt\nFr 5. Fahrt": ["2027-02-02", "2027-02-05"],
        "# Mars 2027\n\nmer 3 : dentiste": ["2027-03-03"],
        "mayo 2027:\nmiércoles 12: visita": ["2027-05-12"],
        "Raum 3.12. im Altbau": [],
        "aula 2.10., primo piano": [],
        "room 4 in May is too small": [],
        "Zimmer 38.50 € frei ab 3.12.": ["2026-12-03"],
    }
    for text, days in expected.items():
        assert values(text, FactKind.DATE) == days, text


def test_tomorrow_is_counted_from_the_day_of_the_entry() -> None:
    for text in (
        "# Cellar\n\nWe keep a log.\n\nTue 24 Nov: the van is back tomorrow",
        "# Keller\n\nNotizen\n\n- 24.11.: Der Wagen kommt morgen",
        "[24/11/26, 08:00] Ane: mañana llega el coche",
        "[24 nov 2026, 08:00] Joost: ik kom morgen",
        "# Logg\n\nfor huset\n\n2026-11-24 jeg kommer i morgen",
    ):
        assert values(text, FactKind.DATE)[-1] == "2026-11-25", text
    for text in ("Guten Morgen, am Morgen lüften", "por la mañana café", "Montag Morgen lüften"):
        assert values(text, FactKind.DATE) == [], text


def test_who_writes_the_month_first_does_so_in_numbers_too() -> None:
    assert values("Flight Nov 30, 2026, back 12/09/2026. Grandma turns 90 on 1/15.", FactKind.DATE) == [
        "2026-11-30",
        "2026-12-09",
        "2027-01-15",
    ]


def test_sums_and_measures_keep_their_decimals_and_units() -> None:
    expected = {
        "Übernachtung: 38,50 € pro Person": ["38.5 EUR"],
        "Licence £1,084.60 for the year": ["1084.6 GBP"],
        "Hire one hundred and fifty-seven pounds": ["157 GBP"],
        "CHF 1'250.00 im Voraus": ["1250 CHF"],
        "Den koster to tusen åtte hundre kroner": ["2800 NOK"],
        "La tomme coûte onze euros et quarante centimes": ["11.4 EUR"],
        "gespart: 27 euro 50, davon die Glocke": ["27.5 EUR"],
    }
    for text, amounts in expected.items():
        assert values(text, FactKind.AMOUNT) == amounts, text
    measures = {
        "Panels are 1480 × 670 mm": ["1480 mm", "670 mm"],
        "minstens zestig centimeter diep": ["60 cm"],
        "Oil: takes 4½ litres": ["4.5 l"],
        "rope, 2 x 12m": ["12 m"],
        "Altitude: 1,140 m": ["1140 m"],
        "réservoir de 0,75 l": ["0.75 l"],
    }
    for text, expected_measures in measures.items():
        assert values(text, FactKind.MEASURE) == expected_measures, text


def test_a_point_before_three_digits_marks_thousands_beside_hours_and_days_with_points() -> None:
    assert values("De verbouwing kost 1.250 euro, hij komt om 19.30 op 3.12", FactKind.AMOUNT) == ["1250 EUR"]
    assert values("Das Dach kostet 1.250 €. Treffen 19.30, Version 3.12", FactKind.AMOUNT) == ["1250 EUR"]
    assert values("Gewicht 1.250 kg, Ankunft 14.30", FactKind.MEASURE) == ["1250 kg"]
    assert values("1.250 m wide, and two of 0.5 m and 2.75 m", FactKind.MEASURE)[0] == "1.25 m"
    assert values("Diesel 1,659 €/l", FactKind.AMOUNT) == ["1.659 EUR"]


def test_a_part_behind_the_unit_and_halves_and_quarters_are_read() -> None:
    expected = {
        "2.3 m": ("two metres thirty", "the beam is 2 m 30 long", "zwei Meter dreißig hoch", "due metri e trenta"),
        "1.8 m": ("un mètre quatre-vingts", "twee planken van 1 m 80"),
        "1.5 h": ("an hour and a half", "anderthalb Stunden", "anderhalf uur", "une heure et demie", "hora y media"),
        "2.5 h": ("two and a half hours", "dos horas y media", "twee en een half uur", "to og en halv time"),
        "80 min": (
            "an hour and twenty",
            "eine Stunde zwanzig",
            "une heure vingt de route",
            "una hora y veinte minutos",
        ),
        "45 min": (
            "trois quarts d'heure",
            "eine Dreiviertelstunde",
            "drie kwartier",
            "tre quarti d'ora",
            "tre kvarter",
        ),
        "30 min": ("half an hour", "eine halbe Stunde", "media hora", "mezz'ora", "een half uur", "en halvtime"),
        "2 h": ("2 h de travail", "travail de 2 h"),
    }
    for value, texts in expected.items():
        for text in texts:
            assert values(text, FactKind.MEASURE) == [value], text
            assert values(text, FactKind.TIME) == [], text
    assert values("deux euros cinquante", FactKind.AMOUNT) == ["2.5 EUR"]
    for text in ("am 15. Januar", "3 m 10 boards", "à une heure et demie", "two metres and three boards"):
        assert values(text, FactKind.MEASURE) in ([], ["3 m"], ["2 m"]), text


def test_the_hour_of_an_appointment_is_no_length_of_time() -> None:
    for text in ("jeudi 10 décembre, 14 h", "Cita 10 de diciembre, 14 horas", "RDV le 10 décembre : 14 h"):
        assert values(text, FactKind.DATE) == ["2026-12-10T14:00"], text
        assert values(text, FactKind.MEASURE) == [], text
    assert values("Rendez-vous kiné 14 h", FactKind.TIME) == ["14:00"]
    assert values("10 décembre, 2 h de route", FactKind.MEASURE) == ["2 h"]


def test_a_table_of_expenses_is_read_by_its_columns() -> None:
    table = "date;what;amount;currency\n2026-09-07;survey;604,00;GBP\n2026-10-22;deposit;200,00;EUR\n"
    assert values(table, FactKind.AMOUNT, "money.csv") == ["604 GBP", "200 EUR"]
    assert values(table, FactKind.DATE, "money.csv") == ["2026-09-07", "2026-10-22"]
    log = "| day | hours |\n|---|---|\n| 15/09/2026 | 2,118 |\n| 04/10/2026 | 2,131 |\n"
    assert values(log, FactKind.MEASURE) == ["2118 h", "2131 h"]


def test_what_is_open_is_told_from_what_is_done_or_answered() -> None:
    note = """\
        - [ ] Order the tiles
        - [x] Measure the wall
        Who carries it?
        He wants it on the 14th, doesn't he?
        Ob wir fliegen, ist noch nicht entschieden.
        Q: How deep is it?
        A: Sixty.
        TODO call the bank
        ["Do you like it?" she said.]
        """
    lines = [fact.text for fact in facts_of(note, FactKind.OPEN)]
    assert lines == [
        "Order the tiles",
        "Who carries it?",
        "Ob wir fliegen, ist noch nicht entschieden.",
        "TODO call the bank",
    ]
    chat = (
        "[26/11/26, 22:50] Ann: who has my scarf?\n[26/11/26, 22:52] Bo: in the hall\n[27/11/26, 08:00] Bo: who drives?"
    )
    assert [fact.line for fact in facts_of(chat, FactKind.OPEN)] == [3]
    went_on = f"{chat}\n[28/11/26, 09:30] Ann: look at this moon"
    assert [fact.line for fact in facts_of(went_on, FactKind.OPEN)] == [3], "another day is no answer"


def test_a_heading_over_what_is_open_is_not_open_itself() -> None:
    for heading in ("Unclear:", "**Noch offen**", "À décider :", "Nog uit te zoeken / to be decided\n---", "TODO"):
        assert [fact.text for fact in facts_of(f"{heading}\n- [ ] the roof\n- paint", FactKind.OPEN)] == ["the roof"], (
            heading
        )
    assert [fact.line for fact in facts_of("Colour: not decided.\n- oak", FactKind.OPEN)] == [1]


@given(st.dates(date(2020, 1, 1), date(2035, 12, 31)), st.sampled_from(list(DateOrder)))
def test_a_date_in_numbers_is_read_in_the_order_of_its_document(day: date, order: DateOrder) -> None:
    form = "%d/%m/%Y" if order is DateOrder.DAY_FIRST else "%m/%d/%Y"
    sure = day.replace(day=25).strftime(form)
    assert DateOrder.of(f"{sure} and {day.strftime(form)}") is order
    assert [mention.first for mention in find_days(day.strftime(form), TODAY, order)] == [day]


@given(st.dates(date(2020, 1, 1), date(2035, 12, 31)), st.integers(-120, 120))
def test_a_day_without_a_year_is_the_nearest_one(written: date, away: int) -> None:
    day = written + timedelta(days=away)
    mention = find_days(f"{day.day} {day:%B}.", written)[0]
    assert (mention.first, mention.last) == (day, day)


@given(st.integers(0, 10**9), st.integers(0, 99))
def test_both_ways_to_write_a_number_mean_the_same(whole: int, cents: int) -> None:
    english = f"{whole:,}.{cents:02}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert read_figures(english) == read_figures(german) == float(f"{whole}.{cents:02}")


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading(text: str) -> None:
    for fact in extract_facts("a.md", text, TODAY):
        assert 1 <= fact.line <= len(text.splitlines())
    find_quantities(text)
