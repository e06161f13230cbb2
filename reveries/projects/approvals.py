"""Approvals: the call that waits for a yes, and how far the owner's answer goes. Pure."""

from enum import StrEnum
from typing import Final

import msgspec

from reveries.errors import UsageError


class HeldCall(msgspec.Struct, frozen=True):
    """The payload of an approval: the call that waits for it."""

    tool: str
    arguments: str
    """As JSON, as the owner is shown it."""
    digest: str
    tool_to_grant: str = ""
    """What a yes for the whole task or project covers: this tool; empty: there is nothing to grant but the call."""
    sources: tuple[str, ...] = ()
    """And these foreign sources."""


class ApprovalScope(StrEnum):
    """How far a yes goes."""

    ONCE = "once"
    TASK = "task"
    ALWAYS = "always"
    NO = "no"


_SAID: Final = {
    ApprovalScope.ONCE: ("once", "yes", "y", "ok", "ja"),
    ApprovalScope.TASK: ("task", "this task"),
    ApprovalScope.ALWAYS: ("always", "always in this project"),
    ApprovalScope.NO: ("no", "n", "never", "nein"),
}


def scope_of(answer: str) -> ApprovalScope:
    """How far an answer goes; one that says neither yes nor no is a no."""
    try:
        return read_scope(answer)
    except UsageError:
        return ApprovalScope.NO


def read_scope(answer: str) -> ApprovalScope:
    """How far an answer to an approval goes. Raises UsageError for one that says neither yes nor no."""
    said = answer.strip().casefold().rstrip(".!")
    for scope, words in _SAID.items():
        if said in words:
            return scope
    raise UsageError(
        "That says neither yes nor no.", advice='Answer "once", "this task", "always" (in this project), or "no".'
    )
