"""Rows of the database as values of the project model. Pure."""

import json
from collections.abc import Sequence

import msgspec

from reveries.db.database import Row
from reveries.projects.model import (
    Orientation,
    OrientationVersion,
    OwnerQuestion,
    Project,
    QuestionKind,
    QuestionStatus,
    TaskKind,
    TaskStatus,
    WorkLogEntry,
    WorkTask,
)


def project_from_row(row: Row) -> Project:
    return Project(
        id=row["id"],
        name=row["name"],
        state=row["state"],
        created_at=row["created_at"],
        last_wake_at=row["last_wake_at"],
        last_worked_at=row["last_worked_at"],
        rested_because=row["rested_because"],
        rewrite_due=tuple(row["rewrite_due"].split()),
        folder=row["folder"],
        may_write=bool(row["may_write"]),
    )


def orientation_from_row(row: Row) -> OrientationVersion:
    content = msgspec.json.decode(row["content"], type=Orientation)
    sources = frozenset(json.loads(row["foreign_sources"]))
    return OrientationVersion(row["version"], row["trigger"], row["written_at"], content, sources)


def log_entries_from_rows(rows: Sequence[Row]) -> list[WorkLogEntry]:
    return [
        WorkLogEntry(row["action"], row["details"], row["happened_at"], row["task_id"], row["skill_area"], row["id"])
        for row in rows
    ]


def task_from_row(row: Row, needs: tuple[str, ...], blocked_by: tuple[str, ...]) -> WorkTask:
    return WorkTask(
        id=row["id"],
        project_id=row["project_id"],
        goal_id=row["goal_id"],
        title=row["title"],
        description=row["description"],
        kind=TaskKind(row["kind"]),
        status=TaskStatus(row["status"]),
        skill_area=row["skill_area"],
        needs=needs,
        blocked_by=blocked_by,
        rests_on=tuple(json.loads(row["rests_on"])),
        outcome=row["outcome"],
        audit=row["audit"],
        tries=row["tries"],
        failure=row["failure"],
        held_because=row["held_because"],
        flagged_because=row["flagged_because"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        try_began_at=row["try_began_at"],
        foreign_sources=frozenset(json.loads(row["foreign_sources"])),
    )


def question_from_row(row: Row, blocks: tuple[str, ...]) -> OwnerQuestion:
    return OwnerQuestion(
        id=row["id"],
        project_id=row["project_id"],
        kind=QuestionKind(row["kind"]),
        question=row["question"],
        context=row["context"],
        status=QuestionStatus(row["status"]),
        answer=row["answer"],
        asked_at=row["asked_at"],
        answered_at=row["answered_at"],
        noted_at=row["noted_at"],
        task_id=row["task_id"],
        context_tags=tuple(json.loads(row["context_tags"])),
        blocks=blocks,
        payload=row["payload"],
        foreign_sources=frozenset(json.loads(row["foreign_sources"])),
    )
