"""MCP servers of the owner's choice, real ones in a real sandbox: what they offer, see, and cannot do."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import mcp_types as types
import msgspec
import psutil
import pytest

from reveries.errors import ReveriesError, ToolError
from reveries.mcp_settings import McpServerSettings
from reveries.tools import mcp_servers
from reveries.tools.mcp_child.main import MOST_ANSWER_CHARS, format_tool_answer, request_answer
from reveries.tools.mcp_servers import McpServer, McpServerOpener
from reveries.tools.mcp_tools import OfferedTool, arguments_type, wire_arguments
from reveries.tools.reach import CallFacts, Permit, Reach
from reveries.tools.registry import ToolCaller, ToolRegistry
from reveries.tools.results import ToolResult
from reveries.tools.sandbox import Sandbox, find_sandbox
from tests.tools import made_server

if TYPE_CHECKING:
    from mcp import Client

HERE = Path(__file__).parent
PYTHON = str(Path(sys.executable).resolve())
MOST_GROWTH_BYTES = 60_000_000
IN_CI = frozenset({
    "dies", "hangs", "garbage", "not_utf8", "fills_standard_error", "endless_line", "huge_handshake", "cannot_be_run",
    "list_hangs", "list_is_huge", "list_never_ends", "schema_is_deep", "schema_refers_outside", "name_is_hostile",
    "call_dies", "call_hangs", "call_is_huge", "call_is_garbage", "call_floods_notifications", "call_asks_the_owner",
    "call_asks_for_a_sample", "call_escapes", "call_forks",
})  # fmt: skip
"""Each of another kind: all of them take four minutes, because each imports the library of MCP anew."""
assert set(made_server.FAULTS) >= IN_CI

needs_sandbox = pytest.mark.skipif(not find_sandbox().can_run, reason="there is no bubblewrap here")


def settings(fault: str = "none", *more: str, **given: object) -> McpServerSettings:
    command = (PYTHON, str(HERE / "made_server.py"), fault, *more)
    return McpServerSettings(command=command, reads=(str(HERE),), **given)  # type: ignore[arg-type]


def test_an_optional_argument_that_is_null_was_left_out() -> None:
    """A model that must fill in every field has no other way to leave one out."""
    where = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
        "required": ["city"],
    }
    kinds = {"to": {"type": ["string", "null"]}, "size": {"type": "integer"}, "where": {"$ref": "#/$defs/where"}}
    schema = {"type": "object", "properties": kinds, "required": ["to"], "$defs": {"where": where}}
    offered = OfferedTool("send", "", schema)
    arguments = arguments_type(offered)
    assert arguments is not None
    given = msgspec.convert({"to": None, "size": None, "where": {"city": "Bern", "zip": None}}, arguments)
    assert wire_arguments(offered, msgspec.to_builtins(given)) == {"to": None, "where": {"city": "Bern"}}


@asynccontextmanager
async def opened(home: Path, chosen: McpServerSettings, sandbox: Sandbox | None = None) -> AsyncIterator[McpServer]:
    server = McpServerOpener(sandbox or find_sandbox(), home).open("made", chosen)
    try:
        yield server
    finally:
        await server.close()


async def call(server: McpServer, name: str = "look_up", **arguments: object) -> ToolResult:
    """As the role of work calls it."""
    tools = [server.as_tool(one) for one in await server.offered()]

    async def permit(_: CallFacts) -> Permit:
        return Permit.GOES

    registry = ToolRegistry(tools, {"work": frozenset(tool.name for tool in tools)}, permit)
    given = arguments or ({} if name == "send" else {"word": "sky"})
    answer = await registry.invoke(ToolCaller("work"), f"made.{name}", given)
    assert isinstance(answer, ToolResult)
    return answer


@needs_sandbox
async def test_a_server_offers_its_tools_under_its_name_and_what_it_says_is_a_foreign_record(tmp_path: Path) -> None:
    async with opened(tmp_path, settings(look=("look_up",))) as server:
        look, send = (server.as_tool(one) for one in await server.offered())
        assert (look.name, look.reach, look.is_repeatable) == ("made.look_up", Reach.LOOK, True)
        assert (send.name, send.reach, send.is_repeatable) == ("made.send", Reach.OUT, False)
        result = await call(server, word="sky", tool_="x", kind="short", at={"page": 2})
        told = {"word": "sky", "tool": "x", "kind": "short", "at": {"page": 2}}
        assert result.text == f"made.look_up answered:\n| {json.dumps(told, sort_keys=True)} is blue."
        assert result.foreign_sources == {"server:made"}


@needs_sandbox
async def test_arguments_that_do_not_fit_its_schema_never_reach_a_server(tmp_path: Path) -> None:
    async with opened(tmp_path, settings()) as server:
        for wrong in ({"word": 3}, {"limit": 1}, {"word": "a", "kind": "tall"}, {"word": "a", "at": {}}):
            with pytest.raises(ReveriesError, match=r"made\.look_up"):
                await call(server, **wrong)


@needs_sandbox
async def test_a_server_sees_the_system_and_its_folders_and_neither_network_environment_nor_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    outside = tmp_path / "outside"
    outside.mkdir()
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as listening:
        port = str(listening.sockets[0].getsockname()[1])
        async with opened(tmp_path / "home", settings("call_escapes", str(outside), port)) as server:
            seen = json.loads((await call(server)).text.partition("| ")[2])
        assert seen["found"] == []
        assert "OPENAI_API_KEY" not in seen["environment"]
        assert seen["processes"] <= 3
        given = settings("call_escapes", str(outside), port, network=True)
        async with opened(tmp_path / "home", given) as server:
            assert json.loads((await call(server)).text.partition("| ")[2])["found"] == ["network"]


@needs_sandbox
async def test_secrets_come_from_a_file_that_nobody_else_may_read(tmp_path: Path) -> None:
    secrets = tmp_path / "made.env"
    secrets.write_text('# mine\nexport MADE_KEY="k-1"\n')
    secrets.chmod(0o644)
    chosen = settings("call_escapes", "/nowhere", "1", environment_file=str(secrets))
    with pytest.raises(ReveriesError, match="Other users can read"):
        async with opened(tmp_path / "home", chosen):
            pass
    secrets.chmod(0o600)
    async with opened(tmp_path / "home", chosen) as server:
        seen = json.loads((await call(server)).text.partition("| ")[2])
    assert "MADE_KEY" in seen["environment"]


@needs_sandbox
async def test_a_server_that_is_started_anew_and_says_something_else_of_itself_is_not_called(tmp_path: Path) -> None:
    async with opened(tmp_path, settings()) as server:
        granted = server.as_tool((await server.offered())[0])
        server.worker = (McpServerOpener(find_sandbox(), tmp_path).open("made", settings("changed"))).worker
        given = granted.arguments(**{next(iter(granted.arguments.__struct_fields__)): "sky"})
        with pytest.raises(ToolError, match="no longer what was granted"):
            await granted.run(given, ToolCaller("work"))


async def test_without_a_sandbox_no_server_is_started(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="made is not started: There is no bubblewrap"):
        async with opened(tmp_path, settings(), Sandbox(why_not="There is no bubblewrap: install it.")):
            pass


@needs_sandbox
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"command": ("no-such-program",)}, "there is no program no-such-program"),
        ({"command": (sys.executable, "x")}, "it cannot see its own program"),
        ({"command": (PYTHON,), "reads": ("{home}",)}, "lies the memory of this mind"),
        ({"command": (PYTHON,), "writes": ("/",)}, "memory of this mind|more than one project"),
        ({"command": (PYTHON,), "reads": ("/no/such/folder",)}, "cannot be opened"),
        ({"url": "https://a.example/mcp", "token_file": "/no/such/file"}, "no file of yours|cannot be read"),
    ],
)
async def test_what_is_wrong_with_a_servers_settings_is_said_in_a_sentence(
    tmp_path: Path, given: dict[str, object], told: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    filled = {
        key: tuple(str(one).format(home=home) for one in value) if isinstance(value, tuple) else value
        for key, value in given.items()
    }
    with pytest.raises(ReveriesError, match=told):
        async with opened(home, McpServerSettings(**filled)):  # type: ignore[arg-type]
            pass


@needs_sandbox
@pytest.mark.system
@pytest.mark.parametrize(
    "fault", [one if one in IN_CI else pytest.param(one, marks=pytest.mark.long) for one in made_server.FAULTS]
)
async def test_whatever_a_server_does_the_daemon_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """40 and more faults: each ends in an answer or a sentence, within its time, and leaves nothing behind."""
    monkeypatch.setattr(mcp_servers, "_START_SECONDS", 8.0)
    monkeypatch.setattr(mcp_servers, "_CALL_SECONDS", 4.0)
    me = psutil.Process()
    before, children = me.memory_info().rss, set(me.children(recursive=True))
    command = (PYTHON if fault != "cannot_be_run" else "/usr/bin/false", str(HERE / "made_server.py"), fault)
    chosen = McpServerSettings(command=(*command, "/nowhere", "1"), reads=(str(HERE),))
    text = ""
    async with asyncio.timeout(300):
        async with opened(tmp_path, chosen) as server:
            try:
                offered = await server.offered()
                assert len(offered) <= 100
                if offered:
                    result = await call(server, offered[0].name)
                    text = result.text
                    assert result.foreign_sources == {"server:made"}
                    assert all(line.startswith("| ") for line in text.splitlines()[1:] if "cut" not in line)
            except ToolError as error:
                text = error.message
                assert "SYSTEM" not in text
    assert len(text) < 10_000
    # Whoever held it is gone, with all that it started.
    for _ in range(100):
        if not (set(me.children(recursive=True)) - children):
            break
        await asyncio.sleep(0.05)
    assert set(me.children(recursive=True)) - children == set()
    assert me.memory_info().rss - before < MOST_GROWTH_BYTES


@pytest.mark.parametrize(
    ("content", "structured", "told"),
    [
        (["Blue.", "Or grey."], {"n": 1}, "Blue.\nOr grey."),
        ([], {"colour": "grün"}, '{"colour": "grün"}'),
        ([], None, ""),
    ],
)
def test_an_answer_is_told_by_its_text_and_by_its_values_only_if_it_has_none(
    content: list[str], structured: dict[str, object] | None, told: str
) -> None:
    blocks = [types.TextContent(type="text", text=one) for one in content]
    assert format_tool_answer(types.CallToolResult(content=list(blocks), structured_content=structured)) == told


async def test_the_child_passes_on_no_more_of_an_answer_than_the_daemon_wants() -> None:
    class Server:
        async def call_tool(self, name: str, arguments: dict[str, object]) -> types.CallToolResult:
            return types.CallToolResult(content=[types.TextContent(text="x" * (MOST_ANSWER_CHARS + 1))])

    answer = await request_answer(cast("Client", Server()), "read", {}, seconds=180)
    assert len(answer["text"]) == MOST_ANSWER_CHARS
    assert answer["is_error"] is False
