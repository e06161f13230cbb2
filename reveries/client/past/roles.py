"""Roles in a talk with an assistant, as its copies and exports call them in several languages. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from reveries.client.past.parsed import ParsedFile, PastMessage, read_words

_ASSISTANTS: Final = read_words(
    "chatgpt|claude|assistant|ai|gemini|copilot|mistral|le chat|deepseek|grok|llama|gpt|bot|perplexity|"
    "qwen|bard|response|assistent|assistente|asistente|model"
)
_HOLDERS: Final = read_words(
    "you|user|human|me|prompt|du|ich|nutzer|benutzer|vous|moi|utilisateur|tú|yo|usuario|tu|io|utente|"
    "você|eu|usuário|jij|ik|gebruiker|jag|sinä|minä|ty|ja|вы|я|ты|пользователь|あなた|ユーザー|你|我|"
    "用户|사용자|나"
)
"""What they call the person who wrote to it. Only beside an assistant: in a chat of people, "You" may be anybody."""


def is_role(name: str) -> bool:
    """Whether this name could stand for a role."""
    return name.casefold() in _ASSISTANTS | _HOLDERS


def has_roles(names: Iterable[str]) -> bool:
    """Whether the names have an assistant and the person who wrote to it."""
    lowered = {name.casefold() for name in names}
    return bool(lowered & _ASSISTANTS and lowered & _HOLDERS)


def mark_roles(messages: Sequence[PastMessage], parsed: ParsedFile) -> list[PastMessage]:
    """Mark the messages of the person who wrote to an assistant, if this is such a talk."""
    names = {message.sender for message in messages}
    if not has_roles(names):
        return list(messages)
    parsed.assistants |= {name for name in names if name.casefold() in _ASSISTANTS}
    return [replace(message, is_holder=message.sender.casefold() in _HOLDERS) for message in messages]
