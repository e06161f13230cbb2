"""JSON lines: one object with time, speaker and text a line. Pure."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from reveries.client.past.json_shapes import as_dict
from reveries.client.past.parsed import (
    Document,
    Format,
    ParsedFile,
    PastConversation,
    PastMessage,
    ReadChoices,
    read_iso_time,
)

_FIELDS: Final = ("time", "speaker", "text")


def _fits(document: Document) -> bool:
    if document.value is not None:
        return len(set(_FIELDS) & as_dict(document.value).keys()) > 1
    lines = (line for line in document.text.split("\n") if line.strip())
    return any(len(set(_FIELDS) & _decode(line).keys()) > 1 for line in lines)


def _decode(line: str) -> dict[str, Any]:
    if not line.lstrip().startswith("{"):
        return {}
    try:
        return as_dict(msgspec.json.decode(line.encode("utf-8")))
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return {}


def _read(documents: Sequence[Document], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile("JSON lines")
    for document in documents:
        # An object over several lines is one entry.
        lines = [document.text] if document.value is not None else document.text.split("\n")
        messages: list[PastMessage] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            message = _read_line(line)
            if isinstance(message, str):
                parsed.unread.append(f"line {number}: {message}")
            else:
                messages.append(message)
        parsed.conversations.append(PastConversation("", messages))
    return parsed


def _read_line(line: str) -> PastMessage | str:
    """Return the message of a line, or why there is none."""
    try:
        entry = msgspec.json.decode(line.encode("utf-8"))
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        return f"it is not JSON ({str(error).removeprefix('JSON is malformed: ')})"
    if not isinstance(entry, dict):
        return "it is not a JSON object"
    for name in _FIELDS:
        if name not in entry:
            return f'"{name}" is missing'
        if not isinstance(entry[name], str):
            return f'"{name}" is not a string'
        if not entry[name].strip():
            return f'"{name}" is empty'
    written, speaker, text = (str(entry[name]) for name in _FIELDS)
    if (said_at := read_iso_time(written)) is None:
        return f'"time" is {written[:40]!r}, which is not an ISO 8601 time'
    return PastMessage(speaker.strip(), text, said_at, ("lines", written.strip(), speaker.strip(), text))


JSON_LINES: Final = Format("JSON lines", _fits, _read)
