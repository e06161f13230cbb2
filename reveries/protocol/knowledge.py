"""Messages about what a project knows: chunks, relations, what contradicts, and places in its documents."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.documents import PointerEntry
from reveries.protocol.message import Answer, Request, RunId
from reveries.protocol.project_notes import NoteAnswer, ProjectName
from reveries.protocol.registry import request


class ChunkEntry(msgspec.Struct, frozen=True):
    chunk_id: str
    title: str
    content: str
    type: str
    confidence: str
    fell_because: str
    sources: list[str]
    created_at: float = 0.0
    superseded_by: str = ""
    """The id of the newer chunk that replaces it."""
    why: str = ""
    """Why a search returned it, in words."""


class RelationEntry(msgspec.Struct, frozen=True):
    """A relation between two chunks. `archived` says why it was archived; "" while it is active."""

    relation_id: str
    from_id: str
    from_text: str
    type: str
    to_id: str
    to_text: str
    weight: float
    is_implicit: bool
    archived: str


class Chunks(Answer, frozen=True):
    """`plan` is how the query was classified; `message` answers a question about the work itself. `verdict`, for a
    question, is what the notes say to it: said, open (a note asks the same), unsure (some lines come near) or
    not_said. `answers` are the lines, best first; for open the line that leaves it open is the first. `reader` is the
    model that read the lines, empty if only rules did."""

    chunks: list[ChunkEntry]
    plan: str = ""
    message: str = ""
    relations: tuple[RelationEntry, ...] = ()
    verdict: Literal["", "said", "open", "unsure", "not_said"] = ""
    answers: tuple[NoteAnswer, ...] = ()
    reader: str = ""
    places: tuple[PointerEntry, ...] = ()
    """Where something that fits stands in documents, best first."""
    looked_at: tuple[str, ...] = ()
    """The documents that were searched."""


class ProjectRelations(Answer, frozen=True):
    """Strongest first."""

    relations: list[RelationEntry]


class ProjectConflict(msgspec.Struct, frozen=True):
    """Two chunks of a project that contradict each other. `found_by`: stated, rule, model, or likeness (similarity
    only, not verified). `settled` is empty while it is open."""

    conflict_id: str
    project: str
    older: ChunkEntry
    newer: ChunkEntry
    found_by: str
    settled: str


class ProjectConflicts(Answer, frozen=True):
    """Newest first."""

    conflicts: list[ProjectConflict]


@request(answer=Chunks, safe=True, large=True)
class AskChunks(Request, frozen=True):
    """What a project knows; with `query` the best matches, with `chunk_id` only that chunk. Answered by `Chunks`."""

    project: ProjectName
    query: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 50
    until: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Show the knowledge as of this time (unix seconds); 0: now."""
    chunk_id: Annotated[str, msgspec.Meta(max_length=100)] = ""


@request(answer=ProjectRelations, safe=True, large=True)
class AskRelations(Request, frozen=True):
    """The relations between a project's chunks; with `chunk_id` only those of that chunk. Answered by
    `ProjectRelations`."""

    project: ProjectName
    chunk_id: Annotated[str, msgspec.Meta(max_length=100)] = ""
    with_archived: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=5000)] = 500


@request(answer=ProjectRelations)
class RestoreRelation(Request, frozen=True):
    """Restore an archived relation; `relation_id` may be a unique prefix. Answered by `ProjectRelations`."""

    project: ProjectName
    relation_id: RunId


@request(answer=ProjectConflicts)
class SettleProjectConflict(Request, frozen=True):
    """Settle a conflict: which of the two chunks holds. Answered by `ProjectConflicts` with that conflict only."""

    conflict_id: RunId
    keep: Literal["earlier", "later", "both"]


@request(answer=ProjectConflicts, safe=True, large=True)
class AskProjectConflicts(Request, frozen=True):
    """Conflicts in the knowledge of all projects. Answered by `ProjectConflicts`."""

    with_settled: bool = False
