"""Relations as database rows. `evolution` decides how they change."""

import json
from collections.abc import Callable, Iterable, Sequence

from reveries.db.database import Reader, Row, Transaction
from reveries.db.typed_rows import read_row
from reveries.errors import NotFoundError, UsageError
from reveries.knowledge.evolution import confirm_contradiction, merge_statements
from reveries.knowledge.model import NewRelation, Relation, RelationType

_ALL_RELATIONS = "All of them: reveries project relations NAME"


async def state_relation(transaction: Transaction, new: NewRelation, new_id: Callable[[], str], now: float) -> Relation:
    """Store a relation; if it exists, merge the tags and keep the greater weight (V-33). Raises UsageError for a
    relation of a chunk to itself."""
    if new.from_id == new.to_id:
        raise UsageError("A chunk has no relation to itself.", advice="Name two.")
    if (present := await find_relation(transaction, new.from_id, new.to_id, new.type)) is not None:
        changed = merge_statements(present, new.weight, new.context_tags)
        if new.type is RelationType.CONTRADICTS:
            changed = confirm_contradiction(changed, new.confidence_source)
        return await store_change(transaction, changed)
    row = {
        "id": new_id(), "from_id": new.from_id, "to_id": new.to_id, "type": new.type.value, "weight": new.weight,
        "origin": "implicit" if new.is_implicit else "explicit", "confidence": new.confidence, "now": now,
        "context_tags": json.dumps(sorted(set(new.context_tags)), ensure_ascii=False),
        "confidence_source": new.confidence_source, "derived_from": new.derived_from,
        "resolved_at": None, "resolution": "",
    }  # fmt: skip
    await transaction.run("relations.put", row)
    stored = await find_relation(transaction, new.from_id, new.to_id, new.type)
    assert stored is not None
    return stored


async def find_relation(source: Reader, from_id: str, to_id: str, type_: RelationType) -> Relation | None:
    """The relation of a type between two chunks; None if there is none. A contradiction has no direction: each pair has
    one."""
    between = await relations_between(source, from_id, to_id)
    if type_ is RelationType.CONTRADICTS:
        between += await relations_between(source, to_id, from_id)
    return next((relation for relation in between if relation.type is type_), None)


async def read_relation(source: Reader, relation_id: str) -> Relation:
    """A relation by its id. Raises NotFoundError, for example after one of its chunks was erased."""
    rows = await source.rows("relations.by_id", {"id": relation_id})
    if not rows:
        raise NotFoundError("There is no such relation any more.", advice=_ALL_RELATIONS)
    return _relation_of(rows[0])


async def store_change(transaction: Transaction, relation: Relation) -> Relation:
    """Store a relation that `evolution` changed."""
    row = {
        "id": relation.id, "weight": relation.weight, "activation_count": relation.activation_count,
        "context_tags": json.dumps(relation.context_tags, ensure_ascii=False),
        "last_activated_at": relation.last_activated_at, "archived_at": relation.archived_at,
        "archive_reason": relation.archive_reason, "final_weight": relation.final_weight,
        "confidence_source": relation.confidence_source, "resolved_at": relation.resolved_at,
        "resolution": relation.resolution, "valid_until": relation.valid_until,
    }  # fmt: skip
    await transaction.run("relations.change", row)
    return relation


async def relations_between(source: Reader, from_id: str, to_id: str) -> list[Relation]:
    """The relations from the first chunk to the second, strongest first."""
    rows = await source.rows("relations.between", {"from_id": from_id, "to_id": to_id})
    return [_relation_of(row) for row in rows]


async def relations_of_chunk(source: Reader, chunk_id: str) -> list[Relation]:
    """The relations that begin or end at a chunk, strongest first."""
    return [_relation_of(row) for row in await source.rows("relations.of_chunk", {"id": chunk_id})]


async def relations_of_project(source: Reader, project_id: str) -> list[Relation]:
    """The relations of a project, oldest first, archived ones too."""
    return [_relation_of(row) for row in await source.rows("relations.of_project", {"project_id": project_id})]


async def contradictions_of_project(source: Reader, project_id: str, *, with_settled: bool) -> list[Relation]:
    """The relations of type `contradicts`, newest first, archived ones too."""
    named = {"project_id": project_id, "with_settled": with_settled}
    return [_relation_of(row) for row in await source.rows("relations.contradictions", named)]


async def relations_of_uncounted_pairs(source: Reader, project_id: str) -> dict[frozenset[str], list[Relation]]:
    """The relations, archived ones too, of each pair of chunks whose co-retrieval was not counted yet."""
    relations_by_pair: dict[frozenset[str], list[Relation]] = {}
    for row in await source.rows("relations.of_uncounted_pairs", {"project_id": project_id}):
        relations_by_pair.setdefault(frozenset((str(row["from_id"]), str(row["to_id"]))), []).append(_relation_of(row))
    return relations_by_pair


def choose_relation(relations: Sequence[Relation], type_: RelationType | None) -> Relation:
    """The relation of a type, or without one the strongest of a pair (VA-4). Raises NotFoundError."""
    fitting = [relation for relation in relations if type_ is None or relation.type is type_]
    active = [relation for relation in fitting if relation.archived_at is None]
    if not fitting:
        raise NotFoundError("There is no such relation.", advice=_ALL_RELATIONS)
    return (active or fitting)[0]


def strongest_active(relations: Iterable[Relation]) -> Relation | None:
    """The strongest relation that is not archived; None if there is none."""
    active = [relation for relation in relations if relation.archived_at is None]
    return max(active, key=lambda relation: relation.weight, default=None)


def _relation_of(row: Row) -> Relation:
    return read_row(Relation, row, is_implicit=row["origin"] == "implicit")
