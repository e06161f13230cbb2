"""Tasks that notes propose, in the database: kept in step with the notes, accepted or dismissed by the owner."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError, UsageError
from reveries.projects.model import MadeBy, NewTask, ProposalState, TaskKind, TaskProposal
from reveries.projects.task_store import TaskStore


@dataclass(frozen=True, slots=True)
class NewProposal:
    """A task that a line of a document proposes."""

    title: str
    due: str
    document: str
    line: int
    source_line: str
    foreign_sources: frozenset[str] = frozenset()


class ProposalStore:
    """The proposals of all projects. A line of a document proposes one task, once."""

    def __init__(self, database: Database, tasks: TaskStore, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._tasks = tasks
        self._clock = clock
        self._new_id = new_id

    async def of_project(self, project_id: str, source: Reader | None = None) -> list[TaskProposal]:
        """Return the proposals in any state, by document and line."""
        rows = await (source or self._database).rows("proposals.of_project", {"project_id": project_id})
        return [read_row(TaskProposal, row) for row in rows]

    async def update(
        self, transaction: Transaction, project_id: str, proposed: Sequence[NewProposal]
    ) -> list[NewProposal]:
        """Bring the proposals in step with the notes: `proposed` is all that they propose now. Return the new ones.
        What the owner dismissed stays dismissed while its line is unchanged."""
        stored = {(item.document, item.source_line): item for item in await self.of_project(project_id, transaction)}
        current = {(item.document, item.source_line): item for item in proposed}
        for key, item in current.items():
            if (earlier := stored.get(key)) is None:
                await transaction.run("proposals.put", self._row(project_id, item))
            elif earlier.line != item.line or earlier.state is ProposalState.GONE:
                await transaction.run("proposals.move", {"id": earlier.id, "line": item.line})
        for key in stored.keys() - current.keys():
            await transaction.run("proposals.note_gone", {"id": stored[key].id})
        return [item for key, item in current.items() if key not in stored]

    async def accept(
        self, transaction: Transaction, proposal: TaskProposal, goal_id: str | None, title: str = "", due: str = ""
    ) -> str:
        """Make a task of a proposal; `title` and `due` replace its own. Return the id of the task.

        Raises UsageError."""
        origin = f"{proposal.document}:{proposal.line}: “{proposal.source_line}”"
        new = NewTask(
            title or proposal.title,
            origin,
            TaskKind.OTHER,
            goal_id=goal_id,
            due=due or proposal.due,
            made_by=MadeBy.OWNER,
            foreign_sources=proposal.foreign_sources,
        )
        [task_id] = await self._tasks.put(transaction, proposal.project_id, [new])
        await self._decide(transaction, proposal, ProposalState.ACCEPTED, task_id)
        return task_id

    async def dismiss(self, transaction: Transaction, proposal: TaskProposal) -> None:
        """Note that the owner does not want it. Raises UsageError."""
        await self._decide(transaction, proposal, ProposalState.DISMISSED, None)

    async def _decide(
        self, transaction: Transaction, proposal: TaskProposal, state: ProposalState, task_id: str | None
    ) -> None:
        row = {"id": proposal.id, "state": state.value, "task_id": task_id, "now": self._clock.now()}
        if not await transaction.run("proposals.decide", row):
            raise UsageError(
                f"“{proposal.title[:80]}” is {proposal.state.value} already.", advice="Nothing was changed."
            )

    def _row(self, project_id: str, item: NewProposal) -> dict[str, object]:
        return {
            "id": self._new_id(),
            "project_id": project_id,
            "title": item.title,
            "due": item.due,
            "document": item.document,
            "line": item.line,
            "source_line": item.source_line,
            "now": self._clock.now(),
            "foreign_sources": json.dumps(sorted(item.foreign_sources)),
            "checksum": checksum(item.title, item.source_line),
        }


def open_proposals(proposals: Sequence[TaskProposal]) -> list[TaskProposal]:
    """Return those that wait for the owner: with a day first, in the order of their days. Pure."""
    waiting = [item for item in proposals if item.state is ProposalState.PROPOSED]
    return sorted(waiting, key=lambda item: (not item.due, item.due, item.document, item.line))


def find_proposal(proposals: Sequence[TaskProposal], name: str) -> TaskProposal:
    """Find the open proposal whose id or title begins with `name`. Raises NotFoundError. Pure."""
    wanted = name.strip().casefold()
    matching = [
        item
        for item in open_proposals(proposals)
        if wanted and (item.id.startswith(name) or item.title.casefold().startswith(wanted))
    ]
    exact = [item for item in matching if wanted in (item.id, item.title.casefold())]
    if len(exact or matching) == 1:
        return (exact or matching)[0]
    raise NotFoundError(
        f"{len(matching) or 'No'} proposals begin with {name[:60]!r}.", advice="All of them: reveries project proposals"
    )
