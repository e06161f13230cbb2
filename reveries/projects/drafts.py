"""Drafts that the owner approved. Pure."""

from typing import Final

from reveries.knowledge.model import ChunkSource, ChunkType, Confidence, NewChunk
from reveries.projects.model import OwnerQuestion, WorkTask
from reveries.projects.task_execution import ResultStatus, TaskResult

DRAFT_TAG: Final = "draft"


def keep_draft(task: WorkTask, answered: OwnerQuestion) -> TaskResult:
    """Return the draft as the task's outcome and as a chunk."""
    chunk = NewChunk(
        content=answered.context,
        type=ChunkType.RESOURCE,
        confidence=Confidence.VERIFIED,
        source=ChunkSource.USER,
        title=task.title,
        tags=(DRAFT_TAG,),
        task_id=task.id,
        foreign_sources=answered.foreign_sources,
    )
    return TaskResult(ResultStatus.COMPLETE, answered.context, (chunk,), is_audited=True)
