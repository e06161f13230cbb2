"""Exports of ChatGPT: conversations.json, its numbered parts, or a single conversation. Pure."""

import json
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

CHATGPT: Final = "ChatGPT"
_SPOKEN_TYPES: Final = frozenset({"text", "multimodal_text"})
_SPAN: Final = re.compile("\ue200([^\ue200\ue201\ue202]*)((?:\ue202[^\ue200\ue201]*)?)\ue201")
"""Citations and other marks, set in characters of the private use area: name, then arguments after U+E202."""
_OLD_CITATION: Final = re.compile(r"【\d+(?::\d+)?†[^【】]*】")
_PRIVATE: Final = re.compile("[\ue200-\ue2ff]")


def _fits(document: ExportDocument) -> bool:
    return any(isinstance(item.get("mapping"), dict) for item in as_items(document.value))


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.CHATGPT, assistants=frozenset({CHATGPT}))
    for document in documents:
        items = document.value if isinstance(document.value, list) else [document.value]
        for number, item in enumerate(items, 1):
            conversation = as_dict(item)
            title = as_text(conversation.get("title"))
            if not isinstance(conversation.get("mapping"), dict):
                where = f"{document.name}: conversation {number}" + (f" ({title[:40]!r})" if title else "")
                parsed.unread.append(f'{where}: it has no messages ("mapping")')
                continue
            parsed.conversations.append(ParsedConversation(title, list(_read_messages(conversation, parsed))))
    return parsed


def _read_messages(conversation: dict[str, Any], parsed: ParsedFile) -> Iterator[PastMessage]:
    """Yield the messages of the branch that is shown."""
    mapping = conversation["mapping"]
    current = conversation.get("current_node")
    leaf = current if isinstance(current, str) and current in mapping else next(reversed(mapping), "")
    path = follow_parents(mapping, leaf, "parent")
    begun_at = read_unix_time(conversation.get("create_time"))
    last = begun_at
    for node in path:
        message = as_dict(node.get("message"))
        if (text := _text_of(message, parsed)) is None:
            continue
        at = read_unix_time(message.get("create_time"))
        # A message without a time comes right after the one before.
        last = at if at is not None else last + 1.0 if last is not None else None
        if last is None:
            parsed.unread.append(f"a message of {as_text(conversation.get('title'))[:40]!r}: it has no time")
            continue
        is_holder = as_dict(message.get("author")).get("role") == "user"
        name = as_text(message.get("id")) or as_text(node.get("id"))
        identity = ("chatgpt", name, text) if name else ("chatgpt", str(last), str(is_holder), text)
        yield PastMessage("" if is_holder else CHATGPT, text, last, identity, is_holder)
    _count_replaced(mapping, path, parsed)


def _count_replaced(mapping: dict[str, Any], path: Sequence[dict[str, Any]], parsed: ParsedFile) -> None:
    shown = {id(node) for node in path}
    replaced = [node for node in mapping.values() if id(node) not in shown]
    parsed.left_out["messages of branches that were replaced"] += sum(
        as_dict(as_dict(as_dict(node).get("message")).get("author")).get("role") in ("user", "assistant")
        for node in replaced
    )


def _text_of(message: dict[str, Any], parsed: ParsedFile) -> str | None:
    """Return what a person or the assistant said to the other; None if it is something else."""
    role = as_dict(message.get("author")).get("role")
    content, metadata = as_dict(message.get("content")), as_dict(message.get("metadata"))
    if role not in ("user", "assistant"):
        parsed.left_out["messages of tools and instructions"] += role in ("tool", "system")
        return None
    if metadata.get("is_visually_hidden_from_conversation") is True or metadata.get("is_user_system_message") is True:
        parsed.left_out["hidden messages"] += 1
        return None
    is_to_all = message.get("recipient") in (None, "all")
    if content.get("content_type", "text") not in _SPOKEN_TYPES or not is_to_all:
        parsed.left_out["thoughts and calls of tools"] += 1
        return None
    text = "\n".join(filter(None, (_part_text(part, parsed) for part in as_list(content.get("parts")))))
    names = [as_text(as_dict(item).get("name")) for item in as_list(metadata.get("attachments"))]
    text = "\n".join([clean_marks(text), *(f"(attached: {name})" for name in names if name)]).strip()
    return text or None


def _part_text(part: object, parsed: ParsedFile) -> str:
    if isinstance(part, str):
        return part
    shape = as_dict(part)
    if shape.get("content_type") == "audio_transcription":
        return as_text(shape.get("text"))
    parsed.left_out["pictures and recordings"] += shape.get("content_type") == "image_asset_pointer"
    return ""


def clean_marks(text: str) -> str:
    """Remove citations; keep the words of marks that stand for words."""
    text = _OLD_CITATION.sub("", _SPAN.sub(_words_of_span, text))
    if "\ue200" not in text and "\ue201" not in text:
        text = _PRIVATE.sub("", text)
    return re.sub(r"(?<=\S)[ \t]+(?=[.,;:!?])|(?<![ \t])[ \t]+$|(?<=\S) (?= )", "", text, flags=re.MULTILINE)


def _words_of_span(match: re.Match[str]) -> str:
    arguments = match[2].split("\ue202")[1:]
    if match[1] in ("url", "link_title") and arguments:
        return arguments[0]
    if match[1] == "entity" and arguments:
        try:
            names = [value for value in as_list(json.loads(arguments[0])) if isinstance(value, str)]
        except (ValueError, RecursionError):
            return ""
        return names[1] if len(names) > 1 else "".join(names)
    return ""


CHATGPT_EXPORT: Final = Format("ChatGPT export", _fits, _read)
