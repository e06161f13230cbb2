"""Facts that a model names are claims only as far as a person stated them."""

import pytest

from reveries.memory.changes import ChangeSet, Retirement
from reveries.memory.claims import CONTRADICTION, UPDATE, Claim, Conflict
from reveries.memory.model import Origin, Turn
from reveries.memory.sleep.model_answers import ExperienceDecision, claims_from_facts
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


def claim(origin: Origin) -> Claim:
    return Claim("k", "heat", "fuel", "oil", SWITCHED, True, "t1", "x1", "Ana", 0.0, "model", origin, False)


def conflict(kind: str, earlier: Origin, later: Origin) -> Conflict:
    return Conflict("c", claim(earlier), claim(later), kind, "", 0.0)


def decision(*conflicts: Conflict, is_foreign: bool = False) -> ExperienceDecision:
    changes = ChangeSet(retired=(Retirement("e1", "e2"),), conflicts=conflicts)
    return ExperienceDecision(changes, "e2", "", is_new=False, is_merge=True, is_foreign=is_foreign)


@pytest.mark.parametrize(
    ("conflicts", "cost"),
    [
        ((), 1),
        ((conflict(UPDATE, Origin.OWNER, Origin.OWNER),), 2),
        ((conflict(CONTRADICTION, Origin.OWNER, Origin.OWNER),), 1),
        ((conflict(UPDATE, Origin.DOCUMENT, Origin.OWNER),), 1),
    ],
)
def test_merges_and_trusted_claims_that_are_superseded_use_up_the_allowance(
    conflicts: tuple[Conflict, ...], cost: int
) -> None:
    assert decision(*conflicts).cost == cost


@pytest.mark.parametrize(
    ("conflicts", "is_foreign", "costs"),
    [
        ((), False, (1, 0)),
        ((), True, (0, 1)),
        ((conflict(UPDATE, Origin.DOCUMENT, Origin.DOCUMENT),), False, (1, 1)),
        ((conflict(CONTRADICTION, Origin.DOCUMENT, Origin.DOCUMENT),), False, (1, 0)),
    ],
)
def test_what_untrusted_text_merges_and_supersedes_is_counted_apart(
    conflicts: tuple[Conflict, ...], is_foreign: bool, costs: tuple[int, int]
) -> None:
    one = decision(*conflicts, is_foreign=is_foreign)
    assert (one.cost, one.foreign_cost) == costs
