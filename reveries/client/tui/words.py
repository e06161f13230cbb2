"""What the owner says, and whether it is off the record."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """Off the record, nothing of them is stored, here as little as there."""

    text: str
    is_private: bool = False
