import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.errors import ModelUnavailableError
from reveries.llm.base import Delta, Finished, FinishReason, StreamEvent
from reveries.llm.embedded import data_lines
from reveries.llm.limits import FREE_LINES, LINE_BYTES, CappedTransport, limit_stream

LIMITS = load_settings(None).llm.limits
END = Finished(FinishReason.STOP, None)


class Source:
    """A stream of events; `Wait` stands for one that never comes."""

    def __init__(self, *events: StreamEvent | None) -> None:
        self._events = events
        self.is_closed = False

    async def stream(self) -> AsyncGenerator[StreamEvent, None]:
        try:
            for event in self._events:
                if event is None:
                    await asyncio.Event().wait()
                else:
                    yield event
        finally:
            self.is_closed = True


async def _drain(source: Source, **limits: float) -> list[StreamEvent]:
    async with asyncio.timeout(300):
        events = limit_stream(source.stream(), msgspec.structs.replace(LIMITS, **limits), "the model")
        return [event async for event in events]


@pytest.mark.requirement("D4")
@pytest.mark.parametrize(
    ("source", "limits", "what", "said"),
    [
        (Source(None), {"first_token_seconds": 0.02}, "sent nothing for 0.02 seconds", "first_token_seconds"),
        (Source(Delta("a"), None), {"idle_seconds": 0.02}, "fell silent for 0.02 seconds", "idle_seconds"),
        (Source(Delta("a"), None), {"total_seconds": 0.05}, "was not done after 0.05 seconds", "total_seconds"),
        (Source(Delta("a" * 2000)), {"reply_bytes": 1024}, "sent more than 1024 bytes", "reply_bytes"),
    ],
)
async def test_a_limit_that_is_passed_stops_the_call_and_is_named(
    source: Source, limits: dict[str, float], what: str, said: str
) -> None:
    with pytest.raises(ModelUnavailableError, match=f"^The model {what}") as caught:
        await _drain(source, **limits)
    assert said in caught.value.advice
    assert source.is_closed


@pytest.mark.requirement("D2")
async def test_a_stream_without_its_end_mark_is_no_answer() -> None:
    source = Source(Delta("almost"))
    with pytest.raises(ModelUnavailableError, match="broke off"):
        await _drain(source)
    assert source.is_closed


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("asked", [16, 64, 512])
async def test_a_model_that_goes_on_is_cut_within_a_tenth_of_what_was_asked_for(asked: int) -> None:
    source = Source(*[Delta("word ")] * 1000)
    events = [event async for event in limit_stream(source.stream(), LIMITS, "the model", asked)]
    assert asked <= len(events) - 1 <= asked * 1.1
    assert events[-1] == Finished(FinishReason.LENGTH, None)
    assert source.is_closed


async def test_what_is_within_the_limits_passes() -> None:
    source = Source(Delta("a"), Delta("b"), END, Delta("after the end"))
    assert await _drain(source) == [Delta("a"), Delta("b"), END]
    assert source.is_closed


@given(st.lists(st.text(max_size=20)), st.data())
def test_however_the_bytes_are_cut_the_lines_are_the_same(texts: list[str], data: st.DataObject) -> None:
    payloads = [text.encode("utf-8", "replace").replace(b"\n", b"").replace(b"\r", b"").strip() for text in texts]
    payloads = [payload for payload in payloads if payload and payload != b"[DONE]"]
    whole = (
        b": comment\n\nevent: x\n" + b"".join(b"data: " + p + b"\n\n" for p in payloads) + b"data: [DONE]\n\ndata: no\n"
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def read() -> list[bytes]:
        return [line async for line in data_lines(chunks())]

    assert asyncio.run(read()) == payloads


async def test_an_endless_line_is_refused() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b"data: " + b"x" * 1000

    with pytest.raises(ModelUnavailableError, match="line longer"):
        async with asyncio.timeout(300):
            [line async for line in data_lines(chunks())]


class _Body(httpx.AsyncByteStream):
    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        self.is_closed = True


def _client(body: _Body, limit_bytes: int = 2**20, **headers: str) -> httpx.AsyncClient:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["Accept-Encoding"] == "identity"
        return httpx.Response(
            200, headers={name.replace("_", "-"): value for name, value in headers.items()}, stream=body
        )

    return httpx.AsyncClient(transport=CappedTransport(httpx.MockTransport(answer), limit_bytes))


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
async def test_a_body_with_a_line_that_does_not_end_is_left(path: str) -> None:
    body = _Body(*[b"short\n"] * 3, *[b"x" * 1000] * 100)
    async with _client(body) as client:
        with pytest.raises(httpx.ReadError, match="line longer"):
            await client.post(f"http://x{path}")
    assert body.is_closed


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"\r", b":\n"])
async def test_a_flood_of_blank_lines_is_left_before_a_library_reads_each_of_them(blank: bytes) -> None:
    chunk = blank * 4096
    body = _Body(*[chunk] * 1000)
    passed: list[bytes] = []

    async def read(response: httpx.Response) -> None:
        async for piece in response.aiter_raw():
            passed.append(piece)  # noqa: PERF401  # What came before the error is wanted.

    async with _client(body) as client, client.stream("POST", "http://x/v1/chat/completions") as response:
        with pytest.raises(httpx.ReadError, match="blank lines"):
            await read(response)
    assert len(b"".join(passed)) <= FREE_LINES * len(blank)
    assert body.is_closed


async def test_heartbeats_for_an_hour_before_an_answer_are_no_flood() -> None:
    beats, answer = [b":\n\n"] * 3600, [b'data: {"choices": [{"delta": {"content": "word"}}]}\n\n'] * 6000
    async with _client(_Body(*beats, *answer)) as client:
        content = (await client.post("http://x/v1/chat/completions")).content
    assert content == b"".join([*beats, *answer])


@given(st.lists(st.integers(0, LINE_BYTES), max_size=6), st.data())
def test_lines_up_to_the_limit_pass_however_they_are_cut(lengths: list[int], data: st.DataObject) -> None:
    whole = b"\n".join(b"x" * length for length in lengths)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    chunks = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    async def read() -> bytes:
        async with _client(_Body(*chunks)) as client:
            return (await client.get("http://x/api/chat")).content

    assert asyncio.run(read()) == whole


async def test_vectors_may_come_in_one_long_line() -> None:
    async with _client(_Body(b"1" * LINE_BYTES * 2)) as client:
        assert len((await client.post("http://x/api/embed")).content) == LINE_BYTES * 2


@pytest.mark.requirement("D4")
async def test_a_body_that_is_too_long_is_left() -> None:
    async with _client(_Body(*[b"line\n"] * 100), limit_bytes=200) as client:
        with pytest.raises(httpx.ReadError, match="larger"):
            await client.post("http://x/api/chat")


@pytest.mark.requirement("D1")
async def test_nothing_is_unpacked() -> None:
    body = _Body(b"\x1f\x8b")
    async with _client(body, Content_Encoding="gzip") as client:
        with pytest.raises(httpx.DecodingError, match="compressed"):
            await client.post("http://x/api/chat")
    assert body.is_closed


@pytest.mark.requirement("D1")
async def test_half_of_a_surrogate_pair_becomes_text_that_can_be_stored_and_sent() -> None:
    async def source() -> AsyncGenerator[StreamEvent, None]:
        yield Delta("so \ud800 it goes")
        yield Finished(FinishReason.STOP, None)

    said = [event.text async for event in limit_stream(source(), LIMITS, "model") if isinstance(event, Delta)]
    assert "".join(said).encode() == b"so ? it goes"
