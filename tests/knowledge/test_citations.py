"""Citations: what a reply says to stand on a page is looked up there, and shown as a link only if it does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.knowledge.citations import (
    Citation,
    CitationMaker,
    CitationState,
    OfferedPlace,
    best_quote,
    choose_citation,
    is_quote_on_page,
    numbers_in,
    resolve_citations,
)
from reveries.knowledge.reading.layout import Box, PlacedBox

PAGE = "Roof loads\nThe canopy carries a snow load of 2.5 kN/m2. It was con-\nﬁrmed on 12 March 2025 for EUR 1,250."
PLACE = OfferedPlace(
    "d1.p3.b1", "c1", "plans.pdf", 3, "A2.01", "Roof loads", "The canopy carries a snow load of 2.5 kN/m2.",
    (PlacedBox(3, Box(0.1, 0.1, 0.5, 0.1)),), PAGE, is_tainted=True,
)  # fmt: skip
DOORS = OfferedPlace(
    "d1.p4.b2", "c2", "plans.pdf", 4, "", "Doors", "Door D12 opens outward.", (), "Door D12 opens outward.", True
)
OFFERED = {place.short_id: place for place in (PLACE, DOORS)}


def cited(reply: str) -> list[Citation]:
    return resolve_citations(reply, OFFERED)


def states(reply: str) -> list[tuple[str, str]]:
    return [(citation.short_id, citation.state.value) for citation in cited(reply)]


def test_a_cited_place_is_a_link_with_its_page_and_box() -> None:
    [citation] = cited("The canopy carries 2.5 kN/m2 [d1.p3.b1].")
    assert citation.is_link
    assert (citation.document, citation.page_number, citation.page_label) == ("plans.pdf", 3, "A2.01")
    assert citation.boxes == PLACE.boxes
    assert citation.quote == "The canopy carries a snow load of 2.5 kN/m2."


def test_a_place_that_was_not_offered_is_no_link_even_if_it_exists() -> None:
    assert states("See [d9.p1.b1].") == [("d9.p1.b1", "not_offered")]


@pytest.mark.parametrize(
    ("quote", "state"),
    [
        ("a snow load of 2.5 kN/m2", "on_page"),
        ("A SNOW  LOAD of 2.5", "on_page"),
        ("It was confirmed on 12 March", "on_page"),
        ("a snow load of 3.5 kN/m2", "not_on_page"),
        ("a wind load", "not_on_page"),
    ],
)
def test_a_quote_must_stand_on_the_page_whatever_its_spaces_hyphens_and_ligatures(quote: str, state: str) -> None:
    assert states(f"It says “{quote}” [d1.p3.b1].") == [("d1.p3.b1", state)]


def test_what_is_quoted_wrongly_is_named_and_not_replaced_by_what_stands_there() -> None:
    [citation] = cited('It says "a wind load" [d1.p3.b1].')
    assert (citation.is_link, citation.quote) == (False, "a wind load")


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        ("The load is 2.5 kN/m2 [d1.p3.b1].", "on_page"),
        ("The load is 3.5 kN/m2 [d1.p3.b1].", "not_on_page"),
        ("It cost EUR 1250 [d1.p3.b1].", "on_page"),
        ("It cost EUR 1.250 [d1.p3.b1].", "on_page"),
        ("It cost EUR 12,500 [d1.p3.b1].", "not_on_page"),
    ],
)
def test_a_number_of_the_sentence_must_stand_on_the_page(reply: str, state: str) -> None:
    assert states(reply) == [("d1.p3.b1", state)]


def test_an_id_after_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    assert states("The load is 3.5 kN/m2. [d1.p3.b1] Doors open outward. (d1.p4.b2)") == [
        ("d1.p3.b1", "not_on_page"),
        ("d1.p4.b2", "on_page"),
    ]


def test_several_places_of_one_sentence_are_all_shown() -> None:
    assert [short_id for short_id, _ in states("Both say so [d1.p3.b1, d1.p4.b2].")] == ["d1.p3.b1", "d1.p4.b2"]


def test_text_that_only_looks_like_an_id_is_none() -> None:
    assert cited("Version d1.p3.b1.2 and xd1.p3.b1 and d1.p3") == []


def test_for_a_model_that_does_not_cite_the_best_place_is_quoted_by_rules() -> None:
    citation = choose_citation("How much snow does the canopy carry?", "It carries a lot.", [DOORS, PLACE])
    assert citation is not None
    assert (citation.short_id, citation.made_by) == ("d1.p3.b1", CitationMaker.RULES)
    assert is_quote_on_page(citation.quote, PAGE)
    assert choose_citation("Who is the mayor of Lisbon?", "I do not know.", [DOORS, PLACE]) is None


def test_the_sentence_with_most_of_the_words_is_quoted() -> None:
    text = "The posts are of larch. The canopy carries 2.5 kN/m2 of snow. It has no gutter."
    assert best_quote("snow on the canopy", text) == "The canopy carries 2.5 kN/m2 of snow."


def test_numbers_are_compared_without_what_divides_their_thousands() -> None:
    assert numbers_in("1,250.5 and 1.250,5 and 2.5 and 7 and 12") == ["1250.5", "2.5", "12"]


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_link_is_ever_made_of_a_quote_that_the_page_lacks(page: str, quote: str) -> None:
    place = OfferedPlace("d1.p1.b1", "c1", "a", 1, "", "", page, (), page, False)
    for citation in resolve_citations(f'It says "{quote}" [d1.p1.b1].', {place.short_id: place}):
        if citation.state is CitationState.ON_PAGE and citation.quote:
            assert is_quote_on_page(citation.quote, page) or citation.quote in page
