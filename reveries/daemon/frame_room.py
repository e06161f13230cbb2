"""Long texts in one message: each gets its fair share of the room, and says when it is not all there. Pure."""

from collections.abc import Sequence

ROOM_CHARS = 700_000
"""A character has at most 4 bytes in UTF-8: with what stands around them they fit into a message of 4 MiB."""


def sharing_room(texts: Sequence[str], room_chars: int = ROOM_CHARS) -> list[str]:
    """`texts` in their order, together about `room_chars` characters at most. The short ones stay whole; the long ones
    are cut at one length, and tell how much more there was."""
    most = _longest_allowed(sorted(map(len, texts)), room_chars)
    return [
        text if len(text) <= most else f"{text[:most]}\u2026 ({len(text) - most:,} more characters)" for text in texts
    ]


def _longest_allowed(lengths: Sequence[int], room_chars: int) -> int:
    """The length at which all of `lengths` (ascending) have to be cut to fit."""
    left = room_chars
    for place, length in enumerate(lengths):
        share = left // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return lengths[-1] if lengths else 0
