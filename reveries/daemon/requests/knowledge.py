"""Requests about a project's knowledge: chunks, relations, contradictions."""

from datetime import date

import msgspec

from reveries import protocol
from reveries.daemon.requests.frames import pointer_entry
from reveries.daemon.requests.registry import Call, handles
from reveries.errors import NotFoundError
from reveries.knowledge.facts.questions import is_question
from reveries.knowledge.model import ARCHIVE_TAG, Chunk, FoundChunk, KnowledgeConflict, Relation, RelationType
from reveries.knowledge.query_planning import QueryType
from reveries.knowledge.scoring import persistence, strength
from reveries.knowledge.search import QueryAnswer
from reveries.projects.conflicts import settle_by_owner
from reveries.projects.model import AgentState, Project, TaskStatus
from reveries.projects.note_answers import NoteAnswers
from reveries.projects.note_reading import read_answer
from reveries.projects.wake import read_state
from reveries.safe_text import one_line, plain

_TEXT_CHARS = 160
_LINE_CHARS = 2000
_LISTED = 5
_MOST_PLACES = 5
_NOT_KEPT = "Where the work stood on that day is not kept."


@handles(protocol.AskChunks)
async def list_project_chunks(call: Call, request: protocol.AskChunks) -> protocol.Chunks:
    store = call.mind.projects.store
    project = await store.find(request.project)
    if request.chunk_id or not request.query.strip():
        chunks_of_project = await call.mind.knowledge.of_project(project.id)
        if request.chunk_id:
            return protocol.Chunks(
                request.request_id, [chunk_entry(chunk) for chunk in chunks_of_project if chunk.id == request.chunk_id]
            )
        chunks = [chunk for chunk in chunks_of_project if ARCHIVE_TAG not in chunk.tags]
        if request.until:
            chunks = [chunk.as_of(request.until) for chunk in chunks if chunk.created_at <= request.until]
        return protocol.Chunks(request.request_id, [chunk_entry(chunk) for chunk in chunks[-request.limit :]])
    # A search by the owner reinforces nothing.
    answered = await call.mind.knowledge.search.answer(
        project.id, request.query, request.limit, until=request.until or None
    )
    now, message = call.mind.clock.now(), ""
    if answered.plan.type is QueryType.OPERATIONAL:
        is_past = 0.0 < request.until < now
        message = _NOT_KEPT if is_past else describe_work(await read_state(store, project.id))
    notes = await _answer_from_notes(call, project, request, answered)
    places, looked_at = await _find_places(call, project, request)
    titles = {match.chunk.id: match.chunk for match in answered.found}
    central = await store.knowledge.search.centralities(project.id, titles)
    return protocol.Chunks(
        request_id=request.request_id,
        chunks=[
            found_entry(match, titles, persistence(match.chunk, now, central[match.chunk.id]), now)
            for match in answered.found
        ],
        plan=answered.plan.type.value,
        message=message,
        relations=tuple(_followed_relations(answered)),
        verdict=notes.verdict.value if notes is not None else "",
        answers=tuple(note_answer_entry(answer) for answer in notes.answers) if notes is not None else (),
        places=tuple(places),
        looked_at=tuple(looked_at),
        reader=notes.model if notes is not None else "",
    )


async def _find_places(
    call: Call, project: Project, request: protocol.AskChunks
) -> tuple[list[protocol.PointerEntry], list[str]]:
    """Return the places in the project's documents that fit, and the documents that were looked at. Of an earlier day
    none are kept."""
    documents = [item.name for item in await call.mind.knowledge.documents(project.id) if item.is_read_by_page]
    if request.until or not documents:
        return [], []
    found = await call.mind.knowledge.places.find(project.id, request.query, _MOST_PLACES)
    entries = [
        pointer_entry(item.pointer, item.document.name, item.document_number) for item in found if item.is_related
    ]
    return entries, [one_line(name, _TEXT_CHARS) for name in documents]


async def _answer_from_notes(
    call: Call, project: Project, request: protocol.AskChunks, answered: QueryAnswer
) -> NoteAnswers | None:
    """Return what the notes say to a question about them as they are now; None for one about the work or about
    relations, and for words that ask nothing."""
    is_about_notes = answered.plan.type not in (QueryType.OPERATIONAL, QueryType.CONNECTION)
    if request.until or not is_about_notes or not is_question(request.query):
        return None
    store = call.mind.projects.store
    facts, today = await store.read_facts(project.id), date.fromtimestamp(store.now)
    return await read_answer(call.mind.model_of(project.id), facts, request.query, today)


def note_answer_entry(answer: protocol.NoteAnswer) -> protocol.NoteAnswer:
    """Return an answer from the notes as it may be shown."""
    return msgspec.structs.replace(answer, text=one_line(answer.text, _LINE_CHARS), document=plain(answer.document))


@handles(protocol.AskRelations)
async def list_relations(call: Call, request: protocol.AskRelations) -> protocol.ProjectRelations:
    store = call.mind.projects.store
    project = await store.find(request.project)
    chunks = {chunk.id: chunk for chunk in await call.mind.knowledge.of_project(project.id)}
    matches = [
        relation
        for relation in await call.mind.knowledge.relations(project.id)
        if (request.with_archived or relation.archived_at is None)
        and (
            not request.chunk_id
            or relation.from_id.startswith(request.chunk_id)
            or relation.to_id.startswith(request.chunk_id)
        )
    ]
    matches.sort(key=lambda relation: (-relation.weight, relation.id))
    return protocol.ProjectRelations(
        request.request_id, [_relation_entry(relation, chunks) for relation in matches[: request.limit]]
    )


@handles(protocol.RestoreRelation)
async def restore_relation(call: Call, request: protocol.RestoreRelation) -> protocol.ProjectRelations:
    store = call.mind.projects.store
    project = await store.find(request.project)
    relations = await call.mind.knowledge.relations(project.id)
    matches = [
        relation
        for relation in relations
        if relation.archived_at is not None and relation.id.startswith(request.relation_id)
    ]
    if len(matches) != 1:
        raise NotFoundError(
            f"{len(matches) or 'No'} archived relations have an id that begins with {request.relation_id[:40]}.",
            advice=f"All of them: reveries project relations {project.name} --archived",
        )
    restored = await call.mind.knowledge.restore(project.id, matches[0])
    chunks = {chunk.id: chunk for chunk in await call.mind.knowledge.of_project(project.id)}
    return protocol.ProjectRelations(request.request_id, [_relation_entry(restored, chunks)])


@handles(protocol.AskProjectConflicts)
async def list_project_conflicts(call: Call, request: protocol.AskProjectConflicts) -> protocol.ProjectConflicts:
    store = call.mind.projects.store
    return protocol.ProjectConflicts(
        request.request_id,
        [
            _conflict_entry(project.name, contradiction)
            for project in await store.projects()
            for contradiction in await call.mind.knowledge.contradictions(
                project.id, unresolved_only=not request.with_settled
            )
        ],
    )


@handles(protocol.SettleProjectConflict)
async def settle_project_conflict(call: Call, request: protocol.SettleProjectConflict) -> protocol.ProjectConflicts:
    store = call.mind.projects.store
    matches = [
        (project, contradiction)
        for project in await store.projects()
        for contradiction in await call.mind.knowledge.contradictions(project.id, unresolved_only=False)
        if contradiction.relation.id.startswith(request.conflict_id)
    ]
    if len(matches) != 1:
        raise NotFoundError(
            f"{len(matches) or 'No'} contradictions have an id that begins with {request.conflict_id[:40]}.",
            advice="All of them: reveries memory contradictions --all",
        )
    [(project, conflict)] = matches
    await settle_by_owner(store, project, conflict, request.keep)
    call.mind.projects.consider()
    settled = await call.mind.knowledge.contradictions(project.id, unresolved_only=False)
    return protocol.ProjectConflicts(
        request.request_id,
        [
            _conflict_entry(project.name, contradiction)
            for contradiction in settled
            if contradiction.relation.id == conflict.relation.id
        ],
    )


def _conflict_entry(project: str, found_conflict: KnowledgeConflict) -> protocol.ProjectConflict:
    return protocol.ProjectConflict(
        found_conflict.relation.id,
        one_line(project),
        chunk_entry(found_conflict.older),
        chunk_entry(found_conflict.newer),
        found_conflict.relation.confidence_source,
        found_conflict.relation.resolution,
    )


def chunk_entry(chunk: Chunk, why: str = "") -> protocol.ChunkEntry:
    """Convert a chunk to its frame part."""
    return protocol.ChunkEntry(
        chunk_id=chunk.id,
        title=one_line(chunk.title),
        content=plain(chunk.content),
        type=chunk.type.value,
        confidence=chunk.confidence.value,
        fell_because=one_line(chunk.fell_because, 300),
        sources=sorted(chunk.foreign_sources),
        created_at=chunk.created_at,
        superseded_by=chunk.superseded_by or "",
        why=why,
    )


def found_entry(
    match: FoundChunk, others: dict[str, Chunk], persistence_score: float, now: float
) -> protocol.ChunkEntry:
    """Convert a found chunk, with the reasons for its rank."""
    chunk = match.chunk
    reasons = [
        f"{name} {rank}"
        for name, rank in (("meaning", match.semantic_rank), ("words", match.keyword_rank), ("graph", match.graph_rank))
        if rank is not None
    ]
    if match.led_from is not None:
        source = others.get(match.led_from)
        by = one_line(source.title or source.content, 60) if source is not None else match.led_from[:8]
        is_successor = (
            source is not None and not source.stands and chunk.stands and match.led_by == RelationType.REPLACES
        )
        way = "holds now instead of" if is_successor else f"“{one_line(match.led_by, 40)}” leads here from"
        reasons.append(f"{way} “{by}”")
    reasons.append(f"strength {strength(chunk, now):.2f}, persistence {persistence_score:.2f}")
    if chunk.superseded_by is not None:
        reasons.append("a newer one replaces it: it counts half")
    return chunk_entry(chunk, "; ".join(reasons))


def describe_work(state: AgentState) -> str:
    """Describe what is open, ready and blocked, in a few lines. Pure."""
    lines = [f"Waiting for your answer: {question.question}" for question in state.open_questions[:_LISTED]]
    lines += [f"Next: {task.title}" for task in state.queue[:_LISTED]]
    blocked = [task for task in state.tasks if task.status is TaskStatus.BLOCKED]
    lines += [f"Blocked: {task.title}" for task in blocked[:_LISTED]]
    lines += [f"Done: {task.title}" for task in state.tasks if task.status is TaskStatus.DONE][-_LISTED:]
    return "\n".join(plain(line) for line in lines) or "There are no tasks and no questions."


def _followed_relations(answered: QueryAnswer) -> list[protocol.RelationEntry]:
    entries: dict[str, protocol.RelationEntry] = {}
    for here, led in answered.relations:
        ends = {match.id: match for match in (here.chunk, led.chunk)}
        entries.setdefault(led.relation.id, _relation_entry(led.relation, ends))
    return list(entries.values())


def _relation_entry(relation: Relation, chunks: dict[str, Chunk]) -> protocol.RelationEntry:
    return protocol.copy_fields(
        protocol.RelationEntry,
        relation,
        relation_id=relation.id,
        from_text=_short_text(chunks, relation.from_id),
        to_text=_short_text(chunks, relation.to_id),
        archived=relation.archive_reason,
    )


def _short_text(chunks: dict[str, Chunk], chunk_id: str) -> str:
    chunk = chunks.get(chunk_id)
    return one_line(chunk.title or chunk.content, _TEXT_CHARS) if chunk is not None else ""
