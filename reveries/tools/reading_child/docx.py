"""DOCX: paragraphs, headings, lists, tables, text boxes and notes, read from its XML."""

import re
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from reveries.knowledge.reading.flow import FlowBlock, table_text
from reveries.knowledge.reading.layout import DocumentForm, PointerKind
from reveries.tools.reading_child.flow_document import FlowDocument
from reveries.tools.reading_child.zip_reading import Archive, damage, local_name

_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING: Final = re.compile(r"(?:heading|überschrift|titre|título|titolo|kop)\s*(\d)", re.IGNORECASE)
_UNREAD: Final = frozenset({"del", "moveFrom", "instrText", "delText", "Fallback", "pPr", "rPr"})
_MOST_DEPTH: Final = 40


def open_docx(path: str) -> FlowDocument:
    """Open a Word document. Raises RefusalError."""
    archive = Archive(path)
    document = archive.read_xml("word/document.xml")
    body = document.find(f"{_W}body") if document is not None else None
    if body is None:
        raise damage("it has no body")
    remarks = ["Comments beside its text are not read."] if "word/comments.xml" in archive.names else []
    reader = _BodyReader(_heading_levels(archive))
    blocks = [*reader.blocks(body), *_notes(archive, reader)]
    return FlowDocument(DocumentForm.DOCX, blocks, title=_title(archive), remarks=tuple(remarks))


def _title(archive: Archive) -> str:
    core = archive.read_xml("docProps/core.xml")
    parts = (item.text or "" for item in core.iter() if local_name(item) == "title") if core is not None else ()
    return next(iter(parts), "").strip()


def _heading_levels(archive: Archive) -> dict[str, int]:
    """Levels of the styles that are headings, by the style's id."""
    styles = archive.read_xml("word/styles.xml")
    levels: dict[str, int] = {}
    for style in styles.iter(f"{_W}style") if styles is not None else ():
        identifier, name = style.get(f"{_W}styleId") or "", style.find(f"{_W}name")
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        named = _HEADING.match((name.get(f"{_W}val") or "") if name is not None else "")
        if named:
            levels[identifier] = int(named.group(1)) or 1
        elif outline is not None and (value := outline.get(f"{_W}val") or "").isdigit() and int(value) < 9:
            levels[identifier] = int(value) + 1
        elif name is not None and (name.get(f"{_W}val") or "").lower() == "title":
            levels[identifier] = 1
    return levels


def _notes(archive: Archive, reader: "_BodyReader") -> Iterator[FlowBlock]:
    for part, title in (("word/footnotes.xml", "Footnotes"), ("word/endnotes.xml", "Endnotes")):
        root = archive.read_xml(part)
        notes = [block.text for block in reader.blocks(root)] if root is not None else []
        if notes:
            yield FlowBlock(PointerKind.NOTES, "\n".join(notes), title=title)


class _BodyReader:
    """Blocks of a part of a Word document."""

    def __init__(self, levels: dict[str, int]) -> None:
        self._levels = levels

    def blocks(self, parent: Element, depth: int = 0) -> Iterator[FlowBlock]:
        if depth > _MOST_DEPTH:
            return
        for child in parent:
            name = local_name(child)
            if name == "p":
                yield from self._paragraph(child, depth)
            elif name == "tbl":
                yield FlowBlock(PointerKind.TABLE, table_text(self._rows(child, depth)))
            elif name in ("sdt", "sdtContent", "footnote", "endnote", "customXml", "ins", "smartTag"):
                yield from self.blocks(child, depth + 1)

    def _paragraph(self, paragraph: Element, depth: int) -> Iterator[FlowBlock]:
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        level = self._levels.get((style.get(f"{_W}val") or "") if style is not None else "", 0)
        boxes: list[Element] = []
        text = "".join(_texts(paragraph, boxes, 0)).strip()
        is_item = paragraph.find(f"{_W}pPr/{_W}numPr") is not None
        if text:
            kind = PointerKind.LIST if is_item and not level else PointerKind.PARAGRAPH
            yield FlowBlock(kind, f"• {text}" if is_item and not level else text, level=min(level, 6))
        for box in boxes:
            yield from self.blocks(box, depth + 1)

    def _rows(self, table: Element, depth: int) -> Iterator[list[str]]:
        """Rows of a table; a cell that spans rows stands in each of them, so that each row keeps its head."""
        above: dict[int, str] = {}
        for row in table.iter(f"{_W}tr"):
            cells: list[str] = []
            for cell in row.findall(f"{_W}tc"):
                span = cell.find(f"{_W}tcPr/{_W}gridSpan")
                width = int(value) if span is not None and (value := span.get(f"{_W}val") or "").isdigit() else 1
                merge = cell.find(f"{_W}tcPr/{_W}vMerge")
                text = " ".join(block.text for block in self.blocks(cell, depth + 1))
                if merge is not None and merge.get(f"{_W}val") != "restart":
                    text = above.get(len(cells), text)
                above[len(cells)] = text
                cells += [text] + [""] * (min(width, 60) - 1)
            yield cells


def _texts(parent: Element, boxes: list[Element], depth: int) -> Iterator[str]:
    """Text of a paragraph; its text boxes are put aside."""
    for child in parent:
        name = local_name(child)
        if name == "txbxContent":
            boxes.append(child)
        elif name == "t":
            yield child.text or ""
        elif name in ("tab", "ptab"):
            yield "\t"
        elif name in ("br", "cr"):
            yield "\n"
        elif name == "noBreakHyphen":
            yield "-"
        elif name == "r" and child.find(f"{_W}rPr/{_W}vanish") is not None:
            continue
        elif name not in _UNREAD and depth < _MOST_DEPTH:
            yield from _texts(child, boxes, depth + 1)
