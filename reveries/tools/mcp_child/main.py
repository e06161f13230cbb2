"""The sandboxed child process for one MCP server: it starts the server or connects to it, reports its tools, and then
answers one request per line. It exits when its input ends or the server is gone.

python -I -S -c "..."; the first input line is the ServerAddress as JSON.
"""

import asyncio
import contextlib
import json
import os
import resource
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, TextIO

import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

MOST_TOOLS = 100
MOST_ANSWER_CHARS = 200_000
_MOST_PAGES = 20
_MOST_OFFER_CHARS = 100_000
_MOST_SAID_BYTES = 2_000
_MOST_OWN_MEMORY_BYTES = 1_500_000_000
_MOST_SERVER_MEMORY_BYTES = 4_000_000_000
_MOST_FILE_BYTES = 200_000_000
_MOST_REQUEST_CHARS = 20_000_000
_CONNECTION_CLOSED = -32000
_HTTP_SECONDS = 300.0


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is: a command with its environment, or a URL with HTTP headers."""

    command: list[str]
    environment: dict[str, str]
    url: str
    headers: dict[str, str]


class ServerGoneError(Exception):
    """The server exited or hangs, so this child exits as well."""


def main() -> None:
    """Serve until the daemon closes the pipe."""
    incoming, outgoing = _take_pipes()
    _limit_memory(resource.RLIMIT_DATA, _MOST_SERVER_MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_FILE_BYTES, _MOST_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    address = ServerAddress(**json.loads(incoming.readline()))
    with tempfile.TemporaryFile("w+") as error_log:
        try:
            asyncio.run(_serve_requests(address, incoming, outgoing, error_log))
        except BaseException as error:  # noqa: BLE001  # A named boundary: every error is reported to the daemon.
            report = {
                "failed": f"It does not start ({_error_name(error)}).",
                "said": _read_error_log_end(error_log) or _error_message(error),
            }
            _write_answer(outgoing, report)
    # Processes of a hanging server end with the sandbox.
    os._exit(0)


def _take_pipes() -> tuple[TextIO, TextIO]:
    """Return the pipes to the daemon, and point stdin and stdout at /dev/null, so that nothing else uses the pipes."""
    incoming, outgoing = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return incoming, outgoing


def _limit_memory(kind: int, most_bytes: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # The system has no such limit, or a lower one.
        resource.setrlimit(kind, (most_bytes, most_bytes))


async def _serve_requests(address: ServerAddress, incoming: TextIO, outgoing: TextIO, error_log: TextIO) -> None:
    async with open_client(address, error_log) as client:
        # Set only now: limits are inherited, and a server may need more memory than this child.
        _limit_memory(resource.RLIMIT_AS, _MOST_OWN_MEMORY_BYTES)
        _write_answer(outgoing, {"ready": os.getpid(), "tools": await fetch_tools(client)})
        while line := await asyncio.to_thread(incoming.readline, _MOST_REQUEST_CHARS):
            call = json.loads(line)["arguments"]
            try:
                answer = await request_answer(client, call["name"], call["arguments"], call["seconds"])
            except ServerGoneError as error:
                _write_answer(outgoing, {"refused": str(error)})
                os._exit(0)
            _write_answer(outgoing, {"answer": answer})


@contextlib.asynccontextmanager
async def open_client(address: ServerAddress, error_log: TextIO) -> AsyncIterator[Client]:
    """Connect a client that offers the server nothing: no sampling, no roots, no elicitation."""
    async with contextlib.AsyncExitStack() as stack:
        if address.url:
            # trust_env=False: no proxy settings or credentials of this machine are used.
            http = httpx2.AsyncClient(headers=address.headers, timeout=_HTTP_SECONDS, trust_env=False)
            await stack.enter_async_context(http)
            transport = streamable_http_client(address.url, http_client=http)
        else:
            program, *words = address.command
            parameters = StdioServerParameters(command=program, args=words, env=address.environment)
            transport = stdio_client(parameters, errlog=error_log)
        own = types.Implementation(name="reveries", version="1")
        yield await stack.enter_async_context(Client(transport, client_info=own, cache=None))


async def fetch_tools(client: Client) -> list[dict[str, Any]]:
    """Return name, description and schema of the first MOST_TOOLS tools."""
    tools: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for listed in page.tools:
            tool = {"name": listed.name, "description": listed.description or "", "schema": listed.input_schema}
            if len(json.dumps(tool)) <= _MOST_OFFER_CHARS:
                tools.append(tool)
        cursor = page.next_cursor
        if not cursor or len(tools) >= MOST_TOOLS:
            break
    return tools[:MOST_TOOLS]


async def request_answer(client: Client, name: str, arguments: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Call a tool; return its answer as text and whether it reported an error. Raises ServerGoneError."""
    try:
        async with asyncio.timeout(seconds):
            result = await client.call_tool(name, arguments)
    except TimeoutError:
        raise ServerGoneError(f"It gave no answer within {seconds:.0f} seconds, and was ended.") from None
    except MCPError as error:
        if error.error.code == _CONNECTION_CLOSED:
            raise ServerGoneError("The server ended in the middle of it.") from None
        return {"text": str(error)[:MOST_ANSWER_CHARS], "is_error": True}
    except Exception as error:  # noqa: BLE001  # A named boundary: a server may answer with anything.
        raise ServerGoneError(f"Its answer cannot be read ({_error_name(error)}).") from None
    return {"text": format_tool_answer(result)[:MOST_ANSWER_CHARS], "is_error": bool(result.is_error)}


def format_tool_answer(result: types.CallToolResult) -> str:
    """Return an answer as text; content that is not text is named."""
    texts = [_format_block(block) for block in result.content]
    if not texts and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return "\n".join(texts)


def _format_block(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource) and isinstance(block.resource, types.TextResourceContents):
        return f"{block.resource.uri}:\n{block.resource.text}"
    if isinstance(block, types.ResourceLink):
        return f"{block.name}: {block.uri}"
    return f"({block.type}: it is no text)"


def _error_name(error: BaseException) -> str:
    return type(_innermost(error)).__name__


def _error_message(error: BaseException) -> str:
    return str(_innermost(error))[:_MOST_SAID_BYTES]


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def _read_error_log_end(error_log: TextIO) -> str:
    with contextlib.suppress(OSError, ValueError):
        error_log.flush()
        end = os.fstat(error_log.fileno()).st_size
        return os.pread(error_log.fileno(), _MOST_SAID_BYTES, max(0, end - _MOST_SAID_BYTES)).decode("utf-8", "replace")
    return ""


def _write_answer(outgoing: TextIO, answer: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        outgoing.write(json.dumps(answer) + "\n")
        outgoing.flush()
