"""What programs outside may call: the tools of projects and of memory, behind one registry.

A program is foreign: what it writes carries its name. Until its owner allows it to write, it looks, and adds what is
marked as its own.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from reveries.daemon.mind import Mind
from reveries.daemon.mind_tools import MindTools
from reveries.errors import UsageError
from reveries.projects.knowledge_tools import KnowledgeTools
from reveries.projects.model import PROGRAM_PREFIX
from reveries.projects.orientation_tools import OrientationTools
from reveries.projects.working_tools import WorkingTools
from reveries.tools.reach import Reach
from reveries.tools.registry import Tool, ToolCaller, ToolRegistry

PROGRAM_ROLE: Final = "program"
_MOST_ANSWER_BYTES: Final = 3 * 2**20
"""What fits into a message to a client, with what stands around it."""
_UNBOUND: Final = frozenset({"list_projects", "create_project"})
"""These concern no project that is there."""


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
        offered = (memory, OrientationTools(store), WorkingTools(store), KnowledgeTools(store))
        self._tools = {tool.name: tool for one in offered for tool in one.tools()}
        self._registry = ToolRegistry(self._tools.values(), {PROGRAM_ROLE: frozenset(self._tools)})

    def listed(self, servers: Sequence[str]) -> list[Tool]:
        """Those of `servers`; of all where none is named."""
        return [tool for tool in self._tools.values() if not servers or tool.server in servers]

    async def call(self, program: str, session_id: str, name: str, arguments: bytes, project: str) -> bytes:
        """Call a tool for a program; its answer as JSON. `project`: the one project that this program is bound to, by
        name or id; empty: none. Raises UsageError, and what the tool raises."""
        given = await self._read_arguments(name, arguments, project)
        may_write = program in self._mind.in_force.current.mcp.may_write
        tool = self._tools.get(name)
        if tool is not None and not (may_write or tool.reach is Reach.LOOK or tool.is_additive):
            raise UsageError(
                f"{program} may not call {name}: it changes what is there.",
                advice=f"Its owner allows it: reveries mcp allow {program} --write",
            )
        caller = ToolCaller(PROGRAM_ROLE, f"{PROGRAM_PREFIX}{program}", session_id, may_write)
        answer = msgspec.json.encode(await self._registry.call(caller, name, given))
        if len(answer) > _MOST_ANSWER_BYTES:
            raise UsageError(f"The answer of {name} is too long.", advice="Ask for less of it: a smaller limit.")
        return answer

    async def _read_arguments(self, name: str, arguments: bytes, project: str) -> dict[str, object]:
        try:
            given = msgspec.json.decode(arguments or b"{}", type=dict[str, object])
        except msgspec.DecodeError as error:
            raise UsageError("The arguments are no JSON object.", advice="See the tool's schema.") from error
        if not project or name not in self._tools or self._tools[name].server == "memory":
            return given
        if name in _UNBOUND:
            if name == "create_project":
                raise UsageError("This program is bound to one project.", advice="Serve it without --project.")
            return given
        bound = await self._mind.projects.store.find(project)
        if "project_id" in given and (await self._mind.projects.store.find(str(given["project_id"]))).id != bound.id:
            raise UsageError(f"This program is bound to {bound.name}.", advice="Leave project_id out.")
        return given | {"project_id": bound.id}
