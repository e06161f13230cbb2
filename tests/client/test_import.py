"""`reveries import`: the whole file is checked before anything is sent."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.client.import_file import read_conversation, split_batches
from reveries.config import Home
from reveries.errors import InputDataError
from reveries.protocol import Import, ImportedTurn, encode
from tests.client.command_line import reveries
from tests.fakes.daemon import Script, awake_in_thread

_GOOD = '{"time": "2025-03-04T14:02:00+00:00", "speaker": "Ada", "text": "Good morning"}'

_BROKEN = [
    ("not json", "it is not JSON"),
    ('{"time": "2025-03-04"', "it is not JSON"),
    ("[1, 2]", "it is not a JSON object"),
    ('{"speaker": "Ada", "text": "x"}', '"time" is missing'),
    ('{"time": "2025-03-04", "text": "x"}', '"speaker" is missing'),
    ('{"time": "2025-03-04", "speaker": "Ada"}', '"text" is missing'),
    ('{"time": "yesterday", "speaker": "Ada", "text": "x"}', "\"time\" is 'yesterday', which is not an ISO 8601 time"),
    ('{"time": 17, "speaker": "Ada", "text": "x"}', '"time" is not a string'),
    ('{"time": "2025-03-04", "speaker": "", "text": "x"}', '"speaker" is empty'),
    ('{"time": "2025-03-04", "speaker": "Ada", "text": "  "}', '"text" is empty'),
    ('{"time": "2025-03-04", "speaker": "' + "A" * 300 + '", "text": "x"}', '"speaker" has 300 characters'),
    ('{"time": "2025-03-04", "speaker": "Ada", "text": ' + "[" * 5000 + "]" * 5000 + "}", "it is not JSON"),
]


@pytest.mark.parametrize(("line", "told"), _BROKEN)
def test_a_broken_line_3_is_named_and_nothing_is_sent(home: Home, tmp_path: Path, line: str, told: str) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text(f"{_GOOD}\n{_GOOD}\n{line}\n{_GOOD}\n")
    with awake_in_thread(home) as fake:
        ran = reveries(home, "import", str(file))
        assert fake.received == []
    assert ran.code == 65
    assert ran.err.startswith(f"reveries: {file} line 3: {told}")
    assert "Nothing was imported." in ran.err
    assert '{"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"}' in ran.err
    assert len(ran.err.splitlines()) == 1


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_bytes(_GOOD.encode() + b'\n{"time": "2025-03-04", "speaker": "A", "text": "\xff"}\n')
    with pytest.raises(InputDataError, match="line 2"):
        read_conversation(file)


def test_a_file_that_is_not_there_ends_with_66(home: Home, tmp_path: Path) -> None:
    ran = reveries(home, "import", str(tmp_path / "none.jsonl"))
    assert ran.code == 66
    assert ran.err == (
        f"reveries: The file {tmp_path / 'none.jsonl'} cannot be read: No such file or directory. "
        "Check its name and its permissions.\n"
    )


def test_an_empty_file_is_told_what_a_line_looks_like(tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\n\n")
    with pytest.raises(InputDataError, match="is empty"):
        read_conversation(file)


def test_a_naive_time_is_local_and_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\ufeff" + _GOOD + "\r\n\r\n" + _GOOD.replace("+00:00", "Z"))
    turns = read_conversation(file)
    assert [turn.said_at for turn in turns] == [1741096920.0, 1741096920.0]


def test_importing_twice_stores_nothing_twice(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\n".join(_GOOD.replace("Good", f"Good{number}") for number in range(1203)))
    with awake_in_thread(home) as fake:
        first = reveries(home, "import", str(file))
        sent = [request for request in fake.received if isinstance(request, Import)]
        second = reveries(home, "import", str(file), "--json")
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
        ran = reveries(home, "import", str(file))
    with awake_in_thread(home, Script(erased=frozenset({"Good1 morning"}))):
        told = reveries(home, "import", str(file), "--json")
    assert "Stored 2 turns, 0 were already known." in ran.out
    assert "2 turns were not imported: you had erased them, or words in them." in " ".join(ran.out.split())
    assert json.loads(told.out)["erased"] == 1


def test_a_mind_that_goes_away_says_how_much_was_stored(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "past.jsonl"
    file.write_text("\n".join([_GOOD] * 10))
    with awake_in_thread(home, Script(dies_on="Import")):
        ran = reveries(home, "import", str(file))
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
