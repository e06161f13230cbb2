"""The server on standard input and output: standard output carries nothing but the wire."""

import asyncio
import logging
import sys

from mcp.server.stdio import stdio_server

from reveries.client.mcp.daemon_calls import DaemonCalls
from reveries.client.mcp.server import build_server


def serve_stdio(link: DaemonCalls, name: str) -> None:
    """Until the other side closes."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    asyncio.run(_serve_wire(link, name))


async def _serve_wire(link: DaemonCalls, name: str) -> None:
    server = build_server(link, name)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
