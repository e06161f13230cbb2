"""Text of the owner on its way to the daemon, and whether it is off the record."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutgoingText:
    """A message of the owner; if private, neither the client nor the daemon stores it."""

    text: str
    is_private: bool = False


def join_texts(texts: Iterable[str]) -> str:
    """Join several messages into one text."""
    return "\n\n".join(text for text in texts if text)


def texts_on_record(words: Iterable[OutgoingText]) -> list[str]:
    """Return the texts that may be saved to disk."""
    return [text.text for text in words if not text.is_private]


def texts_off_record(words: Iterable[OutgoingText]) -> list[str]:
    """Return the texts that must not be saved to disk."""
    return [text.text for text in words if text.is_private]
