"""HTML: what a browser would show, as blocks. Scripts, comments and hidden elements are not part of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from reveries.knowledge.reading.flow import FlowBlock, table_text
from reveries.knowledge.reading.layout import DocumentForm, PointerKind
from reveries.tools.reading_child.flow_document import FlowDocument

_UNSHOWN: Final = "script, style, noscript, template, iframe, object, svg, head, [hidden], input[type=hidden], datalist"
_HIDING: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d])|opacity\s*:\s*0(?![.\d])", re.IGNORECASE
)
_CHARSET: Final = re.compile(rb"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_BLOCKS: Final = frozenset(
    {"p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "ol", "dl", "form", "body",
     "blockquote", "figure", "figcaption", "address", "fieldset", "details", "summary", "center", "td", "th", "hr"}
)  # fmt: skip
_ITEMS: Final = frozenset({"li", "dt", "dd"})
_SPAN_LIMIT: Final = 60
_MOST_DEPTH: Final = 200


def open_html(path: str) -> FlowDocument:
    """Open a web page. Raises RefusalError."""
    tree = LexborHTMLParser(decode_html(Path(path).read_bytes()))
    title = tree.css_first("title")
    stated = " ".join(title.text(deep=True).split()) if title else ""
    return FlowDocument(DocumentForm.HTML, html_blocks(tree), title=stated)


def decode_html(content: bytes) -> str:
    """By its byte order mark, what it states, else UTF-8 or the Western Windows-1252, as browsers do."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    stated = _CHARSET.search(content[:4_096])
    for encoding in ((stated.group(1).decode("ascii", "replace") if stated else "utf-8"), "utf-8"):
        try:
            return content.decode("cp1252" if encoding.lower() in ("iso-8859-1", "latin1", "ascii") else encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("cp1252", "replace")


def html_blocks(tree: LexborHTMLParser) -> Iterator[FlowBlock]:
    """Headings, paragraphs, lists and tables in their order."""
    for node in tree.css(_UNSHOWN):
        node.decompose()
    for node in tree.css("[style]"):
        if _HIDING.search(node.attributes.get("style") or ""):
            node.decompose()
    if tree.body is not None:
        yield from _walk(tree.body)


def _walk(root: Any) -> Iterator[FlowBlock]:
    """Blocks of an element; text between them is a paragraph."""
    loose: list[str] = []
    for node in _children(root):
        tag = node.tag
        is_block = tag in _BLOCKS or tag in _ITEMS or tag in ("table", "pre") or re.fullmatch(r"h[1-6]", tag or "")
        if not is_block:
            loose.append("\n" if tag == "br" else node.text(deep=False) if tag == "-text" else "")
            continue
        yield from _paragraph(loose)
        loose = []
        if tag == "table":
            text = table_text(_table_rows(node))
            yield FlowBlock(PointerKind.TABLE, text, title=_caption(node))
        elif tag == "pre":
            yield FlowBlock(PointerKind.PARAGRAPH, node.text(deep=True).strip("\n"))
        elif tag is not None and re.fullmatch(r"h[1-6]", tag):
            yield FlowBlock(PointerKind.PARAGRAPH, _flat(node.text(deep=True, separator="")), level=int(tag[1]))
        elif tag in _ITEMS and not _has_blocks(node):
            yield FlowBlock(PointerKind.LIST, f"• {_flat(node.text(deep=True, separator=''))}")
    yield from _paragraph(loose)


def _children(root: Any) -> Iterator[Any]:
    """All nodes below an element in document order, but not those within what is read whole."""
    waiting = [(child, 0) for child in reversed(list(root.iter(include_text=True)))]
    while waiting:
        node, level = waiting.pop()
        yield node
        tag = node.tag
        whole = tag in ("table", "pre", "-text") or re.fullmatch(r"h[1-6]", tag or "")
        if whole or (tag in _ITEMS and not _has_blocks(node)) or level >= _MOST_DEPTH:
            continue
        waiting += [(child, level + 1) for child in reversed(list(node.iter(include_text=True)))]


def _has_blocks(node: Any) -> bool:
    return node.css_first("p, ul, ol, table, div, h1, h2, h3, h4, h5, h6") is not None


def _paragraph(loose: list[str]) -> Iterator[FlowBlock]:
    for part in "".join(loose).split("\n\n\n"):
        text = _flat(part)
        if text:
            yield FlowBlock(PointerKind.PARAGRAPH, text)


def _caption(table: Any) -> str:
    caption = table.css_first("caption")
    return _flat(caption.text(deep=True)) if caption else ""


def _table_rows(table: Any) -> Iterator[list[str]]:
    """Rows with their cells; a cell that spans rows or columns stands in each of them."""
    below: dict[int, tuple[int, str]] = {}
    for row in table.css("tr"):
        cells: list[str] = []
        for cell in row.css("td, th"):
            while below.get(len(cells), (0, ""))[0] > 0:
                cells.append(_take(below, len(cells)))
            text = _flat(cell.text(deep=True, separator=" "))
            rows, columns = (_span(cell, name) for name in ("rowspan", "colspan"))
            for at in range(len(cells), len(cells) + columns):
                if rows > 1:
                    below[at] = (rows - 1, text)
            cells += [text] + [""] * (columns - 1)
        while below.get(len(cells), (0, ""))[0] > 0:
            cells.append(_take(below, len(cells)))
        yield cells


def _take(below: dict[int, tuple[int, str]], at: int) -> str:
    left, text = below[at]
    below[at] = (left - 1, text)
    return text


def _span(cell: Any, name: str) -> int:
    value = cell.attributes.get(name) or "1"
    return min(_SPAN_LIMIT, max(1, int(value))) if value.isdigit() else 1


def _flat(text: str) -> str:
    return " ".join(text.split())
