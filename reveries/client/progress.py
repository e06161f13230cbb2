"""How far long work is, on stderr: a bar for a person's terminal, with --json a JSON object a line for a program.

What it says of itself comes from the mind, so it is made plain first.
"""

import contextlib
import time
from collections.abc import Callable, Iterator

import click

from reveries.client.json_answers import ProgressLine
from reveries.client.render import is_terminal, json_line
from reveries.safe_text import one_line

Moved = Callable[[str, int, int], None]
"""What is being done, how much is done, of how much (0: not known)."""

_LINE_EVERY_SECONDS = 0.25
_NAME_CHARS = 60


@contextlib.contextmanager
def progress_bar(what: str, *, in_bytes: bool = False, as_json: bool = False) -> Iterator[Moved]:
    """A bar that moves when it is told to, and is gone when the work is done; with `as_json` lines, at most four a
    second, and always the first and the one that completes."""
    if as_json:
        yield _line_printer("bytes" if in_bytes else "", time.monotonic)
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

        def moved(now_doing: str, done: int, total: int) -> None:
            progress.update(task, description=one_line(now_doing, _NAME_CHARS), completed=done, total=total or None)

        yield moved


def _line_printer(unit: str, seconds_now: Callable[[], float]) -> Moved:
    """Lines of JSON on stderr, each a ProgressLine."""
    next_line_at = 0.0
    last: tuple[str, int, int] | None = None

    def moved(now_doing: str, done: int, total: int) -> None:
        nonlocal next_line_at, last
        told = (one_line(now_doing, _NAME_CHARS), done, total)
        is_new_work = last is None or last[0] != told[0]
        is_complete = 0 < total <= done
        if told == last or not (is_new_work or is_complete or seconds_now() >= next_line_at):
            return
        last, next_line_at = told, seconds_now() + _LINE_EVERY_SECONDS
        click.echo(json_line(ProgressLine(*told, unit)), err=True)

    return moved
