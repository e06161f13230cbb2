"""What other programs export is read as it was talked; what is hostile in it ends with a sentence."""

import io
import json
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.client.past.chatgpt import clean_marks
from reveries.client.past.parsed import ExportForm, ParsedFile, PastMessage, read_words
from reveries.client.past.people import Author, Names, author_of, iterate_messages
from reveries.client.past.readers import read_past_file
from reveries.client.past.turns import make_turns
from reveries.errors import InputDataError, InputFileError, ReveriesError
from tests.client.past.kit import CHOICES, write_file

Json = dict[str, object]


def message(role: str, content: object, at: float | None, **more: object) -> Json:
    parts = content if isinstance(content, list) else [content]
    kind = more.pop("content_type", "text")
    return {"author": {"role": role}, "content": {"content_type": kind, "parts": parts}, "create_time": at} | more


def chatgpt(title: str, *messages: Json, current: int | None = None) -> Json:
    """One conversation; a message with `parent` is a branch of that one."""
    mapping: dict[str, Json] = {"root": {"id": "root", "parent": None, "message": None}}
    for place, entry in enumerate(messages):
        parent = entry.pop("parent", place - 1)
        name = "root" if parent == -1 else f"{title}{parent}"
        mapping[f"{title}{place}"] = {"id": f"{title}{place}", "parent": name, "message": entry}
    last = len(messages) - 1 if current is None else current
    return {"title": title, "create_time": 1_700_000_000.0, "mapping": mapping, "current_node": f"{title}{last}"}


WALL = chatgpt(
    "The wall",
    message("system", "Be good.", None),
    message("user", "How high is the wall?", 1_700_000_001.0),
    message("assistant", "A branch that was replaced.", 1_700_000_002.0),
    message("assistant", "Two metres.", 1_700_000_003.0, parent=1),
    message("tool", "beep", 1_700_000_004.0),
    message("user", "Thank you.", None),
)


def zipped(*files: tuple[str, object]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            # A set date: the same bytes whenever they are made.
            archive.writestr(zipfile.ZipInfo(name), raw, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def read(folder: Path, content: object, name: str = "conversations.json") -> ParsedFile:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return read_past_file(write_file(folder, name, raw), CHOICES)


def told(parsed: ParsedFile) -> list[tuple[str, str]]:
    """Sender ("me" for the holder of the account) and text of each message."""
    return [("me" if entry.is_holder else entry.sender, entry.text) for entry in iterate_messages(parsed)]


@pytest.mark.requirement("F12")
def test_of_chatgpt_the_branch_that_is_shown_is_read(tmp_path: Path) -> None:
    parsed = read(tmp_path, [WALL])
    assert told(parsed) == [("me", "How high is the wall?"), ("ChatGPT", "Two metres."), ("me", "Thank you.")]
    assert [entry.said_at for entry in iterate_messages(parsed)] == [1_700_000_001.0, 1_700_000_003.0, 1_700_000_004.0]
    assert parsed.left_out["messages of branches that were replaced"] == 1
    assert told(read(tmp_path, WALL)) == told(parsed)


@pytest.mark.requirement("F12")
def test_an_export_of_chatgpt_in_numbered_parts_is_read_whole(tmp_path: Path) -> None:
    other = chatgpt("Bees", message("user", "Are bees awake?", 1_700_100_000.0))
    raw = zipped(
        ("conversations-000.json", [WALL]), ("conversations-001.json", [other]), ("user.json", {}),
        ("message_feedback.json", []), ("chat.html", b"<html>"),
    )  # fmt: skip
    parsed = read(tmp_path, raw, "export.zip")
    assert [conversation.title for conversation in parsed.conversations] == ["The wall", "Bees"]
    assert told(parsed)[-1] == ("me", "Are bees awake?")


def test_what_nobody_said_in_chatgpt_is_not_in_the_owners_mouth(tmp_path: Path) -> None:
    entity = '\ue200entity\ue202["ship","Sole","a boat"]\ue201'
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    parsed = read(
        tmp_path,
        [
            chatgpt(
                "Boat",
                message("user", "profile", None, content_type="user_editable_context"),
                message("user", "What is its name?", 10.0, metadata={"attachments": [{"name": "boat.pdf"}]}),
                message("user", "a reminder that nobody saw", 11.0, **hidden),
                message("assistant", "hm", 12.0, content_type="thoughts"),
                message("assistant", '{"q": "boat"}', 13.0, recipient="web.run"),
                message("assistant", f"It is {entity} \ue200cite\ue202t0\ue201.", 14.0),
            )
        ],
    )  # fmt: skip
    assert told(parsed) == [("me", "What is its name?\n(attached: boat.pdf)"), ("ChatGPT", "It is Sole.")]


def test_what_was_spoken_to_chatgpt_is_read(tmp_path: Path) -> None:
    spoken = [{"content_type": "audio_transcription", "text": "Lena may not have nuts.", "direction": "in"}, {"x": 1}]
    parsed = read(tmp_path, [chatgpt("Voice", message("user", spoken, 10.0, content_type="multimodal_text"))])
    assert told(parsed) == [("me", "Lena may not have nuts.")]


def test_a_conversation_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    parsed = read(tmp_path, [{"title": "Broken"}, 7, WALL])
    assert len(told(parsed)) == 3
    assert [entry.partition(":")[2] for entry in parsed.unread] == [
        " conversation 1 ('Broken'): it has no messages (\"mapping\")",
        ' conversation 2: it has no messages ("mapping")',
    ]


@given(st.lists(st.text("abc .\n", max_size=8), min_size=1, max_size=6))
def test_a_citation_of_chatgpt_goes_and_the_words_around_it_stay(pieces: list[str]) -> None:
    assert (
        clean_marks("\ue200cite\ue202turn0search1\ue201".join(pieces)).split() == clean_marks("".join(pieces)).split()
    )


SPACES = f"a{' ' * 60_000}b"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("conversations.json", [chatgpt("t", message("user", SPACES, 1_700_000_000.0))]),
        ("conversations.json", [chatgpt("t", message("user", "【1†" * 30_000, 1_700_000_000.0))]),
        ("chat.txt", f"12.03.25, 10:00 - Ana: {SPACES}\n12.03.25, 10:01 - Ben: Hm\n".encode()),
        (
            "chat.json",
            [{
                "models": ["m"],
                "messages": [{"role": "user", "content": '<details type="a">' * 9000, "timestamp": 1_700_000_000}],
            }],
        ),
    ],
)  # fmt: skip
def test_a_long_message_is_read_in_a_moment(tmp_path: Path, name: str, content: object) -> None:
    began = time.perf_counter()
    assert told(read(tmp_path, content, name))
    assert time.perf_counter() - began < 4.0, "it took a minute"


def claude_message(number: int, parent: int, sender: str, text: str, **more: object) -> Json:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}] if text else []
    return {
        "uuid": f"m{number}", "parent_message_uuid": f"m{parent}", "sender": sender, "text": text and "not supported",
        "content": blocks, "created_at": f"2026-03-01T10:{number:02}:00Z",
    } | more  # fmt: skip


@pytest.mark.requirement("F12")
def test_of_claude_the_live_branch_is_read_and_what_was_pasted_is_kept(tmp_path: Path) -> None:
    pasted = [{"file_name": "rent.txt", "extracted_content": "The rent is 700."}]
    parsed = read(
        tmp_path,
        [
            {
                "uuid": "c", "name": "Flat",
                "chat_messages": [
                    claude_message(1, 0, "human", "", attachments=pasted),
                    claude_message(2, 1, "assistant", "It is 700."),
                    claude_message(3, 2, "human", "I move in May."),
                    claude_message(4, 3, "assistant", "May."),
                    claude_message(5, 2, "human", "I move in June."),
                    claude_message(6, 5, "assistant", "June."),
                ],
            },
            {"uuid": "d", "name": "", "chat_messages": []},
        ],
    )  # fmt: skip
    assert told(parsed) == [
        ("rent.txt", "The rent is 700."), ("Claude", "It is 700."), ("me", "I move in June."), ("Claude", "June."),
    ]  # fmt: skip
    assert [entry.is_attached for entry in iterate_messages(parsed)] == [True, False, False, False]


BEES = {
    "name": "The bees",
    "chat_messages": [
        {"sender": "human", "text": "How are the bees?", "created_at": "2024-05-01T10:00:00Z"},
        {"sender": "assistant", "text": "Well.", "created_at": "2024-05-01T10:00:05.123456Z"},
        {"sender": "human", "text": "Good", "created_at": "soon"},
    ],
}


@pytest.mark.requirement("F12")
def test_older_exports_of_claude_are_read_in_their_order(tmp_path: Path) -> None:
    parsed = read(tmp_path, [BEES])
    assert told(parsed) == [("me", "How are the bees?"), ("Claude", "Well.")]
    assert parsed.unread == ["a message of 'The bees': it has no time"]


def test_of_open_webui_the_branch_that_is_shown_is_read_without_its_reasoning(tmp_path: Path) -> None:
    nodes = {
        "a": {"id": "a", "parentId": None, "role": "user", "content": "My cat is Miso.", "timestamp": 1_700_000_000},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "no", "timestamp": 1_700_000_001},
        "c": {
            "id": "c", "parentId": "a", "role": "assistant", "model": "qwen3", "timestamp": 1_700_000_002,
            "content": '<details type="reasoning" done="true">\nhm\n</details>\nHello Miso.',
        },
    }  # fmt: skip
    chat = {"id": "s", "title": "t", "chat": {"models": ["qwen3"], "history": {"currentId": "c", "messages": nodes}}}
    parsed = read(tmp_path, [chat], "chat-export.json")
    assert told(parsed) == [("me", "My cat is Miso."), ("qwen3", "Hello Miso.")]
    assert parsed.assistants == {"qwen3"}


def telegram_message(number: int, sender: str, sender_id: str, text: object, **more: object) -> Json:
    return {
        "id": number, "type": "message", "date_unixtime": str(1_767_261_600 + 60 * number), "from": sender,
        "from_id": sender_id, "text": text,
    } | more  # fmt: skip


PAIR = {
    "name": "Ben",
    "type": "personal_chat",
    "id": 7,
    "messages": [
        {"id": 1, "type": "service", "date_unixtime": "1767261600", "actor": "Ben", "action": "phone_call"},
        telegram_message(2, "Ben", "user7", ["see ", {"type": "link", "text": "https://example.org"}]),
        telegram_message(3, "Ana", "user9", "I am allergic to bees", forwarded_from="Health news"),
        telegram_message(4, "Ana", "user9", "Nice"),
        telegram_message(5, "Ana", "user9", "", media_type="sticker"),
    ],
}


def test_in_a_telegram_chat_of_two_the_one_it_is_not_named_after_is_the_owner(tmp_path: Path) -> None:
    parsed = read(tmp_path, PAIR, "result.json")
    assert told(parsed) == [
        ("Ben", "see https://example.org"),
        ("Health news (forwarded by Ana)", "I am allergic to bees"),
        ("me", "Nice"),
    ]
    assert sum(parsed.left_out.values()) == 2


def test_a_telegram_message_has_its_moment_wherever_it_was_exported(tmp_path: Path) -> None:
    """`date` is the local time of the machine that wrote the file."""
    message = telegram_message(4, "Ana", "user9", "Nice", date="2026-01-02T03:04:00")
    [read_message] = iterate_messages(read(tmp_path, PAIR | {"messages": [message]}, "result.json"))
    assert read_message.said_at == 1_767_261_600.0 + 240.0


def test_a_whole_export_of_telegram_names_its_owner_and_keeps_two_of_one_name_apart(tmp_path: Path) -> None:
    group = {
        "name": "Trip", "type": "private_group", "id": 8,
        "messages": [telegram_message(1, "Ben", "user7", "Hi"), telegram_message(2, "Ben", "user77", "Hi too")],
    }  # fmt: skip
    parsed = read(tmp_path, {"personal_information": {"user_id": 9}, "chats": {"list": [PAIR, group]}}, "result.json")
    assert told(parsed)[2:] == [("me", "Nice"), ("Ben (user7)", "Hi"), ("Ben (user77)", "Hi too")]


def instagram_thread(other: str, *texts: tuple[str, str]) -> Json:
    newest_first = [
        {"sender_name": sender, "timestamp_ms": 1_700_000_000_000 + place, "content": text}
        for place, (sender, text) in enumerate(texts)
    ][::-1]
    names = [{"name": other}, {"name": "ZoÃ«"}]
    return {"participants": names, "messages": newest_first, "title": other, "thread_path": f"inbox/{other}_1"}


def test_instagram_is_read_in_order_and_with_its_letters(tmp_path: Path) -> None:
    first = instagram_thread(
        "JÃ¼rgen", ("JÃ¼rgen", "GrÃ¼Ã\x9fe ð\x9f\x98\x80"), ("ZoÃ«", "Danke"), ("ZoÃ«", "Liked a message")
    )
    parsed = read(tmp_path, first, "message_1.json")
    assert told(parsed) == [("Jürgen", "Grüße 😀"), ("Zoë", "Danke")]
    second = instagram_thread("Mia", ("Mia", "hey"))
    both = read(tmp_path, zipped(("a/message_1.json", first), ("b/message_1.json", second)), "ig.zip")
    assert told(both) == [("Jürgen", "Grüße 😀"), ("me", "Danke"), ("Mia", "hey")]


def test_signal_as_json_lines_knows_its_owner(tmp_path: Path) -> None:
    lines = [
        {"date": "2026-01-02T10:00:00", "sender": "Me", "body": "Hi"},
        {"date": "2026-01-02T10:01:00", "sender": "Aya", "body": "Hello"},
    ]
    raw = "\n".join(map(json.dumps, lines)).encode()
    assert told(read(tmp_path, raw, "data.json")) == [("me", "Hi"), ("Aya", "Hello")]


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
        ("a.json", {"name": "x", "type": "personal_chat", "messages": [7, {"type": "message", "text": [7]}]}),
        ("a.json", {"participants": [7], "messages": [{"sender_name": 7, "timestamp_ms": "x"}]}),
        ("a.zip", b"PK\x03\x04 no archive"),
        ("a.zip", zipped(("other.json", []))),
        ("a.zip", zipped(("conversations.json", b"[" + b" " * 50_000_000 + b"]"))),
        ("a.txt", b"no name here"),
        ("a.txt", b"\xff\xfe\x00"),
        ("a.jsonl", b'{"time": 7}'),
        ("empty.json", b""),
    ],
)
def test_what_is_hostile_or_wrong_ends_with_a_sentence(tmp_path: Path, name: str, content: object) -> None:
    with pytest.raises(InputDataError) as refusal:
        read(tmp_path, content, name)
    assert refusal.value.advice


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputFileError):
        read_past_file(tmp_path / "nowhere.json", CHOICES)


@pytest.mark.requirement("E6")
def test_an_archive_whose_content_is_damaged_is_refused_and_not_a_surprise(tmp_path: Path) -> None:
    raw = bytearray(zipped(("conversations.json", json.dumps([WALL]).encode() * 3)))
    for place in range(len(raw) // 4, len(raw) // 2, 3):
        raw[place] ^= 0x55
    with pytest.raises(ReveriesError, match="unpacked"):
        read(tmp_path, bytes(raw), "export.zip")


_WORDS = read_words(
    "mapping|chat_messages|message|author|content|parts|sender|text|created_at|parent|current_node|role|a|type|messages|"
    "from|date_unixtime|participants|sender_name|timestamp_ms|history|chat|timestamp|uuid|parent_message_uuid|body|date"
)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(_WORDS)), inner, max_size=4),
        max_leaves=12,
    ),
    st.booleans(),
)
def test_no_shape_of_json_is_more_than_refused(
    tmp_path_factory: pytest.TempPathFactory, shape: object, is_alone: bool
) -> None:
    file = write_file(tmp_path_factory.mktemp("f"), "conversations.json", json.dumps(shape if is_alone else [shape]))
    refusal, messages = "", list[PastMessage]()
    try:
        messages = list(iterate_messages(read_past_file(file, CHOICES)))
    except ReveriesError as error:
        refusal = str(error)
    assert bool(messages) != (str(file) in refusal)
    assert all(entry.text.strip() for entry in messages)


def test_of_claude_the_branch_that_the_owner_went_back_to_is_read(tmp_path: Path) -> None:
    first, second = ({"uuid": str(n), "parent_message_uuid": "0", "sender": "human", "text": f"Try {n}",
                      "created_at": f"2026-01-01T10:0{n}:00Z"} for n in (1, 2))  # fmt: skip
    root = {"uuid": "0", "sender": "human", "text": "Hello", "created_at": "2026-01-01T10:00:00Z"}
    talk = {"name": "t", "chat_messages": [root, first, second], "current_leaf_message_uuid": "1"}
    assert told(read(tmp_path, [talk])) == [("me", "Hello"), ("me", "Try 1")]


def test_a_file_with_the_owners_name_does_not_hold_the_owners_words() -> None:
    parsed = ParsedFile(ExportForm.CLAUDE)
    attached = PastMessage("Ana", "Obey me.", 1.7e9, ("x",), is_attached=True)
    for me in (None, "Ana"):
        assert author_of(attached, parsed, Names("Ana", "Reverie", me)) == (Author.ATTACHED, None)


def test_the_same_words_twice_in_a_minute_are_two_turns(tmp_path: Path) -> None:
    parsed = read(tmp_path, b"12.03.25, 10:00 - Ana: ok\n12.03.25, 10:00 - Ana: ok\n", "chat.txt")
    assert len({turn.key for turn in make_turns(parsed, Names("Ana", "Reverie"))}) == 2


def test_the_same_words_in_the_same_minute_of_two_chats_are_two_turns_and_a_grown_file_adds_only_its_end(
    tmp_path: Path,
) -> None:
    def keys(text: str, name: str) -> list[object]:
        return [turn.key for turn in make_turns(read(tmp_path, text.encode(), name), Names("Ana", "Reverie"))]

    ben = "12.03.25, 09:59 - Ben: Coming?\n12.03.25, 10:00 - Ana: ok\n12.03.25, 10:00 - Ana: ok\n"
    eva = "12.03.25, 10:00 - Eva: Tea?\n12.03.25, 10:00 - Ana: ok\n"
    assert not set(keys(ben, "WhatsApp Chat with Ben.txt")) & set(keys(eva, "WhatsApp Chat with Eva.txt"))
    grown = keys(f"{ben}13.03.25, 08:00 - Ben: Morning\n", "WhatsApp Chat with Ben (1).txt")
    assert grown[:3] == keys(ben, "chat.txt")
    assert len(set(grown)) == 4


def test_what_chatgpt_was_told_about_its_user_is_not_said_by_the_user(tmp_path: Path) -> None:
    profile = message("user", "I like short answers", 1_700_000_000.0, metadata={"is_user_system_message": True})
    parsed = read(tmp_path, [chatgpt("t", profile, message("user", "Hello", 1_700_000_001.0))])
    assert told(parsed) == [("me", "Hello")]


def test_half_an_emoji_costs_no_conversation(tmp_path: Path) -> None:
    """A title that was cut within an emoji is JSON to most programs; the whole export was refused for it."""
    export = json.dumps([chatgpt("The cut \ud83d", message("user", "How \ud83d\ude00 high?", 1_700_000_001.0))])
    [turn] = make_turns(
        read_past_file(write_file(tmp_path, "conversations.json", export), CHOICES), Names("", "Reverie")
    )
    assert (turn.text, turn.author) == ("How \U0001f600 high?", "owner")


def test_entries_may_stand_in_a_list(tmp_path: Path) -> None:
    entries = [
        {"time": "2025-03-04T14:02:00", "speaker": "Ada", "text": "Good morning"},
        {"speaker": "Bo", "text": "?"},
    ]
    parsed = read_past_file(write_file(tmp_path, "talk.json", json.dumps(entries)), CHOICES)
    assert [message.text for message in iterate_messages(parsed)] == ["Good morning"]
    assert parsed.unread == ['entry 2: "time" is missing']


@pytest.mark.parametrize("written", ["2199-01-01T10:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_message_of_a_time_that_cannot_be_is_named_and_not_stored(tmp_path: Path, written: str) -> None:
    """Such a time ended every later look at it in an error."""
    entries = [{"time": at, "speaker": "Ada", "text": at} for at in (written, "1955-03-04T14:02:00")]
    parsed = read_past_file(write_file(tmp_path, "talk.json", json.dumps(entries)), CHOICES)
    assert [message.text for message in iterate_messages(parsed)] == ["1955-03-04T14:02:00"]
    [unread] = parsed.unread
    assert unread.startswith("a message of Ada")
