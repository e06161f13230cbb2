"""`reveries document`: what is shown of files that are read, and of a place on its picture."""

import struct
import zlib
from pathlib import Path

import pytest

from reveries.client.citation_lines import citation_lines
from reveries.client.features.document import documents_page
from reveries.client.page_picture import outline_boxes
from reveries.protocol import CitationEntry, DocumentLine, Documents, PlaceBox
from reveries.tools.reading_child.png import encode_png
from tests.client.test_looking_pages import text_of

BOX = PlaceBox(3, 0.25, 0.5, 0.5, 0.25)


def line(**changes: object) -> DocumentLine:
    fields: dict[str, object] = {
        "document_id": "x1", "number": 1, "name": "plans.pdf", "path": "/plans.pdf", "media_type": "application/pdf",
        "bytes": 2_000_000, "version": 1, "is_own": False, "added_at": 0.0, "reading": "complete", "failure": "",
        "pages": 12, "page_count": 12, "to_recognise": 0, "unrecognised": 0,
    }  # fmt: skip
    return DocumentLine(**(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, "12 pages"),
        ({"reading": "processing", "pages": 3}, "reading, 3 of 12 pages"),
        ({"reading": "pending", "pages": 0, "page_count": 0}, "waits"),
        ({"reading": "failed", "failure": "encrypted", "pages": 0}, "it needs a password"),
        ({"to_recognise": 2}, "2 pictures of text to read"),
        ({"unrecognised": 1}, "1 picture of text not read: document retry"),
        ({"version": 2}, "version 2"),
    ],
)
def test_the_list_says_how_far_each_is_read_and_why_one_failed(changes: dict[str, object], shown: str) -> None:
    assert shown in text_of(documents_page(Documents(0, "Canopy", [line(**changes)])))


def test_a_project_without_documents_says_how_to_add_one() -> None:
    assert "reveries document add FILE" in text_of(documents_page(Documents(0, "Canopy", [])))


def cited(state: str, **changes: object) -> CitationEntry:
    fields: dict[str, object] = {
        "short_id": "d1.p3.b2", "state": state, "made_by": "model", "document": "plans.pdf", "page_number": 3,
        "page_label": "A2.01", "quote": "a snow load", "boxes": [BOX],
    }  # fmt: skip
    return CitationEntry(**(fields | changes))  # type: ignore[arg-type]


def test_only_what_stands_on_its_page_is_shown_as_a_place_to_open() -> None:
    [link] = citation_lines([cited("on_page")])
    assert "plans.pdf, page A2.01, 25% from the left and 50% from the top: “a snow load”" in link
    assert link.endswith("reveries document show d1 --page 3")
    for state, shown in (("not_on_page", "not found on the page"), ("not_offered", "it was shown no such place")):
        [other] = citation_lines([cited(state)])
        assert shown in other
        assert "document show" not in other
        assert "plans.pdf" not in other
    assert "not cited by the model" in citation_lines([cited("on_page", made_by="rules")])[0]
    assert citation_lines([cited("not_in_documents")]) == ["Not in these documents: looked at plans.pdf"]


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_box_is_drawn_where_it_lies_and_nothing_else_changes(channels: int) -> None:
    width, height = 40, 20
    drawn = outline_boxes(encode_png(b"\xff" * (width * height * channels), width, height, channels), [BOX])
    at = drawn.index(b"IDAT")
    (length,) = struct.unpack(">I", drawn[at - 4 : at])
    rows = zlib.decompress(drawn[at + 4 : at + 4 + length])
    size = 1 + width * channels

    def is_white(x: int, y: int) -> bool:
        start = y * size + 1 + x * channels
        return rows[start : start + channels] == b"\xff" * channels

    assert not is_white(10, 10)
    assert not is_white(20, 10)
    assert not is_white(30, 14)
    assert is_white(20, 13)
    assert is_white(9, 10)
    assert is_white(31, 15)


@pytest.mark.parametrize("png", [b"", b"GIF89a", encode_png(b"\0" * 3, 1, 1, 3)[:40]])
def test_what_is_no_picture_of_the_reading_child_is_refused(png: bytes) -> None:
    with pytest.raises((ValueError, zlib.error)):
        outline_boxes(png, [BOX])


def test_the_names_of_hidden_files_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    from reveries.client.features.document import _files_of

    for name in ("a.pdf", ".b.pdf", "c/.git/d.pdf", "c/e.pdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [file.relative_to(tmp_path).as_posix() for file in _files_of((tmp_path,))] == ["a.pdf", "c/e.pdf"]
