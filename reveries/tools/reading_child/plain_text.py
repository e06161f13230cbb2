"""Plain text and Markdown."""

import re
from collections.abc import Iterator
from typing import Final

from reveries.knowledge.reading.flow import FlowBlock, table_text
from reveries.knowledge.reading.layout import DocumentForm, PointerKind
from reveries.tools.reading_child.flow_document import FlowDocument
from reveries.tools.reading_child.spreadsheets import read_text

_HEADING: Final = re.compile(r"(#{1,6})\s+(.+?)\s*#*")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_RULE: Final = re.compile(r"\|?[\s:|-]*-{3,}[\s:|-]*")


def open_text(path: str, form: DocumentForm) -> FlowDocument:
    """Open a text. Raises RefusalError."""
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    return FlowDocument(form, list(markdown_blocks(text) if form is DocumentForm.MARKDOWN else paragraph_blocks(text)))


def paragraph_blocks(text: str) -> Iterator[FlowBlock]:
    """Paragraphs between empty lines."""
    for part in re.split(r"\n[ \t]*\n", text.replace("\0", "")):
        stripped = part.strip("\n")
        if stripped.strip():
            items = sum(_ITEM.match(line) is not None for line in stripped.split("\n"))
            yield FlowBlock(PointerKind.LIST if items >= 2 else PointerKind.PARAGRAPH, stripped)


def markdown_blocks(text: str) -> Iterator[FlowBlock]:
    """Headings, tables and paragraphs; blocks of code are paragraphs."""
    part: list[str] = []
    in_code = False
    for line in [*text.split("\n"), ""]:
        in_code ^= line.lstrip().startswith("```")
        heading = None if in_code else _HEADING.fullmatch(line)
        if heading or (not line.strip() and not in_code):
            yield from _markdown_part(part)
            part = []
        else:
            part.append(line)
        if heading:
            yield FlowBlock(PointerKind.PARAGRAPH, heading.group(2), level=len(heading.group(1)))
    yield from _markdown_part(part)


def _markdown_part(lines: list[str]) -> Iterator[FlowBlock]:
    if len(lines) >= 2 and "|" in lines[0] and _RULE.fullmatch(lines[1]):
        rows = [line.strip().strip("|").split("|") for line in lines if not _RULE.fullmatch(line)]
        yield FlowBlock(PointerKind.TABLE, table_text(rows))
    elif lines:
        yield from paragraph_blocks("\n".join(lines))
