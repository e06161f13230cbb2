"""Approvals: the tool call that waits for one, and the scope of the owner's answer. Pure."""

from enum import StrEnum
from typing import Final

import msgspec

from reveries.errors import UsageError
from reveries.projects.answers import is_no


class PendingCall(msgspec.Struct, frozen=True):
    """The payload of an approval: the tool call that waits for it."""

    tool: str
    arguments: str
    """As JSON, as shown to the owner."""
    digest: str
    tool_to_grant: str = ""
    """The tool that an approval for the whole task or project covers; empty: only the call can be approved."""
    sources: tuple[str, ...] = ()
    """The foreign sources that it covers as well."""


class ApprovalScope(StrEnum):
    """The scope of an approval."""

    ONCE = "once"
    TASK = "task"
    ALWAYS = "always"
    NO = "no"


_ANSWERS: Final = {
    ApprovalScope.ONCE: ("once", "yes", "y", "ok", "ja", "yes please", "yes, please"),
    ApprovalScope.TASK: ("task", "this task"),
    ApprovalScope.ALWAYS: ("always", "always in this project"),
    ApprovalScope.NO: ("never",),
}
"""Narrower than `yes_answers`: "fine" and "keep it" are a yes to a draft, but let no tool act. What is a no elsewhere
is one here."""


def scope_or_refusal(answer: str) -> ApprovalScope:
    """Return the scope of an answer; one that says neither yes nor no counts as no."""
    try:
        return read_scope(answer)
    except UsageError:
        return ApprovalScope.NO


def read_scope(answer: str) -> ApprovalScope:
    """Return the scope of an answer to an approval. Raises UsageError if it says neither yes nor no."""
    if is_no(answer):
        return ApprovalScope.NO
    word = answer.strip().casefold().rstrip(".!")
    for scope, words in _ANSWERS.items():
        if word in words:
            return scope
    raise UsageError(
        "That says neither yes nor no.", advice='Answer "once", "this task", "always" (in this project), or "no".'
    )
