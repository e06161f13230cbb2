"""Grants: what the owner allowed in a project.

A grant comes from the owner alone: in the terminal, as an answer to an approval, or by `reveries grant give`. No role
of the mind and no external program can create one.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from reveries.db.database import Transaction
from reveries.errors import NotFoundError, UsageError
from reveries.projects.approvals import ApprovalScope, PendingCall, scope_or_refusal
from reveries.projects.grant_store import Grant, GrantKind
from reveries.projects.model import OwnerQuestion, Project
from reveries.projects.store import ProjectStore
from reveries.tools.mcp_tools import read_pin
from reveries.tools.reach import FOLDER_SOURCE, SERVER_PREFIX, GrantSet, source_of_host

GRANTABLE_TOOLS: Final = ("fetch", "web_search")
_HOST_PREFIX: Final = "web:"
_HASHED_HOST: Final = re.compile(r"[0-9a-f]{12}")


def grants_for_task(grants: Iterable[Grant], task_id: str) -> GrantSet:
    """Return what one task is allowed to do. Pure."""
    names_by_kind: dict[GrantKind, set[str]] = {kind: set() for kind in GrantKind}
    for grant in grants:
        if grant.task_id in (None, task_id):
            names_by_kind[grant.kind].add(source_id(grant.name) if grant.kind is GrantKind.SOURCE else grant.plain_name)
    return GrantSet(
        tools=frozenset(names_by_kind[GrantKind.TOOL]),
        sources=frozenset(names_by_kind[GrantKind.SOURCE]),
        calls=frozenset(names_by_kind[GrantKind.CALL]),
        denied=frozenset(names_by_kind[GrantKind.DENIAL]),
    )


def source_id(name: str) -> str:
    """Return the foreign source id for an owner's name of it: `folder`, `web:example.org`, or an id as stored. Pure."""
    host = name.removeprefix(_HOST_PREFIX)
    return source_of_host(host) if name.startswith(_HOST_PREFIX) and not _HASHED_HOST.fullmatch(host) else name


async def give_grant(store: ProjectStore, project: Project, name: str) -> Grant:
    """Grant a tool or a source in a project. Raises UsageError."""
    name = name.strip()
    is_tool = name in GRANTABLE_TOOLS
    is_host = name.startswith(_HOST_PREFIX) and len(name) > len(_HOST_PREFIX)
    is_source = name == FOLDER_SOURCE or is_host or name.startswith(("document:", SERVER_PREFIX))
    if not is_tool and not is_source:
        raise UsageError(
            f"{name[:80]!r} cannot be granted.",
            advice=f"A tool ({', '.join(GRANTABLE_TOOLS)}), a server or a tool of it (see: reveries mcp servers), "
            f"or a source: {FOLDER_SOURCE}, web:example.org, {SERVER_PREFIX}NAME",
        )
    kind = GrantKind.TOOL if is_tool else GrantKind.SOURCE
    async with store.transaction() as transaction:
        active = await store.grants.of_project(project.id, transaction)
        if (kind, name, None) not in [(grant.kind, grant.name, grant.task_id) for grant in active]:
            await store.grants.put(transaction, project.id, kind, name, None)
            await store.log.put(transaction, project.id, "grant.given", name)
        await store.rests.clear(transaction, project.id)
    grants = await store.grants.of_project(project.id)
    return next(grant for grant in grants if (grant.kind, grant.name, grant.task_id) == (kind, name, None))


async def revoke_grants(store: ProjectStore, project: Project, name: str) -> int:
    """Revoke all grants of a name, or one by its id; return how many. Raises NotFoundError."""
    async with store.transaction() as transaction:
        active = await store.grants.of_project(project.id, transaction)
        matches = [grant for grant in active if _matches_name(grant, name.strip())]
        if not matches:
            raise NotFoundError(
                f"{project.name} has no grant {name[:80]!r}.",
                advice=f"To see its grants: reveries grant list {project.name}",
            )
        for revoked in matches:
            await store.grants.revoke(transaction, revoked)
        await store.log.put(transaction, project.id, "grant.revoked", name)
    return len(matches)


def _matches_name(grant: Grant, name: str) -> bool:
    """Whether `name` refers to the grant: its name, its server, or the beginning of its id."""
    of_server = read_pin(grant.name) is not None and grant.name.startswith(f"{name}.")
    return name in (grant.name, grant.plain_name) or of_server or (len(name) >= 4 and grant.id.startswith(name))


async def store_approval(store: ProjectStore, transaction: Transaction, question: OwnerQuestion) -> None:
    """Store what the answer to an approval allows: this call, its tool within the task, or within the project. An
    answer that says neither yes nor no counts as no."""
    pending, scope = msgspec.json.decode(question.payload, type=PendingCall), scope_or_refusal(question.answer)
    task_id = question.task_id
    if scope is ApprovalScope.NO:
        await store.grants.put(transaction, question.project_id, GrantKind.DENIAL, pending.digest, task_id)
        return
    await store.grants.put(transaction, question.project_id, GrantKind.CALL, pending.digest, task_id)
    if scope is ApprovalScope.ONCE:
        return
    within = task_id if scope is ApprovalScope.TASK else None
    if pending.tool_to_grant:
        await store.grants.put(transaction, question.project_id, GrantKind.TOOL, pending.tool_to_grant, within)
    for name in pending.sources:
        await store.grants.put(transaction, question.project_id, GrantKind.SOURCE, name, within)
