"""Pages and places in documents are ranked with their document as context."""

import numpy as np
import pytest

from reveries.knowledge.document_index import (
    DocumentIndex,
    IndexedPage,
    IndexedPointer,
    RankedPointer,
    rank_pages,
    spread_over_pages,
)
from reveries.llm.base import Vector

NO_CUE = np.zeros(4, np.float32)


def unit(place: int) -> Vector:
    vector = np.zeros(4, np.float32)
    vector[place] = 1.0
    return vector


def page(
    name: str, number: int, *texts: str, document: str = "d", context: str = "", vectors: tuple[Vector, ...] = ()
) -> IndexedPage:
    pointers = [
        IndexedPointer(f"{name}.{place}", "", text, vectors[place] if vectors else None)
        for place, text in enumerate(texts)
    ]
    return IndexedPage(name, document, number, context, "\n".join(texts), pointers)


def index_of(*pages: IndexedPage) -> DocumentIndex:
    index = DocumentIndex(4)
    index.add(pages)
    return index


def best(index: DocumentIndex, question: str, cue: Vector = NO_CUE, **given: object) -> list[str]:
    return [item.pointer_id for item in index.rank(question, cue, 10, **given)]  # type: ignore[arg-type]


ROOF = page("p1", 1, "The roof is of zinc.", "Snow load of the roof: 2.5 kN/m2.", document="a", context="plans.pdf")
DOOR = page("p2", 2, "Doors open outward.", "They are painted green.", document="a", context="plans.pdf")
COST = page("p3", 1, "The roof costs 12,000 euro.", document="b", context="offer.pdf")


def test_of_the_pages_that_fit_the_place_that_fits_best_comes_first() -> None:
    assert best(index_of(ROOF, DOOR, COST), "snow load of the roof")[0] == "p1.1"


def test_words_of_a_documents_name_lead_to_its_pages() -> None:
    assert best(index_of(ROOF, DOOR, COST), "the roof in the offer")[0] == "p3.0"
    assert best(index_of(ROOF, DOOR, COST), "the roof in the plans")[0].startswith("p1")


def test_only_named_documents_are_searched() -> None:
    assert set(best(index_of(ROOF, DOOR, COST), "the roof", documents=["b"])) == {"p3.0"}
    assert best(index_of(ROOF, DOOR, COST), "the roof", documents=[]) == []


def test_meaning_finds_what_shares_no_word_once_it_is_embedded() -> None:
    index = index_of(ROOF, DOOR, COST)
    assert best(index, "weather", unit(2))[0] != "p2.1"
    index.set_vectors(["p2.1", "gone"], np.stack([unit(2), unit(0)]))
    assert best(index, "weather", unit(2))[0] == "p2.1"


def test_a_page_that_is_read_anew_takes_the_place_of_the_earlier_one_and_a_removed_one_is_not_found() -> None:
    index = index_of(ROOF, DOOR)
    index.add([page("p1", 1, "A page about lamps.", document="a")])
    assert len(index) == 2
    assert best(index, "snow load of the roof")[0] != "p1.1"
    assert best(index, "lamps")[0] == "p1.0"
    index.remove(["p1", "unknown"])
    assert set(best(index, "lamps")) == {"p2.0", "p2.1"}
    index.remove(["p2"])
    assert best(index, "doors") == []


def test_a_pointer_that_moved_to_a_new_page_is_found_there_alone() -> None:
    index = index_of(ROOF)
    moved = IndexedPage("p9", "a", 9, "", "The roof is of zinc.", [IndexedPointer("p1.0", "", "The roof is of zinc.")])
    index.add([moved])
    [found] = [item for item in index.rank("zinc", NO_CUE, 10) if item.pointer_id == "p1.0"]
    assert (found.page_id, found.page_number) == ("p9", 9)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_many_pages_are_found_however_they_were_added(count: int) -> None:
    pages = [page(f"p{number}", number, f"Sheet {number} has door D{number}.") for number in range(1, 600)]
    index = index_of(*pages[:100])
    index.add(pages[100:])
    assert best(index, "D512")[0] == "p512.0"
    assert len(index.rank("door", NO_CUE, count)) == count


def test_pages_are_ranked_by_their_best_place_and_places_spread_over_pages() -> None:
    def ranked(pointer: str, page_id: str, score: float, page_score: float) -> RankedPointer:
        return RankedPointer(pointer, page_id, 1, score, page_score, 0.0, 0.0)

    places = [ranked("a", "x", 9, 5), ranked("b", "x", 8, 5), ranked("c", "x", 7, 5), ranked("d", "y", 6, 6)]
    assert [item.pointer_id for item in rank_pages(places)] == ["d", "a"]
    assert [item.pointer_id for item in spread_over_pages(places, 3, 2)] == ["a", "b", "d"]
