"""Output for people: lines of styled text, built by pure functions, and printed here.

All text of models and memories passes through `plain` and never through a markup parser. Colours appear only on a
terminal, and not with NO_COLOR.
"""

import contextlib
import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Final, Literal, NamedTuple

import click
import msgspec

from reveries.client.terminal_encoding import can_write
from reveries.safe_text import plain

Style = Literal["", "strong", "dim", "accent", "good", "warn", "bad"]

_STYLES: dict[Style, dict[str, object]] = {
    "": {},
    "strong": {"bold": True},
    "dim": {"dim": True},
    "accent": {"fg": "cyan"},
    "good": {"fg": "green"},
    "warn": {"fg": "yellow"},
    "bad": {"fg": "red"},
}
PAGE_COLUMNS: Final = 74
"""Width of a page in a conversation: it fits into a terminal of 80 columns, with a frame around it."""
_LABEL_COLUMNS = 15
_WIDEST_TEXT = 96
_page_columns: ContextVar[int] = ContextVar("page_columns", default=0)


class Part(NamedTuple):
    """A run of text in one style."""

    text: str
    style: Style = ""


Line = tuple[Part, ...]
Page = list[Line]


def line(*parts: Part | str) -> Line:
    """Build a line from parts; a string is a part without style."""
    return tuple(Part(part) if isinstance(part, str) else part for part in parts)


def field(label: str, *parts: Part | str) -> Line:
    """Build a line with a label in its own column."""
    return line(Part(f"  {label:<{_LABEL_COLUMNS}}", "dim"), *parts)


@contextlib.contextmanager
def page_columns(columns: int) -> Iterator[None]:
    """Build pages for this many columns instead of the terminal's."""
    token = _page_columns.set(columns)
    try:
        yield
    finally:
        _page_columns.reset(token)


def columns_now() -> int:
    """Return the width for pages, in columns."""
    return min(_page_columns.get() or shutil.get_terminal_size().columns, _WIDEST_TEXT)


def paragraph(text: str, *, indent: int = 2, style: Style = "", width: int = 0) -> Page:
    """Wrap `text` as plain text, keeping its line breaks. `width` 0: the page's width."""
    columns = min(width or columns_now(), _WIDEST_TEXT)
    blank = " " * indent
    lines: Page = []
    for row in plain(text).splitlines() or [""]:
        wrapped = textwrap.wrap(row, max(20, columns - indent)) or [""]
        lines += [line(Part(blank + piece, style)) for piece in wrapped]
    return lines


def bar(share: float, cells: int = 8) -> str:
    """Draw a share of 0 to 1 as a bar of `cells` characters."""
    eighths = round(max(0.0, min(1.0, share)) * cells * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(cells, "·")


def show(page: Iterable[Line], *, err: bool = False) -> None:
    """Write `page` to stdout (or stderr)."""
    for row in page:
        click.echo("".join(_style_part(part) for part in row).rstrip(), err=err)


def say(text: str, style: Style = "", *, err: bool = False) -> None:
    """Write one line."""
    show([line(Part(text, style))], err=err)


def show_json(message: msgspec.Struct) -> None:
    """Print `message` as one JSON object, without the wire-only fields. Times are unix seconds."""
    write_json(_shown_values(message))


def write_json(value: object) -> None:
    """Write `value` as indented JSON."""
    click.echo(_escape_controls(msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8")))


def json_line(value: msgspec.Struct) -> str:
    """Return `value` as one line of JSON, without the wire-only fields."""
    return _escape_controls(msgspec.json.encode(_shown_values(value)).decode("utf-8"))


def _shown_values(message: msgspec.Struct) -> dict[str, object]:
    values: dict[str, object] = msgspec.to_builtins(message)
    for wire_only in ("t", "request_id"):
        values.pop(wire_only, None)
    return values


def _escape_controls(text: str) -> str:
    """Escape what JSON leaves as it is: DEL, C1 controls, line separators and direction overrides, which terminals
    interpret, and characters that the output's encoding lacks."""
    if plain(text) == text and can_write(text):
        return text
    return "".join(json.dumps(char)[1:-1] if plain(char) != char or not can_write(char) else char for char in text)


def is_terminal(*, err: bool = False) -> bool:
    """Whether stdout (or stderr) is a terminal."""
    return (sys.stderr if err else sys.stdout).isatty()


def _style_part(part: Part) -> str:
    text = plain(part.text)
    return click.style(text, **_STYLES[part.style]) if part.style and text else text  # type: ignore[arg-type]
