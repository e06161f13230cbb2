"""Searches the knowledge of a project by meaning, words, tags, relations, and all of them together.

Results of the embedder and of SQLite are ranked in a thread (`ranking`). The rows of results are read again, so a chunk
that fell or was erased since the index was built is not shown. The index of an idle project is freed.
"""

import asyncio
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reveries.clock import Clock
from reveries.db.database import Database
from reveries.knowledge.model import (
    NO_FILTERS,
    Chunk,
    FoundChunk,
    NewChunk,
    RelatedChunk,
    Relation,
    RelationType,
    SearchFilters,
)
from reveries.knowledge.project_index import ProjectIndex
from reveries.knowledge.query_planning import (
    QueryMethod,
    QueryPlan,
    QueryType,
    example_questions,
    plan_query,
    refine_plan,
)
from reveries.knowledge.ranking import (
    Float32,
    RankedRow,
    RankedSources,
    best_cosines,
    put_later_first,
    rank_rows,
    split_question,
)
from reveries.knowledge.relations import relations_of_chunk
from reveries.knowledge.scoring import (
    SUPERSEDED_FACTOR,
    centrality_of,
    enhanced_score,
    persistence,
    relation_score,
    standing_factor,
    strength,
)
from reveries.knowledge.store import numbers_that_fit, put_vector, read_named, read_tagged
from reveries.knowledge.word_search import DEPTH, find_rows_by_words
from reveries.llm.base import Embedder, Vectors

_UNRELATED_COSINE = 0.15
"""Below this cosine, and with no word in common, a chunk is unrelated to a question, however few chunks there are."""
_MOST_QUERY_CHARS = 20_000
_LEAST_COSINE = 1e-6
_TAGGED_BATCH = 200
_EMBEDDED_BATCH = 256
"""How many chunks are re-embedded at a time, each batch in its own transaction."""
_COUNTED_TOGETHER = 5
"""Pairs among this many of the best results count as found together."""
_ENHANCED_DEPTH, _ENHANCED_LEAST = 50, 0.5
FLOORS = {"all-minilm-l6-v2": 0.3}
"""Cosine from which a chunk is similar to a query, by embedder (VA-41): embedded ones spread wider than hosted ones."""
_FLOOR = 0.7


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The answer to a question: its plan and the results."""

    plan: QueryPlan
    found: Sequence[FoundChunk]
    relations: Sequence[tuple[FoundChunk, RelatedChunk]] = ()
    """For a question about relations: each result with the chunk that it is related to."""


class KnowledgeSearch:
    """Searches within one project at a time."""

    def __init__(self, database: Database, embedder: Embedder, clock: Clock) -> None:
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._indexes: dict[str, ProjectIndex] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._changed: set[str] = set()
        """Projects whose relations changed since their index read them."""
        self._greatest_weights: dict[str, float] = {}
        """By project, the greatest sum of the weights of one chunk's relations, until a relation changes."""
        self._forms: Vectors | None = None
        """The mean vector of the example questions of each type of query, in their order."""
        self._drops = 0
        """How often all indexes were dropped: one that was being built meanwhile is not kept."""

    @property
    def similarity_floor(self) -> float:
        """Cosine below which texts are not similar."""
        return next((floor for name, floor in FLOORS.items() if name in self._embedder.model_id.lower()), _FLOOR)

    def note_change(self, project_id: str, fallen: Iterable[str] = ()) -> None:
        """Note that relations of a project changed, and that the chunks `fallen` are no longer shown."""
        self._changed.add(project_id)
        self._greatest_weights.pop(project_id, None)
        if index := self._indexes.get(project_id):
            index.hidden.update(row for name in fallen if (row := index.row_of(name)) is not None)

    def drop(self, project_id: str) -> None:
        """Free the index of a project; the next search rebuilds it."""
        self._indexes.pop(project_id, None)
        self._greatest_weights.pop(project_id, None)

    def drop_all(self) -> None:
        """Drop every index, so that no erased word stays in memory."""
        self._drops += 1
        self._indexes.clear()
        self._greatest_weights.clear()

    async def answer(
        self, project_id: str, question: str, limit: int, *, until: float | None = None, is_counted: bool = False
    ) -> QueryAnswer:
        """Search according to the plan of the question (V-71, V-72). Tasks and questions are not searched: for an
        operational question this finds chunks about its subject. `until`: search what the project knew at that time."""
        plan = await self._plan(question)
        with_until = replace(plan.filters, until=until, with_fallen=until is not None)
        match plan.method:
            case QueryMethod.TAG_FILTER:
                results = await self.hybrid(project_id, plan.topic, limit, with_until, is_counted=is_counted)
                if not results or (len(results) < limit and not plan.names_type):  # The answer may be of another type.
                    anything, present_ids = (
                        replace(with_until, types=frozenset()),
                        {result.chunk.id for result in results},
                    )
                    others = await self.hybrid(project_id, plan.topic, limit, anything, is_counted=is_counted)
                    results = [*results, *(other for other in others if other.chunk.id not in present_ids)][:limit]
            case QueryMethod.SEMANTIC_SEARCH:
                results = await self._explore(project_id, plan.topic, limit, with_until)
            case _:
                results = await self.hybrid(project_id, question, limit, with_until, is_counted=is_counted)
        relations: list[tuple[FoundChunk, RelatedChunk]] = []
        if plan.method is QueryMethod.RELATIONSHIP_TRAVERSAL:
            for result, type_ in itertools.product(results[:_COUNTED_TOGETHER], plan.relation_types or (None,)):
                related = await self.related(project_id, result.chunk.id, type_)
                relations += [
                    (result, other) for other in related if until is None or other.relation.created_at <= until
                ]
        return QueryAnswer(plan, results, relations)

    async def hybrid(
        self,
        project_id: str,
        query: str,
        limit: int,
        filters: SearchFilters = NO_FILTERS,
        *,
        session_id: str = "",
        is_counted: bool = True,
    ) -> list[FoundChunk]:
        """Search by meaning, words and graph together (V-38, V-116). With `is_counted` False, as for the owner's own
        searches, nothing is reinforced (R-29). Chunks found together in a session are counted (V-57)."""
        query = query.strip()[:_MOST_QUERY_CHARS]
        if not query or limit < 1:
            return []
        index = await self._index(project_id)
        if not len(index):
            return []
        parts = split_question(query)
        cues = await self._embedder.embed(parts)
        keyword_rows = await find_rows_by_words(self._database, index, project_id, query)
        async with self._lock_of(project_id):
            hidden = frozenset[int]() if filters.with_fallen else frozenset(index.hidden)
            ranked, similarity = await asyncio.to_thread(_rank_index, index, query, cues, keyword_rows, hidden)
        results = await self._read(project_id, index, ranked, similarity, limit, filters)
        if len(results) < limit and filters.is_narrow:
            # Chunks that pass the filters may be ranked too low: rank them without the others.
            fitting = set(index.rows_of(await numbers_that_fit(self._database, project_id, filters)))
            async with self._lock_of(project_id):
                others = frozenset(range(len(index))) - fitting | hidden
                ranked, similarity = await asyncio.to_thread(_rank_index, index, query, cues, keyword_rows, others)
            more = await self._read(project_id, index, ranked, similarity, limit, filters)
            present_ids = {result.chunk.id for result in results}
            results = (results + [result for result in more if result.chunk.id not in present_ids])[:limit]
        if is_counted:
            await self._note_found(results, session_id, query)
        return results

    async def semantic(
        self,
        project_id: str,
        query: str,
        limit: int = 10,
        min_similarity: float | None = None,
        filters: SearchFilters = NO_FILTERS,
        *,
        session_id: str = "",
        is_counted: bool = True,
    ) -> list[FoundChunk]:
        """Search by meaning alone (V-30)."""
        if not query.strip() or limit < 1:
            return []
        least = self.similarity_floor if min_similarity is None else min_similarity
        index = await self._index(project_id)
        [cue] = await self._embedder.embed([query[:_MOST_QUERY_CHARS]])
        async with self._lock_of(project_id):
            hidden = frozenset[int]() if filters.with_fallen else frozenset(index.hidden)
            near = await asyncio.to_thread(index.within, cue, max(least, _LEAST_COSINE), hidden)
        fitting, size = list[tuple[Chunk, float]](), 2 * limit + 20
        for start in range(0, len(near), size):
            batch = near[start : start + size]
            chunks = await self._fitting(project_id, (name for name, _ in batch), filters)
            fitting += [(chunks[name], cosine) for name, cosine in batch if name in chunks]
            if len(fitting) >= limit:
                break
        scored = [(cosine * (1.0 if chunk.stands else SUPERSEDED_FACTOR), chunk, cosine) for chunk, cosine in fitting]
        scored.sort(key=lambda scored_chunk: -scored_chunk[0])
        results = [
            FoundChunk(score, rank, chunk=chunk, similarity=cosine)
            for rank, (score, chunk, cosine) in enumerate(scored[:limit], start=1)
        ]
        if is_counted:
            await self._note_found(results, session_id, query)
        return results

    async def by_words(
        self, project_id: str, query: str, limit: int, filters: SearchFilters = NO_FILTERS
    ) -> list[FoundChunk]:
        """Search by words alone (V-115)."""
        index = await self._index(project_id)
        keyword_rows = await find_rows_by_words(self._database, index, project_id, query)
        rows = [row for row in keyword_rows if row not in index.hidden]
        chunks = await self._fitting(project_id, (index.ids[row] for row in rows), filters)
        ordered = [chunk for row in rows if (chunk := chunks.get(index.ids[row])) is not None]
        return [
            FoundChunk(1.0 / rank, keyword_rank=rank, chunk=chunk)
            for rank, chunk in enumerate(ordered[:limit], start=1)
        ]

    async def tagged(
        self,
        project_id: str,
        tags: Sequence[str],
        any_tags: Sequence[str] = (),
        filters: SearchFilters = NO_FILTERS,
        limit: int = 50,
    ) -> list[Chunk]:
        """The chunks that have all of `tags` and one of `any_tags`, newest first (V-31)."""
        asked = replace(filters, tags=filters.tags | set(tags), any_tags=filters.any_tags | set(any_tags))
        fitting, start = list[Chunk](), 0
        while len(fitting) < limit:
            batch = await read_tagged(self._database, project_id, tags, any_tags, _TAGGED_BATCH, start)
            fitting += [chunk for chunk in batch if asked.fits(chunk)]
            start += len(batch)
            if len(batch) < _TAGGED_BATCH:
                break
        return fitting[:limit]

    async def related(
        self,
        project_id: str,
        chunk_id: str,
        type_: RelationType | None = None,
        *,
        min_weight: float = 0.1,
        limit: int = 20,
        direction: str = "both",
        wanted_tags: Sequence[str] = (),
        is_counted: bool = False,
    ) -> list[RelatedChunk]:
        """The relations of a chunk, best first (V-32). With `is_counted` they are marked as used now."""
        fitting = [
            (relation, way)
            for relation in await relations_of_chunk(self._database, chunk_id)
            if relation.archived_at is None
            and relation.weight >= min_weight
            and (type_ is None or relation.type is type_)
            for way in _directions(relation, chunk_id, direction)
        ]
        others = [relation.to_id if way == "outgoing" else relation.from_id for relation, way in fitting]
        chunks = await read_named(self._database, project_id, others)
        now = self._clock.now()
        results = [
            RelatedChunk(chunks[other], relation, way, relation_score(relation, now, wanted_tags))
            for (relation, way), other in zip(fitting, others, strict=True)
            if other in chunks
        ]
        results = sorted(results, key=lambda result: (-result.score, result.relation.id))[:limit]
        if is_counted and results:
            ids = json.dumps([result.relation.id for result in results])
            async with self._database.transaction() as transaction:
                await transaction.run("relations.activate", {"ids": ids, "now": now})
        return results

    async def centralities(self, project_id: str, ids: Iterable[str]) -> dict[str, float]:
        """How central each of these chunks is among the relations of the project (V-67)."""
        names = sorted(set(ids))
        if (greatest := self._greatest_weights.get(project_id)) is None:
            [row] = await self._database.rows("relations.greatest_weight", {"project_id": project_id})
            greatest = self._greatest_weights[project_id] = float(row["weight"] or 0.0)
        rows = await self._database.rows("relations.weights_of_chunks", {"ids": json.dumps(names)})
        weights = {str(row["chunk_id"]): float(row["weight"]) for row in rows}
        return {name: min(1.0, centrality_of(weights.get(name, 0.0), greatest)) for name in names}

    async def likest(
        self, project_id: str, chunks: Sequence[NewChunk], vectors: Vectors, count: int, least: float
    ) -> list[list[tuple[str, float]]]:
        """For each new chunk the `count` that are nearest to it from a cosine on, as many that share most with one of
        its sentences, and the newest about the same name however far; each with its cosine."""
        index = await self._index(project_id)
        async with self._lock_of(project_id):
            return await asyncio.to_thread(index.likest_of_each, chunks, vectors, count, least)

    async def _plan(self, question: str) -> QueryPlan:
        """The plan by patterns; for a form that they do not know, by the embedder, if its cosines were measured."""
        plan = plan_query(question)
        is_measured = any(name in self._embedder.model_id.lower() for name in FLOORS)
        if plan.type is not QueryType.HYBRID or not plan.topic or not is_measured:
            return plan
        examples = example_questions()
        if self._forms is None:
            means = np.stack([(await self._embedder.embed(example)).mean(axis=0) for example in examples.values()])
            self._forms = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), _LEAST_COSINE)
        [vector] = await self._embedder.embed([plan.topic[:_MOST_QUERY_CHARS]])
        return refine_plan(plan, dict(zip(examples, (self._forms @ vector).tolist(), strict=True)))

    async def _explore(self, project_id: str, topic: str, limit: int, filters: SearchFilters) -> list[FoundChunk]:
        """Chunks similar to a subject, ranked by similarity, persistence and strength (V-69); what the hybrid search
        finds follows if they are few."""
        least = min(_ENHANCED_LEAST, self.similarity_floor)
        alike = await self.semantic(project_id, topic, _ENHANCED_DEPTH, least, filters, is_counted=False)
        now, central = self._clock.now(), await self.centralities(project_id, (result.chunk.id for result in alike))
        scored = [
            replace(
                result,
                score=standing_factor(chunk := result.chunk, filters)
                * enhanced_score(result.similarity, persistence(chunk, now, central[chunk.id]), strength(chunk, now)),
            )
            for result in alike
        ]
        scored.sort(key=lambda result: (-result.score, result.chunk.id))
        if len(scored) < limit:
            present_ids = {result.chunk.id for result in scored}
            more = await self.hybrid(project_id, topic, limit, filters, is_counted=False)
            scored += [result for result in more if result.chunk.id not in present_ids]
        return scored[:limit]

    async def _read(
        self,
        project_id: str,
        index: ProjectIndex,
        ranked: Sequence[RankedRow],
        similarity: Float32,
        limit: int,
        filters: SearchFilters,
    ) -> list[FoundChunk]:
        """Read the first `limit` chunks that pass the filters."""
        results: list[FoundChunk] = []
        for start in range(0, len(ranked), size := 2 * limit + 20):
            batch = ranked[start : start + size]
            chunks = await self._fitting(project_id, (index.ids[candidate.row] for candidate in batch), filters)
            for hit in batch:
                chunk = chunks.get(index.ids[hit.row])
                is_unrelated = hit.keyword_rank is None and hit.led_from is None
                if chunk is None:
                    continue
                if is_unrelated and similarity[hit.row] < _UNRELATED_COSINE:
                    continue
                led_from = None if hit.led_from is None else index.ids[hit.led_from]
                results.append(
                    FoundChunk(
                        hit.score * standing_factor(chunk, filters), hit.semantic_rank, hit.keyword_rank,
                        hit.graph_rank, chunk=chunk, similarity=float(similarity[hit.row]),
                        led_from=led_from, led_by=hit.led_by,
                    )
                )  # fmt: skip
            if len(results) >= limit:
                break
        results = await self._with_successors(project_id, results, filters)
        return put_later_first(results, index.precedes)[:limit]

    async def _with_successors(
        self, project_id: str, results: Sequence[FoundChunk], filters: SearchFilters
    ) -> list[FoundChunk]:
        """The results, best first, with what replaced them. What stands now gets the score that the replaced one would
        have if it still stood: a short correction is found wherever the long text that it corrects is (V-62)."""
        best = {result.chunk.id: result for result in results}
        pending = {result.chunk.superseded_by: result for result in sorted(results, key=lambda result: result.score)}
        claims = dict[str, float]()
        """Of each chunk that replaced one, the best score that a replaced one passes on."""
        while pending := {
            name: result
            for name, result in pending.items()
            if name is not None and claims.get(name, 0.0) < result.score / SUPERSEDED_FACTOR
        }:
            claims |= {name: result.score / SUPERSEDED_FACTOR for name, result in pending.items()}
            chunks = await self._fitting(project_id, pending, filters)
            for name, chunk in chunks.items():
                successor = best.get(name, FoundChunk(0.0, chunk=chunk))
                if chunk.stands and successor.score < claims[name]:
                    led_from = pending[name].chunk.id
                    best[name] = replace(successor, score=claims[name], led_from=led_from, led_by=RelationType.REPLACES)
            onward = sorted(chunks.values(), key=lambda chunk: pending[chunk.id].score)
            pending = {chunk.superseded_by: pending[chunk.id] for chunk in onward}
        return sorted(best.values(), key=lambda result: -result.score)

    async def _fitting(self, project_id: str, ids: Iterable[str], filters: SearchFilters) -> dict[str, Chunk]:
        """The chunks with these ids that pass the filters, by id, as they were at the time that the filters name."""
        chunks = await read_named(self._database, project_id, ids)
        until = filters.until
        return {
            name: chunk if until is None else chunk.as_of(until)
            for name, chunk in chunks.items()
            if filters.fits(chunk)
        }

    async def _note_found(self, results: Sequence[FoundChunk], session_id: str, query: str) -> None:
        if not results:
            return
        ids, now = [result.chunk.id for result in results], self._clock.now()
        async with self._database.transaction() as transaction:
            await transaction.run("chunks.touch", {"now": now, "ids": json.dumps(ids)})
            if not session_id:
                return
            for a_id, b_id in itertools.combinations(ids[:_COUNTED_TOGETHER], 2):
                row = {"a_id": a_id, "b_id": b_id, "session_id": session_id, "query": query[:500], "now": now}
                await transaction.run("relations.put_coretrieval", row)

    async def _index(self, project_id: str) -> ProjectIndex:
        """The index of a project, up to date: new chunks are added; after a deletion it is rebuilt."""
        async with self._lock_of(project_id):
            index, drops = self._indexes.get(project_id), self._drops
            [counted] = await self._database.rows("chunks.count_in_project", {"project_id": project_id})
            if index is None or len(index) > int(counted["number"]):
                index = ProjectIndex(self._embedder.dimensions)
            if len(index) < int(counted["number"]):
                await self._embed_missing(project_id)
                named = {"project_id": project_id, "model_id": self._embedder.model_id, "number": index.last_number}
                await asyncio.to_thread(index.add, await self._database.rows("chunks.after_number", named))
            if project_id not in self._indexes or project_id in self._changed:
                self._changed.discard(project_id)
                leads = await self._database.rows("relations.leads", {"project_id": project_id})
                replaced = await self._database.rows("chunks.replaced", {"project_id": project_id})
                await asyncio.to_thread(index.relate, leads, [str(row["id"]) for row in replaced])
                self._greatest_weights[project_id] = index.greatest_weight
            if drops == self._drops:
                self._indexes[project_id] = index
            return index

    def _lock_of(self, project_id: str) -> asyncio.Lock:
        """Held while an index is changed or read in a thread, so that it does not grow under a search."""
        return self._locks.setdefault(project_id, asyncio.Lock())

    async def _embed_missing(self, project_id: str) -> None:
        """Embed chunks without a vector of this embedder, after a change of the embedder or an import."""
        named = {"project_id": project_id, "model_id": self._embedder.model_id}
        rows = await self._database.rows("chunks.without_vector", named)
        for start in range(0, len(rows), _EMBEDDED_BATCH):
            batch = rows[start : start + _EMBEDDED_BATCH]
            texts = [f"{row['title']}\n{row['content']}" if row["title"] else str(row["content"]) for row in batch]
            vectors = await self._embedder.embed(texts)
            async with self._database.transaction() as transaction:
                for row, vector in zip(batch, vectors, strict=True):
                    await put_vector(transaction, str(row["id"]), self._embedder.model_id, vector)


def _rank_index(
    index: ProjectIndex, query: str, cues: Vectors, keyword_rows: Sequence[int], hidden: frozenset[int]
) -> tuple[list[RankedRow], Float32]:
    """Rank the rows of an index that are not `hidden`, with each row's cosine with the question. `cues`: one row per
    part of it. Pure."""
    similarity = best_cosines(index.vectors, cues)
    sources = RankedSources(
        index.nearest(similarity, DEPTH, hidden),
        [row for row in keyword_rows if row not in hidden],
        index.rows_named_in(query),
    )
    ranked = rank_rows(query, sources, index, len(cues))
    return [ranked_row for ranked_row in ranked if ranked_row.row not in hidden], similarity


def _directions(relation: Relation, chunk_id: str, direction: str) -> list[str]:
    way = "outgoing" if relation.from_id == chunk_id else "incoming"
    return [way] if direction in (way, "both") else []
