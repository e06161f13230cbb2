"""What a text is about, and what it names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.index.names import find_mentions, name_words, subjects_of
from tests.rows import check_rows


@check_rows(
    ("text", "key"),
    [
        ("Biscuit is my dog.", "biscuit"),
        ("The Humaya River is a river in Mexico.", "humaya river"),
        ("Jesse Edward Hobson (May 2, 1911 \u2013 1970) was a director.", "jesse hobson"),
        ("Sir Elton Hercules John (born 1947) is a singer.", "elton john"),
        ("Allqamari (also spelled \u201cAlcamari\u201d) is a mountain.", "allqamari"),
        ("Letto a tre piazze is a 1960 comedy film.", "letto tre piazze"),
        ("Nathan \u201cNate\u201d Watt (April 6, 1889) was a director.", "nate watt"),
        ("Our garden\nWe planted beans and peas this year.", "garden"),
        ("Ri\u010dardas Nekrio\u0161ius (born 1986) is a canoeist.", "ricardas nekriosius"),
    ],
)
def test_a_text_says_what_it_is_about(text: str, key: str) -> None:
    assert key in subjects_of(text)


@pytest.mark.parametrize(
    "text", ["", "I went home.", "it is raining", "Wow! That is great.", "What is that?", "Is it?"]
)
def test_small_talk_is_about_nobody(text: str) -> None:
    assert subjects_of(text) == ()


def test_the_longest_name_is_the_one_that_is_mentioned() -> None:
    known = {"new york": [1], "new york city": [2], "york": [3]}
    assert list(find_mentions("We flew to New York City, then to York.", known)) == ["new york city", "york"]


def test_names_compare_without_accents_possessives_and_initials() -> None:
    assert name_words("Jos\u00e9 A. Garc\u00eda\u2019s") == ["jose", "garcia"]


@given(st.text(max_size=200))
def test_any_text_has_keys_that_are_found_in_themselves(text: str) -> None:
    for key in subjects_of(text):
        assert list(find_mentions(key, {key: [0]}, longest=12)) == [key]
