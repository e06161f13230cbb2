"""Where an error was raised, for a log: files, lines and kinds, and no word that anybody said (H2)."""

import textwrap
import traceback
from collections.abc import Iterator

from reveries.errors import ReveriesError


def trace_of(error: BaseException, *, says_all: bool = False) -> str:
    """Where `error` and what led to it were raised: files, lines and kinds. Its words only where they are ours, or the
    system's about files, or with `says_all`."""
    if says_all:
        return "".join(traceback.format_exception(error))
    told = []
    for raised in reversed(list(_causes_of(error))):
        told += ["Traceback (most recent call last):\n", *traceback.format_tb(raised.__traceback__), _words_of(raised)]
        if isinstance(raised, BaseExceptionGroup):
            told += [textwrap.indent(trace_of(one), "  | ") for one in raised.exceptions]
    return "".join(told)


def _causes_of(error: BaseException) -> Iterator[BaseException]:
    """`error` and what led to it."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _words_of(error: BaseException) -> str:
    kind = type(error).__qualname__
    if isinstance(error, ReveriesError):
        return f"{kind}: {error.for_log}\n"
    if isinstance(error, OSError):
        return f"{kind}: {error.strerror or ''} {error.filename or ''}".rstrip() + "\n"
    return f"{kind}\n"
