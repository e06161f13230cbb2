"""Facts that a model names are claims only as far as a person stated them."""

import pytest

from reveries.memory.model import Origin, Turn
from reveries.memory.sleep.model_answers import claims_from_facts
from reveries.memory.sleep.questions import FactAnswer

SWITCHED = "The heating was switched to oil in spring."
FACT = FactAnswer(SWITCHED, "the heating", "fuel", "oil")


def turn(text: str = SWITCHED, origin: Origin = Origin.OWNER, echoes: tuple[tuple[int, int], ...] = ()) -> Turn:
    return Turn("t1", "c1", "x1", 0, origin, "Ana", text, 1_750_000_000.0, echoes=echoes)


def test_a_fact_that_a_person_states_is_a_claim_about_its_subject() -> None:
    (claim,) = claims_from_facts([FACT], [turn("Good morning. " + SWITCHED)])
    assert (claim.subject, claim.relation, claim.value) == ("heat", "fuel", "oil")
    assert claim.turn_id == "t1"


def test_a_fact_of_one_who_says_i_is_about_the_speaker() -> None:
    said = "I changed my bank to Nordea."
    (claim,) = claims_from_facts([FactAnswer(said, "me", "bank", "Nordea")], [turn(said)])
    assert claim.subject.casefold().startswith("ana")


@pytest.mark.parametrize("origin", [Origin.SELF, Origin.SYSTEM])
def test_what_the_mind_said_itself_is_no_claim_though_a_person_is_quoted_elsewhere(origin: Origin) -> None:
    assert claims_from_facts([FACT], [turn(origin=origin), turn("Good morning.")]) == []


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        (FactAnswer("The heating was switched to gas.", "heating", "fuel", "gas"), "nobody said it"),
        (FactAnswer("", "heating", "fuel", "oil"), "no quote"),
        (FactAnswer(SWITCHED, "the heating", "fuel", "gas"), "the value is not in the sentence"),
        (FactAnswer(SWITCHED, "the heating", "fuel", ""), "no value"),
        (FactAnswer(SWITCHED, "the heating", "", "oil"), "no attribute"),
        (FactAnswer(SWITCHED, "the boat", "fuel", "oil"), "the subject is not in the sentence"),
    ],
)
def test_a_fact_that_the_words_do_not_bear_out_is_no_claim(fact: FactAnswer, why: str) -> None:
    assert claims_from_facts([fact], [turn()]) == [], why


def test_a_sentence_that_states_no_change_is_no_claim() -> None:
    said = "The heating runs on oil, I think."
    assert claims_from_facts([FactAnswer(said, "the heating", "fuel", "oil")], [turn(said)]) == []


def test_what_only_repeats_the_prompt_is_no_claim() -> None:
    assert claims_from_facts([FACT], [turn(echoes=((0, len(SWITCHED)),))]) == []
