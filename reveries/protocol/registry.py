"""The registry of requests and their rules: a new request only needs `@request` on its message."""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from reveries.protocol.message import Frame, Hello, Message, Request

_R = TypeVar("_R", bound=Request)


@dataclass(frozen=True, slots=True)
class RequestRules:
    """Rules for one kind of request."""

    answer: type[Frame]
    """Its last frame, unless it fails."""
    before: tuple[type[Frame], ...]
    """The frames that may come before the last one."""
    is_watch: bool
    """Whether it runs until it is cancelled, which is then no failure: it ends with `answer`."""
    is_safe: bool
    """Whether it is answered in safe mode."""
    is_large: bool
    """Whether its answer may be large. Each client gets one large answer at a time, the next when it has read most of
    the last. Otherwise a client that does not read could make the daemon hold many of them in memory (E4)."""


REQUESTS: Final[dict[type[Request], RequestRules]] = {}
"""In the order of definition."""


def request(
    *,
    answer: type[Frame],
    before: tuple[type[Frame], ...] = (),
    watch: bool = False,
    safe: bool = False,
    large: bool = False,
) -> Callable[[type[_R]], type[_R]]:
    """Register a message as a request that ends with `answer`; see RequestRules."""

    def register(message: type[_R]) -> type[_R]:
        REQUESTS[message] = RequestRules(answer, before, watch, safe, large)
        return message

    return register


def requests_type() -> Any:
    """Return the union of all messages that a client may send, for a decoder."""
    return functools.reduce(operator.or_, (Hello, *REQUESTS))


def frames_type() -> Any:
    """Return the union of all messages that the daemon may send, for a decoder."""
    return functools.reduce(operator.or_, leaf_messages(Frame))


def leaf_messages(base: type[Message]) -> list[type[Message]]:
    """Return the leaf subclasses of `base`, in the order of definition."""
    leaves: list[type[Message]] = []
    for message in base.__subclasses__():
        leaves += leaf_messages(message) or [message]
    return leaves
