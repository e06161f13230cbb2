"""The wire: golden bytes that any MessagePack library reads, and a framing that survives every way of being cut."""

import asyncio
import struct
from itertools import pairwise
from typing import Any, Final, get_args

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries import protocol
from reveries.errors import ProtocolError
from reveries.protocol import (
    MAX_FRAME_BYTES,
    Frame,
    Hello,
    Import,
    ImportedTurn,
    Recalled,
    RecalledItem,
    Request,
    Say,
    Search,
    Stored,
    Token,
    Welcome,
    decode_frame,
    decode_request,
    encode,
    read_body,
)

GOLDEN: Final[list[tuple[Request | Frame, str]]] = [
    (Hello(version=1, client="cli"), "0000001d 83 a174 a568656c6c6f a776657273696f6e 01 a6636c69656e74 a3636c69"),
    (
        Say(request_id=7, text="Grüß dich"),
        "00000024 83 a174 a3736179 aa726571756573745f6964 07 a474657874 ab4772c3bcc39f2064696368",
    ),
    (
        Search(request_id=8, query="tea"),
        "00000027 84 a174 a6736561726368 aa726571756573745f6964 08 a57175657279 a3746561 a56c696d6974 0a",
    ),
    (
        Search(request_id=8, query="tea", deep=True),
        "0000002d 85 a174 a6736561726368 aa726571756573745f6964 08 a57175657279 a3746561 a56c696d6974 0a a464656570 c3",
    ),
    (Token(request_id=7, text="Hi"), "0000001d 83 a174 a5746f6b656e aa726571756573745f6964 07 a474657874 a24869"),
    (
        Stored(request_id=7, what="words", turn_id="t1"),
        "0000002c 84 a174 a673746f726564 aa726571756573745f6964 07 a477686174 a5776f726473 a77475726e5f6964 a27431",
    ),
    (
        Welcome(version=1, reveries="0.1", pid=42, mind="Reverie", awake_since=1.5),
        (
            "00000048 86 a174 a777656c636f6d65 a776657273696f6e 01 a87265766572696573 a3302e31 a3706964 2a"
            " a46d696e64 a752657665726965 ab6177616b655f73696e6365 cb3ff8000000000000"
        ),
    ),
]
"""What stands here never changes within a protocol version: clients that others wrote depend on it."""

_ids = st.integers(1, 2**53)
_texts = st.text(min_size=1, max_size=60).filter(lambda text: text.isprintable())
_turns = st.builds(ImportedTurn, said_at=st.floats(0, 2e9), speaker=_texts, text=_texts)
_requests = st.one_of(
    st.builds(Say, request_id=_ids, text=_texts),
    st.builds(Search, request_id=_ids, query=_texts, limit=st.integers(1, 1000)),
    st.builds(Import, request_id=_ids, source=_texts, turns=st.lists(_turns, max_size=4), is_last=st.booleans()),
)
_items = st.builds(
    RecalledItem,
    episode_id=_texts,
    summary=_texts,
    energy=st.floats(0, 10),
    happened_at=st.floats(0, 2e9),
    quote=_texts,
    quote_speaker=_texts,
    was_told=st.booleans(),
)
_frames = st.one_of(
    st.builds(Token, request_id=_ids, text=_texts),
    st.builds(Recalled, request_id=_ids, items=st.lists(_items, max_size=4)),
)


def unpack(packed: bytes) -> Any:
    """A frame's map as another library reads it."""
    (length,) = struct.unpack(">I", packed[:4])
    assert length == len(packed) - 4
    return msgpack.unpackb(packed[4:])


def classes_of(union: object) -> list[type[msgspec.Struct]]:
    return list(get_args(union))


@pytest.mark.requirement("R-11", "R-14")
@pytest.mark.parametrize(("message", "golden"), GOLDEN, ids=lambda value: type(value).__name__)
def test_the_bytes_of_a_message_never_change(message: Request | Frame, golden: str) -> None:
    assert encode(message).hex() == golden.replace(" ", "")


@pytest.mark.requirement("R-14")
def test_a_request_made_with_plain_msgpack_is_understood() -> None:
    body = msgpack.packb({"t": "say", "request_id": 3, "text": "hello"})
    assert decode_request(body) == Say(request_id=3, text="hello")


@pytest.mark.requirement("R-12")
@given(message=_requests)
def test_a_request_survives_the_wire(message: Request) -> None:
    packed = encode(message)
    assert decode_request(packed[4:]) == message
    assert unpack(packed) == msgspec.to_builtins(message)


@pytest.mark.requirement("R-12")
@given(message=_frames)
def test_a_frame_survives_the_wire(message: Frame) -> None:
    packed = encode(message)
    assert decode_frame(packed[4:]) == message
    assert unpack(packed) == msgspec.to_builtins(message)


@given(data=st.data(), messages=st.lists(_requests, min_size=1, max_size=5))
def test_any_split_of_the_byte_stream_gives_the_same_frames(data: st.DataObject, messages: list[Request]) -> None:
    stream = b"".join(encode(message) for message in messages)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    edges = [0, *sorted(cuts), len(stream)]
    pieces = [stream[begin:end] for begin, end in pairwise(edges)]
    assert asyncio.run(received(pieces, len(messages))) == messages


async def received(pieces: list[bytes], count: int) -> list[Request]:
    """What a reader gets while `pieces` arrive one by one."""
    reader = asyncio.StreamReader()

    async def feed() -> None:
        for piece in pieces:
            reader.feed_data(piece)
            await asyncio.sleep(0)
        reader.feed_eof()

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        tasks.create_task(feed(), name="feed")
        found = [decode_request(await read_body(reader)) for _ in range(count)]
        with pytest.raises(asyncio.IncompleteReadError):
            await read_body(reader)
    return found


def reader_of(stream: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(stream)
    reader.feed_eof()
    return reader


@pytest.mark.parametrize("length", [0, MAX_FRAME_BYTES + 1, 2**32 - 1])
async def test_a_length_that_is_not_allowed_is_refused_before_anything_is_read(length: int) -> None:
    with pytest.raises(ProtocolError, match=f"{length} bytes"):
        await read_body(reader_of(struct.pack(">I", length) + b"x" * 64))


async def test_a_stream_that_ends_inside_a_frame_is_no_frame() -> None:
    packed = encode(Say(request_id=1, text="cut"))
    with pytest.raises(asyncio.IncompleteReadError):
        await read_body(reader_of(packed[:-1]))


def test_a_message_that_is_too_large_is_not_sent() -> None:
    turns = [ImportedTurn(said_at=0.0, speaker="a", text="x" * 1_000_000) for _ in range(5)]
    with pytest.raises(ProtocolError, match="larger than"):
        encode(Import(request_id=1, source="s", turns=turns, is_last=True))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (msgpack.packb({"t": "shout", "request_id": 1}), "shout"),
        (msgpack.packb({"request_id": 1}), "t"),
        (msgpack.packb({"t": "say", "request_id": 1}), "text"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": "x", "mood": "odd"}), "mood"),
        (msgpack.packb({"t": "say", "request_id": "1", "text": "x"}), "request_id"),
        (msgpack.packb({"t": "say", "request_id": 0, "text": "x"}), "request_id"),
        (msgpack.packb({"t": "say", "request_id": 2**53 + 1, "text": "x"}), "request_id"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": ""}), "text"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": "x" * 1_000_001}), "text"),
        (msgpack.packb({"t": "consolidate", "request_id": 1, "limit": 0}), "limit"),
        (msgpack.packb(["say", 1, "x"]), "array"),
        (msgpack.packb({"t": "say", "request_id": 1, "text": b"\xff\xfe"}), "text"),
        (b"\xa4\xff\xff\xff\xff", ""),
        (b"\x91" * 100_000, ""),
        (b"\xc1", ""),
        (b"", ""),
    ],
)
def test_what_is_no_request_is_refused_with_a_reason(body: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match="could not be read") as refused:
        decode_request(body)
    assert reason in str(refused.value)


@given(body=st.binary(max_size=200))
def test_garbage_is_refused_and_nothing_else_happens(body: bytes) -> None:
    for decode in (decode_request, decode_frame):
        try:
            decode(body)
        except ProtocolError:
            continue


def test_every_message_has_a_name_of_its_own() -> None:
    names = [cls.__struct_config__.tag for cls in classes_of(Request) + classes_of(Frame)]
    assert len(names) == len(set(names))


@pytest.mark.requirement("R-12")
def test_every_message_of_the_module_is_a_request_or_a_frame() -> None:
    joined = set(classes_of(Request)) | set(classes_of(Frame))
    tagged = {
        value
        for value in vars(protocol).values()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__struct_config__.tag
        and value is not protocol.Message
    }
    assert tagged == joined


def test_every_request_but_the_greeting_can_be_answered_by_its_id() -> None:
    without_id = [cls.__name__ for cls in classes_of(Request) if "request_id" not in cls.__struct_fields__]
    assert without_id == ["Hello"]
