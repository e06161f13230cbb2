"""What the fetching process says is shown, and what it complains of is passed on."""

import json

import pytest

from reveries.client.progress import progress_bar
from reveries.client.weights import pull_model, pulled_sentence
from reveries.errors import ModelError

_FAKE = "tests.fakes.assets"


def test_pulling_tells_how_far_it_is() -> None:
    moves: list[tuple[str, int, int]] = []
    notes: list[str] = []
    told = pull_model("large", lambda what, done, total: moves.append((what, done, total)), notes.append, _FAKE)
    assert notes == ["mirror: it cannot be reached; trying the next source."]
    assert moves == [("large  w.gguf", 5, 10)]
    assert pulled_sentence(told) == "large is on this machine, from publisher."


@pytest.mark.parametrize(
    ("name", "told"),
    [("broken", "No source has it"), ("silent", "There is no room for it"), ("short", "the download ended early")],
)
def test_a_pull_that_fails_says_why(name: str, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        pull_model(name, lambda what, done, total: None, lambda note: None, _FAKE)


def test_with_json_how_far_it_is_stands_on_stderr_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("large", in_bytes=True, as_json=True) as moved:
        pull_model("large", moved, lambda note: None, _FAKE)
        moved("large  w.gguf", 10, 10)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [json.loads(row) for row in shown.err.splitlines()] == [
        {"doing": "large w.gguf", "done": done, "total": 10, "unit": "bytes"} for done in (5, 10)
    ]


def test_lines_of_progress_do_not_flood_and_hold_nothing_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("importing", as_json=True) as moved:
        for done in range(10_001):
            moved("a\x1b[31mb\u202e", done, 10_000)
    rows = [json.loads(row) for row in capsys.readouterr().err.splitlines()]
    assert len(rows) < 40
    assert (rows[0]["done"], rows[-1]["done"]) == (0, 10_000)
    assert rows[0]["doing"].isprintable()
