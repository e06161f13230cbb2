"""Exports of Claude: conversations.json. Pure."""

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
    read_iso_time,
)

CLAUDE: Final = "Claude"
_WORD_BLOCKS: Final = frozenset({"text", "voice_note"})


def _fits(document: ExportDocument) -> bool:
    return any(isinstance(item.get("chat_messages"), list) for item in as_items(document.value))


def _read(documents: Sequence[ExportDocument], choices: ReadChoices) -> ParsedFile:
    parsed = ParsedFile(ExportForm.CLAUDE, assistants=frozenset({CLAUDE}))
    for document in documents:
        items = document.value if isinstance(document.value, list) else [document.value]
        for number, item in enumerate(items, 1):
            conversation = as_dict(item)
            title = as_text(conversation.get("name"))
            if not isinstance(conversation.get("chat_messages"), list):
                parsed.unread.append(f'{document.name}: conversation {number}: it has no messages ("chat_messages")')
                continue
            messages = list(_read_messages(conversation, parsed))
            parsed.conversations.append(ParsedConversation(title, messages))
    return parsed


def _read_messages(conversation: dict[str, Any], parsed: ParsedFile) -> Iterator[PastMessage]:
    where = repr(as_text(conversation.get("name"))[:40] or as_text(conversation.get("uuid")))
    for message in _live_branch(conversation, parsed):
        sender = message.get("sender")
        at = read_iso_time(message.get("created_at"))
        text = _text_of(message, parsed)
        attached = list(_attachments(message, parsed))
        if sender not in ("human", "assistant") or at is None:
            why = "it has no time" if sender in ("human", "assistant") else "its sender is unknown"
            parsed.unread.append(f"a message of {where}: {why}")
            continue
        is_holder = sender == "human"
        name = as_text(message.get("uuid")) or str(message.get("created_at"))
        # What was attached comes first: the message is about it. Somebody else may have written it.
        for file_name, content in attached:
            yield PastMessage(file_name, content, at, ("claude", name, file_name, content), is_attached=True)
        if text:
            yield PastMessage("" if is_holder else CLAUDE, text, at, ("claude", name, text), is_holder)


def _live_branch(conversation: dict[str, Any], parsed: ParsedFile) -> list[dict[str, Any]]:
    """Return the messages that are shown: up from the current one, or from the last that was written."""
    written = as_items(conversation["chat_messages"])
    parsed.left_out["messages that are no objects"] += len(conversation["chat_messages"]) - len(written)
    nodes = {name: message for message in written if (name := as_text(message.get("uuid")))}
    if not any(as_text(message.get("parent_message_uuid")) in nodes for message in written):
        return written
    current = as_text(conversation.get("current_leaf_message_uuid"))
    # Of equal times the last one in the file.
    last = max(reversed(written), key=lambda message: read_iso_time(message.get("created_at")) or 0.0)
    branch = follow_parents(nodes, current if current in nodes else as_text(last.get("uuid")), "parent_message_uuid")
    parsed.left_out["messages of branches that were replaced"] += len(written) - len(branch)
    return branch


def _text_of(message: dict[str, Any], parsed: ParsedFile) -> str:
    """Return the words; `text` is the older form, and has notes about blocks that it cannot show."""
    blocks = as_items(as_list(message.get("content")))
    words = [as_text(block.get("text")).strip() for block in blocks if block.get("type") in _WORD_BLOCKS]
    parsed.left_out["thoughts and calls of tools"] += sum(block.get("type") not in _WORD_BLOCKS for block in blocks)
    text = "\n\n".join(filter(None, words)) if blocks else as_text(message.get("text"))
    names = [as_text(file.get("file_name")) for file in as_items(as_list(message.get("files")))]
    return "\n".join([text, *(f"(attached: {name})" for name in names if name)]).strip()


def _attachments(message: dict[str, Any], parsed: ParsedFile) -> Iterator[tuple[str, str]]:
    for attachment in as_items(as_list(message.get("attachments"))):
        name = as_text(attachment.get("file_name")) or "pasted text"
        if content := as_text(attachment.get("extracted_content")).strip():
            yield name, content
        else:
            parsed.left_out["attached files without their text"] += 1


CLAUDE_EXPORT: Final = Format("Claude export", _fits, _read)
