"""Outside suites against the MCP server: the protocol's own conformance suite, and the Inspector."""

import json
import sys

import pytest

from tests.e2e.living import Living
from tests.e2e.mcp_suite_runs import PROGRAM, failing, http_server, inspect, is_failing, run_conformance

pytestmark = [pytest.mark.system]

_WRITES = '[mcp]\nmay_write = ["agent"]\n'


@pytest.mark.parametrize(("revision", "least"), [("2025-11-25", 30), ("2026-07-28", 37)])
async def test_every_scenario_of_the_conformance_suite_for_a_server_passes(
    living: Living, revision: str, least: int
) -> None:
    living.settings += f'[mcp]\nmay_write = ["{PROGRAM}"]\n'
    await living.wake()
    async with http_server(living) as url:
        passed, failed = await run_conformance(revision, "server", "--url", url)
    check_verdicts(passed, failed, least)
    await living.end()


@pytest.mark.parametrize(("revision", "least"), [("2025-11-25", 3), ("2026-07-28", 6)])
async def test_every_scenario_for_a_client_passes_but_logging_in_and_being_asked(revision: str, least: int) -> None:
    command = f"{sys.executable} -m tests.mcp_suite.client"
    passed, failed = await run_conformance(revision, "client", "--command", command)
    check_verdicts(passed, failed, least)


def check_verdicts(passed: set[str], failed: set[str], least: int) -> None:
    """Every failure is named in failing.toml, and nothing that passes is."""
    assert len(failing()) <= 5
    assert {one for one in failed if not is_failing(one)} == set()
    assert {one for one in passed if is_failing(one)} == set()
    assert len(passed) >= least


@pytest.mark.long  # A program of Node's for each of 27 tools; test_mcp.py calls them over the wire in `make test`.
async def test_the_inspector_lists_and_calls_every_tool_over_stdio(living: Living) -> None:
    living.settings += _WRITES
    await living.wake()
    listed = json.loads(await inspect(living, "--method", "tools/list", "--strict"))
    names = [tool["name"] for tool in listed["tools"]]
    assert len(names) == 27

    async def call(tool: str, **given: object) -> dict[str, object]:
        words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in given.items()]
        told = await inspect(
            living, "--method", "tools/call", "--tool-name", tool, *(["--tool-arg", *words] if words else [])
        )
        answer = json.loads(told)
        assert not answer.get("isError"), answer
        names.remove(tool)
        return answer["structuredContent"]  # type: ignore[no-any-return]

    async def id_of(key: str, tool: str, **given: object) -> str:
        record = (await call(tool, **given))[key]
        assert isinstance(record, dict)
        return str(record["id"])

    page = {"vision_summary": "A shed.", "success_criteria": ["It stands."], "name": "Shed"}
    shed = {"project_id": "Shed"}
    chunk = {"type": "research", "tags": ["wood"], "confidence": "verified", "source": "research"}
    await call("create_project", **page)
    await call("update_orientation", **shed, orientation={"constraints": ["600 euros"]})
    task = await id_of("task", "create_task", **shed, title="Buy wood", description="d", skill_area="wood")
    question = await id_of("question", "create_question", **shed, question="Oak?", context="c")
    await call("answer_question", **shed, question_id=question, answer="Oak.")
    await call("update_task", **shed, task_id=task, updates={"status": "done"})
    await call("log_activity", **shed, action="bought")
    first = await id_of("chunk", "store_chunk", **shed, **chunk, content="Oak is hard.")
    names.append("store_chunk")
    second = await id_of("chunk", "store_chunk", **shed, **chunk, content="Paint lasts ten years.")
    pair = {"from": first, "to": second}
    await call("create_relationship", **shed, from_chunk_id=first, to_chunk_id=second, type="supports")
    await call("strengthen_relationship", **shed, **pair)
    await call("weaken_relationship", **shed, **pair, reason="manual")
    await call("get_chunk", **shed, chunk_id=first)
    await call("get_related", **shed, chunk_id=first)
    await call("search_tags", **shed, tags=["wood"])
    for tool in ("search_semantic", "search_hybrid"):
        await call(tool, **shed, query="oak")
    await call("remember", text="The boards lie behind the house.")
    await call("recall", query="where are the boards?")
    for tool in ("get_orientation", "get_tasks", "get_questions", "get_blockers", "get_recent_activity"):
        await call(tool, **shed)
    for tool in ("list_projects", "what_happened", "status"):
        await call(tool)
    await call("get_contradictions", **shed)
    assert names == []
    await living.end()
