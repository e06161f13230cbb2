"""What became, line by line, of a section of a document that the document has no more as it was. Pure.

A result rests on the lines that were there when it was made. While all of them stand unchanged, a section that only
grew puts nothing in doubt. A table, or a list with figures, is used as a whole: a new row changes what was made of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from reveries.knowledge.documents import Document
from reveries.knowledge.model import Chunk, Fall
from reveries.projects.model import WorkTask
from reveries.projects.note_changes import NoteChange

_LEAST_LIKENESS: Final = 0.4
"""Of two lines, by their words: one became the other."""
_TABLE_SUFFIXES: Final = (".csv", ".tsv")
_ROW: Final = re.compile(r"\s*(?:\||[-*+]\s.*\d)")
"""A row of a table, or an item of a list with a figure."""
_MOST_CHANGES: Final = 3


@dataclass(frozen=True, slots=True)
class SectionChange:
    """How a section differs from what its document has now."""

    has_only_grown: bool
    lines: Sequence[NoteChange] = ()
    """The lines that are others now, gone, or new rows of its table."""


@dataclass(frozen=True, slots=True)
class NoteHistory:
    """The notes of a folder with all their sections, also those of earlier versions."""

    documents: Mapping[str, Document]
    """By path."""
    chunks: Sequence[Chunk]

    def compare(self, task: WorkTask, path: str, sha256: str) -> SectionChange:
        """Return what of the note at `path` changed since `task` began. Every version that was there since then counts:
        which of them the task read is not known. `sha256`: of the file as it is; a version that was not read yet counts
        as changed."""
        note = self.documents.get(path)
        if note is None or not sha256 or note.sha256 != sha256:
            return SectionChange(has_only_grown=False)
        since = min(task.try_began_at or task.completed_at or 0.0, task.started_at or task.completed_at or 0.0)
        used = [
            chunk
            for chunk in self.chunks
            if chunk.document_id == note.id and (chunk.valid_until is None or chunk.valid_until >= since)
        ]
        changes = [compare_section(chunk, self.chunks) for chunk in used if has_left_document(chunk)]
        lines = {(change.line, change.old_text): change for one in changes for change in one.lines}
        return SectionChange(bool(used) and all(one.has_only_grown for one in changes), tuple(lines.values()))


def has_left_document(chunk: Chunk) -> bool:
    """Whether a chunk is a section that its document has no more: it fell for that, or a newer section replaced it."""
    is_replaced = chunk.document_id is not None and chunk.superseded_by is not None and not chunk.fell_because
    return chunk.fall is Fall.LEFT_DOCUMENT or (is_replaced and not chunk.first_line)


def has_only_grown(section: Chunk, chunks: Sequence[Chunk]) -> bool:
    """Whether all lines of a section that left its document still stand there, below the same heading."""
    return has_left_document(section) and compare_section(section, chunks).has_only_grown


def compare_section(section: Chunk, chunks: Sequence[Chunk]) -> SectionChange:
    """Return what became of a section. `chunks`: all that the project knows."""
    same = [chunk for chunk in chunks if chunk.document_id == section.document_id and chunk.title == section.title]
    placed = sorted((chunk for chunk in same if _is_there(chunk)), key=lambda chunk: chunk.first_line)
    now = [(chunk.first_line + place, line) for chunk in placed for place, line in _lines_of(chunk)]
    old, new = [line for _, line in _lines_of(section)], [line for _, line in now]
    rows = _new_rows(section, same, now)
    left = iter(new)
    if all(line in left for line in old) and not rows:
        return SectionChange(has_only_grown=True)
    return SectionChange(False, (*_changed_lines(section.document, old, now), *rows))


def describe_lines(changes: Iterable[NoteChange]) -> str:
    """Say in a few words which lines changed, with file and line; empty if none is known."""
    listed = list(changes)
    more = f"; and {len(listed) - _MOST_CHANGES} more lines" if len(listed) > _MOST_CHANGES else ""
    return "; ".join(change.describe() for change in listed[:_MOST_CHANGES]) + more


def _is_there(chunk: Chunk) -> bool:
    return bool(chunk.first_line) and not chunk.fell_because


def _lines_of(chunk: Chunk) -> list[tuple[int, str]]:
    """Return the lines that say something, with their places in the section."""
    return [(place, line.strip()) for place, line in enumerate(chunk.content.splitlines()) if line.strip()]


def _new_rows(section: Chunk, same: Sequence[Chunk], now: Sequence[tuple[int, str]]) -> list[NoteChange]:
    """Return the rows that came to the table or list that the section is of."""
    is_table = section.document.lower().endswith(_TABLE_SUFFIXES)
    if not is_table and not any(_ROW.match(line) for _, line in _lines_of(section)):
        return []
    began = _began(section)
    before = [chunk for chunk in same if not _is_there(chunk) or _began(chunk) <= began]
    known = {line for chunk in before for _, line in _lines_of(chunk)}
    came = [(place, line) for place, line in now if line not in known and (is_table or _ROW.match(line))]
    old = {line for _, line in _lines_of(section)}
    changed_into = {change.new_text for change in _changed_lines(section.document, sorted(old), came)}
    return [NoteChange(section.document, place, "", line) for place, line in came if line not in changed_into]


def _began(chunk: Chunk) -> float:
    return chunk.valid_from if chunk.valid_from is not None else chunk.created_at


def _changed_lines(document: str, old: Sequence[str], now: Sequence[tuple[int, str]]) -> list[NoteChange]:
    """Pair the lines that are gone with the likest of those that came."""
    standing = {line for _, line in now}
    came = [(place, line) for place, line in now if line not in set(old)]
    changes = []
    for line in (text for text in old if text not in standing):
        scores = ((_likeness(line, text), index) for index, (_, text) in enumerate(came))
        likeness, place = max(scores, default=(0.0, 0))
        number, text = came.pop(place) if likeness >= _LEAST_LIKENESS else (0, "")
        changes.append(NoteChange(document, number, line, text))
    return changes


def _likeness(line: str, other: str) -> float:
    return SequenceMatcher(None, re.findall(r"\w+", line), re.findall(r"\w+", other), autojunk=False).ratio()
