"""PPTX: a page for each slide, its shapes with their places, and the speaker's notes."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element

from reveries.knowledge.reading.flow import FlowBlock, table_text
from reveries.knowledge.reading.layout import Box, DocumentForm, PageKind, PointerKind
from reveries.tools.reading_child.flow_document import FlowDocument
from reveries.tools.reading_child.zip_reading import Archive, damage, local_name

_A: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_EMU_PER_POINT: Final = 12_700
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_TITLES: Final = ("title", "ctrTitle")
_UNREAD_PLACEHOLDERS: Final = ("sldNum", "dt", "ftr", "sldImg")


def open_pptx(path: str) -> FlowDocument:
    """Open a presentation. Raises RefusalError."""
    archive = Archive(path)
    presentation = archive.read_xml("ppt/presentation.xml")
    if presentation is None:
        raise damage("it has no list of its slides")
    size = presentation.find(f"{_P}sldSz")
    width, height = (_number(size, name) / _EMU_PER_POINT for name in ("cx", "cy"))
    targets = _targets(archive, "ppt/presentation.xml")
    names = [targets.get(item.get(f"{_R}id") or "", "") for item in presentation.iter(f"{_P}sldId")]
    blocks = [block for number, name in enumerate(names, 1) for block in _slide(archive, name, number, width, height)]
    hidden = sum(_is_hidden(archive, name) for name in names)
    remarks = (
        (f"{hidden} of its slides {'is' if hidden == 1 else 'are'} hidden in a show; they are read.",) if hidden else ()
    )
    return FlowDocument(DocumentForm.PPTX, blocks, remarks=remarks, kind=PageKind.SLIDE, size=(width, height))


def _targets(archive: Archive, part: str) -> dict[str, str]:
    """Parts that a part refers to, by their id in it."""
    folder, name = posixpath.split(part)
    root = archive.read_xml(f"{folder}/_rels/{name}.rels")
    return {
        item.get("Id") or "": posixpath.normpath(posixpath.join(folder, item.get("Target") or "")).lstrip("/")
        for item in (root if root is not None else ())
    }


def _is_hidden(archive: Archive, name: str) -> bool:
    slide = archive.read_xml(name)
    return slide is not None and slide.get("show") == "0"


def _slide(archive: Archive, name: str, number: int, width: float, height: float) -> Iterator[FlowBlock]:
    yield FlowBlock(PointerKind.PARAGRAPH, "", label=str(number))
    slide = archive.read_xml(name)
    if slide is None:
        return
    title = ""
    for shape in _shapes(slide):
        kind = _placeholder(shape)
        if kind in _UNREAD_PLACEHOLDERS:
            continue
        table = shape.find(f".//{_A}tbl")
        text = table_text(_rows(table)) if table is not None else _text(shape)
        if not text:
            continue
        if kind in _TITLES:
            title = " ".join(text.split())
        pointer = PointerKind.TABLE if table is not None else PointerKind.PARAGRAPH
        yield FlowBlock(pointer, text, title=title, box=_box(shape, width, height))
    for part in _targets(archive, name).values():
        notes = archive.read_xml(part) if "/notesSlides/" in f"/{part}" else None
        bodies = (
            [_text(shape) for shape in _shapes(notes) if _placeholder(shape) == "body"] if notes is not None else []
        )
        text = "\n".join(filter(None, bodies))
        if text:
            yield FlowBlock(PointerKind.NOTES, text, title=f"Speaker's notes: {title}" if title else "Speaker's notes")


def _shapes(root: Element) -> Iterator[Element]:
    for element in root.iter():
        if local_name(element) in ("sp", "graphicFrame"):
            yield element


def _placeholder(shape: Element) -> str:
    placeholder = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return (placeholder.get("type") or "body") if placeholder is not None else ""


def _text(shape: Element) -> str:
    lines = []
    for paragraph in shape.iter(f"{_A}p"):
        parts = []
        for item in paragraph.iter():
            name = local_name(item)
            parts.append((item.text or "") if name == "t" else "\n" if name == "br" else "\t" if name == "tab" else "")
        lines.append(_unescape("".join(parts)).strip())
    return "\n".join(line for line in lines if line)


def _rows(table: Element) -> Iterator[list[str]]:
    for row in table.iter(f"{_A}tr"):
        yield [_text(cell) for cell in row.findall(f"{_A}tc")]


def _unescape(text: str) -> str:
    """Characters that XML cannot hold are written `_x000B_`."""
    return _ESCAPED.sub(lambda match: char if (char := chr(int(match.group(1), 16))).isprintable() else " ", text)


def _box(shape: Element, width: float, height: float) -> Box | None:
    """The place of a shape that states one; others stand where the layout of the slide says."""
    place = shape.find(f"{_P}spPr/{_A}xfrm")
    place = shape.find(f"{_P}xfrm") if place is None else place
    offset, extent = (place.find(f"{_A}{name}") if place is not None else None for name in ("off", "ext"))
    if offset is None or extent is None or not width or not height:
        return None
    x, y = _number(offset, "x") / _EMU_PER_POINT / width, _number(offset, "y") / _EMU_PER_POINT / height
    wide, high = _number(extent, "cx") / _EMU_PER_POINT / width, _number(extent, "cy") / _EMU_PER_POINT / height
    if not (0 <= x < 1 and 0 <= y < 1):
        return None
    return Box(round(x, 5), round(y, 5), round(min(wide, 1 - x), 5), round(min(high, 1 - y), 5))


def _number(element: Element | None, name: str) -> float:
    value = element.get(name) if element is not None else None
    try:
        return float(value or 0)
    except ValueError:
        return 0.0
