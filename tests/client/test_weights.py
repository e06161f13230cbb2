"""What the fetching process says is shown, and what it complains of is passed on."""

import pytest

from reveries.client.weights import pull_model
from reveries.errors import ModelError

_FAKE = "tests.fakes.assets"


def test_pulling_tells_how_far_it_is() -> None:
    moves: list[tuple[str, int, int]] = []
    notes: list[str] = []
    told = pull_model("large", lambda what, done, total: moves.append((what, done, total)), notes.append, _FAKE)
    assert notes == ["mirror: it cannot be reached; trying the next source."]
    assert moves == [("large  w.gguf", 5, 10)]
    assert told == "large is here, from publisher."


@pytest.mark.parametrize(
    ("name", "told"),
    [("broken", "No source has it"), ("silent", "There is no room for it"), ("short", "the fetching ended early")],
)
def test_a_pull_that_fails_says_why(name: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        pull_model(name, lambda what, done, total: None, lambda note: None, _FAKE)
