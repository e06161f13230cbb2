"""What can be wrong with a provider (RELIABILITY, D1): each fault by its name, with what must become of a call.

`REFUSED`: there is no reply, and the person is told. `CUT`: what came is kept and marked. `ANSWERED`: the reply counts,
cleaned. `CAPPED`: cut at the limit and marked. `WORDLESS`: the end came before any word, and the person is told. Where
an answer of a known form was asked for, the experience is kept for later unless the answer can be used.
"""

import asyncio
import email.utils
import functools
import itertools
import json
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reveries.errors import ModelFault
from tests.fakes.provider import Exchange, Provider
from tests.fakes.provider_wire import OllamaWire, OpenAiWire

BEGINNING: Final = ("The garden", " was")
"""What is said before a fault in the middle."""
RETRY_AFTER_SECONDS: Final = 120
DRIP_SECONDS: Final = 0.5
ENDLESS_PAUSE_SECONDS: Final = 0.02
_BOMB_MIB: Final = 100
_FLOOD_BYTES: Final = 64 * 2**10
_FAST_WORDS: Final = 2_000
"""More than any reply may have. An embedder, which counts no words, would else read 130,000 of them, 17 s of processor
time, up to its limit of bytes: a loop whose time passes while it is idle reaches no limit of time before."""


class Becomes(StrEnum):
    REFUSED = "refused"
    CUT = "cut"
    ANSWERED = "answered"
    CAPPED = "capped"
    WORDLESS = "wordless"


class Found(StrEnum):
    """What notices the fault: a limit of ours, or what came over the wire."""

    AT_ONCE = "at once"
    CONNECT = "connect"
    FIRST_TOKEN = "first token"
    IDLE = "idle"
    TOTAL = "total"


Play = Callable[[Exchange], Awaitable[None]]
Strike = Callable[[Provider], Awaitable[None]]


async def _nothing_more(provider: Provider) -> None:
    """The fault shows only in the answers."""


@dataclass(frozen=True, slots=True)
class ProviderFault:
    """One fault. `kind`: what the adapter must call it; `url`: where a fault of the address leads ("{port}")."""

    name: str
    becomes: Becomes
    play: Play
    kind: ModelFault = ModelFault.BROKEN
    found: Found = Found.AT_ONCE
    strike: Strike = _nothing_more
    is_openai: bool = True
    is_ollama: bool = True
    url: str = ""
    openai_becomes: Becomes | None = None
    """Where what reads OpenAI's format is stricter."""
    is_missing: bool = False
    """The error is ModelMissingError, which is no fault of the provider."""

    @property
    def heals(self) -> bool:
        """Whether the provider can get well while the mind runs; a wrong address is for the owner to put right."""
        return not self.url

    def __str__(self) -> str:
        return self.name


# --- before an answer ------------------------------------------------------------------------------------------------


async def _never(exchange: Exchange) -> None:
    await exchange.until_left()


async def _reset(exchange: Exchange) -> None:
    exchange.reset()


async def _close(exchange: Exchange) -> None:
    """The connection ends without a byte."""


async def _endless_head(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 200 OK\r\n")
    number = 0
    while True:
        exchange.writer.write(b"X-Header-%d: %s\r\n" % (number, b"x" * 200))
        await exchange.writer.drain()
        number += 1
        await asyncio.sleep(ENDLESS_PAUSE_SECONDS)


async def _head_and_silence(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.until_left()


async def _not_http(exchange: Exchange) -> None:
    exchange.writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    await exchange.writer.drain()


# --- refusals --------------------------------------------------------------------------------------------------------


def _status(status: int, says: str = "", **headers: str) -> Play:
    async def play(exchange: Exchange) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        # Providers like to repeat the key in what they say.
        key = exchange.asked.headers.get("authorization", "").removeprefix("Bearer ")
        message = says or f"refused with {status} for key {key}\n\x1b[31mat line 1"
        await exchange.body(status, exchange.wire.refusal(message), named)

    return play


async def _retry_after_date(exchange: Exchange) -> None:
    # The header has whole seconds; the provider's clock may be the test's own.
    at = email.utils.formatdate(exchange.asked.at + RETRY_AFTER_SECONDS, usegmt=True)
    await _status(429, Retry_After=at)(exchange)


async def _redirect_loop(exchange: Exchange) -> None:
    await exchange.body(307, b"", {"Location": exchange.asked.path})


async def _html(exchange: Exchange) -> None:
    await exchange.body(
        200, b"<!doctype html><html><body>Sign in to the hotel's network</body></html>", kind="text/html"
    )


async def _html_error(exchange: Exchange) -> None:
    await exchange.body(502, b"<html><h1>502 Bad Gateway</h1>" + b"<p>nginx</p>" * 2000, kind="text/html")


async def _empty(exchange: Exchange) -> None:
    await exchange.body(200, b"", kind=exchange.wire.content_type)


async def _says_nothing(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.send(exchange.wire.end("stop", exchange.usage))
    await exchange.finish()


# --- in the middle ---------------------------------------------------------------------------------------------------


def _after_beginning(then: Play, *, framed: bool = True) -> Play:
    async def play(exchange: Exchange) -> None:
        await exchange.begin(framed=framed)
        for text in BEGINNING:
            await exchange.say(text)
        # What came must be seen before what goes wrong: a reset may throw away what was not read yet.
        await asyncio.sleep(0.02)
        await then(exchange)

    return play


async def _mid_error(exchange: Exchange) -> None:
    await exchange.send(exchange.wire.mid_error("The server had an error while processing your request"))
    await exchange.finish()


async def _finish_only(exchange: Exchange) -> None:
    await exchange.finish()


async def _done_without_reason(exchange: Exchange) -> None:
    wire = exchange.wire
    if isinstance(wire, OpenAiWire):
        await exchange.send(wire.done())
    await exchange.finish()


async def _drip(exchange: Exchange) -> None:
    """A byte each half second: no time between two bytes is ever long."""
    await exchange.begin(framed=False)
    for byte in exchange.wire.piece("slow") * 1000:
        await exchange.send(bytes([byte]))
        await asyncio.sleep(DRIP_SECONDS)


async def _slow_words(exchange: Exchange) -> None:
    """A word comes in time, each time, and there is no end to them in any time."""
    await exchange.begin()
    for number in itertools.count():
        await exchange.say(f" word{number}")
        await asyncio.sleep(0.05)


async def _flood(exchange: Exchange, data: bytes) -> None:
    while True:
        await exchange.send(data)
        await asyncio.sleep(0)


async def _endless_line(exchange: Exchange) -> None:
    await exchange.begin()
    if isinstance(exchange.wire, OpenAiWire):
        await exchange.send(b'data: {"choices": "')
    await _flood(exchange, b"x" * _FLOOD_BYTES)


async def _endless_words(exchange: Exchange) -> None:
    await exchange.begin()
    for number in itertools.count():  # no word twice: litellm notices a model that repeats itself
        await exchange.say(f" word{number}")
        await asyncio.sleep(ENDLESS_PAUSE_SECONDS if number > _FAST_WORDS else 0)


async def _endless_silence(exchange: Exchange) -> None:
    await exchange.begin()
    while True:
        await exchange.send(exchange.wire.silence())
        await asyncio.sleep(ENDLESS_PAUSE_SECONDS)


async def _endless_blank_lines(exchange: Exchange) -> None:
    await exchange.begin()
    await _flood(exchange, b"\n" * _FLOOD_BYTES)


async def _huge_piece(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say("x" * 2 * 2**20)
    await exchange.send(exchange.wire.end("stop", exchange.usage))
    await exchange.finish()


@functools.cache
def _bomb() -> bytes:
    """A hundred MiB of blanks in half of one."""
    packing = zlib.compressobj(level=1, wbits=31)
    return b"".join(packing.compress(b" " * 2**20) for _ in range(_BOMB_MIB)) + packing.flush()


async def _gzip_bomb(exchange: Exchange) -> None:
    packed = await asyncio.to_thread(_bomb)
    await exchange.body(200, packed, {"Content-Encoding": "gzip"}, exchange.wire.content_type)


def _length_off_by(extra: int) -> Play:
    async def play(exchange: Exchange) -> None:
        said = b"".join(exchange.wire.piece(text) for text in exchange.pieces)
        whole = said + exchange.wire.end("stop", exchange.usage)
        exchange.bill.completion_tokens = len(exchange.pieces)
        await exchange.body(200, whole, {"Content-Length": str(len(whole) + extra)}, exchange.wire.content_type)

    return play


# --- odd, but an answer ----------------------------------------------------------------------------------------------


def _then_end(before_end: Play, after_end: Play | None = None) -> Play:
    async def play(exchange: Exchange) -> None:
        await exchange.begin()
        for text in exchange.pieces:
            await exchange.say(text)
        await before_end(exchange)
        await exchange.send(exchange.wire.end("stop", exchange.usage))
        if after_end is not None:
            await after_end(exchange)
        await exchange.finish()

    return play


async def _again_end(exchange: Exchange) -> None:
    await exchange.send(exchange.wire.end("stop", exchange.usage))


async def _more_words(exchange: Exchange) -> None:
    await exchange.send(exchange.wire.piece(" AFTER THE END"))


async def _keep_alive(exchange: Exchange) -> None:
    for _ in range(20):
        await exchange.send(exchange.wire.silence())


async def _interleaved(exchange: Exchange) -> None:
    """Two answers on one stream: choice 1 and another id's chunks between those that were asked for."""
    wire = exchange.wire
    assert isinstance(wire, OpenAiWire)
    for number in range(4):
        other = {"index": 1, "delta": {"content": " INTRUDER"}, "finish_reason": None}
        await exchange.send(wire.chunk({"choices": [other]}, number))


def _line(payload: bytes) -> Play:
    async def play(exchange: Exchange) -> None:
        await exchange.send(exchange.wire.line(payload))
        await exchange.send(exchange.wire.end("stop", exchange.usage))
        await exchange.finish()

    return _after_beginning(play)


def _raw(text: bytes) -> Play:
    """A piece whose JSON string holds `text` as it stands."""

    async def play(exchange: Exchange) -> None:
        await exchange.send(exchange.wire.raw_piece(b'"' + text + b'"'))

    return play


def _usage(prompt: object, completion: object) -> Play:
    async def play(exchange: Exchange) -> None:
        await exchange.begin()
        for text in exchange.pieces:
            await exchange.say(text)
        usage = None if prompt is None else {"prompt": prompt, "completion": completion}
        await exchange.send(exchange.wire.end("stop", usage))
        await exchange.finish()

    return play


async def _usage_raw(exchange: Exchange, number: bytes) -> None:
    await exchange.begin()
    for text in exchange.pieces:
        await exchange.say(text)
    end = exchange.wire.end("stop", {"prompt": 123454321, "completion": 7})
    await exchange.send(end.replace(b"123454321", number))
    await exchange.finish()


async def _usage_long_int(exchange: Exchange) -> None:
    await _usage_raw(exchange, b"9" * 5000)


async def _usage_nan(exchange: Exchange) -> None:
    await _usage_raw(exchange, b"NaN")


async def _tool_call(exchange: Exchange) -> None:
    """A call of a tool that nobody offered, in place of words."""
    wire = exchange.wire
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "rm", "arguments": "{not json"}}
    await exchange.begin()
    if isinstance(wire, OpenAiWire):
        delta = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}
        await exchange.send(wire.chunk({"choices": [delta]}))
    else:
        assert isinstance(wire, OllamaWire)
        called = {"function": {"name": "rm", "arguments": {"path": "/"}}}
        message = {"role": "assistant", "content": "", "tool_calls": [called]}
        await exchange.send(wire.part({"message": message, "done": False}))
    await exchange.send(wire.end("tool_calls", exchange.usage))
    await exchange.finish()


def _answers_with(text: str) -> Play:
    """Where a form was asked for: `text` in its place. Elsewhere it is a reply like any other."""

    async def play(exchange: Exchange) -> None:
        await exchange.begin()
        if exchange.asked.schema is None:
            for piece in exchange.pieces:
                await exchange.say(piece)
        else:
            for begin in range(0, len(text), 4096):
                await exchange.say(text[begin : begin + 4096])
        await exchange.send(exchange.wire.end("stop", exchange.usage))
        await exchange.finish()

    return play


# --- the list --------------------------------------------------------------------------------------------------------

_REFUSED, _CUT, _ANSWERED = Becomes.REFUSED, Becomes.CUT, Becomes.ANSWERED
_F = ProviderFault
_DEEP: Final = b'{"a":' * 100_000 + b"1" + b"}" * 100_000

_UNREACHABLE = (
    _F("refused", _REFUSED, _close, ModelFault.UNREACHABLE, strike=Provider.stop_listening),
    _F("dns_fails", _REFUSED, _close, ModelFault.UNREACHABLE, url="http://127.nobody.invalid:{port}"),
    _F("tls_on_a_plain_port", _REFUSED, _close, ModelFault.UNREACHABLE, url="https://127.0.0.1:{port}"),
    _F("black_hole", _REFUSED, _close, ModelFault.UNREACHABLE, Found.CONNECT, Provider.swallow_connections),
    _F("accepts_then_silent", _REFUSED, _never, ModelFault.TIMED_OUT, Found.FIRST_TOKEN),
    _F("head_then_silent", _REFUSED, _head_and_silence, ModelFault.TIMED_OUT, Found.FIRST_TOKEN),
    _F("head_never_ends", _REFUSED, _endless_head, found=Found.FIRST_TOKEN),
    _F("closed_without_a_byte", _REFUSED, _close),
    _F("reset_without_a_byte", _REFUSED, _reset),
    _F("not_http", _REFUSED, _not_http),
)

_STATUSES = (
    *(_F(str(code), _REFUSED, _status(code), ModelFault.BAD_REQUEST) for code in (400, 413, 422)),
    *(_F(str(code), _REFUSED, _status(code), ModelFault.KEY_REFUSED) for code in (401, 402)),
    _F("403", _REFUSED, _status(403), ModelFault.FORBIDDEN),
    _F("404", _REFUSED, _status(404, "model 'm' not found"), is_missing=True),
    _F("408", _REFUSED, _status(408), ModelFault.TIMED_OUT),
    *(_F(str(code), _REFUSED, _status(code), ModelFault.OVERLOADED) for code in (409, 500, 502, 503, 504, 529)),
    _F("503_retry_after", _REFUSED, _status(503, Retry_After="120"), ModelFault.OVERLOADED),
    _F("429", _REFUSED, _status(429), ModelFault.RATE_LIMITED),
    _F("429_seconds", _REFUSED, _status(429, Retry_After=str(RETRY_AFTER_SECONDS)), ModelFault.RATE_LIMITED),
    _F("429_date", _REFUSED, _retry_after_date, ModelFault.RATE_LIMITED),
    _F("429_huge", _REFUSED, _status(429, Retry_After="9" * 400), ModelFault.RATE_LIMITED),
    _F("429_negative", _REFUSED, _status(429, Retry_After="-5"), ModelFault.RATE_LIMITED),
    _F("429_nonsense", _REFUSED, _status(429, Retry_After="soon"), ModelFault.RATE_LIMITED),
    _F("redirect_loop", _REFUSED, _redirect_loop),
    _F("html_body", _REFUSED, _html),
    _F("html_error", _REFUSED, _html_error, ModelFault.OVERLOADED),
    _F("empty_200", _REFUSED, _empty),
    _F("says_nothing", Becomes.WORDLESS, _says_nothing),
    _F("tool_call_nobody_offered", Becomes.WORDLESS, _tool_call),
)

_IN_THE_MIDDLE = (
    _F("reset_mid_stream", _CUT, _after_beginning(_reset)),
    _F("closed_mid_stream", _CUT, _after_beginning(_close)),
    _F("closed_mid_stream_unframed", _CUT, _after_beginning(_close, framed=False)),
    _F("silent_mid_stream", _CUT, _after_beginning(_never), ModelFault.TIMED_OUT, Found.IDLE),
    _F("error_event", _CUT, _after_beginning(_mid_error)),
    _F("no_end_mark", _CUT, _after_beginning(_finish_only)),
    _F("done_without_a_reason", _CUT, _after_beginning(_done_without_reason)),
    _F("invalid_json", _CUT, _line(b'{"choices": [{')),
    _F("deep_json", _CUT, _line(_DEEP)),
    _F("long_int_line", _CUT, _line(b'{"choices": ' + b"9" * 5000 + b"}")),
    _F("wrong_shape", _CUT, _line(b'{"choices": {"delta": 7}, "message": [1], "done": "perhaps"}')),
    _F("a_list_for_an_object", _CUT, _line(b"[1, 2, 3]")),
    _F("not_utf8_line", _CUT, _line(b"\xff\xfe\x00{")),
    _F("length_too_long", _ANSWERED, _length_off_by(500)),
    _F("length_too_short", _CUT, _length_off_by(-60), openai_becomes=_ANSWERED),
    _F("drip", _REFUSED, _drip, ModelFault.TIMED_OUT, Found.FIRST_TOKEN),
    _F("slow_for_ever", _CUT, _slow_words, ModelFault.TIMED_OUT, Found.TOTAL),
)

_FLOODS = (
    _F("endless_line", _REFUSED, _endless_line),
    _F("endless_words", Becomes.CAPPED, _endless_words),
    _F("endless_silence", _REFUSED, _endless_silence, ModelFault.TIMED_OUT, Found.FIRST_TOKEN),
    _F("endless_blank_lines", _REFUSED, _endless_blank_lines),
    _F("huge_piece", _REFUSED, _huge_piece),
    _F("gzip_bomb", _REFUSED, _gzip_bomb),
)

_ODD = (
    _F("two_end_marks", _ANSWERED, _then_end(_close, _again_end)),
    _F("words_after_the_end", _ANSWERED, _then_end(_close, _more_words)),
    _F("comments_between", _ANSWERED, _then_end(_keep_alive)),
    _F("interleaved_answers", _ANSWERED, _then_end(_interleaved), is_ollama=False),
    _F("nul", _ANSWERED, _then_end(_raw(rb" \u0000"))),
    _F("esc", _ANSWERED, _then_end(_raw(rb" \u001b]0;owned\u0007\u001b[31m"))),
    _F("bidi", _ANSWERED, _then_end(_raw(rb" \u202e\u2066"))),
    _F("lone_surrogate", _ANSWERED, _then_end(_raw(rb" \ud800"))),
    _F("not_utf8_text", _ANSWERED, _then_end(_raw(b" \xff\xfe")), openai_becomes=_CUT),
    _F("usage_missing", _ANSWERED, _usage(None, None)),
    _F("usage_of_wrong_type", _CUT, _usage("many", [])),
    _F("usage_negative", _ANSWERED, _usage(-5, -5)),
    _F("usage_huge", _ANSWERED, _usage(10**18, 10**18)),
    _F("usage_long_int", _CUT, _usage_long_int),
    _F("usage_nan", _CUT, _usage_nan),
)

_ANSWERS = (
    _F("prose_for_json", _ANSWERED, _answers_with("I think that it was a lovely day.")),
    _F("deep_json_answer", _ANSWERED, _answers_with('{"summary":' * 100_000)),
    _F(
        "long_int_answer",
        _ANSWERED,
        _answers_with(json.dumps({"summary": "a", "salience": 0}).replace("0", "9" * 5000)),
    ),
    _F("nan_answer", _ANSWERED, _answers_with('{"summary": "It was a day.", "salience": NaN}')),
    _F("out_of_range_answer", _ANSWERED, _answers_with('{"summary": "It was a day.", "salience": 1e300}')),
    _F("wrong_fields_answer", _ANSWERED, _answers_with('{"summary": ["x"], "salience": {"a": 1}}')),
)

FAULTS: Final = (*_UNREACHABLE, *_STATUSES, *_IN_THE_MIDDLE, *_FLOODS, *_ODD, *_ANSWERS)
"""Every fault there is."""
