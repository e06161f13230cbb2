"""A value ends with its line unless a writer broke the line to fit."""

from datetime import date

from reveries.knowledge.facts.extraction import extract_facts
from reveries.knowledge.facts.model import Fact, FactKind
from reveries.projects.document_texts import DocumentText
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.timeline import add_tables

TODAY = date(2026, 11, 27)


def values(text: str, *kinds: FactKind, name: str = "note.md") -> list[str]:
    facts: list[Fact] = extract_facts(name, text, TODAY)
    return [" ".join(filter(None, (fact.value, fact.unit))) for fact in facts if fact.kind in kinds]


def test_a_sum_that_ends_a_line_is_not_that_of_the_number_that_begins_the_next() -> None:
    for text, value in {
        "Offer of the joiner: 18,400 USD\n6 doors, 2 gates": "18400 USD",
        "Angebot der Schreinerei: 18.400 EUR\n6 Türen": "18400 EUR",
        "Devis du menuisier : 18 400 EUR\n6 portes": "18400 EUR",
        "Oferta del carpintero: 18.400 EUR\n6 puertas": "18400 EUR",
        "Offerta del falegname: 18.400 EUR\n6 porte": "18400 EUR",
        "Offerte van de timmerman: 18.400 EUR\n6 deuren": "18400 EUR",
        "Tilbud fra snekkeren: 18.400 NOK\n6 dører": "18400 NOK",
        "Tilbud fra snekkeren: 18.400 NOK. 6 dører og to porter": "18400 NOK",
    }.items():
        assert values(text, FactKind.AMOUNT, FactKind.MEASURE) == [value], text


def test_no_value_is_put_together_of_two_lines_of_a_list_without_marks() -> None:
    assert values("Deposit 27 euro\n50 chairs", FactKind.AMOUNT) == ["27 EUR"]
    assert values("Length of the hall 3 m\n20 chairs", FactKind.MEASURE) == ["3 m"]
    assert values("Row 12\nMay brings the cake", FactKind.DATE) == []
    assert values("Repainted in Dec\n4 buckets are left", FactKind.DATE) == []


def test_a_value_that_a_writer_broke_over_two_lines_stays_whole() -> None:
    text = "We have settled with the owner of the field that we pay 250\neuros for the summer and carry the water."
    assert values(text, FactKind.AMOUNT) == ["250 EUR"]
    assert values("We meet on Saturday the 12th of\nDecember at the gate", FactKind.DATE) == ["2026-12-12"]
    assert values("Ich komme am 12.\ndezember um neun", FactKind.DATE) == ["2026-12-12T09:00"]


def test_a_zero_in_a_table_is_a_value() -> None:
    table = "name,amount,currency\nAna,12,EUR\nBo,0,EUR\nCy,30,EUR\n"
    assert values(table, FactKind.AMOUNT, name="members.csv") == ["12 EUR", "0 EUR", "30 EUR"]


def test_a_zero_counts_as_a_row_of_its_table() -> None:
    table = "name,amount,currency\nAna,12,EUR\nBo,0,EUR\nCy,30,EUR\n"
    facts = extract_facts("members.csv", table, TODAY)
    whole = ProjectFacts({"members.csv": DocumentText("members.csv", table, ())}, facts, ())
    assert [(item.value, item.count) for item in add_tables(whole)] == [(42, 3)]
    assert [fact.value for fact in facts if fact.is_listed] == ["12", "30"], "what was not paid is no line of its own"
