"""The knowledge of projects: stores chunks with their relations and contradictions, and settles and retracts them.

A new chunk is compared with the stored ones. If the rule of `contradictions` is sure that it gives the same subject
another value, it replaces the older chunk; if it is only similar to another, it is related to it. Each change of a
relation is a function of `evolution`, stored in the same transaction as the chunk.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from reveries.clock import Clock
from reveries.db.database import Database, Reader, Transaction
from reveries.knowledge.contradictions import (
    BatchComparison,
    ChunkComparison,
    Resolution,
    compare_chunks,
    has_authority,
    resolve,
)
from reveries.knowledge.document_search import DocumentSearch
from reveries.knowledge.documents import Document, DocumentOrigin, read_documents
from reveries.knowledge.evolution import (
    IMPLICIT_WEIGHT,
    LIKE_FROM,
    MOST_LIKE,
    archive_relation,
    copies_for_replacement,
    initial_weight,
    pairs_to_relate,
    replaces,
    strengthen_relation,
    unarchive_relation,
    weaken_relation,
)
from reveries.knowledge.model import (
    REPLACING,
    UNCLEAR_CONFIDENCE,
    Chunk,
    Fall,
    KnowledgeConflict,
    NewChunk,
    NewRelation,
    Relation,
    RelationType,
)
from reveries.knowledge.relations import (
    contradictions_of_project,
    find_relation,
    read_relation,
    relations_between,
    relations_of_chunk,
    relations_of_project,
    relations_of_uncounted_pairs,
    state_relation,
    store_change,
    strongest_active,
)
from reveries.knowledge.search import KnowledgeSearch
from reveries.knowledge.store import put_chunk, put_vector, read_chunks, read_named
from reveries.llm.base import Embedder, Vectors

COMPARED = 10
"""A new chunk is compared with this many of the nearest, and with as many that share most with one of its sentences."""
KEPT_CORETRIEVAL_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class PreparedChunks:
    """Chunks with everything that a transaction needs to store them without calling a model."""

    chunks: Sequence[NewChunk]
    vectors: Vectors
    alike: Sequence[Sequence[ChunkComparison]]
    """For each chunk the stored ones that are most like it, compared."""


class ProjectKnowledge:
    """Chunks and relations of all projects."""

    def __init__(self, database: Database, embedder: Embedder, clock: Clock, new_id: Callable[[], str]) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._new_id = new_id
        self.search = KnowledgeSearch(database, embedder, clock)
        self.places = DocumentSearch(database, embedder)

    # --- storing -----------------------------------------------------------------------------------------------------

    async def prepare(
        self, project_id: str, chunks: Sequence[NewChunk], *, are_one_text: bool = False
    ) -> PreparedChunks:
        """Embed chunks and compare them with the stored ones most like them, and with each other unless they are
        sections of one text. Call it before the transaction that stores them, because model calls and comparisons of
        long texts would hold the transaction open."""
        if not chunks:
            return PreparedChunks((), await self._embedder.embed([]), ())
        vectors = await self._embedder.embed([chunk.text for chunk in chunks])
        near = await self.search.likest(project_id, chunks, vectors, COMPARED, self.search.similarity_floor)
        chunks_by_id = await read_named(
            self._database, project_id, {name for neighbours in near for name, _ in neighbours}
        )
        alike = await asyncio.to_thread(_compare_all, chunks, near, chunks_by_id, self._conflict_floor)
        if len(chunks) > 1 and not are_one_text:
            batch = BatchComparison(chunks, vectors, self.search.similarity_floor, self._conflict_floor)
            together = await asyncio.to_thread(batch.compare)
            alike = [[*stored, *others] for stored, others in zip(alike, together, strict=True)]
        return PreparedChunks(chunks, vectors, alike)

    async def put(self, transaction: Transaction, project_id: str, prepared: PreparedChunks) -> list[str]:
        """Store chunks with their relations and contradictions (V-29, V-55, V-63, V-123). Return their ids."""
        ids: list[str] = []
        for chunk, vector, compared in zip(prepared.chunks, prepared.vectors, prepared.alike, strict=True):
            ids.append(chunk_id := self._new_id())
            await put_chunk(transaction, project_id, chunk_id, chunk, self._clock.now())
            await put_vector(transaction, chunk_id, self._embedder.model_id, vector)
            alike = [_name_in_batch(comparison, ids) for comparison in compared]
            named = {name for name, _ in chunk.related_to} | {comparison.chunk_id for comparison in alike}
            chunks_by_id = await read_named(transaction, project_id, {chunk_id, *named})
            stored = chunks_by_id.pop(chunk_id)
            for other, type_ in chunk.related_to:
                if other in chunks_by_id:
                    await self._relate(transaction, stored, chunks_by_id[other], type_)
            await self._link_alike(
                transaction,
                stored,
                [
                    (chunks_by_id[comparison.chunk_id], comparison)
                    for comparison in alike
                    if comparison.chunk_id in chunks_by_id
                ],
            )
        if prepared.chunks:
            self.search.note_change(project_id)
        return ids

    async def store(self, project_id: str, chunks: Sequence[NewChunk], *, are_one_text: bool = False) -> list[str]:
        """Prepare and store chunks in their own transaction. Return their ids."""
        prepared = await self.prepare(project_id, chunks, are_one_text=are_one_text)
        async with self._database.transaction() as transaction:
            return await self.put(transaction, project_id, prepared)

    @property
    def embedder_id(self) -> str:
        """The model of the vectors that searches compare."""
        return self._embedder.model_id

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, one row each."""
        return await self._embedder.embed(texts)

    # --- reading -----------------------------------------------------------------------------------------------------

    async def read(self, source: Reader, project_id: str) -> list[Chunk]:
        """All chunks of a project, oldest first."""
        return await read_chunks(source, project_id)

    async def of_project(self, project_id: str) -> list[Chunk]:
        return await read_chunks(self._database, project_id)

    async def documents(self, project_id: str) -> list[Document]:
        """All documents of a project, oldest first, those that are gone too."""
        return await read_documents(self._database, project_id)

    def new_document(self, project_id: str, origin: DocumentOrigin, path: str, name: str) -> Document:
        """Return a document that is not stored yet."""
        return Document(self._new_id(), project_id, origin, path, name, self._clock.now(), is_trusted=False)

    async def named(self, project_id: str, ids: Sequence[str]) -> list[Chunk]:
        """The chunks with these ids that belong to the project."""
        return list((await read_named(self._database, project_id, ids)).values())

    async def replaced_by(self, project_id: str, chunk_id: str) -> list[str]:
        """The ids of the chunks that this one directly replaced, oldest first (V-107)."""
        rows = await self._database.rows("chunks.replaced_by", {"project_id": project_id, "id": chunk_id})
        return [str(row["id"]) for row in rows]

    async def relations(self, project_id: str) -> list[Relation]:
        """All relations of a project, oldest first, archived ones too."""
        return await relations_of_project(self._database, project_id)

    async def contradictions(
        self, project_id: str, *, unresolved_only: bool = True, source: Reader | None = None
    ) -> list[KnowledgeConflict]:
        """The contradictions of a project, newest first (V-37). If one of its chunks has fallen, a contradiction
        does not count as unresolved."""
        source = source or self._database
        relations = await contradictions_of_project(source, project_id, with_settled=not unresolved_only)
        conflicts = await self._conflicts(source, project_id, relations)
        return [conflict for conflict in conflicts if conflict.is_open] if unresolved_only else conflicts

    async def contradictions_of_chunk(self, project_id: str, chunk_id: str) -> list[KnowledgeConflict]:
        """The contradictions of one chunk, settled ones too."""
        relations = await relations_of_chunk(self._database, chunk_id)
        contradicting = [relation for relation in relations if relation.type is RelationType.CONTRADICTS]
        return await self._conflicts(self._database, project_id, contradicting)

    async def relations_between(self, from_id: str, to_id: str) -> list[Relation]:
        """The relations from one chunk to another, archived ones too."""
        return await relations_between(self._database, from_id, to_id)

    # --- changing ----------------------------------------------------------------------------------------------------

    async def state(self, project_id: str, new: NewRelation) -> Relation:
        """Store a stated relation and apply its consequences (V-33, V-61, V-62). Raises UsageError."""
        async with self._database.transaction() as transaction:
            before = await find_relation(transaction, new.from_id, new.to_id, new.type)
            relation = await state_relation(transaction, new, self._new_id, self._clock.now())
            ends = await read_named(transaction, project_id, {new.from_id, new.to_id})
            if len(ends) == 2:
                await self._follow_up(transaction, ends[new.from_id], ends[new.to_id], new.type, before)
                relation = await read_relation(transaction, relation.id)
        self.search.note_change(project_id)
        return relation

    async def restore_relation(
        self, transaction: Transaction, new: NewRelation, made_at: float, change: Callable[[Relation], Relation]
    ) -> None:
        """Store a relation as it stood elsewhere, with its use and its archive by `change`; nothing follows from it."""
        await store_change(transaction, change(await state_relation(transaction, new, self._new_id, made_at)))

    async def strengthen(self, project_id: str, relation: Relation, amount: float) -> Relation:
        """Add to the weight of a relation (V-34)."""
        return await self._change(
            project_id, relation, lambda current: strengthen_relation(current, self._clock.now(), amount)
        )

    async def weaken(self, project_id: str, relation: Relation, reason: str, amount: float) -> Relation:
        """Subtract from the weight of a relation (V-35)."""
        return await self._change(
            project_id, relation, lambda current: weaken_relation(current, self._clock.now(), reason, amount)
        )

    async def restore(self, project_id: str, relation: Relation) -> Relation:
        """Take a relation out of the archive (V-135)."""
        return await self._change(project_id, relation, unarchive_relation)

    async def mark_fallen(self, transaction: Transaction, project_id: str, chunk_id: str, fall: Fall, why: str) -> bool:
        """Mark a chunk as fallen; False if there is no such chunk or it fell before. `why`: for the owner."""
        row = {"project_id": project_id, "id": chunk_id, "fall": fall.value, "why": why, "now": self._clock.now()}
        is_new = bool(await transaction.run("chunks.mark_fallen", row))
        if is_new:
            self.search.note_change(project_id, [chunk_id])
        return is_new

    async def place(self, transaction: Transaction, chunk_id: str, first_line: int, lead: str) -> None:
        """Note where a section stands in the latest version of its document; `first_line` 0: nowhere."""
        await transaction.run("chunks.place", {"id": chunk_id, "first_line": first_line, "lead": lead})

    async def note_useful(self, transaction: Transaction, chunk_ids: Iterable[str]) -> None:
        """Record that a task which rests on these chunks was done."""
        await transaction.run("chunks.note_useful", {"now": self._clock.now(), "ids": json.dumps(sorted(chunk_ids))})

    async def settle(
        self, transaction: Transaction, contradiction: KnowledgeConflict, resolution: str, judged_by: str = ""
    ) -> None:
        """Record how a contradiction was settled: by the owner, a rule, or a model."""
        source = judged_by or ("stated" if resolution == "owner" else contradiction.relation.confidence_source)
        row = {"id": contradiction.relation.id, "now": self._clock.now(), "resolution": resolution}
        await transaction.run("relations.resolve", row | {"confidence_source": source})

    async def note_verified(self, transaction: Transaction, contradiction: KnowledgeConflict) -> None:
        """Record that a model confirmed a contradiction; which chunk holds is still open."""
        row = {"id": contradiction.relation.id, "now": None, "resolution": "", "confidence_source": "model"}
        await transaction.run("relations.resolve", row)

    async def note_unclear(self, transaction: Transaction, contradiction: KnowledgeConflict) -> None:
        """Note that a model could not tell whether two chunks contradict each other: it is not asked again."""
        row = {"id": contradiction.relation.id, "confidence": UNCLEAR_CONFIDENCE}
        await transaction.run("relations.note_unclear", row)

    async def replace(self, transaction: Transaction, older: Chunk, newer: Chunk) -> None:
        """Replace the older chunk by the newer one, which takes over its relations at half their weight (V-62). The
        older one stays and ranks below it."""
        while (last := await self._last_replaced(transaction, newer, older)) is not None:
            # Undo that replacement: no chunk may replace itself through any number of others.
            await transaction.run("chunks.unmark_superseded", {"id": last.id, "by": last.superseded_by})
            await self._archive_replacements(transaction, last, older, "replaced")
        row = {"id": older.id, "project_id": older.project_id, "by": newer.id, "now": self._clock.now()}
        await transaction.run("chunks.mark_superseded", row)
        await self._archive_replacements(transaction, newer, older, "replaced")
        for copy in copies_for_replacement(older.id, newer.id, await relations_of_chunk(transaction, older.id)):
            present = await find_relation(transaction, copy.from_id, copy.to_id, copy.type)
            if present is not None and present.archived_at is not None:
                continue  # A contradiction archived it; a copy is no new statement.
            await state_relation(transaction, copy, self._new_id, self._clock.now())
        self.search.note_change(older.project_id)

    async def keep_both(self, transaction: Transaction, chunk: Chunk, other: Chunk) -> None:
        """Undo that either of two chunks replaced the other: both hold. What the one took over, it keeps."""
        for older, newer in ((chunk, other), (other, chunk)):
            await transaction.run("chunks.unmark_superseded", {"id": older.id, "by": newer.id})
            await self._archive_replacements(transaction, older, newer, "manual")
        self.search.note_change(chunk.project_id)

    async def _archive_replacements(self, transaction: Transaction, older: Chunk, newer: Chunk, why: str) -> None:
        """Archive every relation that says `newer` replaces `older`."""
        for relation in await relations_of_chunk(transaction, older.id):
            if newer.id in (relation.from_id, relation.to_id) and replaces(relation, older.id):
                await store_change(transaction, archive_relation(relation, self._clock.now(), why))

    async def count_coretrievals(self, project_id: str) -> int:
        """Strengthen what was found together since the last count, once a session, and relate what was found together
        for the fourth time (V-57, V-58). Return the number of new relations."""
        now, made = self._clock.now(), 0
        async with self._database.transaction() as transaction:
            rows = await transaction.rows("relations.uncounted_pairs", {"project_id": project_id})
            if not rows:
                return 0
            relations = await relations_of_uncounted_pairs(transaction, project_id)
            counts = {(str(row["a_id"]), str(row["b_id"])): int(row["number"]) for row in rows}
            for row in rows:
                if strongest := strongest_active(relations.get(frozenset((str(row["a_id"]), str(row["b_id"]))), ())):
                    await store_change(transaction, strengthen_relation(strongest, now, times=int(row["fresh"])))
            for a_id, b_id in pairs_to_relate(counts, relations):
                new = NewRelation(a_id, b_id, RelationType.RELATED_TO, IMPLICIT_WEIGHT, True, confidence_source="rule")
                await state_relation(transaction, new, self._new_id, now)
                made += 1
            await transaction.run("relations.mark_counted", {"project_id": project_id, "now": now})
        self.search.note_change(project_id)
        return made

    async def clean(self) -> int:
        """Upkeep: count what programs found together in projects that do not wake, delete co-retrievals older than
        thirty days (V-59), and free all indexes. Return the number of deleted rows."""
        for row in await self._database.rows("relations.uncounted_projects"):
            await self.count_coretrievals(str(row["project_id"]))
        self.search.drop_all()
        before = self._clock.now() - KEPT_CORETRIEVAL_SECONDS
        async with self._database.transaction() as transaction:
            return await transaction.run("relations.clean_coretrievals", {"before": before})

    # --- consequences of a new chunk ---------------------------------------------------------------------------------

    async def _change(self, project_id: str, relation: Relation, change: Callable[[Relation], Relation]) -> Relation:
        """Change a relation as it is stored now: another caller may have changed it since it was read. Raises
        NotFoundError."""
        async with self._database.transaction() as transaction:
            changed = await store_change(transaction, change(await read_relation(transaction, relation.id)))
        self.search.note_change(project_id)
        return changed

    async def _conflicts(
        self, source: Reader, project_id: str, relations: Iterable[Relation]
    ) -> list[KnowledgeConflict]:
        """Contradictions with their chunks, the one that was stored later as `newer`."""
        relations = list(relations)
        chunks = await read_named(
            source, project_id, {end for related in relations for end in (related.from_id, related.to_id)}
        )
        conflicts = []
        for relation in relations:
            newer, older = chunks.get(relation.from_id), chunks.get(relation.to_id)
            if newer is None or older is None:  # Erased since the relations were read.
                continue
            if newer.created_at < older.created_at:
                newer, older = older, newer
            conflicts.append(KnowledgeConflict(newer, older, relation))
        return conflicts

    async def _relate(self, transaction: Transaction, chunk: Chunk, other: Chunk, type_: RelationType) -> None:
        """Store a relation that was stated with the chunk (V-56)."""
        weight = initial_weight(chunk.confidence)
        new = NewRelation(chunk.id, other.id, type_, weight, context_tags=chunk.tags)
        before = await find_relation(transaction, chunk.id, other.id, type_)
        await state_relation(transaction, new, self._new_id, self._clock.now())
        await self._follow_up(transaction, chunk, other, type_, before)

    async def _last_replaced(self, source: Reader, newer: Chunk, older: Chunk) -> Chunk | None:
        """The chunk directly replaced by `older`, if `newer` is replaced by `older` through any number of others."""
        at = (await read_named(source, newer.project_id, [newer.id])).get(newer.id)
        while at is not None and at.superseded_by is not None:
            if at.superseded_by == older.id:
                return at
            at = (await read_named(source, newer.project_id, [at.superseded_by])).get(at.superseded_by)
        return None

    async def _follow_up(
        self, transaction: Transaction, chunk: Chunk, other: Chunk, type_: RelationType, before: Relation | None
    ) -> None:
        """Apply what a stated relation entails (V-61, V-62), once: `before` is the relation as it was, if it existed. A
        chunk with less authority replaces nothing: what a program or a text says against the owner's word is a
        contradiction, and the owner is asked."""
        if type_ is RelationType.SUPERSEDED_BY:
            chunk, other, type_ = other, chunk, RelationType.REPLACES
        if type_ not in REPLACING and type_ is not RelationType.CONTRADICTS:
            return
        if not has_authority(chunk, other):
            await self._contradict(transaction, chunk, other, "stated")
            if type_ in REPLACING:
                await self._archive_replacements(transaction, other, chunk, "contradicted")
        elif type_ in REPLACING:
            if other.superseded_by != chunk.id:
                await self.replace(transaction, other, chunk)
        elif before is None or before.confidence_source != "stated":
            for relation in await relations_of_chunk(transaction, other.id):
                is_this_one = relation.type is RelationType.CONTRADICTS and relation.to_id == chunk.id
                if relation.from_id == other.id and not is_this_one:
                    await store_change(transaction, weaken_relation(relation, self._clock.now(), "contradicted"))

    async def _link_alike(
        self, transaction: Transaction, chunk: Chunk, alike: Sequence[tuple[Chunk, ChunkComparison]]
    ) -> None:
        """Record the contradictions of a new chunk and relate it to similar ones (V-63, V-123)."""
        related_ids = {
            end
            for relation in await relations_of_chunk(transaction, chunk.id)
            for end in (relation.from_id, relation.to_id)
        }
        related = 0
        for other, comparison in alike:
            if other.id in related_ids or not other.stands:
                continue
            if comparison.change is not None:
                await self._note_change(transaction, other, chunk, comparison)
            elif comparison.speaks_alike:
                await self._contradict(transaction, chunk, other, "likeness")
            elif comparison.cosine >= LIKE_FROM and related < MOST_LIKE:
                related += 1
                await self._relate_implicitly(transaction, chunk, other, RelationType.RELATED_TO, "likeness")

    async def _relate_implicitly(
        self, transaction: Transaction, chunk: Chunk, other: Chunk, type_: RelationType, found_by: str
    ) -> None:
        shared = tuple(sorted(set(chunk.tags) & set(other.tags)))
        new = NewRelation(
            chunk.id, other.id, type_, IMPLICIT_WEIGHT, True, shared, confidence_source=found_by
        )  # fmt: skip
        await state_relation(transaction, new, self._new_id, self._clock.now())

    @property
    def _conflict_floor(self) -> float:
        """Cosine from which texts may contradict each other: 0.85 for an embedder with a floor of 0.7 (VA-31)."""
        return (1.0 + self.search.similarity_floor) / 2.0

    async def _note_change(
        self, transaction: Transaction, older: Chunk, newer: Chunk, comparison: ChunkComparison
    ) -> None:
        assert comparison.change is not None
        resolution = resolve(older, newer, comparison.change)
        if resolution is Resolution.CONDITIONAL:
            return
        if comparison.change.may_both_hold:
            if not comparison.is_stored_together and has_authority(newer, older):
                await self._relate_implicitly(transaction, newer, older, RelationType.PRECEDED_BY, "rule")
            return
        if comparison.is_stored_together:
            resolution = Resolution.ESCALATE
        contradiction = await self._contradict(transaction, newer, older, "rule")
        if resolution is Resolution.RECENCY:
            await self.replace(transaction, older, newer)
        elif resolution is Resolution.AUTHORITY:
            await self.replace(transaction, newer, older)
        if resolution is not Resolution.ESCALATE:
            await self.settle(transaction, contradiction, resolution.value)

    async def _contradict(
        self, transaction: Transaction, newer: Chunk, older: Chunk, found_by: str
    ) -> KnowledgeConflict:
        new = NewRelation(
            newer.id, older.id, RelationType.CONTRADICTS, initial_weight(newer.confidence), True,
            confidence_source=found_by,
        )  # fmt: skip
        relation = await state_relation(transaction, new, self._new_id, self._clock.now())
        return KnowledgeConflict(newer, older, relation)


def _name_in_batch(comparison: ChunkComparison, ids: Sequence[str]) -> ChunkComparison:
    """The comparison with a chunk of the same batch by the id that this one has got."""
    return replace(comparison, chunk_id=ids[int(comparison.chunk_id)]) if comparison.is_stored_together else comparison


def _compare_all(
    chunks: Sequence[NewChunk],
    near: Sequence[Sequence[tuple[str, float]]],
    chunks_by_id: Mapping[str, Chunk],
    conflict_floor: float,
) -> list[list[ChunkComparison]]:
    return [
        compare_chunks(
            chunk, [(chunks_by_id[name], cosine) for name, cosine in neighbours if name in chunks_by_id], conflict_floor
        )
        for chunk, neighbours in zip(chunks, near, strict=True)
    ]
