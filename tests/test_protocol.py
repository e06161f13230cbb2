"""The wire: golden bytes that any MessagePack library reads, and a framing that survives every way of being cut."""

import asyncio
import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

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
    Message,
    Recalled,
    RecalledItem,
    Request,
    Say,
    Search,
    Token,
    decode_frame,
    decode_request,
    encode,
    read_body,
)
from tests.rows import check_rows

RECORDED: Final = [
    json.loads(line) for line in Path(__file__).with_name("recorded_messages.jsonl").read_text("utf-8").splitlines()
]
"""What stands there never changes within a protocol version: clients that others wrote depend on it. A new message
gets a line: its bytes in hex, and the map that any MessagePack library reads in them."""

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


REQUEST_CLASSES: Final[list[type[Message]]] = [Hello, *protocol.REQUESTS]
FRAME_CLASSES: Final = protocol.leaf_messages(Frame)


@pytest.mark.requirement("R-11", "R-14")
@check_rows("recorded", RECORDED)
def test_the_bytes_of_a_message_never_change(recorded: dict[str, Any]) -> None:
    packed = bytes.fromhex(recorded["bytes"])
    is_request = recorded["message"]["t"] in {cls.__struct_config__.tag for cls in REQUEST_CLASSES}
    message = decode_request(packed[4:]) if is_request else decode_frame(packed[4:])
    assert encode(message) == packed
    assert unpack(packed) == recorded["message"]


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


async def received(pieces: list[bytes], count: int) -> list[Hello | Request]:
    """What a reader gets while `pieces` arrive one by one."""
    reader = asyncio.StreamReader()

    async def feed() -> None:
        for piece in pieces:
            reader.feed_data(piece)
            await asyncio.sleep(0)
        reader.feed_eof()

    async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
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


def test_the_largest_frame_can_be_sent_and_one_byte_more_is_refused() -> None:
    room = MAX_FRAME_BYTES - len(encode(Token(1, "x" * 70_000))) + 4 + 70_000
    assert len(encode(Token(1, "x" * room))) == MAX_FRAME_BYTES + 4
    with pytest.raises(ProtocolError, match="is larger than"):
        encode(Token(1, "x" * (room + 1)))


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


@check_rows(
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
        message, refusal = None, ""
        try:
            message = decode(body)
        except ProtocolError as error:
            refusal = str(error)
        assert (message is None) == ("could not be read" in refusal)


def test_every_message_has_a_name_of_its_own() -> None:
    names = [cls.__struct_config__.tag for cls in REQUEST_CLASSES + FRAME_CLASSES]
    assert len(names) == len(set(names))


@pytest.mark.requirement("R-12")
def test_every_message_of_the_module_is_a_request_or_a_frame() -> None:
    joined = set(REQUEST_CLASSES) | set(FRAME_CLASSES)
    tagged = {
        value
        for value in vars(protocol).values()
        if isinstance(value, type)
        and issubclass(value, msgspec.Struct)
        and value.__struct_config__.tag
        and value not in (protocol.Message, protocol.Request, protocol.Frame, protocol.Answer)
    }
    assert tagged == joined


def test_every_request_but_the_greeting_can_be_answered_by_its_id() -> None:
    without_id = [cls.__name__ for cls in REQUEST_CLASSES if "request_id" not in cls.__struct_fields__]
    assert without_id == ["Hello"]
