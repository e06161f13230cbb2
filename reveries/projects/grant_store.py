"""Grants of projects in the database: what the owner allowed, until it is used up or revoked."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from reveries.clock import Clock
from reveries.db.database import Database, Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.tools.mcp_tools import read_pin


class GrantKind(StrEnum):
    """What a grant allows."""

    TOOL = "tool"
    SOURCE = "source"
    CALL = "call"
    DENIAL = "denial"
    """One call that the owner denied."""


@dataclass(frozen=True, slots=True)
class Grant:
    """An active grant."""

    id: str
    kind: GrantKind
    name: str
    task_id: str | None
    """Only within this task; None: everywhere in the project."""
    given_at: float

    @property
    def plain_name(self) -> str:
        """The name without the hash that pins a server's tool."""
        pinned = read_pin(self.name) if self.kind is GrantKind.TOOL else None
        return self.name if pinned is None else pinned.tool


class GrantStore:
    """The grants of all projects."""

    def __init__(self, database: Database, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._clock = clock
        self._new_id = new_id

    async def of_project(self, project_id: str, source: Reader | None = None) -> list[Grant]:
        """Return the active grants: neither used up nor revoked."""
        rows = await (source or self._database).rows("projects.grants", {"project_id": project_id})
        return [read_row(Grant, row) for row in rows]

    async def put(
        self, transaction: Transaction, project_id: str, kind: GrantKind, name: str, task_id: str | None
    ) -> None:
        row = {"id": self._new_id(), "project_id": project_id, "task_id": task_id, "kind": kind.value, "name": name}
        await transaction.run("projects.put_grant", row | {"now": self._clock.now()})

    async def use_call(self, transaction: Transaction, task_id: str, digest: str) -> None:
        """Use up the one-time approval of a call that is made now."""
        named = {"task_id": task_id, "name": digest, "now": self._clock.now()}
        await transaction.run("projects.use_call", named)

    async def revoke(self, transaction: Transaction, grant: Grant) -> None:
        await transaction.run("projects.revoke_grant", {"id": grant.id, "now": self._clock.now()})
