"""Of a long text the piece that a question asks for is quoted, in whole words."""

from hypothesis import given
from hypothesis import strategies as st

from reveries.memory.text.quoting import _best_window, quote_around


def test_the_sentence_that_the_question_asks_for_is_quoted_and_the_ends_are_marked() -> None:
    text = f"{'We ate soup. ' * 60}My birthday is on 5 March. {'Then we slept. ' * 60}"
    quote = quote_around(text, "When is my birthday?", 160)
    assert "My birthday is on 5 March." in quote
    assert (quote[0], quote[-1], len(quote) <= 160) == ("…", "…", True)


def test_a_list_without_a_full_stop_is_taken_apart_between_words() -> None:
    text = " ".join(f"item{number}" for number in range(400)) + " birthday 5 March"
    pieces = quote_around(text, "When is the birthday?", 200).strip("… ").split()
    assert set(pieces) <= set(text.split())
    assert pieces[-3:] == ["birthday", "5", "March"]


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(0, 3)), min_size=1, max_size=30), st.integers(1, 300))
def test_no_other_run_of_pieces_that_fits_says_more(pieces: list[tuple[int, int]], limit_chars: int) -> None:
    lengths, weights = [length for length, _ in pieces], [float(weight) for _, weight in pieces]
    first, last = _best_window(lengths, weights, limit_chars)
    assert last == first + 1 or sum(lengths[first:last]) <= limit_chars
    for other in range(len(pieces)):
        for end in range(other + 1, len(pieces) + 1):
            if end == other + 1 or sum(lengths[other:end]) <= limit_chars:
                assert sum(weights[other:end]) <= sum(weights[first:last])
