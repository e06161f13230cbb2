"""What has a value in the notes, documents and answers of a project, and what of it does not go together.

A view, always current: it is read out of what the project knows now, and each version of a document is read once.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reveries.knowledge.facts.conflicts import FactConflict, find_conflicts
from reveries.knowledge.facts.extraction import extract_facts
from reveries.knowledge.facts.model import Fact, FactKind
from reveries.knowledge.facts.quantities import main_currency
from reveries.knowledge.model import Chunk
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
    """The surest first."""

    def part_of(self, fact: Fact) -> DocumentPart | None:
        """Return the part of the document that a fact stands in."""
        return self.documents[fact.document].part_at(fact.line)

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

    async def read(self, project_id: str, chunks: Sequence[Chunk]) -> ProjectFacts:
        """Return the facts of a project. `chunks`: everything that it knows."""
        kept = self._kept.setdefault(project_id, _Kept())
        while len(self._kept) > _MOST_PROJECTS:
            self._kept.pop(next(iter(self._kept)))
        return await asyncio.to_thread(_read, kept, chunks)

    def drop_all(self) -> None:
        """Forget what was read, so that no erased word stays in memory."""
        self._kept.clear()


def read_facts(chunks: Sequence[Chunk]) -> ProjectFacts:
    """Return the facts of a project. Pure."""
    return _read(_Kept(), chunks)


def _read(kept: _Kept, chunks: Sequence[Chunk]) -> ProjectFacts:
    documents = build_documents(chunks)
    currency = main_currency("\n".join(document.text for document in documents))
    versions = {_version(document, currency): document for document in documents}
    whole_version = "".join(versions)
    if kept.whole is not None and kept.version == whole_version:
        return kept.whole
    facts = {
        version: kept.facts.get(version) or _facts_of(document, currency) for version, document in versions.items()
    }
    every = [fact for found in facts.values() for fact in found]
    replaced = {(chunk.id, chunk.superseded_by) for chunk in chunks if chunk.superseded_by is not None}
    by_name = {document.name: document for document in documents}
    conflicts = [
        pair
        for pair in find_conflicts(every, texts_of(documents))
        if not _are_settled(by_name[pair.a.document], pair.a.line, by_name[pair.b.document], pair.b.line, replaced)
    ]
    kept.facts, kept.version, kept.whole = facts, whole_version, ProjectFacts(by_name, every, conflicts)
    return kept.whole


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


def _are_settled(
    document: DocumentText, line: int, other: DocumentText, other_line: int, replaced: set[tuple[str, str]]
) -> bool:
    """Whether the section that one value stands in replaced that of the other: the owner, or a rule, decided."""
    part, other_part = document.part_at(line), other.part_at(other_line)
    if part is None or other_part is None:
        return False
    ids = (part.chunk_id, other_part.chunk_id)
    return ids in replaced or ids[::-1] in replaced
