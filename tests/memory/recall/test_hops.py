"""Leads from a turn that names someone to the turn about them; and the lift of updates."""

import numpy as np
import pytest

from reveries.memory.changes import ChangeSet, IndexedTurn
from reveries.memory.model import Origin
from reveries.memory.recall.cues import read_cue
from reveries.memory.recall.hops import CROWD, bridge_columns, find_leads, lead_strengths, rows_about, seed_trust
from reveries.memory.recall.ranking import cap_led_scores, compute_news_lifts, score_turns
from reveries.memory.recall.turn_index import TurnIndex
from tests.memory.kit import NOW, WordEmbedder, turn

DAY = 86_400.0


async def index_of(*texts: str, **chosen: object) -> TurnIndex:
    """Index each text as its own document, a day apart."""
    embedder = WordEmbedder()
    vectors = await embedder.embed(texts)
    index = TurnIndex(embedder.dimensions)
    for place, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        said = turn(f"t{place}", text, conversation_id=f"c{place}", said_at=NOW + place * DAY, **chosen)
        index.apply(ChangeSet(indexed=(IndexedTurn(said, "e", vector),)))
    return index


async def test_a_name_leads_to_the_turn_that_is_about_it() -> None:
    index = await index_of("The play was written by Jana Moravec.", "Jana Moravec is a teacher in Brno.", "Rain.")
    (lead,) = find_leads(index, 0)
    assert (lead.target, lead.name, lead.strength) == (1, "jana moravec", 1.0)
    rows, trust = np.arange(3), np.ones(1, np.float32)
    assert lead_strengths([lead], [0], trust, rows).tolist() == [0.0, 1.0, 0.0]
    columns = bridge_columns(index, "who wrote the play, a teacher?", [0], trust, rows)
    assert columns["bridge"][1] > columns["bridge"][2] == 0.0
    assert columns["bridge_rest"][1] > columns["bridge_rest"][2] == 0.0


async def test_a_turn_does_not_lead_to_itself_nor_to_those_who_speak() -> None:
    index = await index_of("Jana Moravec is a teacher.", "Ana is my sister.", "I saw Ana and Jana Moravec.")
    assert find_leads(index, 0) == []
    assert [lead.name for lead in find_leads(index, 2)] == ["jana moravec"]


async def test_what_too_many_turns_are_about_is_no_lead() -> None:
    index = await index_of("I love Brno.", *(f"Brno is a city, part {place}." for place in range(CROWD + 1)))
    assert find_leads(index, 0) == []


async def test_a_turn_that_leaves_is_led_to_no_more() -> None:
    index = await index_of("I met Jana Moravec.", "Jana Moravec is a teacher.")
    index.apply(ChangeSet(unindexed_turn_ids=("t1",)))
    assert find_leads(index, 0) == []
    assert not +index.openers
    assert index.about == {}


async def talk_of(*texts: str, **chosen: object) -> TurnIndex:
    """Index each text as a turn of one conversation."""
    embedder = WordEmbedder()
    vectors = await embedder.embed(texts)
    index = TurnIndex(embedder.dimensions)
    for place, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        said = turn(f"t{place}", text, position=place, said_at=NOW + place * 60.0, **chosen)
        index.apply(ChangeSet(indexed=(IndexedTurn(said, "e", vector),)))
    return index


OLD, NEW, OTHER = "My budget for books is 35 euros.", "My budget for books is now 50 euros.", "It rains."
SCORES, COVERAGE = np.array([2.0, 1.0, 0.0], np.float32), np.array([1.0, 1.0, 0.0], np.float32)


@pytest.mark.requirement("R-126")
async def test_the_later_of_two_like_turns_comes_first_when_the_cue_asks_what_holds_now() -> None:
    index = await talk_of(OLD, NEW, OTHER)
    lifts = compute_news_lifts(index, read_cue("What is my budget for books?", NOW), SCORES, COVERAGE, np.arange(3))
    assert SCORES[0] < (SCORES + lifts)[1] < SCORES[0] + 0.1
    assert lifts[0] == lifts[2] == 0.0


async def test_nothing_is_news_when_the_cue_asks_for_something_else() -> None:
    index = await talk_of(OLD, NEW, OTHER)
    assert not compute_news_lifts(index, read_cue("What did I say before?", NOW), SCORES, COVERAGE, np.arange(3)).any()


async def test_what_the_mind_itself_repeats_and_what_a_later_document_says_is_no_news() -> None:
    cue = read_cue("What is my budget for books?", NOW)
    for index in (await talk_of(OLD, NEW, OTHER, origin=Origin.SELF), await index_of(OLD, NEW, OTHER)):
        assert not compute_news_lifts(index, cue, SCORES, COVERAGE, np.arange(3)).any()


def test_what_the_cue_names_is_trusted_as_much_as_the_best() -> None:
    trust = seed_trust(np.array([9.0, 8.0, 1.0], np.float32), np.array([0.0, 0.0, 1.0], np.float32))
    assert trust[0] == 1.0
    assert trust[1] < 1.0
    assert trust[2] == 1.0


async def test_a_comparison_leads_from_both_that_it_names() -> None:
    """One film matches the words far better; the other's director is found nevertheless."""
    index = await index_of(
        "The Red Lake\nThe Red Lake is a film by Jana Moravec, an older film about a lake, directed in Brno.",
        "Green Hill\nGreen Hill is directed by Petr Dvorak.",
        "Petr Dvorak\nPetr Dvorak is a film director from Ostrava.",
        *(
            f"Place {number}\nPlace {number} is a village with an older red lake and a film director."
            for number in range(20)
        ),
    )
    cue = "Which film has the older director, The Red Lake or Green Hill?"
    scores = score_turns(index, cue, (await WordEmbedder().embed([cue]))[0], NOW)
    assert 2 in scores.best_rows(4)


async def test_a_crowd_is_not_named_by_a_cue() -> None:
    index = await index_of(*(f"Brno is a city, part {place}." for place in range(CROWD + 1)), "Ostrava is a city.")
    assert rows_about(index, ["brno", "ostrava"]) == [CROWD + 1]


def test_what_is_held_behind_the_best_keeps_its_order() -> None:
    own, added = np.array([10.0, 1.0, 1.0, 2.0], np.float32), np.array([0.0, 12.0, 20.0, 0.5], np.float32)
    final = own + added + cap_led_scores(own, added)
    assert np.argsort(-final).tolist() == [0, 2, 1, 3]
    assert final[2] - final[1] > 1e-4
    assert final[3] == 2.5
