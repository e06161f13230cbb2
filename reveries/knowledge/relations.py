"""Relations as rows. What changes them is decided in `evolution`."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reveries.db.database import Reader, Row, Transaction
from reveries.errors import NotFoundError, UsageError
from reveries.knowledge.evolution import merged
from reveries.knowledge.model import Relation, RelationType


@dataclass(frozen=True, slots=True)
class NewRelation:
    """A relation before it is stored."""

    from_id: str
    to_id: str
    type: RelationType
    weight: float
    is_implicit: bool = False
    context_tags: tuple[str, ...] = ()
    confidence: float = 0.7
    confidence_source: str = "stated"
    derived_from: str | None = None


async def state_relation(transaction: Transaction, new: NewRelation, new_id: Callable[[], str], now: float) -> Relation:
    """Store a relation; of one that is there the tags are merged and the greater weight stays (V-33). Raises UsageError
    for one of a chunk with itself."""
    if new.from_id == new.to_id:
        raise UsageError("A chunk has no relation to itself.", advice="Name two.")
    known = [one for one in await relations_between(transaction, new.from_id, new.to_id) if one.type is new.type]
    if known:
        return await store_change(transaction, merged(known[0], new.weight, new.context_tags))
    row = {
        "id": new_id(), "from_id": new.from_id, "to_id": new.to_id, "type": new.type.value, "weight": new.weight,
        "origin": "implicit" if new.is_implicit else "explicit", "confidence": new.confidence, "now": now,
        "context_tags": json.dumps(sorted(set(new.context_tags)), ensure_ascii=False),
        "confidence_source": new.confidence_source, "derived_from": new.derived_from,
        "resolved_at": None, "resolution": "",
    }  # fmt: skip
    await transaction.run("relations.put", row)
    [stored] = [one for one in await relations_between(transaction, new.from_id, new.to_id) if one.type is new.type]
    return stored


async def store_change(transaction: Transaction, relation: Relation) -> Relation:
    """What `evolution` made of a relation."""
    row = {
        "id": relation.id, "weight": relation.weight, "activation_count": relation.activation_count,
        "context_tags": json.dumps(relation.context_tags, ensure_ascii=False),
        "last_activated_at": relation.last_activated_at, "archived_at": relation.archived_at,
        "archive_reason": relation.archive_reason, "final_weight": relation.final_weight,
    }  # fmt: skip
    await transaction.run("relations.change", row)
    return relation


async def relations_between(source: Reader, from_id: str, to_id: str) -> list[Relation]:
    """All from the first to the second, strongest first."""
    rows = await source.rows("relations.between", {"from_id": from_id, "to_id": to_id})
    return [_relation_of(row) for row in rows]


async def relations_of_chunk(source: Reader, chunk_id: str) -> list[Relation]:
    """All that begin or end there, strongest first."""
    return [_relation_of(row) for row in await source.rows("relations.of_chunk", {"id": chunk_id})]


async def relations_of_project(source: Reader, project_id: str) -> list[Relation]:
    """Oldest first, archived ones too."""
    return [_relation_of(row) for row in await source.rows("relations.of_project", {"project_id": project_id})]


def choose_relation(relations: Sequence[Relation], type_: RelationType | None) -> Relation:
    """That of a type, or the strongest one of a pair (VA-4). Raises NotFoundError."""
    fitting = [one for one in relations if type_ is None or one.type is type_]
    active = [one for one in fitting if one.archived_at is None]
    if not fitting:
        raise NotFoundError("There is no such relation.", advice="All of them: reveries project relations NAME")
    return (active or fitting)[0]


def active_between(relations: Iterable[Relation], a_id: str, b_id: str) -> Relation | None:
    """The strongest active relation of two chunks, whichever way it points."""
    found = [one for one in relations if {one.from_id, one.to_id} == {a_id, b_id} and one.archived_at is None]
    return max(found, key=lambda one: one.weight, default=None)


def _relation_of(row: Row) -> Relation:
    return Relation(
        id=str(row["id"]),
        from_id=str(row["from_id"]),
        to_id=str(row["to_id"]),
        type=RelationType(row["type"]),
        weight=float(row["weight"]),
        is_implicit=row["origin"] == "implicit",
        context_tags=tuple(json.loads(row["context_tags"])),
        confidence=float(row["confidence"]),
        confidence_source=str(row["confidence_source"]),
        activation_count=int(row["activation_count"]),
        last_activated_at=float(row["last_activated_at"]),
        created_at=float(row["created_at"]),
        resolved_at=row["resolved_at"],
        resolution=str(row["resolution"]),
        archived_at=row["archived_at"],
        archive_reason=str(row["archive_reason"]),
        final_weight=row["final_weight"],
        derived_from=row["derived_from"],
    )
