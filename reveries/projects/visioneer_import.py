"""Store the projects of a database of Visioneer as projects of this mind (V-137).

They arrive paused and without a goal, so that nothing begins by itself. Their texts are another program's: they have
its name among their sources, and nothing of them counts as the owner's word.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from reveries.db.database import Transaction
from reveries.knowledge.evolution import ARCHIVE_BELOW, archive_relation, initial_weight
from reveries.knowledge.model import (
    REPLACING,
    ChunkSource,
    ChunkType,
    Confidence,
    NewChunk,
    NewRelation,
    Relation,
    RelationType,
)
from reveries.projects.model import (
    PROGRAM_PREFIX,
    AreaProgress,
    Criterion,
    KeyDecision,
    MadeBy,
    NewQuestion,
    NewTask,
    Orientation,
    Phase,
    SkillNode,
    TaskKind,
    TaskStatus,
)
from reveries.projects.project_names import derive_project_name
from reveries.projects.store import ProjectStore
from reveries.projects.visioneer_file import (
    ForeignProject,
    ForeignRow,
    read_json,
    read_number,
    read_text,
    read_texts,
    read_time,
)
from reveries.protocol import ImportedProject
from reveries.safe_text import one_line

if TYPE_CHECKING:
    from reveries.knowledge.project_knowledge import PreparedChunks

SOURCE: Final = f"{PROGRAM_PREFIX}visioneer"
_SOURCES: Final = frozenset({SOURCE})
_NOWHERE: Final = ""
"""The project of texts that are prepared before there is one, so that a failing embedder leaves nothing behind."""
_LONGEST_TITLE: Final = 500
_LONGEST_CONTENT: Final = 100_000
_ARCHIVE_REASONS: Final = frozenset({"contradicted", "replaced", "manual"})
_Kind = TypeVar("_Kind", bound=StrEnum)


async def import_projects(store: ProjectStore, projects: Sequence[ForeignProject]) -> list[ImportedProject]:
    """Store the projects, each under a name of its own: all of them or, if an error is raised, none."""
    names = {project.name.casefold() for project in await store.projects()}
    imports = [_Import(store, given) for given in projects]
    # All are embedded before the first is stored: a failing embedder leaves nothing behind.
    for item in imports:
        await item.prepare(names)
    async with store.transaction() as transaction:
        return [await item.put(transaction) for item in imports]


class _Import:
    """The import of one project, prepared and then stored: its rows by the ids that they had."""

    def __init__(self, store: ProjectStore, given: ForeignProject) -> None:
        self._store = store
        self._given = given
        self._left_out = given.left_out.copy()
        self._page = read_page(given.page)
        self._name = ""
        self._kept: Sequence[ForeignRow] = ()
        self._prepared: PreparedChunks | None = None
        self._tasks: dict[str, str] = {}
        self._questions: dict[str, str] = {}
        self._chunks: dict[str, str] = {}

    async def prepare(self, names: set[str]) -> None:
        """Embed the texts, and choose a name that is not among `names`; add it there."""
        knowledge = self._store.knowledge
        rows = self._given.rows["chunks"]
        self._kept = [row for row in rows if self._keep(bool(read_text(row, "content")), "empty texts")]
        # They are of one hand: what of them contradicts each other was settled there, or stands among the relations.
        texts = [read_chunk(row) for row in self._kept]
        self._prepared = await knowledge.prepare(_NOWHERE, texts, are_one_text=True)
        knowledge.search.drop(_NOWHERE)
        vision = self._page.vision_summary or f"Visioneer {one_line(self._given.id)}"
        self._name = derive_project_name(vision, names)
        if " " not in self._name:  # A single word may read like an id.
            self._name = derive_project_name(f"Visioneer {self._name}", names)
        names.add(self._name.casefold())

    async def put(self, transaction: Transaction) -> ImportedProject:
        """Store the project as it was prepared."""
        given = self._given
        project_id = await self._store.put_project(transaction, self._name, self._page, _SOURCES)
        await transaction.run("projects.set_state", {"id": project_id, "state": "paused"})
        await self._put_chunks(transaction, project_id)
        await self._put_tasks(transaction, project_id)
        await self._put_questions(transaction, project_id)
        await self._put_waits(transaction, project_id)
        relations = await self._put_relations(transaction, project_id)
        for row in given.rows["activities"]:
            await self._put_activity(transaction, project_id, row)
        left_out = {name: number for name, number in self._left_out.items() if number}
        return ImportedProject(
            self._name, self._page.vision_summary, len(self._tasks), len(self._questions), len(self._kept), relations,
            len(given.rows["activities"]), left_out,
        )  # fmt: skip

    async def _put_chunks(self, transaction: Transaction, project_id: str) -> None:
        assert self._prepared is not None
        ids = await self._store.knowledge.put(transaction, project_id, self._prepared)
        for row, new_id in zip(self._kept, ids, strict=True):
            self._chunks[read_text(row, "id")] = new_id
            await transaction.run("chunks.restore_times", _chunk_times(row, new_id, self._store.now))

    def _keep(self, is_kept: bool, what: str) -> bool:
        self._left_out[what] += not is_kept
        return is_kept

    async def _put_tasks(self, transaction: Transaction, project_id: str) -> None:
        kept = [row for row in self._given.rows["tasks"] if self._keep(bool(_title(row)), "tasks without a title")]
        new = [
            NewTask(
                _title(row), read_text(row, "description"), TaskKind.OTHER, read_text(row, "skill_area"),
                foreign_sources=_SOURCES, made_by=MadeBy.PROGRAM,
            )
            for row in kept
        ]  # fmt: skip
        ids = await self._store.tasks.put(transaction, project_id, new)
        for row, new_id in zip(kept, ids, strict=True):
            self._tasks[read_text(row, "id")] = new_id
            await transaction.run("projects.restore_task", _task_state(row, new_id, self._store.now))

    async def _put_questions(self, transaction: Transaction, project_id: str) -> None:
        for row in self._given.rows["questions"]:
            text = read_text(row, "question")
            if not self._keep(bool(text), "questions without words"):
                continue
            new = NewQuestion(text, context=read_text(row, "context"), foreign_sources=_SOURCES)
            new_id = await self._store.questions.put(transaction, project_id, new)
            self._questions[read_text(row, "id")] = new_id
            answer = read_text(row, "answer")
            asked_at = read_time(row.get("asked_at")) or self._store.now
            answered_at = (read_time(row.get("answered_at")) or self._store.now) if answer else None
            state = {"id": new_id, "status": "answered" if answer else "open", "answer": answer, "asked_at": asked_at}
            # Its answer is among the texts already.
            await transaction.run("projects.restore_question", state | {"answered_at": answered_at})

    async def _put_waits(self, transaction: Transaction, project_id: str) -> None:
        """Store what each task waits for, and free those that wait for nothing."""
        for row in self._given.rows["tasks"]:
            task_id = self._tasks.get(read_text(row, "id"))
            if task_id is None:
                continue
            needs = {self._tasks.get(name) for name in read_texts(row.get("depends_on"))} - {None, task_id}
            await self._store.tasks.put_needs(transaction, task_id, sorted(name for name in needs if name))
            for name in read_texts(row.get("blocked_by")):
                await self._put_block(transaction, self._questions.get(name), task_id)
        for row in self._given.rows["questions"]:
            for name in read_texts(row.get("blocks_tasks")):
                await self._put_block(transaction, self._questions.get(read_text(row, "id")), self._tasks.get(name))
        await self._store.tasks.release(transaction, project_id)

    async def _put_block(self, transaction: Transaction, question_id: str | None, task_id: str | None) -> None:
        if question_id is not None and task_id is not None:
            await transaction.run("projects.put_block", {"question_id": question_id, "task_id": task_id})

    async def _put_relations(self, transaction: Transaction, project_id: str) -> int:
        stored = 0
        for row in (*self._given.relations, *self._given.archived):
            ends = self._chunks.get(read_text(row, "from_chunk_id")), self._chunks.get(read_text(row, "to_chunk_id"))
            type_ = _one_of(RelationType, read_text(row, "type"), None)
            from_id, to_id = ends
            is_whole = from_id is not None and to_id is not None and from_id != to_id and type_ is not None
            if not self._keep(is_whole, "relations without two texts or of an unknown type"):
                continue
            assert from_id is not None
            assert to_id is not None
            assert type_ is not None
            made_at = read_time(row.get("created_at")) or self._store.now
            new = NewRelation(
                from_id, to_id, type_, _number(row, "weight", initial_weight(Confidence.INFERRED), ARCHIVE_BELOW, 1.0),
                read_text(row, "origin") == "implicit", read_texts(row.get("context_tags")),
            )  # fmt: skip
            await self._store.knowledge.restore_relation(transaction, new, made_at, partial(_restore_use, row=row))
            if type_ in REPLACING and "archived_at" not in row:
                older = {"id": to_id, "project_id": project_id, "by": from_id, "now": made_at}
                await transaction.run("chunks.mark_superseded", older)
            stored += 1
        return stored

    async def _put_activity(self, transaction: Transaction, project_id: str, row: ForeignRow) -> None:
        """Store a log entry under the name of the program: no model reads it."""
        details = read_text(row, "details")
        words = "\n".join(part for part in (read_text(row, "action"), details) if part)
        at = read_time(row.get("timestamp")) or self._store.now
        entry: dict[str, object] = {"project_id": project_id, "task_id": None, "action": SOURCE, "details": words}
        await transaction.rows("projects.put_activity", entry | {"skill_area": "", "now": at})


def read_page(page: ForeignRow) -> Orientation:
    """Read a page; what is missing or of another form is empty. Pure."""
    return Orientation(
        vision_summary=read_text(page, "vision_summary"),
        success_criteria=tuple(Criterion(text) for text in read_texts(page.get("success_criteria"))),
        constraints=read_texts(page.get("constraints")),
        skill_map=tuple(
            SkillNode(
                read_text(node, "skill"),
                read_text(node, "status") or "not_started",
                read_text(node, "parent") or None,
                read_texts(node.get("dependencies")),
                read_text(node, "notes"),
            )
            for node in _objects(page.get("skill_map"))
            if read_text(node, "skill")
        ),
        current_phase=_one_of(Phase, read_text(page, "current_phase"), Phase.INTAKE) or Phase.INTAKE,
        key_decisions=tuple(
            KeyDecision(
                read_text(decision, "decision"),
                read_text(decision, "reasoning"),
                read_time(decision.get("date")) or 0.0,
            )
            for decision in _objects(page.get("key_decisions"))
            if read_text(decision, "decision")
        ),
        active_priorities=read_texts(page.get("active_priorities")),
        progress_snapshot=tuple(
            AreaProgress(
                read_text(area, "area"),
                read_text(area, "status") or "not_started",
                int(_number(area, "percent", 0.0, 0.0, 100.0)) if area.get("percent") is not None else None,
                read_texts(area.get("blockers")),
            )
            for area in _objects(page.get("progress_snapshot"))
            if read_text(area, "area")
        ),
    )


def read_chunk(row: ForeignRow) -> NewChunk:
    """Read a text with what it is; an unknown type, confidence or source is the most careful one. Pure."""
    return NewChunk(
        read_text(row, "content")[:_LONGEST_CONTENT],
        _one_of(ChunkType, read_text(row, "type"), None) or ChunkType.RESEARCH,
        _one_of(Confidence, read_text(row, "confidence"), None) or Confidence.SPECULATIVE,
        _one_of(ChunkSource, read_text(row, "source"), None) or ChunkSource.RESEARCH,
        tags=read_texts(row.get("tags")),
        foreign_sources=_SOURCES,
    )


def _restore_use(relation: Relation, row: ForeignRow) -> Relation:
    """Return the relation with its use, and in the archive if it was there. Pure."""
    used_at = read_time(row.get("last_activated"))
    used = replace(
        relation,
        activation_count=int(_number(row, "activation_count", 0.0, 0.0, 1e9)),
        last_activated_at=relation.last_activated_at if used_at is None else used_at,
    )
    archived_at = read_time(row.get("archived_at"))
    if archived_at is None:
        return used
    reason = read_text(row, "reason")
    return archive_relation(used, archived_at, reason if reason in _ARCHIVE_REASONS else "manual")


def _chunk_times(row: ForeignRow, chunk_id: str, now: float) -> dict[str, object]:
    made_at = read_time(row.get("created_at")) or now
    return {
        "id": chunk_id,
        "created_at": made_at,
        "last_accessed_at": read_time(row.get("last_accessed")) or made_at,
        "last_useful_at": read_time(row.get("last_useful")),
        "access_count": int(_number(row, "access_count", 0.0, 0.0, 1e9)),
    }


def _task_state(row: ForeignRow, task_id: str, now: float) -> dict[str, object]:
    status = _one_of(TaskStatus, read_text(row, "status"), None) or TaskStatus.READY
    if status is TaskStatus.IN_PROGRESS:
        status = TaskStatus.READY
    made_at = read_time(row.get("created_at")) or now
    return {
        "id": task_id,
        "status": status.value,
        "outcome": read_text(row, "outcome"),
        "failure": read_text(row, "failure_reason"),
        "created_at": made_at,
        "updated_at": read_time(row.get("updated_at")) or made_at,
        "started_at": read_time(row.get("started_at")),
        "completed_at": read_time(row.get("completed_at")),
    }


def _title(row: ForeignRow) -> str:
    return one_line(read_text(row, "title"), _LONGEST_TITLE)


def _objects(value: object) -> list[dict[str, Any]]:
    value = read_json(value, []) if isinstance(value, str) else value
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _one_of(kind: type[_Kind], value: str, otherwise: _Kind | None) -> _Kind | None:
    return next((member for member in kind if member.value == value), otherwise)


def _number(row: ForeignRow, name: str, otherwise: float, least: float, most: float) -> float:
    value = read_number(row.get(name))
    return otherwise if value is None else min(most, max(least, value))
