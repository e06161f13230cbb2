"""Progress on stderr: a bar on a terminal, JSON lines with --json.

The descriptions come from the daemon, so they are made plain first.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import click
import msgspec

from reveries.client.render import is_terminal, json_line
from reveries.safe_text import one_line


class ProgressLine(msgspec.Struct, frozen=True):
    """Progress: what is being done, how much of it is done, the total (0: unknown), and the unit: "bytes", or "" for
    counted items."""

    doing: str
    done: int
    total: int
    unit: str


ProgressCallback = Callable[[str, int, int], None]
"""Receives what is being done, how much is done, and the total (0: unknown)."""

_LINE_EVERY_SECONDS = 0.25
_NAME_CHARS = 60


@contextlib.contextmanager
def progress_bar(what: str, *, in_bytes: bool = False, as_json: bool = False) -> Iterator[ProgressCallback]:
    """Show a progress bar, removed at the end; with `as_json`, print lines instead: at most four per second, but always
    the first and the last one."""
    if as_json:
        yield _make_line_printer("bytes" if in_bytes else "", time.monotonic)
        return
    if not is_terminal(err=True):
        yield lambda now_doing, done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    timing = TimeRemainingColumn() if in_bytes else TimeElapsedColumn()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(30), amount, timing)
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as progress:
        task = progress.add_task(one_line(what, _NAME_CHARS), total=None)

        def report(now_doing: str, done: int, total: int) -> None:
            progress.update(task, description=one_line(now_doing, _NAME_CHARS), completed=done, total=total or None)

        yield report


def _make_line_printer(unit: str, seconds_now: Callable[[], float]) -> ProgressCallback:
    """Return a callback that prints ProgressLine objects on stderr."""
    next_line_at = 0.0
    last: tuple[str, int, int] | None = None

    def report(now_doing: str, done: int, total: int) -> None:
        nonlocal next_line_at, last
        values = (one_line(now_doing, _NAME_CHARS), done, total)
        is_new_work = last is None or last[0] != values[0]
        is_complete = 0 < total <= done
        if values == last or not (is_new_work or is_complete or seconds_now() >= next_line_at):
            return
        last, next_line_at = values, seconds_now() + _LINE_EVERY_SECONDS
        click.echo(json_line(ProgressLine(*values, unit)), err=True)

    return report
