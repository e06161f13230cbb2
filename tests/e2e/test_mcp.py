"""The mind over MCP, as the official client and a coding agent meet it: the real daemon, the real server process."""

import asyncio
import json
import os
import sys
from typing import Any

import jsonschema
import pytest

from tests.e2e.living import Living
from tests.e2e.mcp_program import call, mcp_client, refusal

pytestmark = [pytest.mark.e2e]

_WRITES = '[mcp]\nmay_write = ["agent"]\n'
_PAGE: dict[str, Any] = {
    "vision_summary": "A garden shed of oak.", "success_criteria": ["It stands."], "constraints": ["600 euros"]
}  # fmt: skip
_CHUNK: dict[str, Any] = {
    "content": "Oak is hard.", "type": "research", "tags": ["wood"], "confidence": "verified", "source": "research"
}  # fmt: skip
_TASK = (
    "id project_id title description status skill_area depends_on blocked_by outcome created_at updated_at started_at"
)
_TASK += " completed_at failure_reason failure_context"
_QUESTION = "id project_id question context status answer blocks_tasks asked_at answered_at"
_ORIENTATION = "project_id vision_summary success_criteria constraints skill_map current_phase key_decisions"
_ORIENTATION += " active_priorities progress_snapshot last_rewritten version"
_STORED = "id project_id content type tags confidence source created_at last_accessed last_useful"
_FULL = (
    _STORED + " title access_count memory_type pinned valid_from valid_until source_confidence"
    " extraction_confidence initial_strength current_strength decay_function decay_rate persistence_score"
    " superseded_by supersedes conflicts_with"
)
_RELATION = (
    "id from_chunk_id to_chunk_id type weight last_activated activation_count context_tags origin created_at "
    "confidence confidence_source valid_from valid_until derived_from"
)


def has(record: dict[str, Any], fields: str) -> bool:
    return set(fields.split()) <= record.keys()


@pytest.mark.requirement(*(f"V-{number}" for number in range(16, 50)))
async def test_every_tool_has_the_fields_of_the_specification_over_the_wire(living: Living) -> None:
    living.settings += _WRITES
    await living.wake()
    async with mcp_client(living) as client:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        called: set[str] = set()

        async def ask(tool: str, **given: Any) -> dict[str, Any]:
            called.add(tool)
            answer = await call(client, tool, **given)
            jsonschema.validate(given, offered[tool].input_schema)
            jsonschema.validate(answer, offered[tool].output_schema or {})
            return answer

        created = await ask("create_project", **_PAGE)
        project = {"project_id": created["project_id"]}
        assert has(created["orientation"], _ORIENTATION)
        page = (await ask("get_orientation", **project))["orientation"]
        assert has(await ask("update_orientation", **project, orientation=page), "success updated_at")
        [listed] = (await ask("list_projects"))["projects"]
        assert has(listed, "project_id vision_summary current_phase last_updated")

        new = {"title": "Buy wood", "description": "Oak.", "skill_area": "wood"}
        task = (await ask("create_task", **project, **new, depends_on=[]))["task"]
        assert has(task, _TASK)
        question = (await ask("create_question", **project, question="Oak?", context="c", blocks_tasks=[task["id"]]))[
            "question"
        ]
        assert has(question, _QUESTION)
        [blocker] = (await ask("get_blockers", **project))["blockers"]
        assert (blocker["blocker_type"], blocker["task"]["id"]) == ("question", task["id"])
        assert has(blocker["blocked_by"][0], _QUESTION)
        answered = await ask("answer_question", **project, question_id=question["id"], answer="Oak.")
        assert has(answered["question"], _QUESTION)
        assert has(answered["unblocked_tasks"][0], _TASK)
        assert (await ask("get_questions", **project, status="answered"))["questions"]
        assert (await ask("update_task", **project, task_id=task["id"], updates={"status": "done"}))["task"]
        assert (await ask("get_tasks", **project, status="done", skill_area="wood"))["tasks"]
        logged = await ask("log_activity", **project, action="bought", details="12 boards")
        newest = (await ask("get_recent_activity", **project, limit=1))["activities"][0]
        assert has(newest, "id project_id action details timestamp")
        assert newest["id"] == logged["activity_id"]

        first = (await ask("store_chunk", **project, **_CHUNK))["chunk"]
        related = [{"chunk_id": first["id"], "relationship_type": "supports"}]
        second = (await ask("store_chunk", **project, **(_CHUNK | {"content": "It lasts."}), related_to=related))[
            "chunk"
        ]
        assert has(first, _STORED)
        searched = (await ask("search_semantic", **project, query="hard oak", min_similarity=0.1))["results"]
        assert has(searched[0], "chunk similarity")
        hybrid = (await ask("search_hybrid", **project, query="hard oak"))["results"]
        assert has(hybrid[0], "chunk rrf_score semantic_score keyword_score graph_score")
        assert (await ask("search_tags", **project, tags=["wood"], any_tags=[]))["chunks"]
        relation = (await ask("get_related", **project, chunk_id=first["id"]))["relationships"][0]
        assert has(relation, "chunk relationship direction")
        assert has(relation["relationship"], _RELATION)
        ends = {"from_chunk_id": first["id"], "to_chunk_id": second["id"], "type": "builds_on"}
        assert has((await ask("create_relationship", **project, **ends))["relationship"], _RELATION)
        pair: dict[str, Any] = {"from": first["id"], "to": second["id"]}
        await ask("strengthen_relationship", **project, **pair)
        await ask("weaken_relationship", **project, **pair, reason="manual")
        assert has((await ask("get_chunk", **project, chunk_id=first["id"]))["chunk"], _FULL)
        anew = [{"chunk_id": second["id"], "relationship_type": "replaces"}]
        third = (await ask("store_chunk", **project, **(_CHUNK | {"content": "It greys."}), related_to=anew))["chunk"]
        ends = {"from_chunk_id": third["id"], "to_chunk_id": first["id"], "type": "contradicts"}
        await ask("create_relationship", **project, **ends)
        full = (await ask("get_chunk", **project, chunk_id=third["id"]))["chunk"]
        assert (full["supersedes"], full["conflicts_with"]) == ([second["id"]], [first["id"]])
        [conflict] = (await ask("get_contradictions", **project))["contradictions"]
        assert {conflict["chunk_a"]["id"], conflict["chunk_b"]["id"]} == {first["id"], third["id"]}

        assert (await ask("get_facts", **project))["facts"] == []
        assert (await ask("ask_notes", **project, question="When is it due?"))["verdict"] == "not_said"
        assert (await ask("get_fact_conflicts", **project))["conflicts"] == []
        assert (await ask("get_proposals", **project))["proposals"] == []

        assert (await ask("search_knowledge", **project, query="boards"))["places"] == []
        for tool, given in (("read_pointer", {"pointer_id": "d1.p1.b1"}), ("read_page", {"document": "x", "page": 1})):
            called.add(tool)
            assert (await client.call_tool(tool, {**project, **given})).is_error

        await ask("remember", text="The boards lie behind the house.")
        recalled = await ask("recall", query="where are the boards?")
        assert "behind the house" in recalled["turns"][0]["text"]
        assert recalled["episodes"][0]["origin"] == "tool"
        assert (await ask("what_happened", since="today"))["moments"]
        assert (await ask("status"))["episodes"] >= 1
        assert called == offered.keys()
        assert all(tool.output_schema and tool.description for tool in offered.values())
    await living.end()


async def test_a_program_that_is_not_allowed_to_write_looks_and_adds_in_its_own_name(living: Living) -> None:
    living.settings += _WRITES
    await living.wake()
    async with mcp_client(living) as agent, mcp_client(living, name="Guest 7") as guest:
        await call(agent, "create_project", **_PAGE, name="Shed")
        await call(agent, "create_project", **_PAGE, name="Attic & cellar/2")
        uris = [str(one.uri) for one in (await guest.list_resources()).resources]
        assert len(uris) == 6
        for uri in uris:
            [content] = (await guest.read_resource(uri)).contents
            assert json.loads(getattr(content, "text", ""))["project"] in ("Shed", "Attic & cellar/2")
        assert "mcp allow guest-7 --write" in await refusal(guest, "create_project", **_PAGE)
        stored = await call(guest, "store_chunk", project_id="Shed", **_CHUNK)
        assert stored["chunk"]["foreign_sources"] == ["mcp:guest-7"]
        assert stored["chunk"]["confidence"] == "speculative"
        assert "no project" in await refusal(guest, "get_tasks", project_id="Boat")
        assert "project_id" in await refusal(guest, "get_tasks")
        assert "no tool" in await refusal(guest, "drop_everything")
    await living.end()


async def test_a_server_that_is_bound_to_a_project_and_to_groups_offers_no_more(living: Living) -> None:
    living.settings += _WRITES
    await living.wake()
    async with mcp_client(living) as client:
        for name in ("Shed", "Boat"):
            await call(client, "create_project", **_PAGE, name=name)
    async with mcp_client(living, "--project", "Shed", "--only", "orientation", "--only", "working") as bound:
        names = {tool.name for tool in (await bound.list_tools()).tools}
        assert len(names) == 13
        assert (await call(bound, "get_orientation"))["project"] == "Shed"
        assert [one["name"] for one in (await call(bound, "list_projects"))["projects"]] == ["Shed"]
        assert "bound" in await refusal(bound, "get_orientation", project_id="Boat")
        assert "bound" in await refusal(bound, "create_project", **_PAGE)
        assert "no tool" in await refusal(bound, "recall", query="anything")
        for tool in (await bound.list_tools()).tools:
            assert "project_id" not in tool.input_schema.get("required", ())
        uris = {str(one.uri) for one in (await bound.list_resources()).resources}
        assert uris == {"reveries://projects/Shed/orientation", "reveries://projects/Shed/tasks"}
        with pytest.raises(Exception, match="bound"):
            await bound.read_resource("reveries://projects/Boat/tasks")
        [prompt] = (await bound.list_prompts()).prompts
        told = await bound.get_prompt(prompt.name, {})
        assert "A garden shed of oak." in str(told.messages[0].content)
    async with mcp_client(living, "--only", "memory") as memory:
        assert {tool.name for tool in (await memory.list_tools()).tools} == {
            "remember", "recall", "what_happened", "status"
        }  # fmt: skip
        assert (await memory.list_resources()).resources == []
        assert (await memory.list_prompts()).prompts == []
    await living.end()


async def test_a_server_goes_on_when_the_mind_was_killed_and_woke_again(living: Living) -> None:
    await living.wake()
    async with mcp_client(living) as client:
        await call(client, "remember", text="The key hangs in the hall.")
        living.kill()
        assert "reveries wake" in await refusal(client, "status")
        await living.wake()
        recalled = await call(client, "recall", query="where does the key hang?")
        assert "in the hall" in recalled["turns"][0]["text"]
    await living.end()


async def test_standard_output_carries_nothing_but_the_wire(living: Living) -> None:
    await living.wake()
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    lines: list[object] = [
        hello,
        "no json at all",
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nothing", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "status", "arguments": {}}},
    ]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reveries", "mcp", "serve",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "REVERIES_HOME": str(living.home.path)}, limit=2**24,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for line in lines:
        process.stdin.write((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n")
    seen: set[object] = set()
    async with asyncio.timeout(300):
        while not {1, 2, 3} <= seen:
            frame = json.loads(await process.stdout.readline())
            assert frame["jsonrpc"] == "2.0"
            seen.add(frame.get("id"))
        process.stdin.close()
        rest = await process.stdout.read()
        assert await process.wait() == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    await living.end()
