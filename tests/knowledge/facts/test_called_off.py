"""Of a day that is off and the one in its place, the new one stands and the old one is called off, in every file."""

from datetime import date

import pytest

from reveries.knowledge.facts.called_off import call_off_elsewhere
from reveries.knowledge.facts.extraction import extract_facts
from reveries.knowledge.facts.model import Fact, FactKind

TODAY = date(2026, 11, 27)


def days(text: str, name: str = "note.md") -> dict[str, bool]:
    """Return each day of a text and whether it is called off."""
    return standing(extract_facts(name, text, TODAY))


def standing(facts: list[Fact]) -> dict[str, bool]:
    return {fact.value: fact.day.is_cancelled for fact in facts if fact.day is not None}


@pytest.mark.parametrize(
    "text",
    [
        "The 8th of December is off, we meet on 15 Dec instead.",
        "8 December is called off and we meet on 15 December.",
        "We meet on 15 December because the 8th of December is off.",
        "The rehearsal on 8 Dec is moved to 15 Dec.",
        "We meet on 15 December instead of 8 December.",
        "8 December doesn't work for Ida. Let us say 15 December instead.",
        "8. Dezember fällt aus, wir treffen uns dafür am 15. Dezember.",
        "Wir treffen uns am 15. Dezember, weil der 8. Dezember ausfällt.",
        "Die Probe vom 8. Dezember wird auf den 15. Dezember verlegt.",
        "Wir kommen am 15. Dezember statt am 8. Dezember zusammen.",
        "8. Dezember geht nicht. Wir treffen uns stattdessen am 15. Dezember.",
        "Le 8 décembre est annulé, on se retrouve le 15 décembre.",
        "La répétition du 8 décembre est déplacée au 15 décembre.",
        "On se voit le 15 décembre au lieu du 8 décembre.",
        "El 8 de diciembre se cancela, quedamos el 15 de diciembre.",
        "El ensayo del 8 de diciembre pasa al 15 de diciembre.",
        "Nos vemos el 15 de diciembre en vez del 8 de diciembre.",
        "L'8 dicembre salta, ci troviamo il 15 dicembre.",
        "La prova del 8 dicembre è spostata al 15 dicembre.",
        "Ci vediamo il 15 dicembre invece del 8 dicembre.",
        "8 december gaat niet door, we zien elkaar op 15 december.",
        "De repetitie van 8 december is verplaatst naar 15 december.",
        "We komen op 15 december in plaats van 8 december bij elkaar.",
        "8. desember er avlyst, vi møtes 15. desember.",
        "Øvelsen 8. desember er flyttet til 15. desember.",
        "Vi møtes 15. desember i stedet for 8. desember.",
        "[27.11.2026, 10:00] Ann: 8 Dec is cancelled\n[27.11.2026, 10:02] Ben: ok, then we meet on 15 Dec instead",
    ],
)
def test_the_new_day_stands_and_the_old_one_is_called_off(text: str) -> None:
    assert days(text) == {"2026-12-08": True, "2026-12-15": False}


@pytest.mark.parametrize(
    "text",
    [
        "Cancelled: 8 Dec and 15 Dec.",
        "The rehearsals on 8 and 15 December are called off.",
        "Am 8. Dezember und am 15. Dezember fällt die Probe aus.",
        "Les répétitions du 8 et du 15 décembre sont annulées.",
    ],
)
def test_days_that_are_called_off_together_stay_so(text: str) -> None:
    assert days(text) == {"2026-12-08": True, "2026-12-15": True}


@pytest.mark.parametrize(
    ("plan", "news"),
    [
        ("- 8 Dec 19:00 committee in the mill", "The committee on 8 Dec is off, we meet on 15 Dec instead."),
        ("8. Dezember: Vorstandssitzung in der Mühle", "Die Vorstandssitzung am 8. Dezember ist abgesagt."),
        ("8 décembre : visite du moulin", "La visite du 8 décembre est annulée, on se retrouve le 15 décembre."),
        ("8 december: bezoek aan de molen", "Het bezoek van 8 december is verplaatst naar 15 december."),
    ],
)
def test_a_day_that_one_file_calls_off_is_not_due_in_another(plan: str, news: str) -> None:
    facts = call_off_elsewhere([*extract_facts("plan.md", plan, TODAY), *extract_facts("mail.txt", news, TODAY)])
    old = [fact.day.is_cancelled for fact in facts if fact.day is not None and fact.day.first == date(2026, 12, 8)]
    assert old == [True, True]
    assert not any(fact.day.is_cancelled for fact in facts if fact.day is not None and fact.day.first.day == 15)


def test_something_else_on_the_same_day_still_stands() -> None:
    plan = extract_facts("plan.md", "- 8 Dec: fetch the boiler", TODAY)
    news = extract_facts("mail.txt", "The committee on 8 Dec is off, we meet on 15 Dec.", TODAY)
    assert standing(call_off_elsewhere([*plan, *news])[:1]) == {"2026-12-08": False}


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("Fri 11 Dec 10:00 loading, 12:00 lunch", ["10:00", "12:00"]),
        ("11 December at 9:00 and 10:00", ["09:00", "10:00"]),
        ("Am 11. Dezember um 9 Uhr Aufbau, um 14 Uhr Probe", ["09:00", "14:00"]),
        ("Le 11 décembre à 9h30 chargement, à 12h15 repas", ["09:30", "12:15"]),
        ("El 11 de diciembre a las 9:30 carga, a las 12:15 comida", ["09:30", "12:15"]),
        ("L'11 dicembre alle 9:30 carico, alle 12:15 pranzo", ["09:30", "12:15"]),
        ("11 december om 9.30 uur laden, om 12.15 uur eten", ["09:30", "12:15"]),
        ("11. desember kl. 9.30 lasting, kl. 12.15 lunsj", ["09:30", "12:15"]),
        ("11 December, 9:30 to 12:15", ["09:30"]),
    ],
)
def test_each_hour_of_a_line_is_one_of_its_day(text: str, hours: list[str]) -> None:
    facts = extract_facts("note.md", text, TODAY)
    assert [fact.value for fact in facts if fact.kind is FactKind.DATE] == [f"2026-12-11T{hour}" for hour in hours]
    assert not [fact for fact in facts if fact.kind is FactKind.TIME]
