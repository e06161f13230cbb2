"""Tasks of projects in the database: reads them, and makes each step of their lives within a transaction."""

import json
from collections.abc import Callable, Iterable, Sequence

import msgspec

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError
from reveries.knowledge.project_knowledge import ProjectKnowledge
from reveries.projects.model import NewTask, QuestionStatus, TaskFile, TaskStatus, WorkStep, WorkTask
from reveries.projects.task_days import next_due, today
from reveries.tools.results import ToolResult


class TaskStore:
    """The tasks of all projects, with what they need, what blocks them, and the steps of their attempts."""

    def __init__(
        self, database: Database, knowledge: ProjectKnowledge, clock: Clock, new_id: Callable[[], str]
    ) -> None:
        self._database = database
        self._knowledge = knowledge
        self._clock = clock
        self._new_id = new_id

    # --- reading -----------------------------------------------------------------------------------------------------

    async def of_project(self, project_id: str, source: Reader | None = None) -> list[WorkTask]:
        """Return the tasks, oldest first, with what they need and which open questions they wait for."""
        source, named = source or self._database, {"project_id": project_id}
        needs, blocks = await source.rows("projects.needs", named), await source.rows("projects.blocks", named)
        rows = await source.rows("projects.questions", named)
        open_ids = {row["id"] for row in rows if row["status"] == QuestionStatus.OPEN.value}
        return [
            read_row(
                WorkTask,
                row,
                needs=tuple(need["needs_id"] for need in needs if need["task_id"] == row["id"]),
                blocked_by=tuple(
                    block["question_id"]
                    for block in blocks
                    if block["task_id"] == row["id"] and block["question_id"] in open_ids
                ),
            )
            for row in await source.rows("projects.tasks", named)
        ]

    async def steps_of(self, task_id: str) -> list[WorkStep]:
        """Return the steps of a task with arguments and results, attempt by attempt."""
        rows = await self._database.rows("projects.steps_of", {"task_id": task_id})
        return [read_row(WorkStep, row) for row in rows]

    # --- within a transaction ----------------------------------------------------------------------------------------

    async def put(self, transaction: Transaction, project_id: str, tasks: Sequence[NewTask]) -> list[str]:
        """Store tasks and return their ids; what they need must be stored already."""
        ids = []
        for task in tasks:
            ids.append(name := self._new_id())
            sources = task.foreign_sources | await self._sources_of(transaction, project_id, task.rests_on)
            row: dict[str, object] = {"id": name, "project_id": project_id, "goal_id": task.goal_id}
            row |= {"title": task.title, "description": task.description, "kind": task.kind.value}
            row |= {"skill_area": task.skill_area, "due": task.due, "made_by": task.made_by.value}
            row |= {"is_mine": task.is_mine, "repeats": task.repeats, "position": task.position}
            row |= {"status": TaskStatus.BLOCKED.value if task.needs else TaskStatus.READY.value, "now": self._now}
            row |= {"rests_on": json.dumps(sorted(set(task.rests_on))), "foreign_sources": json.dumps(sorted(sources))}
            await transaction.run("projects.put_task", row | {"checksum": checksum(task.title, task.description)})
            await self.put_needs(transaction, name, task.needs)
        await self.release(transaction, project_id)
        return ids

    async def put_needs(self, transaction: Transaction, task_id: str, needs: Iterable[str]) -> None:
        for need in needs:
            await transaction.run("projects.put_need", {"task_id": task_id, "needs_id": need})

    async def drop_needs(self, transaction: Transaction, task_id: str) -> None:
        """Let a task that waits for others of a deadlock wait for none."""
        await transaction.run("projects.drop_blocked_needs", {"id": task_id})

    async def block(self, transaction: Transaction, task_id: str, question_id: str) -> None:
        """Make a task wait for the answer to a question (V-24)."""
        await transaction.run("projects.put_block", {"question_id": question_id, "task_id": task_id})
        await transaction.run("projects.block_task", {"id": task_id, "now": self._now})

    async def unblock(self, transaction: Transaction, task_id: str, question_id: str) -> None:
        """Let a task no longer wait for a question; `release` makes it ready."""
        await transaction.run("projects.remove_block", {"question_id": question_id, "task_id": task_id})

    async def release(self, transaction: Transaction, project_id: str) -> None:
        """Make blocked tasks ready that have no open question, no unfinished need and no fallen premise."""
        await transaction.rows("projects.release_unblocked", {"project_id": project_id, "now": self._now})

    async def begin(self, transaction: Transaction, task_id: str) -> bool:
        """Begin an attempt at a task; False if it is not ready any more."""
        return bool(await transaction.run("projects.begin_task", {"id": task_id, "now": self._now}))

    async def give_back(self, transaction: Transaction, task: WorkTask) -> None:
        """Undo the beginning of an attempt that was broken off."""
        await transaction.run("projects.give_back_task", {"id": task.id, "now": self._now})
        await transaction.run("projects.close_begun_steps", {"project_id": task.project_id})

    async def give_back_begun(self, transaction: Transaction, project_id: str) -> None:
        """Undo the beginnings of all attempts that a crash left in progress."""
        await transaction.run("projects.give_back_begun", {"project_id": project_id, "now": self._now})
        await transaction.run("projects.close_begun_steps", {"project_id": project_id})

    async def end(
        self,
        transaction: Transaction,
        task: WorkTask,
        status: TaskStatus,
        *,
        tries_anew: bool = False,
        files: Sequence[TaskFile] | None = None,
        **changed: object,
    ) -> None:
        """Store the end of an attempt, with the files that it made and used. `changed`: outcome, audit, audited_by,
        failure, description, rests_on, foreign_sources."""
        values = {
            "outcome": task.outcome, "audit": task.audit, "audited_by": task.audited_by, "failure": task.failure,
            "description": task.description,
        } | {name: value for name, value in changed.items() if name not in ("rests_on", "foreign_sources")}  # fmt: skip
        rests = changed.get("rests_on", task.rests_on)
        sources = changed.get("foreign_sources", task.foreign_sources)
        assert isinstance(rests, tuple | list | set | frozenset)
        assert isinstance(sources, frozenset)
        sources |= task.foreign_sources | await self._sources_of(transaction, task.project_id, rests)
        row = {"id": task.id, "status": status.value, "now": self._now, "tries_anew": tries_anew, **values}
        row |= {"rests_on": json.dumps(sorted(set(rests))), "foreign_sources": json.dumps(sorted(sources))}
        row |= {"files": msgspec.json.encode(task.files if files is None else files).decode()}
        await transaction.run("projects.end_task", row | {"checksum": checksum(task.title, str(values["description"]))})
        if status is TaskStatus.DONE and task.status is not TaskStatus.DONE and task.repeats:
            await self._put_again(transaction, task, str(values["description"]))

    async def _put_again(self, transaction: Transaction, task: WorkTask, description: str) -> None:
        """Let a task that repeats come back at its next day, as a new one; what is done stays as it is."""
        due = next_due(task.repeats, task.due, today(self._now))
        again = NewTask(
            task.title,
            description,
            task.kind,
            task.skill_area,
            rests_on=task.rests_on,
            goal_id=task.goal_id,
            foreign_sources=task.foreign_sources,
            due=due,
            made_by=task.made_by,
            is_mine=task.is_mine,
            repeats=task.repeats,
            position=task.position,
        )
        await self.put(transaction, task.project_id, [again])

    async def edit(self, transaction: Transaction, task: WorkTask) -> None:
        """Store the title, description, day, repetition and doer of a task as they are in `task`."""
        row: dict[str, object] = {"id": task.id, "title": task.title, "description": task.description, "due": task.due}
        row |= {"repeats": task.repeats, "is_mine": task.is_mine, "now": self._now}
        await transaction.run("projects.edit_task", row | {"checksum": checksum(task.title, task.description)})

    async def set_positions(self, transaction: Transaction, ordered: Sequence[WorkTask]) -> None:
        """Put tasks into this order, before all others."""
        rows = [{"id": task.id, "position": place, "now": self._now} for place, task in enumerate(ordered, 1)]
        await transaction.run_many("projects.set_position", rows)

    async def drop_questions(self, transaction: Transaction, task_id: str) -> None:
        """Drop the open questions that nothing but a dropped task waits for."""
        await transaction.run("projects.drop_idle_questions", {"id": task_id})

    async def hold_try(self, transaction: Transaction, task: WorkTask) -> None:
        """Block the current attempt until a tool call is approved; it then continues."""
        row = {"id": task.id, "now": self._now, "foreign_sources": json.dumps(sorted(task.foreign_sources))}
        await transaction.run("projects.hold_try", row)

    async def hold(self, transaction: Transaction, task_id: str, why: str) -> None:
        """Hold a task whose premise fell, until the owner decides."""
        await transaction.run("projects.hold_task", {"id": task_id, "why": why, "now": self._now})

    async def flag(self, transaction: Transaction, task_id: str, why: str) -> None:
        """Say that a task is in doubt, and leave it to the owner."""
        await transaction.run("projects.flag_task", {"id": task_id, "why": why, "now": self._now})

    async def settle_doubt(self, transaction: Transaction, task: WorkTask) -> None:
        """Store that outcome and files of a finished task are as they are in `task`, and rest on nothing more."""
        row = {"id": task.id, "outcome": task.outcome, "now": self._now}
        row |= {"files": msgspec.json.encode(task.files).decode()}
        await transaction.run("projects.settle_doubt", row)

    async def release_held(
        self, transaction: Transaction, task_id: str, bases: Iterable[str], sources: frozenset[str]
    ) -> None:
        """Let a held task go on, resting on `bases`, without the needs that fell."""
        await transaction.run("projects.drop_fallen_needs", {"id": task_id})
        row = {"id": task_id, "now": self._now, "rests_on": json.dumps(sorted(bases))}
        await transaction.run("projects.release_held", row | {"foreign_sources": json.dumps(sorted(sources))})

    async def drop_open(self, transaction: Transaction, project_id: str, goal_id: str) -> None:
        """Drop the open tasks of a goal that no longer applies, and the questions that they waited for."""
        named = {"project_id": project_id, "goal_id": goal_id, "now": self._now}
        await transaction.run("projects.drop_open_tasks", named)
        await transaction.run("projects.drop_questions_of", {"goal_id": goal_id})

    async def begin_step(
        self, transaction: Transaction, task: WorkTask, tool: str, arguments: str, reach: str, sources: frozenset[str]
    ) -> int:
        """Store that a model or tool call of an attempt begins; return its position."""
        row: dict[str, object] = {"tool": tool, "arguments": arguments, "now": self._now, "reach": reach}
        row |= {"foreign_sources": json.dumps(sorted(task.foreign_sources | sources))}
        [stored] = await transaction.rows("projects.put_step", _step_key(task) | row)
        return int(stored["position"])

    async def end_step(self, task: WorkTask, position: int, text: str, result: ToolResult, *, is_done: bool) -> None:
        """Store what the call at `position` returned."""
        row: dict[str, object] = {"result": text, "state": "done" if is_done else "failed", "now": self._now}
        row |= {"exit_code": result.exit_code, "sha256": result.sha256, "path": result.path}
        row |= {"position": position, "sources": json.dumps(sorted(result.foreign_sources))}
        async with self._database.transaction() as transaction:
            await transaction.run("projects.end_step", _step_key(task) | row)

    @property
    def _now(self) -> float:
        return self._clock.now()

    async def _sources_of(self, source: Reader, project_id: str, bases: Iterable[str]) -> frozenset[str]:
        wanted = set(bases)
        if not wanted:
            return frozenset()
        chunks = await self._knowledge.read(source, project_id)
        return frozenset[str]().union(*(chunk.foreign_sources for chunk in chunks if chunk.id in wanted))


def find_task(tasks: Sequence[WorkTask], name: str) -> WorkTask:
    """Find the task whose id or title begins with `name`. Raises NotFoundError. Pure."""
    wanted = name.strip().casefold()
    matches = [task for task in tasks if task.id.startswith(name) or task.title.casefold().startswith(wanted)]
    if len(matches) == 1 and wanted:
        return matches[0]
    raise NotFoundError(
        f"{len(matches) or 'No'} tasks begin with {name[:60]!r}.", advice="All of them: reveries project tasks"
    )


def _step_key(task: WorkTask) -> dict[str, object]:
    return {"task_id": task.id, "attempt": task.tries}
