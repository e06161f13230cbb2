"""What a tool call came to, and how it stands before a model: as lines of a record, which no text in it can leave."""

from collections.abc import Iterable
from dataclasses import dataclass

from reveries.safe_text import plain

MOST_RESULT_CHARS = 8_000
"""Some 2,000 tokens; the rest is had by offset."""
_MARK = "| "


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call came to."""

    text: str
    foreign_sources: frozenset[str] = frozenset()
    path: str = ""
    """Of a file that it changed."""
    sha256: str = ""
    """Of that file, or of all that a command said."""
    exit_code: int | None = None
    hosts: tuple[str, ...] = ()
    """What hosts it came from, to name them to the owner: rows hold a hash alone."""


def fence(lines: Iterable[str], first: int = 0) -> str:
    """Foreign lines, each behind a mark, numbered from `first` if that is not 0."""
    if not first:
        return "\n".join(_MARK + _one_line(one) for one in lines)
    return "\n".join(f"{number:>5}{_MARK}{_one_line(one)}" for number, one in enumerate(lines, first))


def cut_lines(lines: list[str], first: int, most_chars: int = MOST_RESULT_CHARS) -> tuple[list[str], int]:
    """As many lines from line `first` (1 is the first) on as fit, and the number of the next; 0: none is left. A line
    that does not fit by itself is cut."""
    kept: list[str] = []
    left = most_chars
    for line in lines[first - 1 :]:
        if left <= 0:
            return kept, first + len(kept)
        kept.append(line[:left])
        left -= len(line) + 8
    return kept, 0


def _one_line(line: str) -> str:
    return plain(line).replace("\n", " ").replace("\r", " ").rstrip()
