"""What has a value in the notes, documents and answers of a project, and what of it does not go together.

A view, always current: it is read out of what the project knows now, and each version of a document is read once.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reveries.knowledge.facts.called_off import call_off_elsewhere
from reveries.knowledge.facts.conflicts import pair_facts
from reveries.knowledge.facts.extraction import extract_facts
from reveries.knowledge.facts.fact_conflict import FactConflict
from reveries.knowledge.facts.model import Fact, FactKind
from reveries.knowledge.facts.quantities import main_currency
from reveries.knowledge.model import Chunk
from reveries.projects.conflict_decisions import (
    ConflictDecision,
    DecidedBy,
    DecisionState,
    Place,
    by_pair,
    lines_of,
    place_of,
)
from reveries.projects.document_texts import DocumentPart, DocumentText, build_documents, texts_of

_MOST_PROJECTS: Final = 20
"""Whose facts are kept in memory."""


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """The facts of a project at one moment."""

    documents: Mapping[str, DocumentText]
    facts: Sequence[Fact]
    """By document and line."""
    conflicts: Sequence[FactConflict]
    """The surest first; without those that were decided, with those that a model confirmed."""
    settled: Sequence[FactConflict] = ()
    """Those that the owner decided."""
    doubtful: Sequence[FactConflict] = ()
    """Pairs that no rule is sure of, the likeliest first: a capable model may judge them."""
    decisions: Mapping[frozenset[Place], ConflictDecision] = field(default_factory=dict)

    def is_outdated(self, fact: Fact) -> bool:
        """Whether the owner decided that another line holds, and that of the fact does not."""
        place = place_of(fact)
        return any(place in pair and _loses(decision, place) for pair, decision in self.decisions.items())

    def part_of(self, fact: Fact) -> DocumentPart | None:
        """Return the part of the document that a fact stands in."""
        return self.documents[fact.document].part_at(fact.line)

    def bases_of(self, places: Iterable[tuple[str, int]]) -> tuple[tuple[str, ...], frozenset[str]]:
        """Return the chunks that lines stand in, and who else wrote in them. `places`: document and line of each."""
        parts = [
            part
            for document, line in sorted(places)
            if document in self.documents and (part := self.documents[document].part_at(line)) is not None
        ]
        sources = frozenset[str]().union(*(part.foreign_sources for part in parts))
        return tuple(dict.fromkeys(part.chunk_id for part in parts)), sources

    def is_tainted(self, fact: Fact) -> bool:
        """Whether somebody else than the owner may have written it."""
        part = self.part_of(fact)
        return part is not None and bool(part.foreign_sources)


@dataclass(slots=True)
class _Kept:
    """What was read of one project."""

    facts: dict[str, Sequence[Fact]] = field(default_factory=dict)
    """By the version of the document."""
    version: str = ""
    whole: ProjectFacts | None = None


class FactsView:
    """Reads the facts of projects."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    async def read(
        self, project_id: str, chunks: Sequence[Chunk], decisions: Sequence[ConflictDecision] = ()
    ) -> ProjectFacts:
        """Return the facts of a project. `chunks`: everything that it knows; `decisions`: what was decided of pairs."""
        kept = self._kept.setdefault(project_id, _Kept())
        while len(self._kept) > _MOST_PROJECTS:
            self._kept.pop(next(iter(self._kept)))
        return await asyncio.to_thread(_read, kept, chunks, decisions)

    def drop_all(self) -> None:
        """Forget what was read, so that no erased word stays in memory."""
        self._kept.clear()


def read_facts(chunks: Sequence[Chunk], decisions: Sequence[ConflictDecision] = ()) -> ProjectFacts:
    """Return the facts of a project. Pure."""
    return _read(_Kept(), chunks, decisions)


def _read(kept: _Kept, chunks: Sequence[Chunk], decisions: Sequence[ConflictDecision]) -> ProjectFacts:
    documents = build_documents(chunks)
    currency = main_currency("\n".join(document.text for document in documents))
    versions = {_version(document, currency): document for document in documents}
    whole_version = "".join((*versions, *(decision.id for decision in decisions)))
    if kept.whole is not None and kept.version == whole_version:
        return kept.whole
    facts = {
        version: kept.facts.get(version) or _facts_of(document, currency) for version, document in versions.items()
    }
    all_facts = call_off_elsewhere([fact for of_document in facts.values() for fact in of_document])
    replaced = {(chunk.id, chunk.superseded_by) for chunk in chunks if chunk.superseded_by is not None}
    by_name = {document.name: document for document in documents}
    decided = by_pair(decisions)
    sure, doubtful = (
        [pair for pair in pairs if not _are_settled(by_name, pair, replaced)]
        for pairs in pair_facts(all_facts, texts_of(documents))
    )
    # A model is asked only where no rule is sure: what it said then hides nothing that one is sure of now.
    conflicts = [pair for pair in sure if not _is_by_owner(decided, pair)]
    conflicts += [pair for pair in doubtful if _is_confirmed(decided, pair)]
    undecided = [pair for pair in doubtful if lines_of(pair) not in decided]
    settled = [pair for pair in (*sure, *doubtful) if _is_by_owner(decided, pair)]
    kept.facts, kept.version = facts, whole_version
    kept.whole = ProjectFacts(by_name, all_facts, conflicts, settled, undecided, decided)
    return kept.whole


def _is_by_owner(decided: Mapping[frozenset[Place], ConflictDecision], pair: FactConflict) -> bool:
    decision = decided.get(lines_of(pair))
    return decision is not None and decision.decided_by is DecidedBy.OWNER


def _is_confirmed(decided: Mapping[frozenset[Place], ConflictDecision], pair: FactConflict) -> bool:
    decision = decided.get(lines_of(pair))
    return decision is not None and decision.state is DecisionState.CONFIRMED


def _loses(decision: ConflictDecision, place: Place) -> bool:
    return (decision.state is DecisionState.KEPT_A and decision.b == place) or (
        decision.state is DecisionState.KEPT_B and decision.a == place
    )


def _version(document: DocumentText, currency: str) -> str:
    parts = "".join(f"{part.first_line},{part.chunk_id},{part.written_on};" for part in document.parts)
    return hashlib.blake2b(
        f"{document.name}\0{currency}\0{parts}\0{document.text}".encode("utf-8", "replace")
    ).hexdigest()


def _facts_of(document: DocumentText, currency: str) -> Sequence[Fact]:
    """Return the facts of a document. Its sections may have been written on several days: relative days of each are
    counted from its own."""
    of_day = {
        day: extract_facts(document.name, document.text, day, currency=currency)
        for day in {part.written_on for part in document.parts}
    }
    return [
        fact
        for part, (first, last) in zip(document.parts, _ranges(document), strict=True)
        for fact in of_day[part.written_on]
        if first <= fact.line <= last and not (document.is_answer and fact.kind is FactKind.OPEN)
    ]


def _ranges(document: DocumentText) -> list[tuple[int, int]]:
    """Return the lines of each part, headings before it included; the question of an answer belongs to none."""
    ranges, begin = [], document.parts[0].first_line if document.is_answer else 1
    for part in document.parts:
        ranges.append((begin, part.last_line))
        begin = part.last_line + 1
    return ranges


def _are_settled(documents: Mapping[str, DocumentText], pair: FactConflict, replaced: set[tuple[str, str]]) -> bool:
    """Whether the section that one value stands in replaced that of the other: the owner, or a rule, decided."""
    part, other_part = (documents[fact.document].part_at(fact.line) for fact in (pair.a, pair.b))
    if part is None or other_part is None:
        return False
    ids = (part.chunk_id, other_part.chunk_id)
    return ids in replaced or ids[::-1] in replaced
