"""`reveries logs`."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from reveries.client.answers import json_option
from reveries.client.render import Line, Part, Style, line
from reveries.client.wording import iso_time
from reveries.safe_text import one_line, plain


@click.command("logs", short_help="Show the daemon's log.")
@click.option(
    "-n", "--lines", type=click.IntRange(0, 100_000), default=20, show_default=True, help="The last lines to show."
)
@click.option("-f", "--follow", is_flag=True, help="Keep showing new lines, until Ctrl+C.")
@json_option(
    "One object per line: timestamp, level, logger, event, and the fields of the event.",
    help="Print one JSON object per line.",
)
def command(lines: int, follow: bool, as_json: bool) -> None:
    """Show the daemon's log. Conversations and thoughts are in it only at the level debug (log.level)."""
    from reveries.client.render import show
    from reveries.config import find_home
    from reveries.errors import NotFoundError

    log = find_home().logs / "daemon.log"

    def print_row(row: str) -> None:
        if as_json:
            click.echo(entry_as_json(row))
        else:
            show([render_entry(row)])

    if not log.exists() and not follow:
        raise NotFoundError(f"There is no log {log} yet.", advice="It is created by: reveries wake")
    end = log_length(log)
    for row in read_last_lines(log, lines, end):
        print_row(row)
    if follow:
        for row in follow_log(log, end):
            print_row(row)


_LEVELS: dict[str, Style] = {"warning": "warn", "error": "bad", "critical": "bad", "debug": "dim"}
_FIXED_FIELDS = ("timestamp", "level", "logger", "event", "exception")
_BLOCK_BYTES = 65536
_POLL_SECONDS = 0.2


def read_last_lines(log: Path, count: int, end: int | None = None) -> list[str]:
    """Return the last `count` lines of `log` (of its first `end` bytes) and of its rotated files (daemon.log.1 and so
    on), oldest first."""
    lines: list[str] = []
    for file in (log, *(log.with_name(f"{log.name}.{number}") for number in range(1, 10))):
        if len(lines) >= count:
            break
        with contextlib.suppress(OSError):
            lines = [*_read_file_tail(file, count - len(lines), end if file == log else None), *lines]
    return lines


def follow_log(log: Path, begins_at: int) -> Iterator[str]:
    """Yield each line from that byte on, forever; a log that is rotated is read to its end."""
    file = _open_log(log, begins_at)
    pending = b""
    while True:
        block = file.read(_BLOCK_BYTES) if file is not None else b""
        if block:
            *whole, pending = (pending + block).split(b"\n")
            yield from (row.decode("utf-8", "replace") for row in whole)
        elif file is not None and _is_same_log(log, file.fileno()):
            time.sleep(_POLL_SECONDS)
        else:
            if file is not None:
                # Lines written between the last read and the rotation.
                yield from (row.decode("utf-8", "replace") for row in (pending + file.read()).splitlines())
                file.close()
            file, pending = _open_log(log, 0), b""
            if file is None:
                time.sleep(_POLL_SECONDS)


def log_length(log: Path) -> int:
    """Return the size of the log in bytes up to its last complete line; 0 if there is no log."""
    try:
        with log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            return start + file.read(end - start).rfind(b"\n") + 1
    except OSError:
        return 0


def render_entry(row: str) -> Line:
    """Render an entry: time, level, event, fields. A line that is not an entry is shown as plain text."""
    try:
        entry = json.loads(row)
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(iso_time(entry["timestamp"])))
        level, event = str(entry.get("level", "")), str(entry["event"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return line(one_line(plain(row), 2000))
    rest = " ".join(f"{name}={_field_text(value)}" for name, value in entry.items() if name not in _FIXED_FIELDS)
    failed = str(entry.get("exception", "")).strip().splitlines()
    cause = f" ({one_line(failed[-1], 300)})" if failed else ""
    style = _LEVELS.get(level, "")
    return line(
        Part(f"{when}  ", "dim"),
        Part(f"{level:<8}", style),
        Part(one_line(event, 200), style or "strong"),
        Part(f"  {one_line(rest, 1000)}" if rest else "", "dim"),
        Part(cause, style),
    )


def entry_as_json(row: str) -> str:
    """Return the entry as one line of JSON without control characters."""
    try:
        entry = json.loads(row)
    except ValueError:
        entry = {"text": row}
    return json.dumps(entry, ensure_ascii=True)


def _field_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) and " " in value else str(value)


def _read_file_tail(file: Path, count: int, end: int | None) -> list[str]:
    with file.open("rb") as opened:
        place = opened.seek(0, os.SEEK_END) if end is None else end
        text = b""
        while place > 0 and text.count(b"\n") <= count:
            step = min(_BLOCK_BYTES, place)
            place -= step
            opened.seek(place)
            text = opened.read(step) + text
    return text.decode("utf-8", "replace").splitlines()[-count:] if count else []


def _open_log(log: Path, begins_at: int) -> BinaryIO | None:
    try:
        file = log.open("rb")
    except OSError:
        return None
    file.seek(begins_at)
    return file


def _is_same_log(log: Path, descriptor: int) -> bool:
    try:
        current, opened = log.stat(), os.fstat(descriptor)
    except OSError:
        return True
    return (current.st_dev, current.st_ino) == (opened.st_dev, opened.st_ino)
