"""The product's client of MCP servers, driven by the conformance suite: `python -m tests.mcp_suite.client URL`.

It does what the sandboxed child does for a task: connects, lists, and calls each tool as the suite asks for it.
"""

import asyncio
import json
import os
import sys
from typing import Any

from reveries.tools.mcp_child.main import ServerAddress, fetch_tools, open_client, request_answer

_SECONDS = 120.0
_VALUES: dict[str, object] = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


async def drive(url: str) -> None:
    """Every tool that is offered, with the arguments that the suite names, or the least that its schema asks for."""
    context: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    async with open_client(ServerAddress([], {}, url, {}), sys.stderr) as client:
        offered = await fetch_tools(client)
        asked = context.get("toolCalls") or [
            {"name": one["name"], "arguments": least_arguments(one["schema"])} for one in offered
        ]
        for one in asked:
            await request_answer(client, one["name"], one["arguments"], _SECONDS)


def least_arguments(schema: dict[str, Any]) -> dict[str, object]:
    properties = schema.get("properties", {})
    names = schema.get("required", list(properties))
    return {name: _VALUES.get(properties.get(name, {}).get("type", "string"), "x") for name in names}


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[-1]))
