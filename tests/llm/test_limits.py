import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.config import load_settings
from reveries.errors import ModelUnavailableError
from reveries.llm.base import Delta, Finished, FinishReason, StreamEvent
from reveries.llm.limits import bounded
from reveries.llm.sse import data_lines

LIMITS = load_settings(None).llm.limits
END = Finished(FinishReason.STOP, None)


class Source:
    """Events, with `Wait`s for what never comes."""

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
    async with asyncio.timeout(5):
        events = bounded(source.stream(), msgspec.structs.replace(LIMITS, **limits), "the model")
        return [event async for event in events]


@pytest.mark.requirement("D4")
@pytest.mark.parametrize(
    ("source", "limits", "said"),
    [
        (Source(None), {"first_token_seconds": 0.02}, "first_token_seconds"),
        (Source(Delta("a"), None), {"idle_seconds": 0.02}, "idle_seconds"),
        (Source(Delta("a"), None), {"total_seconds": 0.05}, "total_seconds"),
        (Source(Delta("a" * 2000)), {"reply_bytes": 1024}, "reply_bytes"),
    ],
)
async def test_a_limit_that_is_passed_stops_the_call_and_is_named(
    source: Source, limits: dict[str, float], said: str
) -> None:
    with pytest.raises(ModelUnavailableError, match="The model sent") as caught:
        await _drain(source, **limits)
    assert said in caught.value.advice
    assert source.is_closed


@pytest.mark.requirement("D2")
async def test_a_stream_without_its_end_mark_is_no_answer() -> None:
    source = Source(Delta("almost"))
    with pytest.raises(ModelUnavailableError, match="broke off"):
        await _drain(source)
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
        async with asyncio.timeout(5):
            [line async for line in data_lines(chunks())]
