"""The documents of a project as they stand now, put together from what it knows of them. Pure.

What was retracted, erased or settled otherwise is not in them, so nothing that is read out of them needs rules of its
own for that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from reveries.knowledge.model import OWNER_ANSWER_TAG, Chunk
from reveries.safe_text import one_line

ANSWER_DOCUMENT: Final = "your answer"
"""Begins the name of the document that an answer of the owner is."""
_QUESTION_CHARS: Final = 60
_ANSWER_MARK: Final = "\nA: "


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """The lines of a document that one chunk holds."""

    first_line: int
    last_line: int
    chunk_id: str
    written_on: date
    foreign_sources: frozenset[str]


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document line by line; lines that the project does not know, or no longer holds for true, are empty."""

    name: str
    text: str
    parts: Sequence[DocumentPart]
    is_answer: bool = False

    def part_at(self, line: int) -> DocumentPart | None:
        """Return the part that a line belongs to; a heading belongs to what follows it."""
        return next((part for part in self.parts if line <= part.last_line), None)


def build_documents(chunks: Sequence[Chunk]) -> list[DocumentText]:
    """Return the documents and the owner's answers as they stand, in the order of their names."""
    by_name: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        if chunk.document_id is not None and not chunk.fell_because:
            by_name.setdefault(chunk.document, []).append(chunk)
    documents = [_join_sections(name, sections) for name, sections in by_name.items()]
    answers = [_answer_text(chunk) for chunk in chunks if OWNER_ANSWER_TAG in chunk.tags and chunk.stands]
    return sorted((document for document in documents if document.parts), key=lambda item: item.name) + answers


def _join_sections(name: str, sections: Sequence[Chunk]) -> DocumentText:
    lines: list[str] = []
    parts = []
    for chunk, first_line in _placed(sections):
        content, lead = chunk.content.split("\n"), chunk.lead.split("\n") if chunk.lead else []
        if first_line <= len(lines):  # The rest of a line that is too long for one chunk.
            lines[first_line - 1] += content[0]
        else:
            missing = first_line - 1 - len(lines)
            lead = lead[max(len(lead) - missing, 0) :]
            lines += ["" for _ in range(missing - len(lead))] + lead + content
        parts.append(
            DocumentPart(first_line, first_line + len(content) - 1, chunk.id, _written_on(chunk), chunk.foreign_sources)
        )
    return DocumentText(name, "\n".join(lines), parts)


def _placed(sections: Sequence[Chunk]) -> Iterable[tuple[Chunk, int]]:
    """Yield the sections of the latest version with their first lines. Where no place is known, because an earlier
    program stored them, they follow each other."""
    placed = sorted((chunk for chunk in sections if chunk.first_line), key=lambda chunk: chunk.first_line)
    if placed:
        yield from ((chunk, chunk.first_line) for chunk in placed)
        return
    line = 1
    for chunk in sections:
        if chunk.stands:
            yield chunk, line
            line += chunk.content.count("\n") + 2


def _answer_text(chunk: Chunk) -> DocumentText:
    """Return an answer as a document: its question in one line, to which nothing belongs, and what the owner said."""
    question, _, answer = chunk.content.partition(_ANSWER_MARK)
    asked = one_line(question.removeprefix("Q: "))
    text = f"# {asked}\n{answer}"
    part = DocumentPart(2, 2 + answer.count("\n"), chunk.id, _written_on(chunk), chunk.foreign_sources)
    return DocumentText(f"{ANSWER_DOCUMENT}: {one_line(asked, _QUESTION_CHARS)}", text, (part,), is_answer=True)


def _written_on(chunk: Chunk) -> date:
    return date.fromisoformat(chunk.written_on) if chunk.written_on else date.fromtimestamp(chunk.created_at)


def texts_of(documents: Iterable[DocumentText]) -> Mapping[str, str]:
    """Return the text of each document by its name."""
    return {document.name: document.text for document in documents}
