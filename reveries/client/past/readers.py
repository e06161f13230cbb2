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
from reveries.client.past.parsed import (
    ExportDocument,
    ExportReader,
    ParsedConversation,
    ParsedFile,
    PastMessage,
    ReadChoices,
)
from reveries.client.past.signal_messages import SIGNAL_MESSAGES
from reveries.client.past.source_file import load_documents, refuse
from reveries.client.past.telegram import TELEGRAM_EXPORT
from reveries.client.past.transcript import TRANSCRIPT

READERS: Final[tuple[ExportReader, ...]] = (
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
_EARLIEST: Final = -30_610_224_000.0
"""The year 1000, in unix seconds: a time in a zone may lie before all that a clock can tell."""
_AHEAD_SECONDS: Final = 2 * 86_400.0
"""A clock that is wrong, and zones: more than this ahead is no past talk."""


def read_past_file(file: Path, choices: ReadChoices) -> ParsedFile:
    """Read `file` in the format that fits it. Raises InputFileError if it cannot be read, InputDataError if it has no
    message that could be imported."""
    documents = load_documents(file)
    parsed = read_documents(documents, choices)
    if parsed is None:
        raise refuse(file, _why_none_fits(documents))
    _drop_impossible_times(parsed, choices.now)
    if not parsed.message_count:
        raise refuse(file, f"{parsed.form}: {parsed.unread[0]}" if parsed.unread else f"this {parsed.form} has no text")
    return parsed


def read_documents(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile | None:
    """Read the documents of a file or an archive; None if none is in a known format. Of an archive, files in another
    format than the first that is recognized are not conversations."""
    for reader in READERS:
        if fitting := [document for document in documents if reader.fits(document)]:
            return reader.read(fitting, choices)
    return None


def _drop_impossible_times(parsed: ParsedFile, now: float) -> None:
    """Take out the messages of a time that no memory can be of, and name them as not read: a slip of the year."""
    for place, conversation in enumerate(parsed.conversations):
        parsed.unread += [
            f"a message of {message.sender or 'yours'} ({message.text[:40]!r}): its time is "
            + ("in the future" if message.said_at > now else "before the year 1000")
            for message in conversation.messages
            if not _has_possible_time(message, now)
        ]
        kept = [message for message in conversation.messages if _has_possible_time(message, now)]
        parsed.conversations[place] = ParsedConversation(conversation.title, kept)


def _has_possible_time(message: PastMessage, now: float) -> bool:
    return _EARLIEST <= message.said_at <= now + _AHEAD_SECONDS


def _why_none_fits(documents: Sequence[ExportDocument]) -> str:
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
