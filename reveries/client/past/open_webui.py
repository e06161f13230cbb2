"""Chats exported from Open WebUI. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from reveries.client.past.json_shapes import as_dict, as_items, as_list, as_text, follow_parents
from reveries.client.past.parsed import (
    ExportDocument,
    ExportForm,
    Format,
    ParsedConversation,
    ParsedFile,
    PastMessage,
    ReadChoices,
    read_unix_time,
)

_DETAILS: Final = re.compile(r"<details\b[^<>]{0,400}\btype=\"[^\"<>]{0,100}\"[^<>]{0,4000}>")
"""The beginning of reasoning and tool calls, which it keeps in the text of a message."""
_DETAILS_END: Final = re.compile(r"</details>\s*")


def _chat_of(item: dict[str, Any]) -> dict[str, Any]:
    """Return the chat itself: an export wraps it, a single chat may stand alone."""
    return as_dict(item.get("chat")) or item


def _is_chat(item: dict[str, Any]) -> bool:
    chat = _chat_of(item)
    return isinstance(as_dict(chat.get("history")).get("messages"), dict) or (
        "models" in chat and isinstance(chat.get("messages"), list)
    )


def _fits(document: ExportDocument) -> bool:
    return any(_is_chat(item) for item in as_items(document.value))


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.OPEN_WEBUI)
    assistants: set[str] = set()
    for document in documents:
        items = document.value if isinstance(document.value, list) else [document.value]
        for number, item in enumerate(items, 1):
            if not isinstance(item, dict) or not _is_chat(item):
                parsed.unread.append(f"{document.name}: chat {number}: it has no messages")
                continue
            title = as_text(item.get("title")) or as_text(_chat_of(item).get("title"))
            messages = list(_read_messages(_chat_of(item), as_text(item.get("id")), title, parsed))
            assistants |= {message.sender for message in messages if not message.is_holder}
            parsed.conversations.append(ParsedConversation(title, messages))
    parsed.assistants = frozenset(assistants)
    return parsed


def _read_messages(chat: dict[str, Any], chat_id: str, title: str, parsed: ParsedFile) -> Iterator[PastMessage]:
    nodes = as_dict(as_dict(chat.get("history")).get("messages"))
    if nodes:
        current = as_text(as_dict(chat.get("history")).get("currentId"))
        branch = follow_parents(nodes, current if current in nodes else next(reversed(nodes)), "parentId")
        parsed.left_out["messages of branches that were replaced"] += len(nodes) - len(branch)
    else:
        branch = as_items(as_list(chat.get("messages")))
    for place, message in enumerate(branch):
        role = message.get("role")
        text = _text_of(message)
        if role not in ("user", "assistant") or not text:
            parsed.left_out["messages of tools and instructions"] += role not in ("user", "assistant")
            continue
        at = read_unix_time(message.get("timestamp"))
        if at is None:
            parsed.unread.append(f"a message of {title[:40]!r}: it has no time")
            continue
        model = as_text(message.get("modelName")) or as_text(message.get("model"))
        is_holder = role == "user"
        identity = ("open-webui", chat_id, as_text(message.get("id")) or str(place), text)
        yield PastMessage("" if is_holder else model or "Open WebUI", text, at, identity, is_holder)


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    parts = [as_text(part.get("text")) for part in as_items(as_list(content))]
    text = _without_details(as_text(content) or "\n".join(filter(None, parts))).strip()
    names = [as_text(file.get("name")) for file in as_items(as_list(message.get("files")))]
    return "\n".join([text, *(f"(attached: {name})" for name in names if name)]).strip()


def _without_details(text: str) -> str:
    kept, place = list[str](), 0
    while begin := _DETAILS.search(text, place):
        if (end := _DETAILS_END.search(text, begin.end())) is None:
            break
        kept.append(text[place : begin.start()])
        place = end.end()
    return "".join([*kept, text[place:]])


OPEN_WEBUI_EXPORT: Final = Format("Open WebUI export", _fits, _read)
