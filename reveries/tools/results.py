"""Results of tool calls, and their form in a prompt: fenced lines that no text in them can leave."""

from collections.abc import Iterable
from dataclasses import dataclass

from reveries.safe_text import plain

MOST_RESULT_CHARS = 8_000
"""About 2,000 tokens; the rest is read by offset."""
_MARK = "| "


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call."""

    text: str
    foreign_sources: frozenset[str] = frozenset()
    path: str = ""
    """Path of a file that it changed."""
    sha256: str = ""
    """Hash of that file, or of the whole output of a command."""
    exit_code: int | None = None
    hosts: tuple[str, ...] = ()
    """The hosts it came from, to show to the owner: rows store only hashes."""


def fence(lines: Iterable[str], first: int = 0) -> str:
    """Put a mark before each untrusted line, with numbers from `first` on unless it is 0."""
    if not first:
        return "\n".join(_MARK + _one_line(line) for line in lines)
    return "\n".join(f"{number:>5}{_MARK}{_one_line(line)}" for number, line in enumerate(lines, first))


def cut_lines(lines: list[str], first: int, most_chars: int = MOST_RESULT_CHARS) -> tuple[list[str], int]:
    """As many lines from line `first` (counting from 1) as fit, and the number of the next line; 0: none is left. A
    line that does not fit by itself is cut."""
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
