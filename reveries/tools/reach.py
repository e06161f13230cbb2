"""Whether a call may go: what it reaches, what foreign text stands before whoever makes it, what the owner granted.
Pure (DESIGN-projects.md, section 4)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from reveries import gates
from reveries.gates import ToolGate

FOLDER_SOURCE: Final = "folder"
"""What is read in a folder was written by whoever: it is foreign until the owner grants it."""

SERVER_PREFIX: Final = "server:"
"""What an MCP server said, and the texts of its tools."""


class Reach(StrEnum):
    """What a tool touches."""

    LOOK = "look"
    """It reads what the project has."""
    INSIDE = "inside"
    """It changes what the project has."""
    OUT = "out"
    """It reaches beyond the project."""


class Permit(StrEnum):
    """What becomes of a call."""

    GOES = "goes"
    NEEDS_APPROVAL = "needs approval"
    DENIED = "denied"
    """The owner said no to it."""


@dataclass(frozen=True, slots=True)
class GrantSet:
    """What the owner granted in one project, as one task sees it."""

    tools: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    """Digests of single calls that were approved and have not been made."""
    denied: frozenset[str] = frozenset()
    """Digests of calls that the owner said no to."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What is known of a call before it is made."""

    tool: str
    reach: Reach
    digest: str
    foreign_sources: frozenset[str]
    """Of all that stands before whoever makes it."""
    is_unknown: bool = False
    """It was begun before, broken off, and may have happened."""


def decide_call(call: CallFacts, grants: GrantSet) -> Permit:
    """What becomes of a call. One approved by itself goes whatever else holds it."""
    if call.digest in grants.calls:
        return Permit.GOES
    if call.digest in grants.denied:
        return Permit.DENIED
    if call.is_unknown and gates.stands(ToolGate.UNKNOWN):
        return Permit.NEEDS_APPROVAL
    if call.reach is not Reach.OUT:
        return Permit.GOES
    is_granted = call.tool in grants.tools or not gates.stands(ToolGate.GRANT)
    are_sources_granted = call.foreign_sources <= grants.sources or not gates.stands(ToolGate.SOURCE)
    return Permit.GOES if is_granted and are_sources_granted else Permit.NEEDS_APPROVAL


def digest_call(tool: str, arguments: Mapping[str, object]) -> str:
    """One name for one call: the same tool with the same arguments, in whatever order they stand."""
    told = msgspec.json.encode([tool, dict(arguments)], order="deterministic")
    return hashlib.sha256(told).hexdigest()[:32]


def source_of_host(host: str) -> str:
    """How a host is named as a foreign source: by a hash, for its name can hold words to be forgotten. Pure."""
    return "web:" + hashlib.blake2b(host.casefold().encode("utf-8", "replace"), digest_size=6).hexdigest()
