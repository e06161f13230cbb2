"""Mail: sender, date and subject, the text once, and what is attached."""

import email
import email.policy
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from reveries.knowledge.reading.flow import FlowBlock
from reveries.knowledge.reading.layout import DocumentForm, PointerKind
from reveries.tools.reading_child.flow_document import FlowDocument
from reveries.tools.reading_child.html import decode_html, html_blocks
from reveries.tools.reading_child.plain_text import paragraph_blocks

_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")


def open_mail(path: str) -> FlowDocument:
    """Open a mail. Raises RefusalError."""
    with Path(path).open("rb") as file:
        message = email.message_from_binary_file(file, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    subject = _header(message, "Subject")
    attached = tuple(f"Attached, and not read: {name}. Add it by itself." for name in _attachments(message))
    return FlowDocument(DocumentForm.EMAIL, [*_blocks(message, subject)], title=subject, remarks=attached)


def _blocks(message: EmailMessage, subject: str) -> Iterator[FlowBlock]:
    head = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    yield FlowBlock(PointerKind.PARAGRAPH, "\n".join(head), title=subject or "Mail")
    body = message.get_body(("plain", "html"))
    if body is None:
        return
    content = body.get_payload(decode=True)
    raw = content if isinstance(content, bytes) else b""
    if body.get_content_type() == "text/html":
        yield from html_blocks(LexborHTMLParser(decode_html(raw)))
    else:
        yield from paragraph_blocks(_decode(raw, body.get_content_charset("utf-8")))


def _decode(raw: bytes, charset: str) -> str:
    try:
        return raw.decode(charset)
    except (UnicodeDecodeError, LookupError):
        return raw.decode("utf-8", "replace")


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, AttributeError):  # The parser of headers stumbles over some that are malformed.
        return ""


def _attachments(message: EmailMessage) -> Iterator[str]:
    for number, part in enumerate(message.iter_attachments(), 1):
        yield " ".join((part.get_filename() or f"part {number} ({part.get_content_type()})").split())
