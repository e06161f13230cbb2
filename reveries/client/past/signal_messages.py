"""Messages of Signal as JSON: what exporters of Signal Desktop write, one object a line or a list. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from reveries.client.past.json_shapes import as_dict, as_items, as_list, as_text, decode_json
from reveries.client.past.parsed import (
    ExportDocument,
    ExportForm,
    Format,
    ParsedConversation,
    ParsedFile,
    PastMessage,
    ReadChoices,
    read_iso_time,
    read_unix_time,
)

_OWNER: Final = "Me"
_OUTGOING: Final = "outgoing"


def _items_of(document: ExportDocument) -> list[dict[str, Any]]:
    if document.value is not None:
        inner = as_dict(document.value).get("messages", as_dict(document.value).get("messsages"))
        return as_items(inner if isinstance(inner, list) else document.value)
    if not document.text.lstrip().startswith("{"):
        return []
    items: list[dict[str, Any]] = []
    for line in document.text.split("\n"):
        if line.strip():
            try:
                items.append(as_dict(decode_json(line)))
            except ValueError:
                items.append({})
    return items


def _is_message(item: dict[str, Any]) -> bool:
    return "body" in item and (
        {"date", "sender"} <= item.keys() or (item.get("type") in ("incoming", _OUTGOING) and "conversationId" in item)
    )


def _fits(document: ExportDocument) -> bool:
    return any(map(_is_message, _items_of(document)))


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.SIGNAL_MESSAGES)
    for document in documents:
        threads: dict[str, list[PastMessage]] = {}
        for number, item in enumerate(_items_of(document), 1):
            if not _is_message(item):
                parsed.unread.append(f"{document.name}, entry {number}: it is no message")
                continue
            thread = as_text(item.get("conversationName")) or as_text(item.get("conversationId"))
            threads.setdefault(thread, []).extend(_read_message(item, f"{document.name}, entry {number}", parsed))
        parsed.conversations += [ParsedConversation(thread, messages) for thread, messages in threads.items()]
    return parsed


def _read_message(item: dict[str, Any], where: str, parsed: ParsedFile) -> Iterator[PastMessage]:
    text = as_text(item.get("body")).strip()
    at = read_iso_time(item.get("date")) or read_unix_time(item.get("sent_at") or item.get("timestamp"))
    is_holder = item.get("type") == _OUTGOING or item.get("sender") == _OWNER
    names = [as_text(item.get(name)) for name in ("sender", "sourceName", "source", "conversationName", "sourceUuid")]
    sender = next(filter(None, names), "")
    if not text:
        parsed.left_out["pictures, stickers and other messages without text"] += bool(as_list(item.get("attachments")))
    elif at is None or not (sender or is_holder):
        parsed.unread.append(f"{where}: it has no {'time' if at is None else 'sender'}")
    else:
        yield PastMessage(
            "" if is_holder else sender, text, at, ("signal", str(at), str(is_holder), sender, text), is_holder
        )


SIGNAL_MESSAGES: Final = Format("Signal messages", _fits, _read)
