"""A progress bar on stderr, on a terminal only. Its words come from the mind, so they are made plain first."""

import contextlib
from collections.abc import Callable, Iterator

from reveries.client.render import is_terminal
from reveries.plaintext import one_line

Moved = Callable[[str, int, int], None]
"""What is being done, how much is done, of how much (0: not known)."""


@contextlib.contextmanager
def progress_bar(what: str, *, in_bytes: bool = False) -> Iterator[Moved]:
    """A bar that moves when it is told to, and is gone when the work is done."""
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
        task = progress.add_task(one_line(what, 60), total=None)

        def moved(now_doing: str, done: int, total: int) -> None:
            progress.update(task, description=one_line(now_doing, 60), completed=done, total=total or None)

        yield moved
