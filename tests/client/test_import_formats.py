"""What other programs export is read; what is hostile in it ends with a sentence."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.client.import_formats import read_turns
from reveries.errors import InputDataError, InputFileError, ReveriesError

NOW = 1_790_000_000.0


def message(role: str, text: str, at: float | None) -> dict[str, object]:
    return {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, "create_time": at}


CHATGPT = [
    {
        "title": "The wall",
        "create_time": 1_700_000_000.0,
        "current_node": "d",
        "mapping": {
            "a": {"id": "a", "parent": None, "message": None, "children": ["s"]},
            "s": {"id": "s", "parent": "a", "message": message("system", "Be good.", None)},
            "b": {"id": "b", "parent": "s", "message": message("user", "How high is the wall?", 1_700_000_001.0)},
            "x": {"id": "x", "parent": "b", "message": message("assistant", "A branch not taken.", 1_700_000_002.0)},
            "c": {"id": "c", "parent": "b", "message": message("assistant", "Two metres.", 1_700_000_003.0)},
            "t": {"id": "t", "parent": "c", "message": message("tool", "beep", 1_700_000_004.0)},
            "d": {"id": "d", "parent": "t", "message": message("user", "Thank you.", None)},
        },
    }
]
CLAUDE = [
    {
        "name": "The bees",
        "chat_messages": [
            {"sender": "human", "text": "How are the bees?", "created_at": "2024-05-01T10:00:00Z"},
            {
                "sender": "assistant",
                "text": "",
                "content": [{"type": "text", "text": "They are well."}, {"type": "tool_use", "name": "x"}],
                "created_at": "2024-05-01T10:00:05.123456Z",
            },
        ],
    }
]


def written(folder: Path, name: str, content: object) -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return file


def zipped(name: str, content: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        # A set date: the same bytes whenever they are made.
        archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


@pytest.mark.requirement("F12")
def test_chatgpt_is_read_along_the_branch_that_was_shown(tmp_path: Path) -> None:
    turns = read_turns(written(tmp_path, "conversations.json", CHATGPT), "Ana", NOW)
    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("Ana", "How high is the wall?"),
        ("ChatGPT", "Two metres."),
        ("Ana", "Thank you."),
    ]
    assert [turn.said_at for turn in turns] == [1_700_000_001.0, 1_700_000_003.0, 1_700_000_004.0]
    packed = written(tmp_path, "export.zip", zipped("chats/conversations.json", json.dumps(CHATGPT).encode()))
    assert read_turns(packed, "Ana", NOW) == turns


@pytest.mark.requirement("F12")
def test_claude_is_read_in_both_its_forms(tmp_path: Path) -> None:
    turns = read_turns(written(tmp_path, "conversations.json", CLAUDE), "Ana", NOW)
    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("Ana", "How are the bees?"),
        ("Claude", "They are well."),
    ]


@pytest.mark.requirement("F12")
def test_a_transcript_is_read_with_its_times_or_without(tmp_path: Path) -> None:
    timed = b"[2024-05-01 10:00] Ana: Good morning\nand good day\n2024-05-01 10:01 Tom: Hello: you\n"
    turns = read_turns(written(tmp_path, "talk.txt", timed), "Ana", NOW)
    assert [(turn.speaker, turn.text) for turn in turns] == [
        ("Ana", "Good morning\nand good day"),
        ("Tom", "Hello: you"),
    ]
    assert turns[1].said_at - turns[0].said_at == 60.0
    untimed = read_turns(written(tmp_path, "talk.md", b"**Ana**: Hi\nTom: Hi\n"), "Ana", NOW)
    assert [turn.said_at for turn in untimed] == [NOW - 30.0, NOW]


@pytest.mark.requirement("F12")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"[" * 200_000),
        ("a.json", b'[{"mapping": ' + b'{"a":' * 100_000),
        ("a.json", b"[1, 2]"),
        ("a.json", b"[{}]"),
        ("a.json", [{"mapping": {"a": 7, "b": {"message": 7}}, "current_node": 7}]),
        ("a.json", [{"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}, "current_node": "a"}]),
        ("a.json", [{"chat_messages": [7]}]),
        ("a.json", [{"chat_messages": [{"sender": "human", "text": "x", "created_at": "soon"}]}]),
        (
            "a.json",
            [{"chat_messages": [{"sender": "human", "text": "x" * 1_000_001, "created_at": "2024-05-01T10:00:00Z"}]}],
        ),
        ("a.zip", b"PK\x03\x04 no archive"),
        ("a.zip", zipped("other.json", b"[]")),
        ("a.zip", zipped("conversations.json", b"[" + b" " * 50_000_000 + b"]")),
        ("a.txt", b"no name here"),
        ("a.txt", b"\xff\xfe\x00"),
        ("a.jsonl", b'{"time": 7}'),
        ("empty.json", b""),
    ],
)
def test_what_is_hostile_or_wrong_ends_with_a_sentence(tmp_path: Path, name: str, content: object) -> None:
    with pytest.raises(InputDataError) as told:
        read_turns(written(tmp_path, name, content), "Ana", NOW)
    assert told.value.advice


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputFileError):
        read_turns(tmp_path / "nowhere.json", "Ana", NOW)


@pytest.mark.requirement("E6")
def test_an_archive_whose_content_is_damaged_is_refused_and_not_a_surprise(tmp_path: Path) -> None:
    raw = bytearray(zipped("conversations.json", json.dumps(CHATGPT).encode() * 3))
    for place in range(len(raw) // 4, len(raw) // 2, 3):
        raw[place] ^= 0x55
    with pytest.raises(ReveriesError, match="unpacked"):
        read_turns(written(tmp_path, "export.zip", bytes(raw)), "Ana", NOW)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "mapping",
                        "chat_messages",
                        "message",
                        "author",
                        "content",
                        "parts",
                        "sender",
                        "text",
                        "created_at",
                        "parent",
                        "current_node",
                        "role",
                        "a",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_shape_of_json_is_more_than_refused(tmp_path_factory: pytest.TempPathFactory, shape: object) -> None:
    file = written(tmp_path_factory.mktemp("f"), "conversations.json", [shape])
    refusal = ""
    try:
        turns = read_turns(file, "Ana", NOW)
    except ReveriesError as error:
        turns, refusal = [], str(error)
    assert bool(turns) != (str(file) in refusal)
    assert all(turn.text.strip() for turn in turns)
