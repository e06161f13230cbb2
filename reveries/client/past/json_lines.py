"""JSON lines: one object with time, speaker and text a line. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from reveries.client.past.json_shapes import as_dict, as_items, decode_json
from reveries.client.past.parsed import (
    ExportDocument,
    ExportForm,
    Format,
    ParsedConversation,
    ParsedFile,
    PastMessage,
    ReadChoices,
    read_iso_time,
)

_FIELDS: Final = ("time", "speaker", "text")


def _fits(document: ExportDocument) -> bool:
    if document.value is not None:
        return any(len(set(_FIELDS) & item.keys()) > 1 for item in as_items(document.value))
    lines = (line for line in document.text.split("\n") if line.strip())
    return any(len(set(_FIELDS) & _decode(line).keys()) > 1 for line in lines)


def _decode(line: str) -> dict[str, Any]:
    if not line.lstrip().startswith("{"):
        return {}
    try:
        return as_dict(decode_json(line))
    except ValueError:
        return {}


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.JSON_LINES)
    for document in documents:
        messages: list[PastMessage] = []
        for where, entry in _entries_of(document):
            message = _read_entry(entry)
            if isinstance(message, str):
                parsed.unread.append(f"{where}: {message}")
            else:
                messages.append(message)
        parsed.conversations.append(ParsedConversation("", messages))
    return parsed


def _entries_of(document: ExportDocument) -> Iterator[tuple[str, Any]]:
    """Yield the entries with their places: the lines, the items of a list, or the only object; text that is no JSON as
    the error that says so."""
    if isinstance(document.value, list):
        yield from ((f"entry {number}", item) for number, item in enumerate(document.value, 1))
        return
    # An object over several lines is one entry.
    lines = [document.text] if document.value is not None else document.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield f"line {number}", decode_json(line)
            except ValueError as error:
                yield f"line {number}", error


def _read_entry(entry: object) -> PastMessage | str:
    """Return the message of an entry, or why there is none."""
    if isinstance(entry, ValueError):
        return f"it is not JSON ({entry})"
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
