"""Parallel long runs: each process does one task after the other, and results are returned as they are ready."""

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import TypeVar

Task = TypeVar("Task")
Found = TypeVar("Found")


def side_by_side(
    work: Callable[[Iterator[Task]], Iterator[Found]], tasks: Iterator[Task], workers: int
) -> Iterator[tuple[Task, Found]]:
    """Yield each of `tasks` with its result, in the order in which they end. The next task is requested when a worker
    is free, so it may depend on all earlier results. `work`, a function of a module, gets the tasks of one worker and
    yields a result for each. Raises RuntimeError when a worker dies."""
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(_worker(work, number)) for number in range(workers)]
        busy = dict[Connection, Task]()
        while True:
            for task in tasks:
                busy[worker := free.pop()] = task
                worker.send(task)
                if not free:
                    break
            if not busy:
                return
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                try:
                    found = ready.recv()
                except EOFError:
                    raise RuntimeError("A worker died: what it said stands above.") from None
                yield busy.pop(ready), found
                free.append(ready)


@contextlib.contextmanager
def _worker(work: Callable[[Iterator[Task]], Iterator[Found]], number: int) -> Iterator[Connection]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(work, there), name=f"worker-{number}")
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()  # Its tasks end with that.
        process.join()


def _work(work: Callable[[Iterator[Task]], Iterator[Found]], tasks: Connection) -> None:
    with contextlib.suppress(BrokenPipeError):  # Nobody waits for it any more.
        for found in work(_received(tasks)):
            tasks.send(found)


def _received(tasks: Connection) -> Iterator[Task]:
    with contextlib.suppress(EOFError, ConnectionResetError):
        while True:
            yield tasks.recv()
