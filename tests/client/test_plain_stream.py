"""Text that comes in pieces is made plain as if it had come whole."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.safe_text import PlainStream, plain

_GRAMMAR = st.sampled_from(
    [
        "\x1b",
        "[",
        "]",
        "\x9b",
        "\x9d",
        "P",
        "31",
        ";",
        "m",
        "\x07",
        "\\",
        "\x9c",
        " ",
        "a",
        "é",
        "\n",
        "\r",
        "\u202e",
        "\ud800",
    ]
)


@pytest.mark.requirement("F5")
@given(st.lists(_GRAMMAR, max_size=40), st.lists(st.integers(0, 60), max_size=8))
def test_any_split_gives_the_same_text(symbols: list[str], cuts: list[int]) -> None:
    text = "".join(symbols)
    places = sorted({min(cut, len(text)) for cut in cuts})
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    stream = PlainStream()
    shown = "".join([stream.feed(piece) for piece in pieces] + [stream.finish()])
    assert shown == plain(text)


@given(st.text())
def test_no_control_gets_through(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", plain(text))


def test_an_escape_that_is_not_finished_is_held_back() -> None:
    stream = PlainStream()
    assert stream.feed("a\x1b]0;evil") == "a"
    assert stream.feed(" title\x07b") == "b"
