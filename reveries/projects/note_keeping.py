"""Keeps order after the notes of a project were read: proposals, what changed, and what rests on it. No model."""

from dataclasses import dataclass, field
from datetime import date
from typing import Final

from reveries.db.database import Transaction
from reveries.projects.facts_view import ProjectFacts
from reveries.projects.model import Project, ProposalState, TaskStatus
from reveries.projects.note_changes import NoteChange, compare_facts
from reveries.projects.proposals import propose_tasks
from reveries.projects.store import ProjectStore

_MOST_LOGGED: Final = 20
"""Changed values of one reading, each with a line of the log."""


@dataclass(frozen=True, slots=True)
class KeptOrder:
    """What was new after the notes were read."""

    changes: list[NoteChange] = field(default_factory=list)
    flagged: list[str] = field(default_factory=list)
    """Titles of drafts and tasks that rest on something that changed."""
    proposed: int = 0

    def describe(self) -> str:
        """Say it in words for the owner; empty if there is nothing to say."""
        words = [change.describe() for change in self.changes]
        words += [f"in doubt now: {title}" for title in self.flagged]
        if self.proposed:
            words.append(f"{self.proposed} new {'proposal' if self.proposed == 1 else 'proposals'} for tasks")
        return "; ".join(words)


async def keep_order(store: ProjectStore, project: Project, before: ProjectFacts) -> KeptOrder:
    """Bring proposals in step with the notes, log which values changed since `before`, and flag the drafts and accepted
    tasks that were made from what changed."""
    chunks = await store.knowledge.of_project(project.id)
    after = await store.read_facts(project.id)
    changes = compare_facts(before, after)
    proposed = propose_tasks(after, date.fromtimestamp(store.now))
    async with store.transaction() as transaction:
        new = await store.proposals.update(transaction, project.id, proposed)
        flagged = [f"draft “{draft.wish}”" for draft in await store.drafts.flag_fallen(transaction, project.id, chunks)]
        flagged += await _flag_accepted(store, transaction, project, after)
        for change in changes[:_MOST_LOGGED]:
            await store.log.put(transaction, project.id, "facts.changed", change.describe())
        for title in flagged:
            await store.log.put(transaction, project.id, "premise.fell", title)
        if new:
            await store.log.put(transaction, project.id, "proposals.found", "; ".join(item.title for item in new[:5]))
    return KeptOrder(changes, flagged, len(new))


async def _flag_accepted(
    store: ProjectStore, transaction: Transaction, project: Project, project_facts: ProjectFacts
) -> list[str]:
    """Flag the open tasks whose line in the notes changed since the owner accepted it; return their titles."""
    tasks = {task.id: task for task in await store.tasks.of_project(project.id, transaction)}
    flagged = []
    for proposal in await store.proposals.of_project(project.id, transaction):
        task = tasks.get(proposal.task_id or "")
        if proposal.state is not ProposalState.ACCEPTED or task is None or task.flagged_because:
            continue
        document = project_facts.documents.get(proposal.document)
        is_there = document is not None and proposal.source_line in " ".join(document.text.split())
        if not is_there and task.status not in (TaskStatus.DONE, TaskStatus.DROPPED):
            why = f"{proposal.document} no longer says “{proposal.source_line}”"
            await store.tasks.flag(transaction, task.id, why)
            flagged.append(task.title)
    return flagged
