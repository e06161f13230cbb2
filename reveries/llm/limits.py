"""The hard limits on every call: first token, silence, total time, bytes, and an end mark (R-40, D2, D4).

Every adapter's `stream` is `limit_stream(...)` around what it reads from the wire; no HTTP client enforces any of
these.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

import httpx

from reveries.config import LimitSettings
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Delta, Finished, FinishReason, StreamEvent
from reveries.llm.hidden_thinking import ThinkingFilter

WIRE_BYTES_PER_TEXT_BYTE = 64
"""A streamed token of 4 bytes travels in about 250 bytes of JSON."""

LINE_BYTES = 64 * 1024
FREE_LINES = 10_000
"""From this many lines on they must have content: a client library takes microseconds for each on the event loop."""
LEAST_LINE_BYTES = 3
"""On average. Server-sent events have a blank line after each event, and a heartbeat may be a single colon."""

TOKEN_TOLERANCE = 1.1
"""Providers count a little differently; beyond this share of the requested limit the stream is cut."""

_ONE_LINE_PATHS = ("/embed", "/embeddings", "/tags")


async def limit_stream(
    source: AsyncGenerator[StreamEvent, None], limits: LimitSettings, model: str, max_tokens: int | None = None
) -> AsyncGenerator[StreamEvent, None]:
    """Yield `source` within `limits`, ending in exactly one Finished.

    A model that exceeds `max_tokens` is cut there: LENGTH, with unknown usage. Reasoning in front of the answer is left
    out, and counts against every limit. Raises ModelUnavailableError naming the
    limit that was exceeded, or that the answer broke off. `source` is always closed before this returns, which stops
    the generation.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + limits.total_seconds
    patience, seen_bytes, seen_tokens = _first_token_limit(limits), 0, 0
    most_tokens = None if max_tokens is None else max_tokens * TOKEN_TOLERANCE
    thinking = ThinkingFilter()
    async with contextlib.aclosing(source):
        while True:
            left = _WaitLimit(
                ends_at - loop.time(), f"was not done after {limits.total_seconds:g} seconds", "total_seconds"
            )
            event = await _next_event(source, min(patience, left), model)
            if isinstance(event, Delta):
                patience = _WaitLimit(
                    limits.idle_seconds, f"fell silent for {limits.idle_seconds:g} seconds", "idle_seconds"
                )
                seen_tokens += 1
                # A lone surrogate can be neither stored nor sent.
                encoded = event.text.encode("utf-8", "replace")
                shown = thinking.feed(encoded.decode("utf-8"))
                seen_bytes += len(encoded)
                if seen_bytes > limits.reply_bytes:
                    raise _limit_error(model, f"sent more than {limits.reply_bytes} bytes", "reply_bytes")
                if most_tokens is not None and seen_tokens > most_tokens:
                    yield Finished(FinishReason.LENGTH, None, thinking.has_removed)
                    return
                if shown:
                    yield Delta(shown)
                continue
            if held_back := thinking.flush():
                yield Delta(held_back)
            yield replace(event, has_reasoned=True) if thinking.has_removed else event
            return


@dataclass(frozen=True, slots=True, order=True)
class _WaitLimit:
    """How long to wait for the next event, and the description and setting of that limit."""

    seconds: float
    what: str
    key: str


def _first_token_limit(limits: LimitSettings) -> _WaitLimit:
    seconds = limits.first_token_seconds
    return _WaitLimit(seconds, f"sent nothing for {seconds:g} seconds", "first_token_seconds")


async def _next_event(source: AsyncGenerator[StreamEvent, None], patience: _WaitLimit, model: str) -> StreamEvent:
    try:
        async with asyncio.timeout(max(0.0, patience.seconds)):
            return await anext(source)
    except TimeoutError as error:
        raise _limit_error(model, patience.what, patience.key, ModelFault.TIMED_OUT) from error
    except StopAsyncIteration as error:
        raise ModelUnavailableError(
            f"The answer of {model} broke off before its end.", advice="The partial answer is kept; ask again."
        ) from error


def _limit_error(model: str, what: str, key: str, fault: ModelFault = ModelFault.BROKEN) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"{model[:1].upper()}{model[1:]} {what}, so the call was stopped.",
        advice=f"The limit can be changed: reveries config set llm.limits.{key} VALUE",
        fault=fault,
    )


class CappedTransport(httpx.AsyncBaseTransport):
    """A transport that fails responses longer than `limit_bytes`, with a line longer than LINE_BYTES, or with too many
    blank lines.

    Compression is refused: a small compressed body can be endless. Only vectors and lists of models may come in one
    long line.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, limit_bytes: int) -> None:
        self._inner = inner
        self._limit_bytes = limit_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            await response.aclose()
            raise httpx.DecodingError("the response is compressed, which was not asked for", request=request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            line_bytes = self._limit_bytes if request.url.path.endswith(_ONE_LINE_PATHS) else LINE_BYTES
            response.stream = _CappedStream(response.stream, self._limit_bytes, line_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CappedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, limit_bytes: int, line_bytes: int) -> None:
        self._inner = inner
        self._limit_bytes = self._left = limit_bytes
        self._line_bytes = line_bytes
        self._line = self._lines = 0

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx.ReadError("the response is larger than it may be")
            self._lines += max(chunk.count(b"\n"), chunk.count(b"\r"))
            if self._lines > FREE_LINES and self._limit_bytes - self._left < LEAST_LINE_BYTES * self._lines:
                raise httpx.ReadError("the response is a flood of blank lines")
            if self._longest_line(chunk) > self._line_bytes:
                raise httpx.ReadError("the response has a line longer than it may have")
            yield chunk

    def _longest_line(self, chunk: bytes) -> int:
        """Return the bytes of the longest line that `chunk` continues; the last one may not have ended."""
        *ended, last = (len(part) for part in chunk.split(b"\n"))
        before, self._line = self._line, last if ended else self._line + last
        return max((before + ended[0], *ended[1:], self._line) if ended else (self._line,))

    async def aclose(self) -> None:
        await self._inner.aclose()
