"""What the MCP server offers and answers, through the official client in this process, before a scripted daemon."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from reveries import protocol
from reveries.client.mcp.daemon_calls import DaemonCalls
from reveries.client.mcp.server import build_server
from reveries.config import Home
from reveries.errors import NotFoundError

_SCHEMA = {
    "type": "object",
    "properties": {"project_id": {"type": "string"}, "words": {"type": "string"}},
    "required": ["project_id", "words"],
}


def tool(name: str, reach: str, *, is_additive: bool = False, is_repeatable: bool = False) -> protocol.ToolEntry:
    schema, answer = json.dumps(_SCHEMA).encode(), b'{"type": "object"}'
    return protocol.ToolEntry(name, "knowledge", "A tool.", reach, is_additive, is_repeatable, schema, answer)


@dataclass(frozen=True, kw_only=True)
class ScriptedDaemon(DaemonCalls):
    """Answers by the name of the tool, and keeps what it was asked."""

    home: Home = field(default_factory=lambda: Home(Path("/nowhere")))
    offered: tuple[protocol.ToolEntry, ...] = ()
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    chunks: tuple[protocol.ChunkEntry, ...] = ()
    asked: list[protocol.CallTool] = field(default_factory=list)

    async def ask(self, make: Callable[[int], protocol.Request], answer: type[Any]) -> Any:
        request = make(1)
        if isinstance(request, protocol.AskTools):
            return protocol.Tools(1, list(self.offered))
        if isinstance(request, protocol.AskChunks):
            return protocol.Chunks(1, list(self.chunks))
        assert isinstance(request, protocol.CallTool)
        self.asked.append(request)
        if request.tool not in self.answers:
            raise NotFoundError(f"There is no {request.tool}.")
        return protocol.ToolAnswered(1, json.dumps(self.answers[request.tool]).encode())


_STATE: dict[str, dict[str, Any]] = {
    "list_projects": {"projects": [{"name": "Shed"}, {"name": "Bathing hut"}, {"name": "Garden shed"}]},
    "get_orientation": {"project": "Shed", "orientation": {"project_id": "p1"}},
    "get_tasks": {"project": "Shed", "tasks": []},
    "get_blockers": {"project": "Shed"},
    "get_recent_activity": {"project": "Shed"},
}


async def list_tools(daemon: ScriptedDaemon) -> dict[str, types.Tool]:
    async with Client(build_server(daemon)) as client:
        return {one.name: one for one in (await client.list_tools()).tools}


@pytest.mark.parametrize(("project", "required"), [("", ["project_id", "words"]), ("Shed", ["words"])])
async def test_a_call_names_its_project_unless_the_server_is_bound_to_one(project: str, required: list[str]) -> None:
    tools = await list_tools(ScriptedDaemon(offered=(tool("store", "inside"),), project=project))
    assert tools["store"].input_schema["required"] == required


async def test_a_program_is_told_what_reads_what_only_adds_and_what_may_be_repeated() -> None:
    offered = (
        tool("look", "look"),
        tool("add", "inside", is_additive=True),
        tool("set", "inside", is_repeatable=True),
    )
    tools = await list_tools(ScriptedDaemon(offered=offered))
    hints = {name: one.annotations for name, one in tools.items()}
    assert hints == {
        "look": types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        "add": types.ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
        ),
        "set": types.ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    }


@pytest.mark.parametrize(
    ("servers", "prompts"),
    [
        ((), ["where_it_stands"]),
        (("orientation", "working"), ["where_it_stands"]),
        (("orientation",), []),
        (("working",), []),
    ],
)
async def test_the_prompt_is_offered_where_its_records_can_be_read(
    servers: tuple[protocol.ToolServer, ...], prompts: list[str]
) -> None:
    async with Client(build_server(ScriptedDaemon(answers=_STATE, servers=servers))) as client:
        assert [one.name for one in (await client.list_prompts()).prompts] == prompts


async def test_the_prompt_is_about_the_project_that_is_named_else_about_the_one_that_the_server_is_bound_to() -> None:
    for project, given in (("Shed", {}), ("", {"project": "Shed"})):
        daemon = ScriptedDaemon(answers=_STATE, project=project)
        async with Client(build_server(daemon)) as client:
            told = await client.get_prompt("where_it_stands", given)
        [message] = told.messages
        assert isinstance(message.content, types.TextContent)
        assert "Where does the project Shed stand?" in message.content.text
        assert {json.loads(one.arguments)["project_id"] for one in daemon.asked} == {"Shed"}
    async with Client(build_server(ScriptedDaemon(answers=_STATE))) as client:
        with pytest.raises(MCPError, match="Name the project"):
            await client.get_prompt("where_it_stands")


async def test_names_of_projects_are_completed_from_their_beginning_in_any_case() -> None:
    reference = types.PromptReference(name="where_it_stands")
    async with Client(build_server(ScriptedDaemon(answers=_STATE))) as client:
        for value, names in (("sh", ["Shed"]), ("B", ["Bathing hut"]), ("x", [])):
            found = await client.complete(reference, {"name": "project", "value": value})
            assert found.completion.values == names
        assert (await client.complete(reference, {"name": "colour", "value": "s"})).completion.values == []


async def test_each_call_carries_the_programs_name_its_session_and_what_the_server_is_bound_to() -> None:
    daemon = ScriptedDaemon(answers={"store": {"id": "c1"}}, project="Shed", servers=("knowledge",))
    async with Client(build_server(daemon, "Code Agent!")) as client:
        answer = await client.call_tool("store", {"words": "oak"})
        refused = await client.call_tool("none", {})
    assert answer.structured_content == {"id": "c1"}
    assert refused.is_error
    first, second = daemon.asked
    assert (first.program, first.project, first.servers) == ("code-agent", "Shed", ["knowledge"])
    assert json.loads(first.arguments) == {"words": "oak"}
    assert first.session == second.session == daemon.session != ""


@pytest.mark.parametrize(
    ("servers", "parts"),
    [
        ((), {"orientation", "tasks", "documents"}),
        (("orientation", "knowledge"), {"orientation", "documents"}),
        (("orientation",), {"orientation"}),
        (("working", "knowledge"), set()),  # Nothing there could list the projects.
    ],
)
async def test_each_project_offers_the_resources_of_the_groups_that_are_served(
    servers: tuple[protocol.ToolServer, ...], parts: set[str]
) -> None:
    async with Client(build_server(ScriptedDaemon(answers=_STATE, servers=servers))) as client:
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        templates = {one.name for one in (await client.list_resource_templates()).resource_templates}
    assert {uri for uri in listed if "/Shed/" in uri} == {f"reveries://projects/Shed/{part}" for part in parts}
    assert templates == parts


async def test_a_program_that_is_served_the_page_alone_reads_no_document_by_its_address() -> None:
    daemon = ScriptedDaemon(answers=_STATE, servers=("orientation",))
    async with Client(build_server(daemon)) as client:
        assert (await client.read_resource("reveries://projects/Shed/orientation")).contents
        for part in ("documents", "tasks"):
            with pytest.raises(MCPError, match="There is no resource"):
                await client.read_resource(f"reveries://projects/Shed/{part}")


async def test_a_project_is_found_by_its_encoded_name_and_its_documents_are_those_that_hold() -> None:
    def chunk(chunk_id: str, kind: str, fell_because: str = "") -> protocol.ChunkEntry:
        return protocol.ChunkEntry(chunk_id, "Title", "Text", kind, "verified", fell_because, [])

    chunks = (chunk("c1", "resource"), chunk("c2", "resource", "it was replaced"), chunk("c3", "learning"))
    daemon = ScriptedDaemon(answers=_STATE, chunks=chunks)
    async with Client(build_server(daemon)) as client:
        read = await client.read_resource("reveries://projects/Bathing%20hut/documents")
        with pytest.raises(MCPError, match="There is no resource"):
            await client.read_resource("reveries://projects/Shed/secrets")
    [content] = read.contents
    assert isinstance(content, types.TextResourceContents)
    assert [one["id"] for one in json.loads(content.text)["documents"]] == ["c1"]
    assert json.loads(daemon.asked[0].arguments) == {"project_id": "Bathing hut"}
