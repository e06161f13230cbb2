"""What the owner says, and whether it is off the record."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Off the record, nothing of them is stored, here as little as there."""

    text: str
    is_private: bool = False


def joined(texts: Iterable[str]) -> str:
    """Several messages as one text."""
    return "\n\n".join(text for text in texts if text)


def on_record(words: Iterable[Words]) -> list[str]:
    """What of them may be written down."""
    return [one.text for one in words if not one.is_private]


def off_record(words: Iterable[Words]) -> list[str]:
    """What of them may not."""
    return [one.text for one in words if one.is_private]
