"""The questions of projects in the database: asked, answered, dropped."""

import json
from collections.abc import Callable

from reveries.clock import Clock
from reveries.db.checksums import checksum
from reveries.db.database import Database, Reader, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError, UsageError
from reveries.projects.answers import CONFLICT_TAG, require_choice
from reveries.projects.approvals import read_scope
from reveries.projects.model import NewQuestion, OwnerQuestion
from reveries.projects.rests import RestStore
from reveries.projects.task_store import TaskStore
from reveries.projects.triggers import REACHED_TAG
from reveries.projects.work_log import WorkLog

LONGEST_ANSWER_CHARS = 20_000


class QuestionStore:
    """Reads and changes the questions of each project."""

    def __init__(
        self,
        database: Database,
        tasks: TaskStore,
        log: WorkLog,
        rests: RestStore,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._database = database
        self._tasks = tasks
        self._log = log
        self._rests = rests
        self._clock = clock
        self._new_id = new_id

    async def of_project(self, project_id: str, source: Reader | None = None) -> list[OwnerQuestion]:
        """Oldest first."""
        named = {"project_id": project_id}
        blocks = await (source or self._database).rows("projects.blocks", named)
        return [
            read_row(
                OwnerQuestion,
                row,
                blocks=tuple(block["task_id"] for block in blocks if block["question_id"] == row["id"]),
            )
            for row in await (source or self._database).rows("projects.questions", named)
        ]

    async def list_open(self) -> list[tuple[str, OwnerQuestion]]:
        """Return the open questions of all projects, oldest first, each with the name of its project."""
        rows = await self._database.rows("projects.open_questions")
        return [(str(row["project_name"]), read_row(OwnerQuestion, row, blocks=())) for row in rows]

    async def count_blocked(self, question_id: str) -> int:
        """Return how many tasks wait for a question."""
        [row] = await self._database.rows("projects.count_blocked", {"id": question_id})
        return int(row["number"])

    async def answer(self, prefix: str, answer: str, program: str = "") -> tuple[str, OwnerQuestion]:
        """The owner's answer, or that of a `program` outside, which is no word of the owner: the name of its project,
        and the question. Tasks that wait only for it are released (V-25). An approval is answered by how far it goes.
        Raises NotFoundError, UsageError."""
        answer = answer.strip()
        if not answer or len(answer) > LONGEST_ANSWER_CHARS:
            raise UsageError(f"An answer has 1 to {LONGEST_ANSWER_CHARS} characters.", advice="Say it in short.")
        async with self._database.transaction() as transaction:
            rows = await transaction.rows("projects.question_by_prefix", {"prefix": prefix}) if prefix else []
            if len(rows) != 1:
                many = f"{len(rows)} questions have an id that begins" if rows else "No question has an id that begins"
                raise NotFoundError(f"{many} with {prefix[:40]!r}.", advice="All of them: reveries questions")
            [row] = rows
            if row["payload"] != "{}":
                read_scope(answer)
            if CONFLICT_TAG in json.loads(row["context_tags"]):
                require_choice(answer)
            answered = {"id": row["id"], "answer": answer, "now": self._clock.now(), "program": program}
            sources = {*json.loads(row["foreign_sources"]), *([program] if program else [])}
            answered |= {"foreign_sources": json.dumps(sorted(sources))}
            if not await transaction.run("projects.answer_question", answered):
                raise UsageError(
                    "That question is answered already.", advice="To say something else, change the goal or add to it."
                )
            if program:
                await self._log.put(transaction, row["project_id"], program, "question.answered")
                await self._rests.end_idle(transaction, row["project_id"])
            else:
                is_on_goal = REACHED_TAG in json.loads(row["context_tags"])
                action = "reached.answered" if is_on_goal else "question.answered"
                await self._log.put(transaction, row["project_id"], action)
                await self._rests.clear(transaction, row["project_id"])
            await self._tasks.release(transaction, row["project_id"])
        return str(row["project_name"]), read_row(OwnerQuestion, row, blocks=())

    async def put(self, transaction: Transaction, project_id: str, question: NewQuestion) -> str:
        """Store a question and block the tasks that wait for it (V-24); return its id."""
        name = self._new_id()
        row: dict[str, object] = {"id": name, "project_id": project_id, "task_id": question.task_id}
        row |= {"kind": question.kind.value}
        row |= {"question": question.question, "context": question.context, "now": self._clock.now()}
        row |= {"context_tags": json.dumps(question.context_tags, ensure_ascii=False)}
        row |= {"foreign_sources": json.dumps(sorted(question.foreign_sources)), "payload": question.payload}
        await transaction.run(
            "projects.put_question", row | {"checksum": checksum(question.question, question.context)}
        )
        for task_id in question.blocks:
            await self._tasks.block(transaction, task_id, name)
        return name

    async def note(self, transaction: Transaction, question_id: str) -> None:
        """Record that the answer to a question took effect."""
        await transaction.run("projects.note_question", {"id": question_id, "now": self._clock.now()})

    async def drop(self, transaction: Transaction, question_id: str) -> None:
        await transaction.run("projects.drop_question", {"id": question_id})
