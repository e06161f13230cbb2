"""Registry of tools and of who may call which: a call that is not listed is refused and logged.

A tool is a function from a struct of arguments to a struct. Roles of the mind and external programs call tools the same
way, by name and a mapping, so both go through the same checks.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_type_hints

import msgspec
import structlog

from reveries import gates
from reveries.errors import ToolError, UsageError
from reveries.gates import ToolGate
from reveries.tools.argument_reading import read_arguments
from reveries.tools.reach import CallFacts, Permit, Reach, digest_call

log = structlog.get_logger("tools")

_MOST_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The caller: a role of the mind, or an external program, whose name taints what it writes."""

    role: str
    source: str = ""
    """`mcp:NAME` for an external program; empty for the mind itself."""
    session_id: str = ""
    """Id of the wake or of the connection."""
    may_write: bool = True
    """Whether it may change existing data. Without it a caller can read, and add data under its own name."""
    context_sources: frozenset[str] = frozenset()
    """Foreign sources of everything in its context when it calls."""

    @property
    def foreign_sources(self) -> frozenset[str]:
        return self.context_sources | (frozenset({self.source}) if self.source else frozenset())


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """What a tool does, and how far it reaches."""

    description: str
    reach: Reach
    is_repeatable: bool = True
    """Whether calling it twice has the same effect as calling it once."""
    is_additive: bool = False
    """Whether it only adds data under the caller's name: then a caller without write access may call it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(ToolOffer):
    """One tool. `server` is the group in which it is offered."""

    name: str
    server: str
    arguments: type[msgspec.Struct]
    run: Callable[[Any, ToolCaller], Awaitable[object]]
    check: Callable[[Any], None] | None = None
    """Checks the arguments before the owner is asked for approval. Raises ToolError."""

    @property
    def needs_write(self) -> bool:
        """Whether only a caller that may change existing data may call it."""
        return self.reach is not Reach.LOOK and not self.is_additive

    @property
    def schema(self) -> dict[str, Any]:
        """The complete JSON schema of its arguments."""
        return write_schema(self.arguments)

    @property
    def answer_schema(self) -> dict[str, Any]:
        """The JSON schema of its answer, from the type that its function returns."""
        return write_schema(get_type_hints(self.run)["return"])


def write_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the complete JSON schema of a struct."""
    (schema,), components = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    own: dict[str, Any] = components.pop(struct.__name__, schema)
    return own | ({"$defs": components} if components else {})


class ApprovalNeededError(Exception):
    """The owner must approve a call first: the caller asks for approval and waits."""

    def __init__(self, call: CallFacts) -> None:
        super().__init__(f"{call.tool} needs a yes of the owner.")
        self.call = call


AskGate = Callable[[CallFacts], Awaitable[Permit]]
"""Called before each call; a gate that allows it has recorded the grant it used."""


async def close_to_outside(call: CallFacts) -> Permit:
    """The gate without any grants."""
    return Permit.NEEDS_APPROVAL if call.reach is Reach.OUT else Permit.GOES


class ToolRegistry:
    """Tools by name, with the names that each role may call."""

    def __init__(
        self, tools: Iterable[Tool], allowed: Mapping[str, frozenset[str]], gate: AskGate = close_to_outside
    ) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            assert tool.name not in self._tools, f"Two tools are named {tool.name}."
            self._tools[tool.name] = tool
        self._allowed = allowed
        self._gate = gate
        assert frozenset[str]().union(*allowed.values()) <= self._tools.keys(), "A role names a tool that is not there."

    def tools_for(self, caller: ToolCaller) -> list[Tool]:
        """The tools that a caller may call, in the order of registration."""
        return [tool for tool in self._tools.values() if self._may_call(caller, tool)]

    async def call(self, caller: ToolCaller, name: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """`invoke`, with the answer in plain values."""
        answer: dict[str, Any] = msgspec.to_builtins(await self.invoke(caller, name, arguments))
        return answer

    async def invoke(
        self, caller: ToolCaller, name: str, arguments: Mapping[str, object], *, is_unknown: bool = False
    ) -> object:
        """Call a tool. Raises UsageError for an unknown tool, one that the caller may not call, and invalid arguments;
        ApprovalNeededError if the gate requires approval, ToolError if the owner refused; and whatever the tool raises.
        `is_unknown`: the call was begun before and interrupted."""
        tool = self._tools.get(name)
        if tool is None or not self._may_call(caller, tool):
            log.warning("tool.refused", tool=name[:_MOST_CHARS], role=caller.role, source=caller.source)
            why = "may not be called here" if tool is not None else "is not there"
            raise UsageError(f"The tool {name[:_MOST_CHARS]!r} {why}.", advice=self._advice(caller))
        try:
            given = read_arguments(arguments, tool.arguments)
        except msgspec.ValidationError as error:
            raise UsageError(f"{name}: {str(error)[:_MOST_CHARS]}.", advice="See the tool's schema.") from error
        if tool.check is not None:
            tool.check(given)
        digest = digest_call(name, msgspec.to_builtins(given))
        is_in_doubt = is_unknown and not tool.is_repeatable
        facts = CallFacts(name, tool.reach, digest, caller.foreign_sources, is_in_doubt)
        permit = await self._gate(facts)
        if permit is Permit.DENIED:
            raise ToolError(f"The owner said no to this call of {name}.", advice="Do without it, or do something else.")
        if permit is Permit.NEEDS_APPROVAL:
            log.info("tool.held", tool=name, role=caller.role, sources=len(caller.foreign_sources))
            raise ApprovalNeededError(facts)
        return await tool.run(given, caller)

    def _may_call(self, caller: ToolCaller, tool: Tool) -> bool:
        is_listed = tool.name in self._allowed.get(caller.role, frozenset()) or not gates.is_enforced(ToolGate.LISTED)
        return is_listed and (caller.may_write or not tool.needs_write)

    def _advice(self, caller: ToolCaller) -> str:
        return "There are: " + (", ".join(tool.name for tool in self.tools_for(caller)) or "none") + "."
