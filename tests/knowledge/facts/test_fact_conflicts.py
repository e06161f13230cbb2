"""Two notes that say different things of one subject are shown; what only looks like it, or was replaced, is not."""

from datetime import date
from itertools import chain

from reveries.knowledge.facts.conflicts import find_conflicts
from reveries.knowledge.facts.extraction import extract_facts

TODAY = date(2026, 11, 27)


def conflicts(**notes: str) -> list[tuple[str, str]]:
    documents = {f"{name}.md": text for name, text in notes.items()}
    facts = chain.from_iterable(extract_facts(name, text, TODAY, currency="EUR") for name, text in documents.items())
    return [(pair.a.value, pair.b.value) for pair in find_conflicts(list(facts), documents)]


def test_one_subject_with_two_values_is_shown() -> None:
    assert conflicts(
        bath="The shower tray is 80 cm wide.\nTiles: 12 m²", shop="shower tray, 74 cm, in stock\nGrout 5 kg"
    ) == [("80", "74")]
    assert conflicts(
        mail="The permit runs out on 31 January 2027.",
        answers="Q: When must the permit be renewed?\nA: It runs out on 13 January.",
    ) == [("2027-01-31", "2027-01-13")]
    assert conflicts(flyer="Doors at a quarter past six.", minutes="**Concert.** Doors 6.30 pm, tickets £9.") == [
        ("18:15", "18:30")
    ]


def test_an_hour_of_one_day_is_compared_across_languages() -> None:
    assert conflicts(
        wim="Ik kan hem op dinsdag 8 december brengen, rond 14 uur.",
        own="Delivery Tue 8 December at four in the afternoon.",
    ) == [("2026-12-08T14:00", "2026-12-08T16:00")]


def test_what_was_replaced_is_history() -> None:
    assert not conflicts(
        september="# Minutes, 17 September 2026\n\n**Train.** The fare is £148.",
        november="# Minutes, 19 November 2026\n\n**Train.** The fare has risen. New price £156.",
        budget="# Budget, 20 November 2026\n\n- train £156",
    )
    assert not conflicts(
        now="The berth costs £186 a month.", letter="3 Nov 2026: from 1 January 2027 the berth costs £199 a month."
    )


def test_what_recurs_or_is_another_thing_is_no_conflict() -> None:
    assert not conflicts(
        a="# 15 October 2026\nNext meeting 19 November.", b="# 19 November 2026\nNext meeting: 17 December."
    )
    assert not conflicts(boat="Steel narrowboat, 57 ft", survey="Overall length measured: 17.4 m")
    assert not conflicts(room="Rehearsal room 40 € a day", budget="rehearsal room 2 days 80 €")
    assert not conflicts(
        grant="Subvención: 6.400 € del ayuntamiento, el 70 % por adelantado.", bank="subvención, ingreso: 4480,00 €"
    )
    assert not conflicts(kitchen="Kitchen window: 120 cm", attic="Attic hatch: 110 cm")


def test_two_occasions_of_one_word_are_no_conflict() -> None:
    pairs = {
        "# 15 octobre 2026\nProchaine réunion le 19 novembre.": "# 19 novembre 2026\nProchaine réunion le 17 décembre.",
        "# 15.10.2026\nNächstes Treffen: 19. November": "# 19.11.2026\nNächstes Treffen: 17. Dezember",
        "# Saal\n\nKaution: 200 €": "# Bus\n\nKaution: 250 €",
        "Entrega de la leña: 180 €": "Entrega de las ventanas: 210 €",
        "First delivery: 140 EUR": "Second delivery: 160 EUR",
        "Foreldremøte for Jonas 3. desember kl. 18": "Foreldremøte for Ida 10. desember kl. 18",
    }
    for text, other in pairs.items():
        assert not conflicts(a=text, b=other), text
    assert conflicts(a="Kaution Saal 200 €", b="Der Saal: Kaution 250 €") == [("200", "250")]
    assert conflicts(a="Entrega de la leña: 180 €", b="leña, entrega: 210 €") == [("180", "210")]
    assert conflicts(a="deposit 200 EUR", b="The deposit is 250 EUR.") == [("200", "250")]
