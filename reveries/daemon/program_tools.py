"""The tools that other programs may call: those of projects and of memory, behind one registry.

A program is untrusted: what it writes carries its name. Until its owner allows it to write, it may only read, and add
text that is marked as its own.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from reveries import protocol
from reveries.daemon.mind import Mind
from reveries.daemon.occupations.mind_tools import SERVER as MEMORY
from reveries.daemon.occupations.mind_tools import MindTools
from reveries.errors import NotFoundError, UsageError
from reveries.projects.document_tools import DocumentTools
from reveries.projects.facts_tools import FactsTools
from reveries.projects.knowledge_tools import KnowledgeTools
from reveries.projects.model import PROGRAM_PREFIX, Project
from reveries.projects.orientation_tools import OrientationTools
from reveries.projects.working_tools import WorkingTools
from reveries.safe_text import one_line
from reveries.tools.registry import Tool, ToolCaller, ToolRegistry
from reveries.tools.tool_group import ToolGroup

PROGRAM_ROLE: Final = "program"
_PROJECT_GROUPS: Final = (OrientationTools, WorkingTools, KnowledgeTools, FactsTools)
TOOL_GROUPS: Final[tuple[type[ToolGroup], ...]] = (MindTools, *_PROJECT_GROUPS, DocumentTools)
"""All that programs are offered, in this order."""
_MOST_ANSWER_BYTES: Final = 3 * 2**20
"""Size limit of an answer, so that it fits into a frame."""


class ProgramTools:
    """The tools of one mind, by name."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind
        store = mind.projects.store
        memory = MindTools(
            memory=mind.memory,
            sleep=mind.sleep,
            activity=mind.activity,
            health=mind.health,
            clock=mind.clock,
            awake_since=mind.awake_since,
        )
        documents = DocumentTools(store, mind.database)
        groups = (memory, *(group(store) for group in _PROJECT_GROUPS), documents)
        self._tools = {tool.name: tool for group in groups for tool in group.tools()}
        self._registry = ToolRegistry(self._tools.values(), {PROGRAM_ROLE: frozenset(self._tools)})

    def list_tools(self, servers: Sequence[str]) -> list[Tool]:
        """Return the tools of `servers`, or all if it is empty."""
        return [tool for tool in self._tools.values() if not servers or tool.server in servers]

    async def answer(self, asked: protocol.CallTool) -> bytes:
        """Call a tool for a program and return its answer as JSON. Raises UsageError, and what the tool raises."""
        tool = self._find_tool(asked)
        may_write = asked.program in self._mind.in_force.current.mcp.may_write
        if tool.needs_write and not may_write:
            raise UsageError(
                f"{asked.program} may not call {tool.name}, because it changes data.",
                advice=f"Its owner can allow it: reveries mcp allow {asked.program} --write",
            )
        given, bound = _read_object(asked.arguments), None
        if asked.project and (tool.server != MEMORY or tool.name == "status"):
            bound = await self._find_bound_project(asked.project)
            given = await self._restrict_arguments(tool, given, bound)
        caller = ToolCaller(PROGRAM_ROLE, f"{PROGRAM_PREFIX}{asked.program}", f"mcp {asked.session}", may_write)
        result = await self._registry.call(caller, tool.name, given)
        if bound is not None:
            _hide_others(tool, result, bound)
        if len(answer := msgspec.json.encode(result)) > _MOST_ANSWER_BYTES:
            raise UsageError(f"The answer of {tool.name} is too long.", advice="Ask for less of it: a smaller limit.")
        return answer

    def _find_tool(self, asked: protocol.CallTool) -> Tool:
        offered = {tool.name: tool for tool in self.list_tools(asked.servers)}
        if asked.tool not in offered:
            raise UsageError(f"There is no tool {asked.tool[:60]!r} here.", advice=f"There are: {', '.join(offered)}.")
        return offered[asked.tool]

    async def _find_bound_project(self, name: str) -> Project:
        """Find the project. Raises NotFoundError, whose message names no other project."""
        try:
            return await self._mind.projects.store.find(name)
        except NotFoundError:
            raise NotFoundError(
                f"This program is bound to a project, and there is no project {name[:80]!r}.",
                advice="Its owner sees which there are: reveries project list",
            ) from None

    async def _restrict_arguments(self, tool: Tool, given: dict[str, object], bound: Project) -> dict[str, object]:
        """Return the arguments restricted to the bound project. Raises UsageError, with the same message for another
        project and a missing one."""
        if tool.name == "create_project":
            raise UsageError("This program is bound to one project.", advice="Serve it without --project.")
        if tool.name == "list_projects" or tool.server == MEMORY:
            return given
        if given.get("project_id") is not None and not await self._names_project(bound, str(given["project_id"])):
            raise UsageError("This program is bound to another project.", advice="Leave project_id out.")
        return given | {"project_id": bound.id}

    async def _names_project(self, project: Project, name: str) -> bool:
        try:
            return (await self._mind.projects.store.find(name)).id == project.id
        except NotFoundError:
            return False


def describe_tools(servers: Sequence[str] = ()) -> list[protocol.ToolEntry]:
    """Return what the tools of `servers` (empty: all) offer, which is the same whether or not a mind is awake."""
    offered = [tool for group in TOOL_GROUPS for tool in group.describe_tools()]
    return [
        protocol.ToolEntry(
            tool.name, tool.server, tool.description, tool.reach.value, tool.is_additive, tool.is_repeatable,
            msgspec.json.encode(tool.schema), msgspec.json.encode(tool.answer_schema),
        )
        for tool in offered
        if not servers or tool.server in servers
    ]  # fmt: skip


def _hide_others(tool: Tool, result: dict[str, Any], bound: Project) -> None:
    """Remove other projects from a result."""
    if tool.name == "list_projects":
        result["projects"] = [listed for listed in result["projects"] if listed["project_id"] == bound.id]
    if tool.name == "status" and result["work"] != one_line(bound.name):
        result |= {"detail": "", "work": ""}


def _read_object(arguments: bytes) -> dict[str, object]:
    try:
        return msgspec.json.decode(arguments or b"{}", type=dict[str, object])
    except msgspec.DecodeError as error:
        raise UsageError("The arguments are not a JSON object.", advice="See the tool's schema.") from error
