"""What two sentences say of the same thing, and which of them holds."""

import time

import pytest

from reveries.knowledge.contradictions import Resolution, find_change, resolve, speak_alike
from reveries.knowledge.model import ChunkSource, Confidence
from tests.knowledge.kit import stored_chunk
from tests.rows import check_rows


@pytest.mark.requirement("V-123")
@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        ("The rent of the flat is 900 euros.", "The rent of the flat is 950 euros.", ("900", "950")),
        ("Ana lives in Graz.", "Ana lives in Linz.", ("Graz", "Linz")),
        ("The ferry leaves at nine.", "The ferry leaves at ten.", ("nine", "ten")),
        ("We chose oak for the door.", "We chose pine for the door.", ("oak", "pine")),
        ("It rained. The loan costs 3 % a year.", "The loan costs 4 % a year.", ("3", "4")),
    ],
)
def test_the_same_thing_with_another_value_is_a_change(old: str, new: str, values: tuple[str, str]) -> None:
    change = find_change("", old, "", new)
    assert change is not None
    assert (change.old, change.new) == values


@check_rows(
    ("old", "new"),
    [
        ("The rent of the flat on the hill is 900.", "The rent of the flat on the lake is 900."),
        ("Ana lives in Graz.", "Bea lives in Graz."),
        ("Ana lives in Graz.", "Ana lives in Graz."),
        ("Ana lives in Graz.", "Graz has three bridges."),
        ("Ana lives in Graz.", "Ana lives in Graz. Bea lives in Linz."),
        ("The hall is 8 m long and 3 m high.", "The hall is 9 m long and 4 m high."),
        ("It is red.", "It is blue."),
        ("The ferry leaves at nine. The ferry leaves at ten.", "The ferry leaves at nine. The ferry leaves at ten."),
    ],
)
def test_another_subject_the_same_value_or_too_little_in_common_is_none(old: str, new: str) -> None:
    assert find_change("", old, "", new) is None


def test_a_title_is_a_subject() -> None:
    assert find_change("Peter Owen", "He was born in Leeds.", "", "He was born in York.") is None
    change = find_change("Peter Owen", "He was born in Leeds.", "Peter Owen", "He was born in York.")
    assert change is not None
    assert (change.old, change.new) == ("Leeds", "York")


def test_a_number_or_a_negation_makes_two_like_texts_speak_alike() -> None:
    assert speak_alike("", "Heat pumps are loud at night.", "", "Heat pumps are not loud at night.")
    assert speak_alike("", "The hall is 8 m long and 3 m high.", "", "The hall is 9 m long and 4 m high.")
    assert not speak_alike("", "Heat pumps are loud at night.", "", "Heat pumps are loud at night, as a rule.")
    assert not speak_alike("", "Ana has 3 cats.", "", "The loan is not cheap.")


def test_texts_of_different_titles_are_about_different_things_unless_the_sentence_names_its_own() -> None:
    assert (
        find_change("Hill flat", "The rent is 900 euros a month.", "Lake flat", "The rent is 990 euros a month.")
        is None
    )
    assert not speak_alike("Hill", "The rent is 900 euros a month.", "Lake", "The rent is not 900 euros a month.")
    named = ("The rent in Mill Lane is 900 euros.", "The rent in Mill Lane is 990 euros.")
    assert find_change("letter 1", named[0], "letter 2", named[1]) is not None
    assert find_change("", "He was born in Leeds in May.", "", "He was born in York in May.") is None


OWNER = {"source": ChunkSource.USER}
READ = {"source": ChunkSource.RESEARCH, "foreign_sources": frozenset({"document:a"})}


@pytest.mark.requirement("V-124")
@pytest.mark.parametrize(
    ("older", "newer", "resolution"),
    [
        ({}, {}, Resolution.RECENCY),
        (OWNER, OWNER, Resolution.RECENCY),
        (READ, OWNER, Resolution.RECENCY),
        (READ | OWNER, {}, Resolution.RECENCY),
        (OWNER, READ, Resolution.ESCALATE),
        ({}, {"confidence": Confidence.SPECULATIVE}, Resolution.AUTHORITY),
        ({"confidence": Confidence.SPECULATIVE}, {"confidence": Confidence.INFERRED}, Resolution.RECENCY),
    ],
)
def test_the_newer_one_holds_unless_the_older_one_has_more_authority(
    older: dict[str, object], newer: dict[str, object], resolution: Resolution
) -> None:
    change = find_change("", "The rent of the flat is 900.", "", "The rent of the flat is 950.")
    assert change is not None
    assert resolve(stored_chunk(**older), stored_chunk(**newer), change) is resolution


@pytest.mark.requirement("V-124")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The pool is open at nine in winter.", "The pool is open at ten in summer."),
        ("The museum is open on Monday in winter.", "The museum is open on Monday in summer."),
    ],
)
def test_what_holds_under_other_conditions_contradicts_nothing(old: str, new: str) -> None:
    change = find_change("", old, "", new)
    assert change is None or resolve(stored_chunk(), stored_chunk(), change) is Resolution.CONDITIONAL


def test_a_long_text_without_a_full_stop_is_not_compared_word_by_word() -> None:
    began = time.process_time()
    assert find_change("", "oak ash " * 2000, "", "oak ash " * 1990 + "elm " + "oak ash " * 9) is None
    assert time.process_time() - began < 0.5


@check_rows(
    ("old", "new"),
    [
        ("Marta is allergic to peanuts.", "Marta is allergic to shellfish."),
        ("Anna bought a red bicycle.", "Anna bought a new piano."),
        ("The museum sells tickets for children.", "The museum sells postcards of Oslo."),
        ("My neighbour Otto speaks French.", "My neighbour Otto speaks Spanish."),
        ("The recipe of Nadia contains butter.", "The recipe of Nadia contains almonds."),
        ("The river Aare flows through Bern.", "The river Aare flows through Thun."),
        ("The flat in Leith has a balcony.", "The flat in Leith has a garden."),
        ("Tom is a member of the choir.", "Tom is a member of the chess club."),
        ("Ida is the sister of Jonas.", "Ida is the sister of Emil."),
        ("We planted a pear tree behind the shed.", "We planted a plum tree behind the shed."),
        ("Lena has a peanut allergy.", "Lena has a pollen allergy."),
        ("Lena has a cat called Mo.", "Lena has a dog called Mo."),
        ("Tom owns a bakery downtown.", "Tom owns a cinema downtown."),
        ("Lena belongs to the choir in Leith.", "Lena belongs to the orchestra in Leith."),
        ("Ana wrote the invitation for the choir.", "Ana wrote the invitation for the neighbours."),
    ],
)
def test_what_can_have_several_values_at_once_is_not_replaced_by_another_one(old: str, new: str) -> None:
    change = find_change("", old, "", new)
    assert change is not None
    assert change.may_both_hold


def test_what_changed_in_another_edition_of_a_text_is_a_correction_whatever_the_verb() -> None:
    old = "Otto is a guide. He lives in Bern. Otto speaks French. He is forty."
    change = find_change("Otto", old, "Otto", old.replace("French", "Spanish"))
    assert change is not None
    assert not change.may_both_hold
    alone = find_change("Otto", old, "Otto", "Otto speaks Spanish.")
    assert alone is not None
    assert alone.may_both_hold


@check_rows(
    ("old", "new", "value"),
    [
        ("The harbour master is Els Bakker.", "The harbour master is Tom Visser.", "Tom Visser"),
        ("Marta lives in the town of Bergen.", "Marta lives in the town of Oslo.", "Oslo"),
        ("The film Lanterns was directed by Ana Ruiz.", "The film Lanterns was directed by Ida Holm.", "Ida Holm"),
        ("The museum sells 20 tickets an hour.", "The museum sells 30 tickets an hour.", "30"),
        ("The flat in Leith has two rooms.", "The flat in Leith has three rooms.", "three"),
        ("Peter made the reservation for Friday.", "Peter made the reservation for Saturday.", "Saturday"),
        ("We sent the invitation in June.", "We sent the invitation in July.", "July"),
        ("The new office has a red door.", "The new office has a blue door.", "blue"),
        ("The brother of Ida is Jonas.", "The brother of Ida is Emil.", "Emil"),
        ("The ferry to Texel leaves on Monday.", "The ferry to Texel leaves on Friday.", "Friday"),
        (
            "Our meeting in March was moved to the library.",
            "Our meeting in March was moved to the town hall.",
            "town hall",
        ),
    ],
)
def test_what_has_one_value_or_a_number_takes_the_newer_one(old: str, new: str, value: str) -> None:
    change = find_change("", old, "", new)
    assert change is not None
    assert (change.new, change.may_both_hold) == (value, False)
