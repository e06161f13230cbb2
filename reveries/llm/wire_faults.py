"""What a failed connection means for the bill: nothing is owed only where nothing can have been sent. Pure."""

import socket
from collections.abc import Iterator

import httpx

from reveries.errors import ModelFault

_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, ConnectionRefusedError, socket.gaierror)
_BEFORE_SENDING_NAMES = frozenset({"ClientConnectorError"})
"""aiohttp's, which litellm may use and which is not imported here."""


def fault_of_wire(error: BaseException) -> ModelFault | None:
    """Return UNREACHABLE only when no connection was made; None when `error` was not caused by the connection.

    A connection that broke later is BROKEN: the request was sent, and its usage is unknown.
    """
    causes = list(causes_of(error))
    after_sending = [
        cause for cause in causes if isinstance(cause, httpx.TransportError) and not isinstance(cause, _BEFORE_SENDING)
    ]
    if after_sending:
        return ModelFault.TIMED_OUT if isinstance(after_sending[0], httpx.TimeoutException) else ModelFault.BROKEN
    if any(isinstance(cause, _BEFORE_SENDING) or _names_of_error(cause) & _BEFORE_SENDING_NAMES for cause in causes):
        return ModelFault.UNREACHABLE
    if any(isinstance(cause, TimeoutError) for cause in causes):
        return ModelFault.TIMED_OUT
    return ModelFault.BROKEN if any(isinstance(cause, ConnectionError) for cause in causes) else None


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and its causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _names_of_error(error: BaseException) -> frozenset[str]:
    return frozenset(kind.__name__ for kind in type(error).__mro__)
