"""A needle is found in every one of a hundred thousand texts that contains it: the prefilter loses nothing."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reveries.memory.forgetting.needles import QUOTE_WORDS, Needle, Sieve, quote_runs, word_runs

_CHARS = "aAiIkKsSßẞſKİıéÉe\u0301öÖoо́ςΣσ'\"’ \\nrt-_7#.\n"
_words = st.text(_CHARS, min_size=1, max_size=12)


def closely(needle: Needle, text: str) -> bool:
    """Return the result of the needle without its prefilter."""
    found = needle.pattern is not None and needle.pattern.search(text) is not None
    return found or not needle.quotes.isdisjoint(word_runs(text, QUOTE_WORDS))


@pytest.mark.requirement("F10")
@given(
    st.sampled_from(["words", "names"]), _words, st.lists(_words, max_size=40), st.text(_CHARS, max_size=60), st.data()
)
@example("words", "wint", [], "x WİNT y", None)
@example("words", "ı77", [], "I77", None)
@example("names", "kiss", [], "a Kıſs b", None)
@example("names", "anna", ["x"] * 40, "said\\nAnna.", None)
def test_the_sieve_passes_all_that_a_close_look_finds(
    how: str, words: str, others: list[str], around: str, data: st.DataObject | None
) -> None:
    needle = Needle(words=(words,)) if how == "words" else Needle(names=(words, *others))
    forms = [words, words.upper(), words.lower(), words.swapcase(), unicodedata.normalize("NFD", words)]
    form = data.draw(st.sampled_from(forms)) if data is not None else ""
    for text in (around, f"{around}{form}{around}", f"{around} {form} {around}"):
        assert needle(text) == closely(needle, text)


@given(
    st.lists(
        st.sampled_from(["the", "salt", "bread", "boat", "Sole", "Ströme", "eats", "blue", "sea", "wind"]),
        min_size=8,
        max_size=20,
    )
)
def test_a_quote_is_found_whatever_stands_around_it(words: list[str]) -> None:
    needle = Needle(quotes=quote_runs([" ".join(words)]))
    for text in (" ".join(words), f"He said: {' '.join(words).upper()}!", "The boat is blue."):
        assert needle(text) == closely(needle, text)


def test_many_words_are_looked_for_as_words_and_few_as_parts() -> None:
    assert Sieve(["boat"])("my boathouse")
    many = Sieve([f"word{number}" for number in range(100)])
    assert many("here is word7, alone")
    assert not many("here is word700 and none of them")
