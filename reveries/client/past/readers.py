"""The formats that are read, and the choice of the one that fits a whole file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reveries.client.past.chatgpt import CHATGPT_EXPORT
from reveries.client.past.claude import CLAUDE_EXPORT
from reveries.client.past.dated_lines import DATED_LINES
from reveries.client.past.instagram import INSTAGRAM_EXPORT
from reveries.client.past.json_lines import JSON_LINES
from reveries.client.past.open_webui import OPEN_WEBUI_EXPORT
from reveries.client.past.parsed import Document, ParsedFile, ReadChoices, Reader
from reveries.client.past.signal_messages import SIGNAL_MESSAGES
from reveries.client.past.source_file import load_documents, refuse
from reveries.client.past.telegram import TELEGRAM_EXPORT
from reveries.client.past.transcript import TRANSCRIPT

READERS: Final[tuple[Reader, ...]] = (
    CHATGPT_EXPORT,
    CLAUDE_EXPORT,
    OPEN_WEBUI_EXPORT,
    TELEGRAM_EXPORT,
    INSTAGRAM_EXPORT,
    SIGNAL_MESSAGES,
    JSON_LINES,
    DATED_LINES,
    TRANSCRIPT,
)
"""The stricter before the more general: the first that fits is taken."""


def read_past_file(file: Path, choices: ReadChoices) -> ParsedFile:
    """Read `file` in the format that fits it. Raises InputFileError if it cannot be read, InputDataError if it has no
    message that could be imported."""
    documents = load_documents(file)
    parsed = read_documents(documents, choices)
    if parsed is None:
        raise refuse(file, _why_none_fits(documents))
    if not parsed.message_count:
        raise refuse(file, f"{parsed.form}: {parsed.unread[0]}" if parsed.unread else f"this {parsed.form} has no text")
    return parsed


def read_documents(documents: Sequence[Document], choices: ReadChoices) -> ParsedFile | None:
    """Read the documents of a file or an archive; None if none is in a known format. Of an archive, files in another
    format than the first that is recognized are not conversations."""
    for reader in READERS:
        if fitting := [document for document in documents if reader.fits(document)]:
            return reader.read(fitting, choices)
    return None


def _why_none_fits(documents: Sequence[Document]) -> str:
    if not documents:
        return "the archive has no conversations"
    if len(documents) > 1:
        return "no file of the archive is in a known format"
    [document] = documents
    if not document.text.strip():
        return "it is empty, or not UTF-8 text"
    if document.value is None and document.text.lstrip()[:1] in ("[", "{"):
        return "it is neither whole JSON nor a chat in a known form"
    if document.value is not None:
        return "it is JSON, but in no known format"
    return 'no line begins with a name, like "Ada: Good morning"'
