"""A model's text is checked against its sources: invented names and numbers are dropped, in several languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.sleep.grounding import find_ungrounded, is_supported, keep_grounded
from tests.rows import check_rows

TALK = "Ana: My brother Paul comes on Saturday at 7. He paid 1,200 euros for the boat.\nReverie: That is a lot."
GERMAN = "Ana: Mein Bruder Paul kommt am Samstag um 7. Er hat 1.200 Euro für das Boot bezahlt, sagte die Mutter."


@pytest.mark.requirement("R-113")
@check_rows(
    ("sentence", "invented"),
    [
        ("Ana's brother Paul comes on Saturday at 7.", ()),
        ("Paul paid 1200 euros for it.", ()),
        ("They talked about Pauls boat.", ()),
        ("Ana talked with her sister Maria about it.", ("Maria",)),
        ("Maria talked with Ana about it.", ("Maria",)),
        ("Paul paid 1300 euros on Sunday.", ("1300", "Sunday")),
        ("However, the brother of Ana comes by boat.", ()),
        ("She said: “Perhaps it rains.”", ()),
        ("Mending the boat by Saturday", ()),
        ("Recovering from her day with Paul", ()),
        ("Repair of the boat", ()),
        ("Beijing pays for the boat.", ("Beijing",)),
        ("Harding told Ana about it.", ("Harding",)),
        ("Planning a trip to Rome with Paul", ("Rome",)),
    ],
)
def test_a_name_or_number_that_nobody_said_is_found(sentence: str, invented: tuple[str, ...]) -> None:
    assert find_ungrounded(sentence, TALK) == invented


@pytest.mark.parametrize(
    ("sentence", "invented"),
    [
        ("Paul kommt mit der Fähre am Samstag.", ()),
        ("Der Bruder hat 1200 Euro bezahlt.", ()),
        ("Der Bruder hat 1500 Euro bezahlt.", ("1500",)),
    ],
)
def test_where_nouns_have_capitals_only_numbers_are_looked_at(sentence: str, invented: tuple[str, ...]) -> None:
    assert find_ungrounded(sentence, GERMAN) == invented


@pytest.mark.parametrize(
    ("sentence", "invented"),
    [
        ("Su hermano Pablo viene el sábado.", ()),
        ("Ella habló con Lucía.", ("Lucía",)),
        ("Viene a las 9.", ("9",)),
    ],
)
def test_names_are_found_in_a_language_without_a_word_list(sentence: str, invented: tuple[str, ...]) -> None:
    assert find_ungrounded(sentence, "Ana: Mi hermano Pablo viene el sábado a las 7.") == invented


def test_numbers_are_the_same_in_all_digits() -> None:
    assert find_ungrounded("彼は７時に来る。", "Ana: 彼は7時に来る。") == ()
    assert find_ungrounded("彼は８時に来る。", "Ana: 彼は7時に来る。") == ("8",)


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("They have 2 children and 21 goats.", "We have two children and twenty-one goats."),
        ("It is on 3 May.", "It is on the third of May."),
        ("Die Kinder sind 13 und 6.", "Die Kinder sind dreizehn und sechs."),
        ("The train leaves at 9:00 for S\u00e3o Paulo.", "the train to sao paulo leaves at 9"),
    ],
)
def test_a_number_said_in_words_and_a_name_typed_without_accents_are_not_invented(sentence: str, source: str) -> None:
    assert find_ungrounded(sentence, source) == ()


def test_only_the_sentence_that_invents_goes() -> None:
    written = "Ana waits for Paul. He brings his friend Oliver. They meet on Saturday at 7."
    assert keep_grounded(written, [TALK]) == "Ana waits for Paul. They meet on Saturday at 7."
    assert keep_grounded("Oliver comes at 8.", [TALK]) == ""


def test_a_fact_that_is_made_of_other_words_than_the_owners_is_not_supported() -> None:
    words = "I just launched an ad campaign for my clothing store."
    assert is_supported("owns a clothing store with an ad campaign", words)
    assert not is_supported("is a software developer who enjoys reading books", words)
    assert not is_supported("", words)


@given(st.text(max_size=300))
def test_what_stands_there_word_for_word_always_stays(text: str) -> None:
    assert all(not find_ungrounded(line, text) for line in text.splitlines())
