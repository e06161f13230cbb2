"""Store the result of an attempt: audit it, wait for an answer or research, or try again (V-82..V-85)."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import msgspec

from reveries.db.database import Transaction
from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.projects.evidence import AuditVerdict
from reveries.projects.model import (
    AgentState,
    AuditedBy,
    NewQuestion,
    NewTask,
    Orientation,
    QuestionKind,
    TaskFile,
    TaskKind,
    TaskStatus,
    WorkTask,
)
from reveries.projects.result_audit import audit_attempt
from reveries.projects.store import ProjectStore
from reveries.projects.task_execution import ResultStatus, TaskResult
from reveries.projects.triggers import DECISION_TRIGGER, SHOWN_TRIGGER, rewrite_after_task
from reveries.projects.work_model import WorkModel
from reveries.projects.work_observers import ReportEvent, WorkMemory

MOST_TRIES = 3
_OPEN = (TaskStatus.READY, TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED)


@dataclass(frozen=True, slots=True)
class TaskResults:
    """Stores the results of attempts, each in one transaction."""

    store: ProjectStore
    report_event: ReportEvent
    memory: WorkMemory

    async def store_result(self, model: WorkModel, state: AgentState, task: WorkTask, result: TaskResult) -> None:
        match result.status:
            case ResultStatus.COMPLETE:
                await self._audit_and_store(model, state, task, result)
            case ResultStatus.BLOCKED:
                await self._block(task, result)
            case ResultStatus.NEEDS_RESEARCH:
                await self._research_first(task, result)
            case ResultStatus.PARTIAL:
                await self._fail(task, f"done in part: {result.outcome}", is_partial=True)
            case ResultStatus.GIVEN_UP:
                await self._give_up(task, result)
            case ResultStatus.HELD:
                await self._hold(task, result)
            case ResultStatus.FAILED:
                await self._fail(task, result.outcome)

    async def _audit_and_store(self, model: WorkModel, state: AgentState, task: WorkTask, result: TaskResult) -> None:
        verdict = result.verdict or await audit_attempt(self.store, model, state, task, result)
        if verdict.is_accepted:
            await self._complete(state, task, result, verdict)
        else:
            await self._fail(task, f"not accepted: {verdict.why}", audit=verdict.why, attempt=result.outcome)

    async def _complete(self, state: AgentState, task: WorkTask, result: TaskResult, verdict: AuditVerdict) -> None:
        learnings = [
            replace(
                learning,
                tags=tuple(dict.fromkeys((*learning.tags, task.skill_area.lower() or "general"))),
                foreign_sources=learning.foreign_sources | task.foreign_sources,
            )
            for learning in result.learnings
        ]
        prepared = await self.store.knowledge.prepare(task.project_id, learnings)
        rests = {*task.rests_on, *result.rests_on} - await self._sections_of_made(task, result.observed.task_files)
        experience = f"I worked on {state.project.name}: {task.title}. {result.outcome}"
        async with self.store.transaction() as transaction:
            await self.store.tasks.end(
                transaction, task, TaskStatus.DONE, outcome=result.outcome, audit=verdict.why,
                audited_by=AuditedBy.AUDIT, failure="", rests_on=frozenset(rests), files=result.observed.task_files,
            )  # fmt: skip
            redone = find_redone(state.tasks, result.observed.task_files)
            for earlier in redone:
                outcome = f"(Done anew: {task.title}.) {earlier.outcome}"
                await self.store.tasks.settle_doubt(transaction, replace(earlier, outcome=outcome, files=()))
            await self.store.knowledge.put(transaction, task.project_id, prepared)
            await self.store.knowledge.note_useful(transaction, rests)
            await self.store.tasks.release(transaction, task.project_id)
            await self.store.log.put(transaction, task.project_id, "task.done", f"{task.title}: {result.outcome}", task)
            await self._note_reached(transaction, task, verdict.reached, {earlier.id for earlier in redone})
            tasks = await self.store.tasks.of_project(task.project_id, transaction)
            decided = DECISION_TRIGGER if any(learning.type is ChunkType.DECISION for learning in learnings) else ""
            if due := [
                trigger for trigger in (rewrite_after_task(task, tasks, state.orientation.content), decided) if trigger
            ]:
                await self.store.note_rewrite_due(transaction, state.project, *due)
            await self.memory.put_experience(transaction, experience, is_tainted=bool(task.foreign_sources))
        self.report_event("done", f"{task.title}: {result.outcome}")
        await self.memory.light_sleep()

    async def _sections_of_made(self, task: WorkTask, files: Sequence[TaskFile]) -> set[str]:
        """Return the ids of what is known of the files that a task made or changed: as they were before, they are
        nothing that its result rests on."""
        made = {file.path for file in files if file.is_made}
        if not made:
            return set()
        documents = await self.store.knowledge.documents(task.project_id)
        ids = {document.id for document in documents if document.is_note_at(made)}
        chunks = await self.store.knowledge.of_project(task.project_id)
        return {chunk.id for chunk in chunks if chunk.document_id in ids}

    async def _note_reached(
        self, transaction: Transaction, task: WorkTask, reached: Sequence[str], redone: Set[str]
    ) -> None:
        """Mark on the newest page which criteria the evidence of a task shows to be reached."""
        newest = await self.store.orientation(task.project_id, transaction)
        page = note_reached(newest.content, reached, task.id, redone)
        if page == newest.content:
            return
        sources = newest.foreign_sources | task.foreign_sources
        await self.store.put_orientation(transaction, task.project_id, newest, page, SHOWN_TRIGGER, sources)

    async def _block(self, task: WorkTask, result: TaskResult) -> None:
        question = result.question or NewQuestion(f"What is needed for “{task.title}”?", blocks=(task.id,))
        # A question is made of what stood before the model: it inherits what the task has.
        question = replace(question, task_id=task.id, foreign_sources=question.foreign_sources | task.foreign_sources)
        async with self.store.transaction() as transaction:
            await self.store.tasks.end(transaction, task, TaskStatus.BLOCKED, tries_anew=True)
            await self.store.questions.put(transaction, task.project_id, question)
            await self.store.log.put(transaction, task.project_id, "task.blocked", question.question, task)
        self.report_event("question", question.question)

    async def _hold(self, task: WorkTask, result: TaskResult) -> None:
        """Ask the owner to approve a tool call; the attempt continues afterwards."""
        assert result.question is not None
        sources = result.question.foreign_sources | task.foreign_sources
        question = replace(result.question, foreign_sources=sources)
        async with self.store.transaction() as transaction:
            await self.store.questions.put(transaction, task.project_id, question)
            await self.store.tasks.hold_try(transaction, replace(task, foreign_sources=sources))
            await self.store.log.put(transaction, task.project_id, "approval.asked", question.question, task)
        self.report_event("approval", question.question)

    async def _give_up(self, task: WorkTask, result: TaskResult) -> None:
        """Drop the task and release the tasks that needed it."""
        async with self.store.transaction() as transaction:
            await self.store.tasks.end(transaction, task, TaskStatus.DROPPED, outcome=result.outcome)
            await self.store.tasks.release(transaction, task.project_id)
            await self.store.log.put(
                transaction, task.project_id, "task.given_up", f"{task.title}: {result.outcome}", task
            )
        self.report_event("given up", f"{task.title}: {result.outcome}")

    async def _research_first(self, task: WorkTask, result: TaskResult) -> None:
        topic = result.topic or task.title
        title = f"Research: {topic}"
        async with self.store.transaction() as transaction:
            tasks = await self.store.tasks.of_project(task.project_id, transaction)
            same = [
                candidate
                for candidate in tasks
                if candidate.title.casefold() == title.casefold() and candidate.goal_id == task.goal_id
            ]
            under_way = [
                candidate
                for candidate in same
                if candidate.status in _OPEN and not needs_task(tasks, candidate.id, task.id)
            ]
            if same and not under_way:
                # It was researched before: another round would find no more.
                await self._end_failed(transaction, task, f"{title} was done and did not help")
                return
            if under_way:
                name = under_way[0].id
            else:
                new = NewTask(
                    title, f"It is needed for: {task.title}", TaskKind.FIND_OUT, task.skill_area, goal_id=task.goal_id,
                    foreign_sources=task.foreign_sources,
                )  # fmt: skip
                [name] = await self.store.tasks.put(transaction, task.project_id, [new])
            await self.store.tasks.end(transaction, task, TaskStatus.BLOCKED, tries_anew=True)
            await self.store.tasks.put_needs(transaction, task.id, [name])
            await self.store.log.put(transaction, task.project_id, "task.needs_research", title, task)
        self.report_event("needs research", topic)

    async def _fail(
        self, task: WorkTask, why: str, *, audit: str = "", attempt: str = "", is_partial: bool = False
    ) -> None:
        """Record a failed attempt; the third one, or the same failure twice, becomes a question (VA-19)."""
        attempts = [_attempt(task, attempt, why)] if attempt else []
        prepared = await self.store.knowledge.prepare(task.project_id, attempts)
        async with self.store.transaction() as transaction:
            await self.store.knowledge.put(transaction, task.project_id, prepared)
            is_same = bool(task.failure) and task.failure == why
            if audit:
                task = replace(task, audit=audit, audited_by=AuditedBy.AUDIT)
            if task.tries >= MOST_TRIES or is_same:
                await self._end_failed(transaction, task, why)
                return
            description = task.description
            if is_partial:
                description = f"{task.description}\nSo far: {why}"[:4000]
            await self.store.tasks.end(transaction, task, TaskStatus.READY, failure=why, description=description)
            await self.store.log.put(transaction, task.project_id, "task.failed", f"{task.title}: {why}", task)
        self.report_event("failed", f"{task.title}: {why}")

    async def _end_failed(self, transaction: Transaction, task: WorkTask, why: str) -> None:
        await self.store.tasks.end(transaction, task, TaskStatus.BLOCKED, failure=why, tries_anew=True)
        often = f" {task.tries} times" if task.tries > 1 else ""
        question = NewQuestion(
            f"I tried “{task.title}”{often} and it did not work. What should I do?",
            QuestionKind.DECISION,
            context=f"{why}\nTo leave it out, say: drop it.",
            blocks=(task.id,),
            task_id=task.id,
            foreign_sources=task.foreign_sources,
        )
        await self.store.questions.put(transaction, task.project_id, question)
        await self.store.log.put(transaction, task.project_id, "task.gave_up", f"{task.title}: {why}", task)
        self.report_event("question", question.question)


def find_redone(tasks: Sequence[WorkTask], files: Sequence[TaskFile]) -> list[WorkTask]:
    """Return the finished tasks in doubt whose files were made anew. Pure."""
    made = {file.path for file in files if file.is_made}
    in_doubt = [task for task in tasks if task.status is TaskStatus.DONE and task.flagged_because]
    return [task for task in in_doubt if made & {file.path for file in task.files if file.is_made}]


def note_reached(
    page: Orientation, reached: Sequence[str], task_id: str, redone: Set[str] = frozenset()
) -> Orientation:
    """Return the page with these criteria marked as reached by a task, unless another showed it before. What one of the
    tasks showed that it did anew, it has to show itself. Pure."""
    kept = [
        msgspec.structs.replace(criterion, reached_by="") if criterion.reached_by in redone else criterion
        for criterion in page.success_criteria
    ]
    criteria = tuple(
        msgspec.structs.replace(criterion, reached_by=task_id)
        if criterion.text in reached and not criterion.reached_by
        else criterion
        for criterion in kept
    )
    return msgspec.structs.replace(page, success_criteria=criteria)


def needs_task(tasks: Sequence[WorkTask], task_id: str, needed_id: str) -> bool:
    """Whether a task is another one, or needs it over any number of steps. Pure."""
    needs = {task.id: task.needs for task in tasks}
    seen: set[str] = set()
    waiting = [task_id]
    while waiting:
        name = waiting.pop()
        if name == needed_id:
            return True
        if name not in seen:
            seen.add(name)
            waiting += needs.get(name, ())
    return False


def _attempt(task: WorkTask, outcome: str, why: str) -> NewChunk:
    """Keep a rejected outcome as evidence that never counts as progress."""
    return NewChunk(
        content=f"{task.title}: {outcome}\nNot accepted: {why}",
        type=ChunkType.ATTEMPT,
        confidence=Confidence.SPECULATIVE,
        source=ChunkSource.EXPERIMENT,
        task_id=task.id,
        foreign_sources=task.foreign_sources,
    )
