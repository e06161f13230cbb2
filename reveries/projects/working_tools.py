"""MCP tools for tasks, questions, blockers and the activity log of projects (V-20..V-28)."""

from dataclasses import dataclass

import msgspec

from reveries.db.database import Transaction
from reveries.errors import NotFoundError, UsageError
from reveries.projects.model import (
    AuditedBy,
    MadeBy,
    NewQuestion,
    NewTask,
    OwnerQuestion,
    Project,
    QuestionKind,
    QuestionStatus,
    TaskKind,
    TaskStatus,
    WorkTask,
)
from reveries.projects.steering import edit_task, move_task, read_days, require_open
from reveries.projects.store import ProjectStore
from reveries.projects.task_days import today
from reveries.projects.triggers import rewrite_after_task
from reveries.projects.working_records import (
    ActivitiesOut,
    AnsweredOut,
    BlockerOut,
    BlockersOut,
    CreateQuestion,
    CreateTask,
    GetBlockers,
    GetQuestions,
    GetRecentActivity,
    GetTasks,
    GiveAnswer,
    LogActivity,
    LoggedOut,
    OneQuestionOut,
    OneTaskOut,
    QuestionsOut,
    TasksOut,
    TaskUpdates,
    UpdateTask,
    activity_out,
    question_out,
    task_out,
)
from reveries.protocol import TaskEdit
from reveries.tools.reach import Reach
from reveries.tools.registry import ToolCaller
from reveries.tools.tool_group import ToolGroup, offer_tool

SERVER = "working"
MOST_OPEN_QUESTIONS = 20
"""Per program and project, because the owner has to read all of them."""
_OVER = (TaskStatus.DONE, TaskStatus.DROPPED)


@dataclass(frozen=True, slots=True)
class WorkingTools(ToolGroup):
    """The tools that read and write tasks, questions and the activity log of projects."""

    server = SERVER

    store: ProjectStore

    @offer_tool("The tasks of a project.")
    async def get_tasks(self, given: GetTasks, _: ToolCaller) -> TasksOut:
        project = await self.store.find(given.project_id)
        area = given.skill_area.strip().casefold() if given.skill_area is not None else None
        tasks = [
            task_out(task)
            for task in await self._tasks(project)
            if given.status in (None, task.status.value) and area in (None, task.skill_area.casefold())
        ]
        return TasksOut(project.name, tasks[-given.limit :] if given.limit else tasks)

    @offer_tool("Add a task; it is ready unless it depends on unfinished ones.", Reach.INSIDE, is_repeatable=False)
    async def create_task(self, given: CreateTask, caller: ToolCaller) -> OneTaskOut:
        project = await self.store.find(given.project_id)
        due, repeats = read_days(given.due, given.every, today(self.store.now))
        async with self.store.transaction() as transaction:
            await self._require_tasks(transaction, project, given.depends_on)
            await self._require_chunks(transaction, project, given.rests_on)
            goals = await self.store.goals(project.id, transaction)
            new = NewTask(
                given.title,
                given.description,
                TaskKind.OTHER,
                given.skill_area,
                tuple(given.depends_on),
                tuple(given.rests_on),
                next((goal.id for goal in goals if goal.state == "active"), None),
                caller.foreign_sources,
                due=due,
                made_by=MadeBy.PROGRAM if caller.source else MadeBy.MIND,
                repeats=repeats,
            )
            [task_id] = await self.store.tasks.put(transaction, project.id, [new])
            await self._log(transaction, project, caller, "task.created", given.title)
        return OneTaskOut(project.name, task_out(await self._task(project, task_id)))

    @offer_tool("Say how a task stands, or what came of it.", Reach.INSIDE)
    async def update_task(self, given: UpdateTask, caller: ToolCaller) -> OneTaskOut:
        project = await self.store.find(given.project_id)
        updates = given.updates
        async with self.store.transaction() as transaction:
            [task] = await self._require_tasks(transaction, project, [given.task_id])
            _require_not_running(task)
            if task.held_because and updates.status in ("in_progress", "done"):
                raise UsageError(
                    f"“{task.title[:80]}” is held: it {task.held_because[:200]}.",
                    advice="The owner is asked what holds now; until then it waits.",
                )
            await self._require_chunks(transaction, project, updates.rests_on or [])
            await self._edit(transaction, project, task, updates)
            await self._block(transaction, project, task, updates)
            await self._store_status(transaction, project, task, updates, caller)
            await self.store.tasks.release(transaction, project.id)
            tasks = await self.store.tasks.of_project(project.id, transaction)
            after = next(updated for updated in tasks if updated.id == task.id)
            if updates.status == "ready" and after.status is TaskStatus.BLOCKED:
                raise UsageError(f"“{task.title[:80]}” waits for something still.", advice="See get_blockers.")
            if updates.status == "done":
                await self._note_rewrite(transaction, project, after)
            await self._log(transaction, project, caller, "task.updated", f"{task.title}: {after.status.value}")
        return OneTaskOut(project.name, task_out(next(updated for updated in tasks if updated.id == task.id)))

    @offer_tool("What the owner was asked.")
    async def get_questions(self, given: GetQuestions, _: ToolCaller) -> QuestionsOut:
        project = await self.store.find(given.project_id)
        questions = [
            question_out(question)
            for question in await self.store.questions.of_project(project.id)
            if question.status is not QuestionStatus.DROPPED
            and given.status in (None, question.status.value)
            and (given.since is None or max(question.asked_at, question.answered_at or 0.0) >= given.since)
        ]
        return QuestionsOut(project.name, questions[-given.limit :] if given.limit else questions)

    @offer_tool("Ask the owner; the tasks that it blocks wait.", Reach.INSIDE, is_repeatable=False, is_additive=True)
    async def create_question(self, given: CreateQuestion, caller: ToolCaller) -> OneQuestionOut:
        project = await self.store.find(given.project_id)
        if given.blocks_tasks and not caller.may_write:
            raise UsageError(
                "Only who may write lets tasks wait.", advice="Ask without blocks_tasks, or: reveries mcp allow NAME"
            )
        async with self.store.transaction() as transaction:
            for task in await self._require_tasks(transaction, project, given.blocks_tasks):
                _require_not_running(task)
            questions = await self.store.questions.of_project(project.id, transaction)
            own = [earlier for earlier in questions if earlier.status is QuestionStatus.OPEN and caller.source]
            if sum(caller.source in earlier.foreign_sources for earlier in own) >= MOST_OPEN_QUESTIONS:
                raise UsageError(
                    f"{MOST_OPEN_QUESTIONS} of your questions are open in {project.name}.",
                    advice="Wait until the owner answered some of them.",
                )
            question = NewQuestion(
                given.question,
                context=given.context,
                blocks=tuple(given.blocks_tasks),
                foreign_sources=caller.foreign_sources,
            )
            question_id = await self.store.questions.put(transaction, project.id, question)
            await self._log(transaction, project, caller, "question.asked", given.question)
        return OneQuestionOut(project.name, question_out(await self._question(project, question_id)))

    @offer_tool("Answer a question, as what this program says.", Reach.INSIDE, is_repeatable=False)
    async def answer_question(self, given: GiveAnswer, caller: ToolCaller) -> AnsweredOut:
        project = await self.store.find(given.project_id)
        question = await self._question(project, given.question_id)
        if caller.source:
            _require_program_may_answer(question)
        blocked = {task.id for task in await self._tasks(project) if task.status is TaskStatus.BLOCKED}
        await self.store.questions.answer(question.id, given.answer, caller.source)
        unblocked = [
            task for task in await self._tasks(project) if task.id in blocked and task.status is TaskStatus.READY
        ]
        answered = question_out(await self._question(project, question.id))
        return AnsweredOut(project.name, answered, [task_out(task) for task in unblocked])

    @offer_tool("What waits, and for what.")
    async def get_blockers(self, given: GetBlockers, _: ToolCaller) -> BlockersOut:
        project = await self.store.find(given.project_id)
        tasks = {listed.id: listed for listed in await self._tasks(project)}
        questions = {question.id: question for question in await self.store.questions.of_project(project.id)}
        blockers: list[BlockerOut] = []
        for task in tasks.values():
            if task.status is not TaskStatus.BLOCKED:
                continue
            open_questions = msgspec.to_builtins([question_out(questions[name]) for name in task.blocked_by])
            needed_tasks = msgspec.to_builtins(
                [task_out(tasks[name]) for name in task.needs if name in tasks and tasks[name].status not in _OVER]
            )
            if open_questions:
                blockers.append(BlockerOut(task_out(task), "question", open_questions, ""))
            if needed_tasks:
                blockers.append(BlockerOut(task_out(task), "dependency", needed_tasks, ""))
            if task.held_because:
                blockers.append(BlockerOut(task_out(task), "premise", [], task.held_because))
        return BlockersOut(project.name, blockers[-given.limit :] if given.limit else blockers)

    @offer_tool("Write down what was done.", Reach.INSIDE, is_repeatable=False, is_additive=True)
    async def log_activity(self, given: LogActivity, caller: ToolCaller) -> LoggedOut:
        project = await self.store.find(given.project_id)
        if not caller.may_write:
            await self.store.log.require_room_for(caller.source, project)
        async with self.store.transaction() as transaction:
            activity_id = await self._log(transaction, project, caller, given.action, given.details or "")
        return LoggedOut(project.name, activity_id)

    @offer_tool("What was done lately, newest first.")
    async def get_recent_activity(self, given: GetRecentActivity, _: ToolCaller) -> ActivitiesOut:
        project = await self.store.find(given.project_id)
        entries = await self.store.log.newest(project.id, given.limit)
        return ActivitiesOut(project.name, [activity_out(project, entry) for entry in entries])

    # --- shared by the tools -----------------------------------------------------------------------------------------

    async def _tasks(self, project: Project) -> list[WorkTask]:
        tasks = await self.store.tasks.of_project(project.id)
        return [task for task in tasks if task.status is not TaskStatus.DROPPED]

    async def _task(self, project: Project, task_id: str) -> WorkTask:
        return next(task for task in await self._tasks(project) if task.id == task_id)

    async def _question(self, project: Project, question_id: str) -> OwnerQuestion:
        for question in await self.store.questions.of_project(project.id):
            if question.id == question_id:
                return question
        raise NotFoundError(f"{project.name} has no question {question_id[:60]!r}.", advice="See get_questions.")

    async def _require_tasks(self, transaction: Transaction, project: Project, ids: list[str]) -> list[WorkTask]:
        """Return the tasks with these ids, in the given order. Raises NotFoundError."""
        tasks = {task.id: task for task in await self.store.tasks.of_project(project.id, transaction)} if ids else {}
        for name in ids:
            if name not in tasks or tasks[name].status is TaskStatus.DROPPED:
                raise NotFoundError(f"{project.name} has no task {name[:60]!r}.", advice="See get_tasks.")
        return [tasks[name] for name in ids]

    async def _require_chunks(self, transaction: Transaction, project: Project, ids: list[str]) -> None:
        chunk_ids = {chunk.id for chunk in await self.store.knowledge.read(transaction, project.id)} if ids else set()
        for name in ids:
            if name not in chunk_ids:
                raise NotFoundError(f"{project.name} knows no chunk {name[:60]!r}.", advice="Search for it.")

    async def _edit(self, transaction: Transaction, project: Project, task: WorkTask, updates: TaskUpdates) -> None:
        """Store a new title, day, repetition or place of a task. Raises UsageError."""
        edit = TaskEdit(updates.title, due=updates.due, every=updates.every)
        if edit != TaskEdit():
            require_open(task)
            await self.store.tasks.edit(transaction, edit_task(task, edit, today(self.store.now)))
        if updates.position is not None:
            require_open(task)
            tasks = await self.store.tasks.of_project(project.id, transaction)
            await self.store.tasks.set_positions(transaction, move_task(tasks, task, updates.position))

    async def _block(self, transaction: Transaction, project: Project, task: WorkTask, updates: TaskUpdates) -> None:
        """Make a task wait for exactly these questions. Raises UsageError if nothing would block it."""
        names = updates.blocked_by
        is_blocked = bool(names) if names is not None else bool(task.blocked_by) or task.status is TaskStatus.BLOCKED
        if updates.status == "blocked" and not is_blocked:
            raise UsageError(
                "A task is blocked by something.", advice="Name the questions in blocked_by; to ask: create_question"
            )
        if names is None:
            return
        if names and updates.status not in (None, "blocked"):
            raise UsageError(f"A task that is {updates.status} waits for no question.", advice="Leave one of them out.")
        if task.status is TaskStatus.DONE:
            raise UsageError(f"“{task.title[:80]}” is done: it waits for nothing.", advice="Make it ready first.")
        questions = {
            question.id: question for question in await self.store.questions.of_project(project.id, transaction)
        }
        for name in set(task.blocked_by) - set(names):
            _require_program_may_answer(questions[name])
            await self.store.tasks.unblock(transaction, task.id, name)
        for name in names:
            if name not in questions or questions[name].status is not QuestionStatus.OPEN:
                raise NotFoundError(f"{project.name} has no open question {name[:60]!r}.", advice="See get_questions.")
            await self.store.tasks.block(transaction, task.id, name)

    async def _store_status(
        self, transaction: Transaction, project: Project, task: WorkTask, updates: TaskUpdates, caller: ToolCaller
    ) -> None:
        [now] = await self._require_tasks(transaction, project, [task.id])  # Its state after `_block`.
        if updates.status == "in_progress" and now.status is not TaskStatus.IN_PROGRESS:
            if now.status is not TaskStatus.READY:
                raise UsageError(
                    f"“{task.title[:80]}” is {now.status.value}, so it cannot be begun.", advice="See get_blockers."
                )
            await self.store.tasks.begin(transaction, task.id)
            [now] = await self._require_tasks(transaction, project, [task.id])
        # A waiting task becomes ready only through what it waits for.
        is_waiting = updates.status == "ready" and now.status is TaskStatus.BLOCKED
        status = TaskStatus(updates.status) if updates.status and not is_waiting else now.status
        audit, audited_by = now.audit, now.audited_by
        if status is TaskStatus.DONE:
            audit, audited_by = f"said by {caller.source or caller.role}, not audited", AuditedBy.PROGRAM
        await self.store.tasks.end(
            transaction,
            now,
            status,
            audit=audit,
            audited_by=audited_by,
            outcome=now.outcome if updates.outcome is None else updates.outcome,
            description=now.description if updates.description is None else updates.description,
            rests_on=now.rests_on if updates.rests_on is None else tuple(updates.rests_on),
            foreign_sources=caller.foreign_sources,
        )

    async def _note_rewrite(self, transaction: Transaction, project: Project, task: WorkTask) -> None:
        page = await self.store.orientation(project.id, transaction)
        tasks = await self.store.tasks.of_project(project.id, transaction)
        if trigger := rewrite_after_task(task, tasks, page.content):
            await self.store.note_rewrite_due(transaction, project, trigger)

    async def _log(
        self, transaction: Transaction, project: Project, caller: ToolCaller, action: str, details: str
    ) -> int:
        """Log an activity. A program's action name goes into the details, under the program's name, so that it can be
        erased as well."""
        if not caller.source:
            return await self.store.log.put(transaction, project.id, action, details)
        return await self.store.log.put(transaction, project.id, caller.source, f"{action}\n{details}".strip())


def _require_not_running(task: WorkTask) -> None:
    """Raise UsageError while the mind works on a task: its result would overwrite the change."""
    if task.is_in_hand:
        raise UsageError(
            f"The mind works on “{task.title[:80]}” now.", advice="Try again when it has ended; get_tasks says so."
        )


def _require_program_may_answer(question: OwnerQuestion) -> None:
    """Raise UsageError if only the owner may answer a question or unblock what waits for it."""
    if question.kind is not QuestionKind.QUESTION:
        raise UsageError(
            f"This {question.kind.value} is the owner's: no program answers it, or lets go on what waits for it.",
            advice="The owner answers it: reveries questions",
        )
