"""What a file is, by its first bytes; its name and what a sender said decide only between kinds of plain text."""

import zipfile
from pathlib import Path
from typing import Final

from reveries.errors import DocumentFault
from reveries.knowledge.reading.layout import DocumentForm
from reveries.tools.reading_child.refusal import RefusalError

MOST_BYTES: Final = 2_000_000_000
_HEAD_BYTES: Final = 8_192
_IMAGES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*")
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP: Final = b"PK\x03\x04"
_SUFFIXES: Final = {
    ".pdf": DocumentForm.PDF, ".docx": DocumentForm.DOCX, ".docm": DocumentForm.DOCX, ".pptx": DocumentForm.PPTX,
    ".pptm": DocumentForm.PPTX, ".html": DocumentForm.HTML, ".htm": DocumentForm.HTML, ".xhtml": DocumentForm.HTML,
    ".epub": DocumentForm.EPUB, ".xlsx": DocumentForm.WORKBOOK, ".xlsm": DocumentForm.WORKBOOK,
    ".xlsb": DocumentForm.WORKBOOK, ".xls": DocumentForm.WORKBOOK, ".ods": DocumentForm.WORKBOOK,
    ".csv": DocumentForm.CSV, ".tsv": DocumentForm.CSV, ".eml": DocumentForm.EMAIL, ".png": DocumentForm.IMAGE,
    ".jpg": DocumentForm.IMAGE, ".jpeg": DocumentForm.IMAGE, ".gif": DocumentForm.IMAGE, ".bmp": DocumentForm.IMAGE,
    ".tif": DocumentForm.IMAGE, ".tiff": DocumentForm.IMAGE, ".webp": DocumentForm.IMAGE, ".md": DocumentForm.MARKDOWN,
    ".markdown": DocumentForm.MARKDOWN, ".txt": DocumentForm.TEXT, ".text": DocumentForm.TEXT,
}  # fmt: skip
_MEDIA_TYPES: Final = {
    "text/html": DocumentForm.HTML, "text/csv": DocumentForm.CSV, "text/tab-separated-values": DocumentForm.CSV,
    "message/rfc822": DocumentForm.EMAIL, "text/markdown": DocumentForm.MARKDOWN, "text/plain": DocumentForm.TEXT,
}  # fmt: skip
_PLAIN: Final = frozenset(
    {DocumentForm.TEXT, DocumentForm.MARKDOWN, DocumentForm.CSV, DocumentForm.EMAIL, DocumentForm.HTML}
)
_NAMES: Final = {
    DocumentForm.PDF: "a PDF", DocumentForm.DOCX: "a Word document", DocumentForm.PPTX: "a PowerPoint presentation",
    DocumentForm.HTML: "a web page (HTML)", DocumentForm.EPUB: "an e-book (EPUB)", DocumentForm.WORKBOOK: "a workbook",
    DocumentForm.CSV: "a table (CSV)", DocumentForm.EMAIL: "a mail", DocumentForm.IMAGE: "a picture",
    DocumentForm.MARKDOWN: "Markdown", DocumentForm.TEXT: "plain text",
}  # fmt: skip
_FORMATS: Final = "Read are PDF, DOCX, PPTX, XLSX, XLS, ODS, CSV, HTML, EPUB, EML, pictures, Markdown and plain text."


def detect_form(path: Path, name: str, media_type: str) -> DocumentForm:
    """The format of a file. Raises RefusalError if it is empty, too large, of no known format, or not what it says."""
    size = path.stat().st_size
    if size == 0:
        raise RefusalError(DocumentFault.EMPTY, "is empty (0 bytes)", "Fetch it again.")
    if size > MOST_BYTES:
        limit = MOST_BYTES // 1_000_000_000
        raise RefusalError(DocumentFault.TOO_LARGE, f"has more than {limit} GB", "Split it into parts.")
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    suffix = Path(name).suffix.lower()
    stated = _SUFFIXES.get(suffix)
    form = _binary_form(path, head) or _plain_form(head, stated, media_type)
    if form is None:
        raise RefusalError(DocumentFault.UNKNOWN_FORMAT, "is of a format that is not read", _FORMATS)
    if stated is not None and stated is not form and not (form in _PLAIN and stated in _PLAIN):
        raise RefusalError(
            DocumentFault.WRONG_SUFFIX,
            f"is named {suffix}, but what is in it is {_NAMES[form]}",
            "Look whether it is the file you mean, and give it the right name." if form not in _PLAIN
            else "Look whether it is the file you mean: this may be a login or error page that was saved in its place.",
        )  # fmt: skip
    return form


def _binary_form(path: Path, head: bytes) -> DocumentForm | None:
    if b"%PDF-" in head[:1024]:
        return DocumentForm.PDF
    if head.startswith(_IMAGES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP"):
        return DocumentForm.IMAGE
    if head.startswith(_ZIP):
        return _zip_form(path)
    if head.startswith(_OLE):
        return _ole_form(path)
    return None


def _zip_form(path: Path) -> DocumentForm | None:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            kind = archive.read("mimetype")[:100] if "mimetype" in names else b""
    except (zipfile.BadZipFile, OSError, RuntimeError, ValueError, EOFError) as error:
        raise RefusalError(
            DocumentFault.TRUNCATED, "is damaged: its end is missing or its parts do not open", "Fetch it again."
        ) from error
    if "word/document.xml" in names:
        return DocumentForm.DOCX
    if "ppt/presentation.xml" in names:
        return DocumentForm.PPTX
    if any(name.startswith("xl/workbook") for name in names) or b"opendocument.spreadsheet" in kind:
        return DocumentForm.WORKBOOK
    if b"epub" in kind or "META-INF/container.xml" in names:
        return DocumentForm.EPUB
    return None


def _ole_form(path: Path) -> DocumentForm | None:
    """The container of old Office files, and of new ones with a password. Its names are UTF-16."""
    with path.open("rb") as file:
        content = file.read(64_000_000)
    if "EncryptedPackage".encode("utf-16-le") in content:
        raise RefusalError(DocumentFault.ENCRYPTED, "needs a password", "Save a copy without one, and add the copy.")
    if "Workbook".encode("utf-16-le") in content or "Book\0".encode("utf-16-le") in content:
        return DocumentForm.WORKBOOK
    for mark, old, new in (("WordDocument", "DOC", "DOCX"), ("PowerPoint Document", "PPT", "PPTX")):
        if mark.encode("utf-16-le") in content:
            what = f"is an old Office file (.{old.lower()}), which is not read"
            raise RefusalError(DocumentFault.UNKNOWN_FORMAT, what, f"Save it as {new}, and add that.")
    return None


def _plain_form(head: bytes, stated: DocumentForm | None, media_type: str) -> DocumentForm | None:
    """Text of some kind, if it is text at all."""
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not is_wide and (b"\0" in head or sum(byte < 9 or 13 < byte < 32 for byte in head) > len(head) * 0.02):
        return None
    begin = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:512].lower()
    if begin.startswith((b"<!doctype html", b"<html", b"<?xml")) and (b"<html" in head.lower() or b"html" in begin):
        return DocumentForm.HTML
    if stated in _PLAIN:
        return stated
    return _MEDIA_TYPES.get(media_type.split(";")[0].strip().lower(), DocumentForm.TEXT)
