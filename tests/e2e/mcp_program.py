"""A program that uses the mind over MCP: the official client, on the process that such a program would start."""

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

from mcp import Client, StdioServerParameters

from tests.e2e.living import Living


@contextlib.asynccontextmanager
async def mcp_client(living: Living, *options: str, name: str = "agent", **settings: Any) -> AsyncIterator[Client]:
    """Connected over standard input and output. `settings`: more of the client's own, such as its mode."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "reveries", "mcp", "serve", "--name", name, *options],
        env={**os.environ, "REVERIES_HOME": str(living.home.path)},
    )
    async with Client(server, **settings) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answered. An error fails the test."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    assert isinstance(answer.structured_content, dict)
    return answer.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool said instead of an answer."""
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    [content] = answer.content
    return str(getattr(content, "text", ""))
