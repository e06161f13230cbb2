"""Documents are read in a child: what comes out of it, and what it says of files that cannot be read."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import psutil
import pytest

from reveries.errors import DocumentError, DocumentFault
from reveries.knowledge.reading.layout import Box, CutPage, DocumentForm, TextSource
from reveries.tools.document_reader import SandboxedDocumentReader
from reveries.tools.sandbox import Sandbox, find_sandbox
from tests.fakes.made_pdf import MadePage, make_pdf, make_text_pdf

OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.fixture
async def reader() -> AsyncIterator[SandboxedDocumentReader]:
    reader = SandboxedDocumentReader(await asyncio.to_thread(find_sandbox))
    yield reader
    await reader.close()


def put(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


async def read_all(reader: SandboxedDocumentReader, path: Path, first_page: int = 1) -> list[CutPage]:
    return [page async for page in reader.read(path, first_page=first_page)]


async def fault_of(reader: SandboxedDocumentReader, path: Path) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        await read_all(reader, path)
    assert caught.value.message.startswith((path.name, "The program")), caught.value.message
    assert caught.value.message.endswith(".")
    return caught.value


async def test_a_line_of_a_pdf_is_read_with_the_place_where_the_eye_sees_it(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    path = put(tmp_path, "beam.pdf", make_pdf([MadePage([(72, 120, 14, "Beam B7 carries 38 kN.")])]))
    (page,) = await read_all(reader, path)
    assert page.text == "Beam B7 carries 38 kN."
    assert page.text_from is TextSource.LAYER
    (pointer,) = page.pointers
    ((number, box),) = [(placed.page, placed.box) for placed in pointer.boxes]
    assert number == 1
    assert abs(box.x * 612 - 72) < 3
    assert 100 < box.y * 792 < 120 < (box.y + box.height) * 792 < 130


async def test_words_of_a_line_that_is_set_tight_stay_apart(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    tight = MadePage(raw="BT /F1 12 Tf -2.9 Tw 1 0 0 1 72 672 Tm (As of November 27 we employed 412 people.) Tj ET")
    (page,) = await read_all(reader, put(tmp_path, "tight.pdf", make_pdf([tight])))
    assert page.text == "As of November 27 we employed 412 people."


async def test_boxes_of_a_turned_and_cropped_page_count_from_the_corner_that_is_seen(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    turned = MadePage([(100, 200, 12, "Column C4 stands on pile 12.")], rotation=90)
    cropped = MadePage([(150, 200, 12, "Inside the crop box."), (10, 700, 12, "Cut away")], crop=(100, 200, 612, 792))
    pages = await read_all(reader, put(tmp_path, "places.pdf", make_pdf([turned, cropped])))
    assert (pages[0].width, pages[0].height) == (792, 612)
    box = pages[0].pointers[0].boxes[0].box
    assert abs(box.y * 612 - 100) < 3
    assert box.height > 5 * box.width
    assert pages[1].text == "Inside the crop box."
    assert abs(pages[1].pointers[0].boxes[0].box.x * 512 - 50) < 3


async def test_hidden_words_do_not_come_out_as_words_of_the_page(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    hidden = (
        "BT /F1 12 Tf 1 1 1 rg 1 0 0 1 72 500 Tm (white on white) Tj ET "
        "BT /F1 12 Tf 0 0 0 rg 3 Tr 1 0 0 1 72 460 Tm (invisible) Tj ET "
        "BT /F1 0.8 Tf 0 Tr 1 0 0 1 72 440 Tm (too small to be seen) Tj ET "
        "0 0 0.6 rg 60 395 300 30 re f BT /F1 12 Tf 1 1 1 rg 1 0 0 1 72 405 Tm (white on blue) Tj ET 0 0 0 rg"
    )
    path = put(tmp_path, "warranty.pdf", make_pdf([MadePage([(72, 100, 12, "The warranty lasts.")], raw=hidden)]))
    (page,) = await read_all(reader, path)
    assert "The warranty lasts." in page.text
    assert "white on blue" in page.text
    for words in ("white on white", "invisible", "too small"):
        assert words not in page.text


async def test_a_quote_is_located_on_its_line(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    path = put(
        tmp_path,
        "lease.pdf",
        make_text_pdf("The lease begins in May.", "The rent is 950 euros a", "month, in advance."),
    )
    boxes = await reader.locate(path, 1, "rent is 950 euros a month")
    assert len(boxes) == 2
    assert boxes[0].y < boxes[1].y
    assert await reader.locate(path, 1, "rent is 905 euros") == ()


async def test_pages_are_drawn_as_pictures_of_the_asked_size(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    path = put(tmp_path, "one.pdf", make_text_pdf("Words."))
    image = await reader.page_image(path, 1, dpi=72)
    assert image.startswith(b"\x89PNG")
    assert (int.from_bytes(image[16:20]), int.from_bytes(image[20:24])) == (612, 792)
    huge = put(tmp_path, "huge.pdf", make_pdf([MadePage([(100, 100, 20, "Corner")], width=14400, height=14400)]))
    image = await reader.page_image(huge, 1, dpi=150)
    assert int.from_bytes(image[16:20]) * int.from_bytes(image[20:24]) <= 40_000_000


async def test_a_page_that_is_not_there_is_said_not_to_be(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    path = put(tmp_path, "one.pdf", make_text_pdf("Words."))
    with pytest.raises(DocumentError, match=r"one\.pdf has no page 2") as caught:
        await reader.page_image(path, 2)
    assert caught.value.fault is DocumentFault.NO_PAGE


async def test_reading_goes_on_from_any_page_with_the_same_result(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    pages = [
        MadePage([(72, 100, 12, f"Page text number {at}.")], bold=[(72, 60, 18, f"Chapter {at // 3}")])
        for at in range(9)
    ]
    path = put(tmp_path, "book.pdf", make_pdf(pages))
    whole = await read_all(reader, path)
    assert [page.number for page in whole] == list(range(1, 10))
    assert await read_all(reader, path, first_page=5) == whole[4:]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("empty.pdf", b"", DocumentFault.EMPTY),
        ("cut.pdf", make_text_pdf("Words.")[:200], DocumentFault.TRUNCATED),
        ("login.pdf", b"<!DOCTYPE html><html><body>Sign in to continue</body></html>", DocumentFault.WRONG_SUFFIX),
        ("noise.pdf", bytes(range(256)) * 40, DocumentFault.UNKNOWN_FORMAT),
        ("none.pdf", make_pdf([]), DocumentFault.EMPTY),
        ("cut.docx", b"PK\x03\x04" + b"\0" * 400, DocumentFault.TRUNCATED),
        ("letter.doc", OLD_OFFICE + "WordDocument".encode("utf-16-le"), DocumentFault.UNKNOWN_FORMAT),
    ],
)  # fmt: skip
async def test_what_cannot_be_read_is_said_in_one_sentence(
    reader: SandboxedDocumentReader, tmp_path: Path, name: str, content: bytes, fault: DocumentFault
) -> None:
    error = await fault_of(reader, put(tmp_path, name, content))
    assert error.fault is fault
    assert error.advice


async def test_a_file_that_is_not_there_is_said_not_to_be(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    assert (await fault_of(reader, tmp_path / "gone.pdf")).fault is DocumentFault.MISSING
    assert (await fault_of(reader, tmp_path)).fault is DocumentFault.MISSING


async def test_the_child_sees_the_document_and_nothing_else_of_the_home(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    sandbox = await asyncio.to_thread(find_sandbox)
    if not sandbox.can_run:
        pytest.skip(sandbox.why_not)
    command = sandbox.reading_command(put(tmp_path, "one.pdf", make_text_pdf("Words.")), "")
    at = command.index("--")
    shown = await asyncio.create_subprocess_exec(
        *command[:at], "--", "/bin/sh", "-c", f"ls /document; ls {tmp_path} {Path.home()}/*; wc -l < /proc/net/route",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    out, _ = await shown.communicate()
    assert out.decode().split() == ["/document", "1"]


async def test_documents_are_read_where_there_is_no_sandbox_as_well(tmp_path: Path) -> None:
    reader = SandboxedDocumentReader(Sandbox(why_not="none here"))
    path = put(tmp_path, "one.pdf", make_text_pdf("Words without walls."))
    summary = await reader.inspect(path)
    assert (summary.form, summary.page_count) == (DocumentForm.PDF, 1)
    assert (await read_all(reader, path))[0].text == "Words without walls."


async def test_a_page_that_takes_too_long_is_given_up_and_said(tmp_path: Path) -> None:
    reader = SandboxedDocumentReader(await asyncio.to_thread(find_sandbox), page_seconds=0.001)
    error = await fault_of(reader, put(tmp_path, "slow.pdf", make_text_pdf("Words.")))
    assert error.fault is DocumentFault.TOO_SLOW


class CrashingSandbox(Sandbox):
    """Starts a child whose library ends with page 4."""

    def reading_command(self, document: Path, media_type: str) -> list[str]:
        return [sys.executable, "-c", CRASHING_CHILD]


CRASHING_CHILD = """
import os, sys
from reveries.knowledge.reading.layout import CutPage, PageKind, TextSource
from reveries.tools.reading_child.wire import LENGTH, EndFrame, PageFrame, decode_request, pack
(length,) = LENGTH.unpack(sys.stdin.buffer.read(LENGTH.size))
request = decode_request(sys.stdin.buffer.read(length))
for at in range(request.first_page, 7):
    if at == 4 and at not in request.unreadable:
        os._exit(11)
    page = CutPage(at, "", "", PageKind.TEXT, 1.0, 1.0, 0, "words", TextSource.LAYER, "", (), ())
    sys.stdout.buffer.write(pack(PageFrame(page)))
    sys.stdout.buffer.flush()
sys.stdout.buffer.write(pack(EndFrame()))
sys.stdout.buffer.flush()
"""


async def test_a_page_that_ends_the_child_is_given_without_text_and_the_others_are_read(tmp_path: Path) -> None:
    reader = SandboxedDocumentReader(CrashingSandbox())
    pages = await read_all(reader, put(tmp_path, "six.pdf", make_text_pdf("Words.")))
    assert [page.number for page in pages] == [1, 2, 3, 4, 5, 6]
    assert [page.text_from for page in pages].count(TextSource.NONE) == 1
    assert pages[3].reflection == "This page could not be read."


async def test_reading_that_is_broken_off_leaves_no_child(reader: SandboxedDocumentReader, tmp_path: Path) -> None:
    path = put(tmp_path, "long.pdf", make_pdf([MadePage([(72, 100, 12, f"Page {at}.")]) for at in range(20)]))
    pages = reader.read(path)
    assert isinstance(pages, AsyncGenerator)
    assert (await anext(pages)).number == 1
    await pages.aclose()
    assert not psutil.Process().children()


async def test_an_interrupted_request_does_not_answer_the_next_one(
    reader: SandboxedDocumentReader, tmp_path: Path
) -> None:
    path = put(
        tmp_path, "two.pdf", make_pdf([MadePage([(72, 100, 12, "First.")]), MadePage([(72, 100, 12, "Second.")])])
    )
    await reader.page_image(path, 1)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await reader.page_image(path, 1, dpi=300)
    assert await reader.locate(path, 2, "Second.") != ()
    assert all(isinstance(box, Box) for box in await reader.locate(path, 1, "First."))
