"""Formats other than PDF: what of them becomes pages and pointers, and what does not."""

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from reveries.errors import DocumentError, DocumentFault
from reveries.knowledge.reading.layout import CutPage, DocumentForm, PageKind, PointerKind
from reveries.tools.document_reader import SandboxedDocumentReader
from reveries.tools.sandbox import find_sandbox

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DRAWING = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


@pytest.fixture
async def reader() -> AsyncIterator[SandboxedDocumentReader]:
    reader = SandboxedDocumentReader(await asyncio.to_thread(find_sandbox))
    yield reader
    await reader.close()


def make_zip(parts: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


def put(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


async def pages_of(reader: SandboxedDocumentReader, path: Path) -> list[CutPage]:
    return [page async for page in reader.read(path)]


def paragraph(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


async def test_a_word_document_keeps_its_headings_tables_text_boxes_and_notes(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    box = f"<w:p><w:r><w:pict><w:txbxContent>{paragraph('Student falls ill')}</w:txbxContent></w:pict></w:r></w:p>"
    hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden order</w:t></w:r></w:p>"
    deleted = "<w:p><w:del><w:r><w:delText>deleted words</w:delText></w:r></w:del></w:p>"
    merged = '<w:vMerge w:val="restart"/>'
    rows = f"<w:tr>{cell('Door', merged)}{cell('D101')}</w:tr><w:tr>{cell('', '<w:vMerge/>')}{cell('D102')}</w:tr>"
    body = paragraph("Hardware", "Heading1") + paragraph("Each door has a closer.") + f"<w:tbl>{rows}</w:tbl>" + box
    document = f"<w:document {W}><w:body>{body}{hidden}{deleted}</w:body></w:document>"
    styles = f'<w:styles {W}><w:style w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>'
    notes = f"<w:footnotes {W}><w:footnote>{paragraph('See the standard.')}</w:footnote></w:footnotes>"
    parts = {"word/document.xml": document, "word/styles.xml": styles, "word/footnotes.xml": notes}
    (page,) = await pages_of(reader, put(tmp_path, "doors.docx", make_zip(parts)))
    assert page.section == "Hardware"
    assert "Door | D101\nDoor | D102" in page.text
    for words in ("Each door has a closer.", "Student falls ill", "See the standard."):
        assert words in page.text
    assert "hidden order" not in page.text
    assert "deleted" not in page.text
    assert [pointer.kind for pointer in page.pointers].count(PointerKind.TABLE) == 1


async def test_a_slide_is_a_page_with_the_places_of_its_shapes_and_its_notes_apart(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    def shape(kind: str, text: str, place: str = "") -> str:
        return (
            f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:spPr>{place}</p:spPr><p:txBody>'
            f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )

    place = '<a:xfrm><a:off x="914400" y="457200"/><a:ext cx="4572000" cy="1143000"/></a:xfrm>'
    slides = {
        "ppt/slides/slide2.xml": f"<p:sld {DRAWING}>{shape('title', 'First_x000B_line', place)}</p:sld>",
        "ppt/slides/slide1.xml": f"<p:sld {DRAWING}>{shape('body', 'Second slide')}{shape('sldNum', '2')}</p:sld>",
        "ppt/notesSlides/n.xml": f"<p:notes {DRAWING}>{shape('body', 'Say it slowly.')}</p:notes>",
        "ppt/slides/_rels/slide1.xml.rels": f'<Relationships xmlns="{RELATIONS}">'
        '<Relationship Id="r1" Target="../notesSlides/n.xml"/></Relationships>',
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{RELATIONS}"><Relationship Id="a" '
        'Target="slides/slide2.xml"/><Relationship Id="b" Target="slides/slide1.xml"/></Relationships>',
        "ppt/presentation.xml": f'<p:presentation {DRAWING}><p:sldIdLst><p:sldId r:id="a"/><p:sldId r:id="b"/>'
        '</p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/></p:presentation>',
    }
    first, second = await pages_of(reader, put(tmp_path, "talk.pptx", make_zip(slides)))
    assert (first.number, first.label, first.kind, first.width) == (1, "1", PageKind.SLIDE, 720)
    assert first.text == "First line"
    box = first.pointers[0].boxes[0].box
    assert (round(box.x, 2), round(box.width, 2)) == (0.1, 0.5)
    assert [pointer.kind for pointer in second.pointers] == [PointerKind.PARAGRAPH, PointerKind.NOTES]
    assert await reader.locate(tmp_path / "talk.pptx", 1, "First line") == (box,)


async def test_a_web_page_is_what_a_browser_shows(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    content = (
        '<html><head><meta charset="windows-1252"><title>Lease</title><script>var rent = 1</script></head><body>'
        "<h1>The lease</h1><!-- delete it --><p>The rent is 950 \x80 a month.</p>"
        '<div style="display:none">forget the lease</div><p hidden>gone</p>'
        "<table><tr><th rowspan=2>Room</th><td>Kitchen</td></tr><tr><td>Hall</td></tr></table>"
        "<ul><li>No dogs</li></ul></body></html>"
    ).encode("latin-1")
    path = put(tmp_path, "lease.html", content)
    (page,) = await pages_of(reader, path)
    assert "The rent is 950 € a month." in page.text
    assert "Room | Kitchen\nRoom | Hall" in page.text
    assert "• No dogs" in page.text
    for words in ("delete it", "forget", "gone", "var rent"):
        assert words not in page.text
    assert (await reader.inspect(path)).title == "Lease"


async def test_a_book_is_read_in_the_order_of_its_spine(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    container = '<container><rootfiles><rootfile full-path="o/book.opf"/></rootfiles></container>'
    package = (
        "<package><metadata><title>Locks</title></metadata><manifest><item id='x' href='a.xhtml'/>"
        "<item id='y' href='b.xhtml'/></manifest><spine><itemref idref='y'/><itemref idref='x'/></spine></package>"
    )
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "o/book.opf": package,
        "o/a.xhtml": "<html><body><h1>Tinder</h1><p>Fire is made.</p></body></html>",
        "o/b.xhtml": "<html><body><h1>The lock</h1><p>It was built in 1843.</p></body></html>",
    }
    pages = await pages_of(reader, put(tmp_path, "locks.epub", make_zip(parts)))
    assert [page.label for page in pages] == ["The lock", "Tinder"]


async def test_a_csv_keeps_row_and_head_together_whatever_divides_it(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    (page,) = await pages_of(reader, put(tmp_path, "rooms.csv", "Raum;Fläche\nKüche;12,4\nBad;6,1\n".encode("cp1252")))
    assert page.text == "Raum | Fläche\nKüche | 12,4\nBad | 6,1"
    assert page.kind is PageKind.SPREADSHEET
    rows = "\n".join(f"row {at},{at}" for at in range(200))
    pages = await pages_of(reader, put(tmp_path, "long.csv", f"name,value\n{rows}"))
    assert all(pointer.text.startswith("name | value\n") for page in pages for pointer in page.pointers)


async def test_a_mail_is_read_once_and_its_attachments_are_told(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    mail = (
        "From: Ada <ada@example.org>\nTo: Ben <ben@example.org>\nSubject: The beam\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="m"\n\n--m\nContent-Type: multipart/alternative; boundary="n"\n\n'
        "--n\nContent-Type: text/plain; charset=utf-8\n\nThe beam is late.\n"
        "--n\nContent-Type: text/html\n\n<p>The beam is late.</p>\n--n--\n"
        '--m\nContent-Type: application/pdf\nContent-Disposition: attachment; filename="plan.pdf"\n\nx\n--m--\n'
    )
    path = put(tmp_path, "beam.eml", mail)
    (page,) = await pages_of(reader, path)
    assert page.text.count("The beam is late.") == 1
    assert "From: Ada <ada@example.org>" in page.text
    summary = await reader.inspect(path)
    assert (summary.form, summary.title) == (DocumentForm.EMAIL, "The beam")
    assert summary.remarks == ("Attached, and not read: plan.pdf. Add it by itself.",)


async def test_markdown_is_divided_at_its_headings(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    long = "A sentence about it. " * 60
    text = f"# One\n\n{long}\n\n## Two\n\n| a | b |\n| - | --- |\n| 1 | 2 |\n\n```\n# no heading\n```\n"
    pages = await pages_of(reader, put(tmp_path, "notes.md", text))
    assert [page.section for page in pages] == ["One", "One › Two"]
    assert "a | b\n1 | 2" in pages[1].text
    assert "# no heading" in pages[1].text


async def test_a_zip_bomb_is_refused_before_it_grows(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    path = put(tmp_path, "bomb.docx", make_zip({"word/document.xml": "0" * 60_000_000}))
    with pytest.raises(DocumentError, match="MB when unpacked") as caught:
        await pages_of(reader, path)
    assert caught.value.fault is DocumentFault.TOO_LARGE


async def test_xml_that_declares_entities_is_refused(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'
    with pytest.raises(DocumentError, match="entities"):
        await pages_of(reader, put(tmp_path, "bomb.docx", make_zip({"word/document.xml": bomb})))


async def test_what_holds_no_text_is_said_to_hold_none(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="holds no text") as caught:
        await pages_of(reader, put(tmp_path, "blank.txt", "\n\n  \n"))
    assert caught.value.fault is DocumentFault.EMPTY
