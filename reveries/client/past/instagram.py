"""message_1.json of Instagram and Messenger exports. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from reveries.client.past.json_shapes import as_dict, as_items, as_list, as_text
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

_NOTICE: Final = re.compile(r"(Reacted .{1,12} to your message|Liked a message|.{1,80} sent an attachment\.)\s*")
_CALLS: Final = ("call_duration", "is_unsent", "isUnsent")


def _is_thread(value: object) -> bool:
    shape = as_dict(value)
    return isinstance(shape.get("participants"), list) and any(
        {"sender_name", "timestamp_ms"} <= message.keys() or {"senderName", "timestamp"} <= message.keys()
        for message in as_items(as_list(shape.get("messages")))
    )


def _fits(document: ExportDocument) -> bool:
    return _is_thread(document.value)


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.INSTAGRAM)
    holder = _find_holder([document.value for document in documents])
    threads: dict[str, list[PastMessage]] = {}
    for document in documents:
        title = _repair(document.value.get("title")) or _repair(document.value.get("threadName"))
        thread = as_text(document.value.get("thread_path")) or title or document.name
        threads.setdefault(thread, []).extend(_read_messages(document.value, thread, holder, parsed))
    for thread, messages in threads.items():
        # The newest stands first, and a long chat is in several files.
        messages.sort(key=lambda message: message.said_at)
        parsed.conversations.append(ParsedConversation(thread.rpartition("/")[2] or thread, messages))
    return parsed


def _participants(value: dict[str, Any]) -> frozenset[str]:
    names = as_list(value.get("participants"))
    return frozenset(filter(None, (_repair(as_dict(name).get("name")) or _repair(name) for name in names)))


def _find_holder(threads: Sequence[dict[str, Any]]) -> str:
    """Return the one person who is in all of several different chats: only the holder of the account is."""
    groups = {_participants(thread) for thread in threads}
    everywhere = frozenset.intersection(*groups) if len(groups) > 1 else frozenset()
    return next(iter(everywhere)) if len(everywhere) == 1 else ""


def _read_messages(value: dict[str, Any], thread: str, holder: str, parsed: ParsedFile) -> Iterator[PastMessage]:
    for message in reversed(as_items(as_list(value.get("messages")))):
        sender = _repair(message.get("sender_name")) or _repair(message.get("senderName"))
        text = (_repair(message.get("content")) or _repair(message.get("text"))).strip()
        at = read_unix_time(message.get("timestamp_ms") or message.get("timestamp"))
        if not text or any(message.get(name) for name in _CALLS):
            parsed.left_out["pictures, calls and other messages without text"] += 1
        elif _NOTICE.fullmatch(text):
            parsed.left_out["notices of the program"] += 1
        elif at is None or not sender:
            parsed.unread.append(f"a message of {thread[:60]!r}: it has no {'time' if at is None else 'sender'}")
        else:
            yield PastMessage(sender, text, at, ("instagram", thread, str(at), sender, text), sender == holder != "")


def _repair(value: object) -> str:
    """Return the text; these exports write the bytes of UTF-8 as if each were a character."""
    text = as_text(value)
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


INSTAGRAM_EXPORT: Final = Format("Instagram or Messenger export", _fits, _read)
