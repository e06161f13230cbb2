"""The hard limits on every call: first token, silence, total time, bytes, and an end mark (R-40, D2, D4).

Every adapter's `stream` is `bounded(...)` round what it reads from the wire; no HTTP client enforces any of these.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import httpx

from reveries.config import LimitSettings
from reveries.errors import ModelFault, ModelUnavailableError
from reveries.llm.base import Delta, Finished, StreamEvent

WIRE_BYTES_PER_TEXT_BYTE = 64
"""A streamed token of 4 bytes travels in about 250 bytes of JSON."""

LINE_BYTES = 64 * 1024


async def bounded(
    source: AsyncGenerator[StreamEvent, None], limits: LimitSettings, model: str
) -> AsyncGenerator[StreamEvent, None]:
    """`source` within `limits`, ending in exactly one Finished.

    Raises ModelUnavailableError naming the limit that was passed, or that the answer broke off. Whatever happens,
    `source` is closed before this returns, which stops the generation.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + limits.total_seconds
    patience, seen_bytes = limits.first_token_seconds, 0
    async with contextlib.aclosing(source):
        while True:
            event = await _next(source, min(patience, ends_at - loop.time()), limits, model)
            if isinstance(event, Delta):
                patience = limits.idle_seconds
                seen_bytes += len(event.text.encode("utf-8", "surrogatepass"))
                if seen_bytes > limits.reply_bytes:
                    raise _broken(model, f"sent more than {limits.reply_bytes} bytes", "llm.limits.reply_bytes")
            yield event
            if isinstance(event, Finished):
                return


async def _next(
    source: AsyncGenerator[StreamEvent, None], seconds: float, limits: LimitSettings, model: str
) -> StreamEvent:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            return await anext(source)
    except TimeoutError as error:
        what, key = f"sent nothing for {seconds:.0f} seconds", _limit_name(seconds, limits)
        raise _broken(model, what, key, ModelFault.TIMED_OUT) from error
    except StopAsyncIteration as error:
        raise ModelUnavailableError(
            f"The answer of {model} broke off before its end.", advice="What was said is kept; ask again."
        ) from error


def _limit_name(seconds: float, limits: LimitSettings) -> str:
    """Which limit a wait of `seconds` came from."""
    if seconds == limits.first_token_seconds:
        return "llm.limits.first_token_seconds"
    return "llm.limits.idle_seconds" if seconds == limits.idle_seconds else "llm.limits.total_seconds"


def _broken(model: str, what: str, key: str, fault: ModelFault = ModelFault.BROKEN) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"{model[:1].upper()}{model[1:]} {what}, so the call was stopped.",
        advice=f"The limit can be changed: reveries config get {key}",
        fault=fault,
    )


class CappedTransport(httpx.AsyncBaseTransport):
    """A transport whose responses end, with an error, after `limit_bytes`: no endless body or line fills memory."""

    def __init__(self, inner: httpx.AsyncBaseTransport, limit_bytes: int) -> None:
        self._inner = inner
        self._limit_bytes = limit_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _CappedStream(response.stream, self._limit_bytes)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _CappedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, limit_bytes: int) -> None:
        self._inner = inner
        self._left = limit_bytes

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        async for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise httpx.ReadError("the response is larger than it may be")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
