"""`reveries logs`."""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

from reveries.client.render import Line, Part, Style, line
from reveries.client.wording import iso_time
from reveries.safe_text import one_line, plain


@click.command("logs", short_help="What the daemon wrote.")
@click.option(
    "-n", "--lines", type=click.IntRange(0, 100_000), default=20, show_default=True, help="So many, the last."
)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until Ctrl+C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(lines: int, follow: bool, as_json: bool) -> None:
    """The daemon's log. What was said and thought is in it at the level debug only (log.level)."""
    from reveries.client.render import show
    from reveries.config import find_home
    from reveries.errors import NotFoundError

    log = find_home().logs / "daemon.log"

    def tell(row: str) -> None:
        if as_json:
            click.echo(entry_json(row))
        else:
            show([entry_line(row)])

    if not log.exists() and not follow:
        raise NotFoundError(f"There is no log {log} yet.", advice="It begins with: reveries wake")
    end = length_of(log)
    for row in last_lines(log, lines, end):
        tell(row)
    if follow:
        for row in new_lines(log, end):
            tell(row)


_LEVELS: dict[str, Style] = {"warning": "warn", "error": "bad", "critical": "bad", "debug": "dim"}
_SET_APART = ("timestamp", "level", "logger", "event", "exception")
_BLOCK_BYTES = 65536
_LOOK_SECONDS = 0.2


def last_lines(log: Path, count: int, end: int | None = None) -> list[str]:
    """The last `count` lines of `log` (of its first `end` bytes) and of those that it took the place of (daemon.log.1
    and so on), oldest first."""
    lines: list[str] = []
    for file in (log, *(log.with_name(f"{log.name}.{number}") for number in range(1, 10))):
        if len(lines) >= count:
            break
        with contextlib.suppress(OSError):
            lines = [*_last_lines(file, count - len(lines), end if file == log else None), *lines]
    return lines


def new_lines(log: Path, begins_at: int) -> Iterator[str]:
    """Each line from that byte on, for ever; a log that another took the place of is read to its end."""
    file = _open_log(log, begins_at)
    pending = b""
    while True:
        block = file.read(_BLOCK_BYTES) if file is not None else b""
        if block:
            *whole, pending = (pending + block).split(b"\n")
            yield from (row.decode("utf-8", "replace") for row in whole)
        elif file is not None and _is_same_log(log, file.fileno()):
            time.sleep(_LOOK_SECONDS)
        else:
            if file is not None:
                # What was written between the last look and the moment when another took its place.
                yield from (row.decode("utf-8", "replace") for row in (pending + file.read()).splitlines())
                file.close()
            file, pending = _open_log(log, 0), b""
            if file is None:
                time.sleep(_LOOK_SECONDS)


def length_of(log: Path) -> int:
    """How long the log is now, in bytes, to its last whole line; 0 when there is none."""
    try:
        with log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            return start + file.read(end - start).rfind(b"\n") + 1
    except OSError:
        return 0


def entry_line(row: str) -> Line:
    """One entry: when, how bad, what, and what belongs to it. A line that is no entry is shown as it is, made plain."""
    try:
        entry = json.loads(row)
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(iso_time(entry["timestamp"])))
        level, event = str(entry.get("level", "")), str(entry["event"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return line(one_line(plain(row), 2000))
    rest = " ".join(f"{name}={_short(value)}" for name, value in entry.items() if name not in _SET_APART)
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


def entry_json(row: str) -> str:
    """The same as one JSON object on one line, with nothing in it that a terminal would obey."""
    try:
        entry = json.loads(row)
    except ValueError:
        entry = {"text": row}
    return json.dumps(entry, ensure_ascii=True)


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) and " " in value else str(value)


def _last_lines(file: Path, count: int, end: int | None) -> list[str]:
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
        seen, ours = log.stat(), os.fstat(descriptor)
    except OSError:
        return True
    return (seen.st_dev, seen.st_ino) == (ours.st_dev, ours.st_ino)
