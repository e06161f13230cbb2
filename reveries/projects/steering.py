"""Changes of tasks that the owner makes: add, edit, drop, move, done. One transaction each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from reveries.db.database import Transaction
from reveries.errors import NotFoundError, UsageError
from reveries.projects.model import (
    AuditedBy,
    MadeBy,
    NewTask,
    Project,
    ProposalState,
    TaskKind,
    TaskProposal,
    TaskStatus,
    WorkTask,
)
from reveries.projects.proposal_store import find_proposal, open_proposals
from reveries.projects.store import ProjectStore
from reveries.projects.task_days import first_due, read_due, read_repeat, today
from reveries.protocol import TaskEdit

LONGEST_TITLE_CHARS = 300
OVER = (TaskStatus.DONE, TaskStatus.DROPPED)


@dataclass(frozen=True, slots=True)
class Steering:
    """Carries out the owner's changes of tasks."""

    store: ProjectStore

    async def add(
        self, project: Project, title: str, description: str = "", due: str = "", every: str = "", *, is_mine: bool
    ) -> str:
        """Add a task and return its id. Raises UsageError."""
        title = _require_title(title)
        due, repeats = read_days(due, every, today(self.store.now))
        async with self.store.transaction() as transaction:
            goals = [] if is_mine else await self.store.goals(project.id, transaction)
            new = NewTask(
                title,
                description,
                TaskKind.OTHER,
                goal_id=next((goal.id for goal in goals if goal.state == "active"), None),
                due=due,
                made_by=MadeBy.OWNER,
                is_mine=is_mine,
                repeats=repeats,
            )
            [task_id] = await self.store.tasks.put(transaction, project.id, [new])
            await self._note(transaction, project, "added", title)
        return task_id

    async def edit(self, project: Project, task: WorkTask, edit: TaskEdit) -> None:
        """Change what `edit` says of an open task. Raises UsageError."""
        require_open(task)
        edited = edit_task(task, edit, today(self.store.now))
        async with self.store.transaction() as transaction:
            await self.store.tasks.edit(transaction, edited)
            await self._note(transaction, project, "edited", edited.title)

    async def drop(self, project: Project, tasks: Sequence[WorkTask], proposals: Sequence[TaskProposal] = ()) -> None:
        """Drop open tasks, and proposals of notes. Raises UsageError."""
        for task in tasks:
            require_open(task)
        async with self.store.transaction() as transaction:
            for task in tasks:
                await self.store.tasks.end(transaction, task, TaskStatus.DROPPED)
                await self.store.tasks.drop_questions(transaction, task.id)
                await self._note(transaction, project, "dropped", task.title)
            for proposal in proposals:
                await self.store.proposals.dismiss(transaction, proposal)
                await self.store.log.put(transaction, project.id, "proposal.dismissed", proposal.title)
            await self.store.tasks.release(transaction, project.id)

    async def move(self, project: Project, task: WorkTask, position: int) -> None:
        """Put an open task at a place among the open ones, counted from 1. Raises UsageError."""
        require_open(task)
        async with self.store.transaction() as transaction:
            tasks = await self.store.tasks.of_project(project.id, transaction)
            await self.store.tasks.set_positions(transaction, move_task(tasks, task, position))
            await self._note(transaction, project, "moved", task.title)

    async def finish(self, project: Project, task: WorkTask, outcome: str = "") -> None:
        """Store that the owner did a task, or has its result. Raises UsageError."""
        require_open(task)
        async with self.store.transaction() as transaction:
            await self.store.tasks.end(
                transaction, task, TaskStatus.DONE, outcome=outcome or "You did it.", audit="said by you",
                audited_by=AuditedBy.OWNER,
            )  # fmt: skip
            await self.store.tasks.drop_questions(transaction, task.id)
            await self.store.tasks.release(transaction, project.id)
            await self._note(transaction, project, "done", task.title)

    async def _note(self, transaction: Transaction, project: Project, change: str, details: str) -> None:
        """Log a change, and let the next wake come at once."""
        await self.store.log.put(transaction, project.id, f"owner.task_{change}", details)
        await self.store.rests.clear(transaction, project.id)


def read_days(due: str, every: str, today: date) -> tuple[str, str]:
    """Return the day on which a new task is due, and when it comes back. Raises UsageError. Pure."""
    repeats = read_repeat(every)
    return read_due(due, today) or (first_due(repeats, today) if repeats else ""), repeats


def edit_task(task: WorkTask, edit: TaskEdit, today: date) -> WorkTask:
    """Return a task with what `edit` changes. Raises UsageError. Pure."""
    repeats = task.repeats if edit.every is None else read_repeat(edit.every)
    due = task.due if edit.due is None else read_due(edit.due, today)
    return replace(
        task,
        title=task.title if edit.title is None else _require_title(edit.title),
        description=task.description if edit.description is None else edit.description,
        due=due or (first_due(repeats, today) if repeats else ""),
        repeats=repeats,
        is_mine=task.is_mine if edit.is_mine is None else edit.is_mine,
    )


def move_task(tasks: Sequence[WorkTask], task: WorkTask, position: int) -> list[WorkTask]:
    """Return the open tasks in their order, with `task` at `position`, counted from 1. Pure."""
    others = [item for item in tasks if item.status not in OVER and item.id != task.id]
    place = max(0, min(position - 1, len(others)))
    return [*others[:place], task, *others[place:]]


def find_open_task(tasks: Sequence[WorkTask], name: str) -> WorkTask:
    """Find the open task whose id or title begins with `name`, or else is the only one that has it in its title. Raises
    NotFoundError. Pure."""
    wanted = " ".join(name.split()).casefold()
    open_tasks = [task for task in tasks if task.status not in OVER]
    by_beginning = [task for task in open_tasks if task.id.startswith(name) or task.title.casefold().startswith(wanted)]
    exact = [task for task in by_beginning if wanted in (task.id, task.title.casefold())]
    within = [task for task in open_tasks if wanted in task.title.casefold()]
    matching = exact or by_beginning or within
    if wanted and len(matching) == 1:
        return matching[0]
    raise NotFoundError(
        f"{len(matching) or 'No'} open tasks fit {name[:60]!r}.", advice="All of them: reveries project tasks"
    )


def split_dropped(
    tasks: Sequence[WorkTask], proposals: Sequence[TaskProposal], names: Sequence[str]
) -> tuple[list[WorkTask], list[TaskProposal]]:
    """Return which open tasks and which proposals `names` name, each once; without names all open proposals. Raises
    NotFoundError. Pure."""
    if not names:
        return [], open_proposals(proposals)
    chosen_tasks: dict[str, WorkTask] = {}
    chosen_proposals: dict[str, TaskProposal] = {}
    for name in names:
        try:
            proposal = find_proposal(proposals, name)
        except NotFoundError:
            task = find_open_task(tasks, name)
            chosen_tasks[task.id] = task
        else:
            assert proposal.state is ProposalState.PROPOSED
            chosen_proposals[proposal.id] = proposal
    return list(chosen_tasks.values()), list(chosen_proposals.values())


def require_open(task: WorkTask) -> None:
    """Raise UsageError if a task is over."""
    if task.status in OVER:
        raise UsageError(f"“{task.title[:80]}” is {task.status.value} already.", advice="Nothing was changed.")


def _require_title(title: str) -> str:
    title = " ".join(title.split())
    if not title or len(title) > LONGEST_TITLE_CHARS:
        raise UsageError(
            f"A title has 1 to {LONGEST_TITLE_CHARS} characters.", advice="Longer text belongs into --description."
        )
    return title
