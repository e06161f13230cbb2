"""A test over a table: one test that runs for every row and names all that fail, where a row has nothing of its own."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

_Test = TypeVar("_Test", bound=Callable[..., object])


def check_rows(names: str | tuple[str, ...], rows: Iterable[object]) -> Callable[[_Test], _Test]:
    """Run a test for each of `rows`, whose values are its arguments `names`, as one test. Several tables on one test
    are all their combinations. It fails with the failure of each row, or its own if there is one only.

    For tables of words and values; a test that needs a folder, a clock or a process of its own for each row takes
    `pytest.mark.parametrize`."""
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(rows)

    def named(row: object) -> dict[str, object]:
        values = tuple(cast("Iterable[object]", row)) if len(columns) > 1 else (row,)
        return dict(zip(columns, values, strict=True))

    def decorate(test: _Test) -> _Test:
        async def run_waiting(**outer: Any) -> None:
            failures = []
            for row in table:
                try:
                    await cast("Awaitable[object]", test(**outer, **named(row)))
                except Exception as failure:  # noqa: BLE001  # Whatever a row raises is told with the others.
                    failures.append(_note(failure, row))
            _tell(failures, len(table))

        def run(**outer: Any) -> None:
            failures = []
            for row in table:
                try:
                    test(**outer, **named(row))
                except Exception as failure:  # noqa: BLE001  # Whatever a row raises is told with the others.
                    failures.append(_note(failure, row))
            _tell(failures, len(table))

        whole = run_waiting if inspect.iscoroutinefunction(test) else run
        whole.__name__, whole.__doc__, whole.__module__ = test.__name__, test.__doc__, test.__module__
        whole.__dict__.update(test.__dict__)
        return cast("_Test", whole)

    return decorate


def _note(failure: Exception, row: object) -> Exception:
    failure.add_note(f"in the row {row!r}"[:1000])
    return failure


def _tell(failures: list[Exception], count: int) -> None:
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {count} rows fail", failures)
