"""Tracebacks for a log: files, lines and exception types, without anything that was said (H2)."""

import textwrap
import traceback
from collections.abc import Iterator

from reveries.errors import ReveriesError


def format_trace(error: BaseException, *, with_messages: bool = False) -> str:
    """Format the traceback of `error` and its causes. Messages are included only for our own errors and for system
    errors about files, or for all with `with_messages`."""
    if with_messages:
        return "".join(traceback.format_exception(error))
    parts = []
    for raised in reversed(list(_error_and_causes(error))):
        parts += [
            "Traceback (most recent call last):\n",
            *traceback.format_tb(raised.__traceback__),
            _loggable_message(raised),
        ]
        if isinstance(raised, BaseExceptionGroup):
            parts += [textwrap.indent(format_trace(member), "  | ") for member in raised.exceptions]
    return "".join(parts)


def _error_and_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _loggable_message(error: BaseException) -> str:
    kind = type(error).__qualname__
    if isinstance(error, ReveriesError):
        return f"{kind}: {error.for_log}\n"
    if isinstance(error, OSError):
        return f"{kind}: {error.strerror or ''} {error.filename or ''}".rstrip() + "\n"
    return f"{kind}\n"
