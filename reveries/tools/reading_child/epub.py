"""EPUB: the chapters in the order of the spine."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from reveries.knowledge.reading.flow import FlowBlock
from reveries.knowledge.reading.layout import DocumentForm, PointerKind
from reveries.tools.reading_child.flow_document import FlowDocument
from reveries.tools.reading_child.html import decode_html, html_blocks
from reveries.tools.reading_child.zip_reading import Archive, damage, local_name


def open_epub(path: str) -> FlowDocument:
    """Open an e-book. Raises RefusalError."""
    archive = Archive(path)
    container = archive.read_xml("META-INF/container.xml")
    roots = (
        [item.get("full-path") for item in container.iter() if local_name(item) == "rootfile"]
        if container is not None
        else []
    )
    package = archive.read_xml(roots[0]) if roots and roots[0] else None
    if package is None:
        raise damage("it has no list of its chapters")
    title = next((item.text or "" for item in package.iter() if local_name(item) == "title"), "")
    files = {item.get("id"): item.get("href") for item in package.iter() if local_name(item) == "item"}
    spine = [files.get(item.get("idref")) for item in package.iter() if local_name(item) == "itemref"]
    folder = posixpath.dirname(roots[0] or "")
    names = [posixpath.normpath(posixpath.join(folder, unquote(name))) for name in spine if name]
    return FlowDocument(DocumentForm.EPUB, _chapters(archive, names), title=title.strip())


def _chapters(archive: Archive, names: list[str]) -> Iterator[FlowBlock]:
    for number, name in enumerate(names, 1):
        blocks = list(html_blocks(LexborHTMLParser(decode_html(archive.read(name)))))
        heading = next((block.text for block in blocks if block.level), "")
        if blocks:
            yield FlowBlock(PointerKind.PARAGRAPH, "", label=heading or f"Chapter {number}")
            yield from blocks
