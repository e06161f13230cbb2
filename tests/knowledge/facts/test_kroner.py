"""Three countries write "kr": whose kroner a sum is in is told by the words around it, or not at all."""

from datetime import date

import pytest

from reveries.knowledge.facts.extraction import extract_facts
from reveries.knowledge.facts.model import FactKind


def amounts(text: str, currency: str = "", name: str = "note.md") -> list[str]:
    facts = extract_facts(name, text, date(2026, 11, 27), currency=currency)
    return [f"{fact.value} {fact.unit}" for fact in facts if fact.kind is FactKind.AMOUNT]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Lejen af salen er 3.200 kr. om måneden, og vi skal betale den efter mødet.", "3200 DKK"),
        ("Billetten til færgen koster 145 kr for hver af os.", "145 DKK"),
        ("Hyran för lokalen är 3 200 kr och ska betalas i maj.", "3200 SEK"),
        ("Vi betalar 145 kr till färjan, det är inte mycket.", "145 SEK"),
        ("Leien av salen er 3 200 kr i måneden, og vi må betale den etter møtet.", "3200 NOK"),
        ("Billetten til ferja koster 145 kr for hver av oss, det er ikke mye.", "145 NOK"),
        ("Kr 450 skal betales til kassereren efter mødet, ikke før.", "450 DKK"),
    ],
)
def test_sums_in_kroner_are_those_of_the_language_around(text: str, value: str) -> None:
    assert amounts(text) == [value]


def test_a_line_that_tells_nothing_follows_its_document() -> None:
    danish = "# Indkøb\nVi mødes efter ferien og køber ind til fælles mad.\n\n- stole: 450 kr\n- borde: 900 kr."
    assert amounts(danish) == ["450 DKK", "900 DKK"]
    table = "| Post | Pris |\n|---|---|\n| Stolar | 450 kr |\n| Bord | 900 kr |\n\nHyran är inte betald och vi väntar."
    assert amounts(table) == ["450 SEK", "900 SEK"]


def test_where_no_word_tells_the_named_currency_holds_and_else_none_is_claimed() -> None:
    assert amounts("The ferry is 450 kr and the hut is 900 DKK") == ["450 DKK", "900 DKK"]
    assert amounts("The ferry is 450 kr", currency="SEK") == ["450 SEK"]
    assert amounts("The ferry is 450 kr", currency="EUR") == ["450 kr"]
    assert amounts("Die Fähre kostet 450 kr für alle") == ["450 kr"]
    assert amounts("Le billet coûte 450 kr, en option 90 kr") == ["450 kr", "90 kr"]
    assert amounts("The ferry is 450 Danish kroner") == ["450 DKK"]
