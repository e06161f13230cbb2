"""Whether a thought adds anything to its prompt, in several languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.index.terms import word_keys
from reveries.monologue.outcomes import find_new_words, is_paraphrase, reason_not_kept

TALK = ("My mother planted the pear tree in our garden in 1984.", "Paul wants to cut it down before winter.")
GERMAN = ("Meine Mutter hat den Birnbaum im Garten gepflanzt.", "Paul will ihn vor dem Winter fällen.")
JAPANESE = ("母は庭に梨の木を植えた。", "兄は冬の前にそれを切りたい。")


@pytest.mark.parametrize(
    ("read", "thought"),
    [
        (TALK, "Before winter Paul is wanting to cut the pear tree, which mother planted in the garden."),
        (TALK, "In 1984 the mother was planting pear trees in gardens."),
        (GERMAN, "Den Birnbaum im Garten hat die Mutter gepflanzt, und Paul will ihn vor dem Winter fällen."),
        (JAPANESE, "母は庭に梨の木を植えた。兄は冬の前にそれを切りたい。"),
        (TALK, "..."),
    ],
)
def test_a_thought_that_only_says_it_in_other_order_is_a_paraphrase(read: tuple[str, ...], thought: str) -> None:
    assert is_paraphrase(thought, read)


@pytest.mark.parametrize(
    ("read", "thought"),
    [
        (
            TALK,
            "If Paul knew that the pear tree is what remains of mother, he might spare a graft instead of the trunk.",
        ),
        (GERMAN, "Vielleicht trauert Paul anders: ein Ableger könnte den Birnbaum der Mutter bewahren."),
        (JAPANESE, "挿し木にすれば母の思い出は残るかもしれないと兄に伝えたい。"),
    ],
)
def test_a_thought_with_words_of_its_own_is_none(read: tuple[str, ...], thought: str) -> None:
    assert not is_paraphrase(thought, read)


def test_a_few_new_words_in_a_long_retelling_do_not_make_it_new() -> None:
    read = ("The harbour office moved its lanterns, ropes, anchors, sails, barrels, ladders, hammers and candles.",) * 2
    retold = (
        "The harbour office moved lanterns and ropes and anchors and sails and barrels and ladders "
        "and hammers and candles"
    )
    assert not is_paraphrase("Quiet evening thunder troubles grandmother.", read)
    assert is_paraphrase(f"{retold} with gentle steady courage.", [*read, "It was gentle."])


def test_what_was_thought_before_is_not_new_the_second_time_and_the_log_says_which() -> None:
    thought = "A graft of the pear tree could comfort them both through winter evenings."
    assert reason_not_kept(thought, TALK, ()) == ""
    assert "earlier thoughts" in reason_not_kept(thought, TALK, (thought,))
    assert "had read" in reason_not_kept(TALK[0], TALK, (thought,))


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=5))
def test_any_text_can_be_compared_and_nothing_is_new_to_itself(thought: str, read: list[str]) -> None:
    assert not find_new_words(thought, [*read, thought])
    assert is_paraphrase(thought, [*read, thought])
    assert find_new_words(thought, read) <= word_keys(thought)
