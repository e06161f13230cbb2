"""`reveries import`: what is in a file is shown, and stored when the owner says so."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.client.past.turns import split_batches
from reveries.config import Home
from reveries.protocol import Import, ImportedTurn, encode
from tests.client.command_line import in_terminal, reveries
from tests.fakes.daemon import Script, awake_in_thread

_GOOD = '{"time": "2025-03-04T14:02:00+00:00", "speaker": "Ada", "text": "Good morning"}'

_BROKEN = [
    ("not json", "it is not JSON"),
    ('{"time": "2025-03-04"', "it is not JSON"),
    ("[1, 2]", "it is not a JSON object"),
    ('{"speaker": "Ada", "text": "x"}', '"time" is missing'),
    ('{"time": "2025-03-04", "speaker": "Ada"}', '"text" is missing'),
    ('{"time": "yesterday", "speaker": "Ada", "text": "x"}', "\"time\" is 'yesterday', which is not an ISO 8601 time"),
    ('{"time": 17, "speaker": "Ada", "text": "x"}', '"time" is not a string'),
    ('{"time": "2025-03-04", "speaker": "", "text": "x"}', '"speaker" is empty'),
    ('{"time": "2025-03-04", "speaker": "Ada", "text": ' + "[" * 5000 + "]" * 5000 + "}", "it is not JSON"),
]


def test_broken_lines_are_named_and_the_others_are_stored(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    long_name = '{"time": "2025-03-04", "speaker": "' + "A" * 300 + '", "text": "x"}'
    file.write_text("\n".join([_GOOD, *(line for line, _ in _BROKEN), long_name, _GOOD.replace("Good", "God")]))
    with awake_in_thread(home) as fake:
        preview = json.loads(reveries(home, "import", str(file), "--dry-run", "--json").out)
        assert fake.received == []
        ran = reveries(home, "import", str(file), "--yes")
    assert [turn.text for turn in fake.imported] == ["Good morning", "God morning"]
    for number, (_, reason) in enumerate(_BROKEN, 2):
        assert preview["unread"][number - 2].startswith(f"line {number}: {reason}")
    assert "the name has 300 characters" in preview["unread"][-1]
    assert "line 2: it is not JSON" in ran.err


def test_a_file_that_is_not_there_ends_with_66(home: Home, tmp_path: Path) -> None:
    ran = reveries(home, "import", str(tmp_path / "none.jsonl"))
    assert ran.code == 66
    assert ran.err == (
        f"reveries: The file {tmp_path / 'none.jsonl'} cannot be read: No such file or directory. "
        "Check its name and its permissions.\n"
    )


def test_an_empty_file_is_told_what_a_line_looks_like(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\n\n")
    ran = reveries(home, "import", str(file))
    assert ran.code == 65
    assert '{"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}' in ran.err


def test_what_is_in_the_file_is_shown_and_nothing_is_stored_before_the_owner_agrees(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "chat.txt"
    file.write_text(
        "31.12.2025 klo 14.05 - Ana: hi\n31.12.2025 klo 14.07 - Ben: hello\n31.12.2025 klo 14.08 - Ana: x\n"
    )
    with awake_in_thread(home) as fake:
        shown = reveries(home, "import", str(file), "--dry-run")
        unasked = reveries(home, "import", str(file))
        refused, _ = in_terminal(home, [(b"is you?", b"Ana\n"), (b"Store this?", b"n\n")], "import", str(file))
        assert fake.received == []
        _, code = in_terminal(home, [(b"is you?", b"Ana\n"), (b"Store this?", b"y\n")], "import", str(file))
    for words in ("WhatsApp chat: 3 turns", "from 2025-12-31 14:05 to 2025-12-31 14:08", "Ana", "Nobody in this file"):
        assert words in shown.out
    assert unasked.code == 2
    assert "--dry-run" in unasked.err
    assert b"you (you chose it)" in refused
    assert code == 0
    assert [(turn.speaker, turn.author) for turn in fake.imported] == [
        ("Ana", "owner"), ("Ben", "other"), ("Ana", "owner"),
    ]  # fmt: skip


def test_importing_twice_stores_nothing_twice(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\n".join(_GOOD.replace("Good", f"Good{number}") for number in range(1203)))
    with awake_in_thread(home) as fake:
        first = reveries(home, "import", str(file), "--yes")
        sent = [request for request in fake.received if isinstance(request, Import)]
        second = reveries(home, "import", str(file), "--yes", "--json")
    assert first.out.startswith("Stored 1,203 turns, 0 were already known.")
    assert json.loads(second.out) == {"stored": 0, "known_already": 1203, "episodes": 2, "erased": 0}
    assert [len(request.turns) for request in sent] == [500, 500, 203]
    assert [request.is_last for request in sent] == [False, False, True]
    assert {request.source for request in sent} == {"past.jsonl"}
    assert [turn.text for turn in fake.imported] == [f"Good{number} morning" for number in range(1203)]


@pytest.mark.requirement("R-173")
def test_it_is_told_how_many_lines_were_not_taken_in_because_the_owner_had_erased_them(
    home: Home, tmp_path: Path
) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\n".join(_GOOD.replace("Good", f"Good{number}") for number in range(4)))
    with awake_in_thread(home, Script(erased=frozenset({"Good1 morning", "Good2 morning"}))):
        ran = reveries(home, "import", str(file), "--yes")
    with awake_in_thread(home, Script(erased=frozenset({"Good1 morning"}))):
        told = reveries(home, "import", str(file), "--yes", "--json")
    assert "Stored 2 turns, 0 were already known." in ran.out
    assert "2 turns were not imported: you had erased them, or words in them." in " ".join(ran.out.split())
    assert json.loads(told.out)["erased"] == 1


def test_a_mind_that_goes_away_says_how_much_was_stored(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\n".join([_GOOD] * 10))
    with awake_in_thread(home, Script(dies_on="Import")):
        ran = reveries(home, "import", str(file), "--yes")
    assert ran.code == 76
    assert "0 of 10 turns" in ran.err
    assert "Nothing is stored twice" in ran.err


@given(st.lists(st.integers(1, 900_000), max_size=30))
def test_batches_keep_order_and_fit_into_a_frame(sizes: list[int]) -> None:
    turns = [ImportedTurn(float(place), "Ada", "x" * size) for place, size in enumerate(sizes)]
    parts = split_batches(turns)
    assert [turn for part in parts for turn in part] == turns
    for part in parts:
        assert len(part) <= 500
        assert len(part) == 1 or sum(len(turn.text) for turn in part) < 1_000_000
        encode(Import(1, "x", part, False))
