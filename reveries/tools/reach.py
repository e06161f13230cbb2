"""Decides whether a tool call is allowed, by its reach, the untrusted text in the caller's context, and the grants.

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
"""Source of text read in a folder: untrusted until the owner grants it."""

SERVER_PREFIX: Final = "server:"
"""Prefix of the source of an MCP server's answers and tool texts."""


class Reach(StrEnum):
    """What a tool touches."""

    LOOK = "look"
    """It reads within the project."""
    INSIDE = "inside"
    """It changes something within the project."""
    OUT = "out"
    """It reaches beyond the project."""


class Permit(StrEnum):
    """The decision about a call."""

    GOES = "goes"
    NEEDS_APPROVAL = "needs approval"
    DENIED = "denied"
    """The owner refused it."""


@dataclass(frozen=True, slots=True)
class GrantSet:
    """The owner's grants in one project that apply to one task."""

    tools: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    """Digests of single calls that were approved and not made yet."""
    denied: frozenset[str] = frozenset()
    """Digests of calls that the owner refused."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """The facts about a call that decide whether it is allowed."""

    tool: str
    reach: Reach
    digest: str
    foreign_sources: frozenset[str]
    """Of everything in the caller's context."""
    is_unknown: bool = False
    """It was begun before and interrupted, and may have taken effect."""


def decide_call(call: CallFacts, grants: GrantSet) -> Permit:
    """Decide about a call. A call that was approved by itself is always allowed."""
    if call.digest in grants.calls:
        return Permit.GOES
    if call.digest in grants.denied:
        return Permit.DENIED
    if call.is_unknown and gates.is_enforced(ToolGate.UNKNOWN):
        return Permit.NEEDS_APPROVAL
    if call.reach is not Reach.OUT:
        return Permit.GOES
    is_granted = call.tool in grants.tools or not gates.is_enforced(ToolGate.GRANT)
    are_sources_granted = call.foreign_sources <= grants.sources or not gates.is_enforced(ToolGate.SOURCE)
    return Permit.GOES if is_granted and are_sources_granted else Permit.NEEDS_APPROVAL


def digest_call(tool: str, arguments: Mapping[str, object]) -> str:
    """The digest of a call: equal for the same tool with the same arguments in any order."""
    encoded = msgspec.json.encode([tool, dict(arguments)], order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:32]


def source_of_host(host: str) -> str:
    """The name of a host as a foreign source: a hash, as a host name may contain words that are erased later. Pure."""
    return "web:" + hashlib.blake2b(host.casefold().encode("utf-8", "replace"), digest_size=6).hexdigest()
