"""Standard input of the MCP server: every line that asks for an answer gets one.

The SDK drops a line that it cannot parse, and the program waits for ever. Half a character (a lone surrogate, from a
text cut in the middle of an emoji) is replaced; anything else that is no message is answered with an error.
"""

import asyncio
import concurrent.futures
import json
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

import mcp_types as types
from mcp.shared.message import SessionMessage

_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")
_MOST_REASON_CHARS: Final = 300
_MOST_WAITING_LINES: Final = 16

SendMessage = Callable[[SessionMessage], Awaitable[None]]


class RequestLines:
    """The lines of `wire` that are messages; errors for the others go to `send`, which is set when the server runs."""

    def __init__(self, wire: BinaryIO) -> None:
        self._wire = wire
        self._raw: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING_LINES)
        self.send: SendMessage | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        # A daemon thread: a blocked read of a pipe cannot be cancelled, and must not prevent the exit.
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read_wire, args=(loop,), name="mcp.lines", daemon=True).start()
        while raw := await self._raw.get():
            line = raw.decode("utf-8", "replace").strip()
            if not line:
                continue
            message = read_line(line)
            if isinstance(message, str):
                yield message
            elif message is not None and self.send is not None:
                await self.send(SessionMessage(message))

    def _read_wire(self, loop: asyncio.AbstractEventLoop) -> None:
        raw = b" "
        while raw:
            raw = self._wire.readline()
            waiting = self._raw.put(raw)
            try:
                asyncio.run_coroutine_threadsafe(waiting, loop).result()
            except (RuntimeError, concurrent.futures.CancelledError):
                waiting.close()
                return  # The server has ended.


def read_line(line: str) -> str | types.JSONRPCError | None:
    """Return the message of a line as JSON, the error that answers it, or None if nothing may be answered. Pure."""
    if _is_message(line):
        return line
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
        mended = json.dumps(_replace_halves(value))
    except (ValueError, RecursionError) as error:
        return _answer_error(None, types.PARSE_ERROR, f"The line is not JSON: {error}")
    return mended if _is_message(mended) else _explain_no_message(value)


def _is_message(line: str) -> bool:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return False
    # A request whose id is neither a string nor a whole number passes for a notification, which is never answered.
    return not isinstance(message, types.JSONRPCNotification) or "id" not in json.loads(line)


def take_standard_input() -> BinaryIO:
    """Return the wire on standard input, which is then empty for everything else in this process."""
    wire = os.fdopen(os.dup(0), "rb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return wire


def _explain_no_message(value: Any) -> types.JSONRPCError | None:
    if isinstance(value, list):
        return _answer_error(None, types.INVALID_REQUEST, "A list is no message. Send one message a line.")
    if not isinstance(value, dict):
        return _answer_error(None, types.INVALID_REQUEST, "A message is a JSON object.")
    number = value.get("id")
    is_request = "id" in value or not isinstance(value.get("method"), str)
    if "result" in value or "error" in value or not is_request:
        # An answer, or a notification: JSON-RPC allows no answer to these.
        return None
    is_readable = isinstance(number, int | str) and not isinstance(number, bool)
    return _answer_error(
        number if is_readable else None,
        types.INVALID_REQUEST,
        'A request has "jsonrpc": "2.0", an id that is a string or a whole number, a method, and an object of params.',
    )


def _answer_error(number: int | str | None, code: int, reason: str) -> types.JSONRPCError:
    return types.JSONRPCError(
        jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=reason[:_MOST_REASON_CHARS])
    )


def _replace_halves(value: Any) -> Any:
    """Replace halves of characters in all texts of a JSON value."""
    if isinstance(value, str):
        return _HALF_CHARACTERS.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_halves(item) for item in value]
    if isinstance(value, dict):
        return {_replace_halves(name): _replace_halves(item) for name, item in value.items()}
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")
