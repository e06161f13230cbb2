"""How relations change: by use and by contradiction, never by time (V-55..V-63). Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reveries.knowledge.model import REPLACING, Confidence, NewRelation, Relation, RelationType

STRENGTHEN_BY = 0.05
WEAKEN_BY = 0.3
ARCHIVE_BELOW = 0.05
IMPLICIT_WEIGHT = 0.2
CORETRIEVALS = 3
"""Two chunks are related once they were found together more often than this (V-58)."""
COPY_SHARE = 0.5
LIKE_FROM = 0.75
"""Cosine from which a new chunk is related to a stored one (V-63)."""
MOST_LIKE = 5
_INITIAL = {Confidence.VERIFIED: 0.8, Confidence.INFERRED: 0.5, Confidence.SPECULATIVE: 0.3}


def initial_weight(confidence: Confidence) -> float:
    """Weight of a stated relation (V-56), from the confidence of the chunk where it begins."""
    return _INITIAL[confidence]


def strengthen_relation(relation: Relation, now: float, amount: float = STRENGTHEN_BY, times: int = 1) -> Relation:
    """The relation after it was used `times` more (V-34). An archived one stays unchanged."""
    if relation.archived_at is not None:
        return relation
    return replace(
        relation,
        weight=min(1.0, relation.weight + amount * times),
        activation_count=relation.activation_count + times,
        last_activated_at=now,
    )


def weaken_relation(relation: Relation, now: float, reason: str, amount: float = WEAKEN_BY) -> Relation:
    """The relation after it was weakened (V-35). Below 0.05 it is archived; its weight is kept."""
    if relation.archived_at is not None:
        return relation
    left = relation.weight - amount
    if left < ARCHIVE_BELOW:
        final = max(0.0, left)
        return replace(relation, archived_at=now, archive_reason=reason, final_weight=final, valid_until=now)
    return replace(relation, weight=left)


def unarchive_relation(relation: Relation) -> Relation:
    """The relation out of the archive (V-135)."""
    return replace(relation, archived_at=None, archive_reason="", final_weight=None, valid_until=None)


def merge_statements(relation: Relation, weight: float, context_tags: Iterable[str]) -> Relation:
    """The relation after it was stated again (V-33): all tags, the greater weight, and out of the archive."""
    tags = tuple(sorted({*relation.context_tags, *context_tags}))
    return replace(unarchive_relation(relation), weight=max(relation.weight, weight), context_tags=tags)


def confirm_contradiction(relation: Relation, confidence_source: str) -> Relation:
    """A contradiction that is found or stated once more. A statement counts more than a rule or a model, and these
    more than likeness; a statement reopens what a model had dismissed."""
    if relation.confidence_source != "likeness" and confidence_source != "stated":
        return relation
    is_reopened = confidence_source == "stated" and relation.resolution == "none"
    return replace(
        relation,
        confidence_source=confidence_source,
        resolved_at=None if is_reopened else relation.resolved_at,
        resolution="" if is_reopened else relation.resolution,
    )


def copies_for_replacement(old_id: str, new_id: str, relations: Iterable[Relation]) -> list[NewRelation]:
    """The relations that a replacing chunk takes over at half their weight (V-62). The originals stay. Left out are
    relations between the two chunks, those by which others replace the old one, and copies that would be weaker than an
    archived relation."""
    copies = []
    for relation in relations:
        ends = {relation.from_id, relation.to_id}
        weight = relation.weight * COPY_SHARE
        is_active = relation.archived_at is None and relation.type is not RelationType.CONTRADICTS
        if (
            old_id not in ends
            or new_id in ends
            or not is_active
            or weight < ARCHIVE_BELOW
            or replaces(relation, old_id)
        ):
            continue
        from_id, to_id = (new_id if end == old_id else end for end in (relation.from_id, relation.to_id))
        copies.append(NewRelation(from_id, to_id, relation.type, weight, True, derived_from=relation.id))
    return copies


def replaces(relation: Relation, chunk_id: str) -> bool:
    """Whether the relation says that another chunk replaces this one."""
    if relation.type is RelationType.SUPERSEDED_BY:
        return relation.from_id == chunk_id
    return relation.type in REPLACING and relation.to_id == chunk_id


def archive_relation(relation: Relation, now: float, reason: str) -> Relation:
    """The relation in the archive, with its weight kept; unchanged if it is there."""
    return weaken_relation(relation, now, reason, relation.weight)


def pairs_to_relate(counts: Mapping[tuple[str, str], int], related: Iterable[Iterable[str]]) -> list[tuple[str, str]]:
    """The pairs that were found together more than three times and have no relation yet (V-58)."""
    related_pairs = {frozenset(pair) for pair in related}
    return sorted(
        pair for pair, count in counts.items() if count > CORETRIEVALS and frozenset(pair) not in related_pairs
    )
