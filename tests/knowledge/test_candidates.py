"""Which stored chunks share most with one sentence of a new one."""

import pytest

from reveries.knowledge.candidates import TermRarity, score_by_sentence
from reveries.knowledge.contradictions import statements_of

OTHERS = ["The hall has an oak floor.", "The stairs have an oak rail.", "The loan costs 3 % a year."]


def scores(new: str, *others: str) -> list[float]:
    every = [statements_of(text) for text in others]
    return score_by_sentence(statements_of(new), every, TermRarity(every))


@pytest.mark.requirement("V-123")
def test_one_sentence_in_common_counts_however_much_else_is_said() -> None:
    long = f"{' '.join(OTHERS)} My coach Petra writes my plan for the marathon. The bus was late, and it rained."
    near, far = scores("I have no coach, I write my plan for the marathon alone. Oak is hard.", long, OTHERS[1])
    assert near > far > 0.0


@pytest.mark.requirement("V-123")
def test_rare_words_in_common_count_more_than_frequent_ones() -> None:
    by_rare, by_frequent, _ = scores("Oak with zircon.", "A ring of zircon stone.", "A floor of oak wood.", *OTHERS[:1])
    assert by_rare > by_frequent > 0.0


def test_the_same_words_and_none_in_common_count_nothing() -> None:
    assert scores(OTHERS[0], OTHERS[0], "A red boat.") == [0.0, 0.0]
    assert scores("", *OTHERS) == [0.0, 0.0, 0.0]


def test_another_number_or_a_negation_makes_another_statement() -> None:
    assert statements_of("The hall is not 8 m long. And?") == [frozenset({"hall", "8", "long", "not"})]
    assert all(
        score > 0.0 for score in scores("The hall is 8 m long.", "The hall is 9 m long.", "The hall isn't 8 m long.")
    )
