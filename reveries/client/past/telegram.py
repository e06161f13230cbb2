"""result.json of Telegram Desktop: one chat, or all. Pure."""

from collections import Counter
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
    read_iso_time,
    read_unix_time,
)

_DELETED_ACCOUNT: Final = "Deleted account"
_WITH_ONE_PEER: Final = frozenset({"personal_chat", "bot_chat"})
_OWN_NOTES: Final = "saved_messages"


def _chats_of(value: object) -> list[dict[str, Any]]:
    shape = as_dict(value)
    if isinstance(shape.get("messages"), list) and "type" in shape:
        return [shape]
    parts = [as_dict(shape.get(name)) for name in ("chats", "left_chats")]
    return [chat for part in parts for chat in as_items(as_list(part.get("list")))]


def _fits(document: ExportDocument) -> bool:
    return any(
        isinstance(chat.get("messages"), list) and isinstance(chat.get("type"), str)
        for chat in _chats_of(document.value)
    )


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.TELEGRAM)
    for document in documents:
        account = as_dict(as_dict(document.value).get("personal_information")).get("user_id")
        chats = _chats_of(document.value)
        names = _names_by_id(chats)
        for chat in chats:
            title = as_text(chat.get("name")) or as_text(chat.get("type")).replace("_", " ")
            own_id = f"user{account}" if account is not None else _own_id(chat)
            parsed.conversations.append(ParsedConversation(title, list(_read_messages(chat, own_id, names, parsed))))
    return parsed


def _own_id(chat: dict[str, Any]) -> str:
    """Return who exported a single chat, where that follows: in a chat of two, it is not the one it is named after."""
    senders = {as_text(message.get("from_id")) for message in as_items(as_list(chat.get("messages")))} - {""}
    if chat.get("type") in _WITH_ONE_PEER:
        senders.discard(f"user{chat.get('id')}")
        return senders.pop() if len(senders) == 1 and chat.get("id") is not None else ""
    return next(iter(senders)) if chat.get("type") == _OWN_NOTES and len(senders) == 1 else ""


def _names_by_id(chats: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return a name for each sender; two who share one are told apart by their number."""
    names: dict[str, str] = {}
    for chat in chats:
        for message in as_items(as_list(chat.get("messages"))):
            if (sender := as_text(message.get("from_id"))) and sender not in names:
                names[sender] = as_text(message.get("from")).strip() or _DELETED_ACCOUNT
    counts = Counter(names.values())
    return {sender: f"{name} ({sender})" if counts[name] > 1 else name for sender, name in names.items()}


def _read_messages(
    chat: dict[str, Any], own_id: str, names: dict[str, str], parsed: ParsedFile
) -> Iterator[PastMessage]:
    for message in as_items(as_list(chat.get("messages"))):
        text = _text_of(message.get("text"))
        if message.get("type") != "message" or not text:
            is_notice = message.get("type") != "message"
            parsed.left_out["notices of the program" if is_notice else "pictures, stickers and other files"] += 1
            continue
        at = read_unix_time(message.get("date_unixtime")) or read_iso_time(message.get("date"))
        number = f"message {message.get('id')} of {as_text(chat.get('name'))[:40]!r}"
        if at is None:
            parsed.unread.append(f"{number}: it has no time")
            continue
        sender_id = as_text(message.get("from_id"))
        sender = names.get(sender_id) or as_text(message.get("from")).strip() or _DELETED_ACCOUNT
        identity = ("telegram", str(chat.get("id")), str(message.get("id")), text)
        if "forwarded_from" in message:
            # Passed on by the sender, written by somebody else.
            source = as_text(message.get("forwarded_from")).strip() or "somebody"
            yield PastMessage(f"{source} (forwarded by {sender})", text, at, identity, is_attached=True)
        else:
            yield PastMessage(sender, text, at, identity, bool(own_id) and sender_id == own_id)


def _text_of(content: object) -> str:
    """Return the text, which is in pieces where it has links and formats."""
    pieces = content if isinstance(content, list) else [content]
    return "".join(as_text(as_dict(piece).get("text")) or as_text(piece) for piece in pieces).strip()


TELEGRAM_EXPORT: Final = Format("Telegram export", _fits, _read)
