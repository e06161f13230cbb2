"""How chunks are ranked by meaning, words, and what the best of them lead to."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from reveries.index.word_scores import idf
from reveries.knowledge.project_index import ProjectIndex
from reveries.knowledge.ranking import CROWD, Lead, RankedSources, best_cosines, rank_rows, split_question


@dataclass
class Graph:
    """A graph by hand."""

    leads: dict[int, list[Lead]] = field(default_factory=dict)
    terms: dict[int, set[str]] = field(default_factory=dict)
    names: dict[int, set[str]] = field(default_factory=dict)

    def leads_from(self, row: int) -> list[Lead]:
        return self.leads.get(row, [])

    def terms_at(self, row: int) -> frozenset[str]:
        return frozenset(self.terms.get(row, set()))

    def names_at(self, row: int) -> frozenset[str]:
        return frozenset(self.names.get(row, set()))


def order(question: str, sources: RankedSources, graph: Graph, parts: int = 1) -> list[int]:
    return [one.row for one in rank_rows(question, sources, graph, parts)]


@pytest.mark.requirement("V-70", "V-116")
def test_without_a_graph_the_order_is_that_of_the_fused_ranks() -> None:
    ranked = rank_rows("oak", RankedSources([5, 6, 7], [7, 5]), Graph())
    assert [one.row for one in ranked] == [5, 7, 6]
    assert (ranked[0].semantic_rank, ranked[0].keyword_rank, ranked[0].graph_rank) == (1, 2, None)
    assert rank_rows("oak", RankedSources([5], [5]), Graph())[0].score == pytest.approx(1.0)


def test_what_the_best_lead_to_comes_before_what_nobody_leads_to_and_says_from_where() -> None:
    graph = Graph(leads={1: [Lead(9, 1.0, "ada voss")]})
    ranked = rank_rows("oak", RankedSources([1, 2, 3], [1, 2, 3]), graph)
    [led] = [one for one in ranked if one.row == 9]
    assert (led.led_from, led.led_by, led.graph_rank) == (1, "ada voss", 1)
    assert [one.row for one in ranked].index(9) < [one.row for one in ranked].index(2)


def test_of_two_that_are_led_to_only_the_one_that_holds_the_rest_of_the_question_passes_the_leader() -> None:
    graph = Graph(leads={1: [Lead(8, 1.0, "ada"), Lead(9, 1.0, "ada")]}, terms={1: {"film"}, 9: {"oak"}})
    ranked = {one.row: one.score for one in rank_rows("film oak", RankedSources([1], [1]), graph)}
    rarity = {"film": idf(1, 1), "oak": idf(1, 0)}
    assert ranked[9] == pytest.approx(1.0 + 2.0 * rarity["oak"] / sum(rarity.values()))
    assert ranked[9] > ranked[1] > ranked[8]


def test_a_note_that_leads_by_meaning_and_words_stays_before_notes_that_only_a_name_leads_to() -> None:
    """The only note with the words of the question was shown seventh, behind notes about names in it."""
    leads = {1: [Lead(row, 1.0, f"name {row}") for row in range(2, 8)]}
    terms = {1: {"boat", "7", "metr"}} | {row: {"boat"} for row in range(2, 8)}
    ranked = rank_rows("boat 7 metres", RankedSources([1, 9, 2, 3], [1, 2, 3]), Graph(leads=leads, terms=terms))
    assert ranked[0].row == 1


def test_of_two_that_are_led_to_the_one_that_holds_the_rarer_word_of_the_question_is_first() -> None:
    """A word that stands in every near chunk says little about which of them answers."""
    terms = {row: {"film"} for row in (2, 3, 4, 5)} | {1: {"ada"}, 8: {"film"}, 9: {"oak"}}
    graph = Graph(leads={1: [Lead(8, 1.0, "ada"), Lead(9, 1.0, "ada")]}, terms=terms)
    ranked = {one.row: one.score for one in rank_rows("film oak", RankedSources([1, 2, 3, 4, 5], [1]), graph)}
    assert ranked[9] > 1.5 * ranked[8]


def test_a_shared_name_counts_more_where_the_rarer_word_of_the_question_stands_too() -> None:
    terms = {1: {"voss"}, 2: {"voss", "film"}, 3: {"voss", "oak"}} | {row: {"film"} for row in (4, 5, 6)}
    graph = Graph(terms=terms, names={1: {"voss"}})
    near = [1, 4, 5, 6, 2, 3]
    ranked = {one.row: one.score for one in rank_rows("film oak", RankedSources(near, near), graph)}
    assert ranked[3] > ranked[2]


def test_a_chunk_that_passed_the_one_that_led_to_it_keeps_its_place() -> None:
    graph = Graph(leads={1: [Lead(9, 1.0, "ada")]}, terms={1: {"film"}, 9: {"oak"}})
    assert order("film oak", RankedSources([1, 2], [1, 2]), graph)[0] == 9


def test_what_is_about_a_name_of_the_question_comes_first_and_is_trusted_however_far_behind() -> None:
    near = list(range(10, 60))
    graph = Graph(leads={7: [Lead(8, 1.0, "ada")]})
    ranked = order("oak", RankedSources(near, near, {7: 1.0}), graph)
    assert ranked[0] == 7
    assert ranked.index(8) < 3


def test_a_lead_counts_less_the_further_behind_the_best_the_chunk_is_that_leads_there() -> None:
    graph = Graph(leads={1: [Lead(8, 1.0, "x")], 3: [Lead(9, 1.0, "y")]})
    ranked = {one.row: one.score for one in rank_rows("oak", RankedSources([1, 2, 3], [1]), graph)}
    assert ranked[8] > ranked[9] > 0.0


def test_a_lead_answers_one_part_of_a_long_question_and_counts_so_much_less() -> None:
    graph = Graph(leads={1: [Lead(9, 0.5, "x")]})
    sources = RankedSources([1, 2], [1, 2])
    scores = {parts: {one.row: one.score for one in rank_rows("oak", sources, graph, parts)} for parts in (1, 4)}
    assert scores[4][9] == pytest.approx(scores[1][9] / 4)


def test_a_telling_name_that_two_share_bridges_them_and_one_that_the_question_holds_does_not() -> None:
    terms = {1: {"voss", "film"}, 2: {"voss", "oslo"}, 3: {"oslo"}}
    graph = Graph(terms=terms, names={1: {"voss"}, 2: {"oslo"}, 3: {"oslo"}})
    found = {one.row: one for one in rank_rows("film", RankedSources([1, 3, 2], [1]), graph)}
    assert (found[2].led_from, found[2].led_by) == (1, "voss")
    asked = {one.row: one for one in rank_rows("voss film", RankedSources([1, 3, 2], [1]), graph)}
    assert asked[2].led_by != "voss"


def test_a_long_question_is_searched_for_whole_and_by_its_sentences() -> None:
    assert split_question("How hard is oak? And pine?") == ["How hard is oak? And pine?"]
    long = "I want to know about floors of oak. " * 10 + "Yes. What does it cost?"
    parts = split_question(long)
    assert parts[0] == long
    assert "What does it cost?" in parts
    assert "Yes." not in parts


def test_a_row_is_as_near_as_the_part_that_it_fits_best() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    cues = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    assert best_cosines(rows, cues).tolist() == pytest.approx([1.0, 0.8])


# --- the index --------------------------------------------------------------------------------------------------------


def index_of(*texts: tuple[str, str], hidden: tuple[int, ...] = ()) -> ProjectIndex:
    """Chunks with titles; the vector of each points along its own axis."""
    index = ProjectIndex(32)
    vectors = np.eye(32, dtype="<f4")
    index.add(
        [
            {
                "number": place + 1, "id": f"c{place}", "title": title, "content": content, "names": None,
                "vector": vectors[place].tobytes(), "is_hidden": place in hidden,
            }
            for place, (title, content) in enumerate(texts)
        ]
    )  # fmt: skip
    return index


FILM = ("Blue Harbour", "Blue Harbour is a film directed by Ada Voss.")
PERSON = ("Ada Voss", "Ada Voss was born in Trondheim.")


def test_a_chunk_leads_to_what_is_about_a_name_in_it_and_not_to_what_is_hidden() -> None:
    assert [(one.row, one.by) for one in index_of(FILM, PERSON).leads_from(0)] == [(1, "ada voss")]
    assert index_of(FILM, PERSON, hidden=(1,)).leads_from(0) == []
    index = index_of(FILM, PERSON)
    index.hidden.add(1)  # It fell since.
    assert index.leads_from(0) == []
    assert index.likest(np.zeros(32, np.float32), 0, 1.0, ["ada voss"]) == []


def test_a_name_that_a_crowd_is_about_leads_nowhere() -> None:
    crowd = [PERSON] * (CROWD + 1)
    assert index_of(FILM, *crowd).leads_from(0) == []
    assert len(index_of(FILM, *crowd[:-1]).leads_from(0)) == CROWD
    assert index_of(FILM, *crowd).rows_named_in("Who is Ada Voss?") == {}
    assert index_of(FILM, PERSON).rows_named_in("Who is Ada Voss?") == {1: 1.0}
    assert index_of(FILM, PERSON, PERSON).rows_named_in("Who is Ada Voss?")[1] == pytest.approx(2**-0.5)


def test_a_name_stays_as_telling_as_the_chunks_about_it_that_stand_however_many_they_replaced() -> None:
    corrections = [PERSON] * (2 * CROWD + 3)
    index = index_of(FILM, *corrections)
    replaced = [f"c{place}" for place in range(1, len(corrections))]
    index.relate([], [*replaced, "erased"])
    newest = len(corrections)
    strengths = {one.row: one.strength for one in index.leads_from(0)}
    assert strengths[newest] == 1.0
    assert len(strengths) == CROWD  # The newest of those that were replaced are still found.
    assert index.rows_named_in("Who is Ada Voss?") == dict.fromkeys(range(newest - CROWD + 1, newest + 1), 1.0)
    index.relate([])
    assert index.leads_from(0) == []


def test_what_is_stored_is_compared_with_the_newest_that_is_about_the_same_name_and_stands() -> None:
    index = index_of(*[PERSON] * (CROWD + 4))
    index.relate([], [f"c{place}" for place in range(2, CROWD + 2)])
    compared = [name for name, _ in index.likest(np.zeros(32, np.float32), 0, 1.0, ["ada voss"])]
    assert sorted(compared) == sorted([f"c{CROWD + 3}", f"c{CROWD + 2}", "c1", "c0"])
    index.relate([])
    compared = [name for name, _ in index.likest(np.zeros(32, np.float32), 0, 1.0, ["ada voss"])]
    assert sorted(compared) == sorted(f"c{place}" for place in range(4, CROWD + 4))


@pytest.mark.requirement("V-32")
def test_relations_lead_both_ways_but_not_to_hidden_rows() -> None:
    texts = [("", f"Thing {place} stands there.") for place in range(4)]
    index = index_of(*texts, hidden=(3,))
    index.relate(
        [
            {"from_id": "c0", "to_id": "c1", "weight": 0.8, "type": "supports"},
            {"from_id": "c1", "to_id": "c3", "weight": 0.5, "type": "supports"},
            {"from_id": "c1", "to_id": "erased", "weight": 0.5, "type": "supports"},
        ]
    )
    assert [(one.row, one.strength) for one in index.leads_from(0)] == [(1, 0.8)]
    assert [one.row for one in index.leads_from(1)] == [0]
    assert index.leads_from(2) == []


def test_the_nearest_rows_leave_out_what_is_hidden_and_what_has_no_vector() -> None:
    index = index_of(FILM, PERSON, ("", "Bread."))
    products = np.array([0.2, 0.9, 0.0], np.float32)
    assert index.nearest(products, 3, set()) == [1, 0]
    assert index.nearest(products, 1, {1}) == [0]


def test_what_is_about_the_same_name_is_among_the_likest_however_far() -> None:
    index = index_of(FILM, PERSON)
    vector = np.zeros(32, np.float32)
    vector[0] = 1.0
    assert index.likest(vector, 5, 0.5) == [("c0", 1.0)]
    assert index.likest(vector, 5, 0.5, ["ada voss"]) == [("c0", 1.0), ("c1", 0.0)]


@pytest.mark.requirement("V-123")
def test_as_many_as_are_near_are_compared_for_a_sentence_of_theirs_and_never_a_hidden_one() -> None:
    texts = [("Fair", f"The fair has {place} stalls and a band.") for place in range(6)]
    index = index_of(*texts, ("Fair", "A ferry to the island goes at nine."), ("", "The ferry goes."), hidden=(7,))
    vector = np.zeros(32, np.float32)
    vector[0] = 1.0
    content = "The ferry to the island goes at ten."
    assert [name for name, _ in index.likest(vector, 2, 0.5)] == ["c0"]
    index.vectors[:] = 0.1
    assert [name for name, _ in index.likest(vector, 2, 0.05, content=content)] == ["c0", "c1", "c6"]
    assert [name for name, _ in index.likest(vector, 2, 0.05, content=content, title="fair")][-1] == "c6"
    assert [name for name, _ in index.likest(vector, 2, 0.05, content=content, title="Boats")] == ["c0", "c1"]
