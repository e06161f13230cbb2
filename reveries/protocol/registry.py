"""Every request with what holds of it: `@request` on a message is all that a new one needs here."""

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from reveries.protocol.message import Frame, Hello, Message, Request

_R = TypeVar("_R", bound=Request)


@dataclass(frozen=True, slots=True)
class RequestRules:
    """What holds of a kind of request."""

    answer: type[Frame]
    """Its last frame, where it does not fail."""
    is_safe: bool
    """Whether it is answered in safe mode."""
    is_large: bool
    """Whether its answer may be long: one at a time for each client, and the next when most of the last was read. Else
    a client that reads nothing could have as many large answers made as may run at once (E4)."""


REQUESTS: Final[dict[type[Request], RequestRules]] = {}
"""By the message, in the order in which they are defined."""


def request(*, answer: type[Frame], safe: bool = False, large: bool = False) -> Callable[[type[_R]], type[_R]]:
    """Register a message as a request that ends with `answer`; see RequestRules."""

    def register(message: type[_R]) -> type[_R]:
        REQUESTS[message] = RequestRules(answer, safe, large)
        return message

    return register


def requests_type() -> Any:
    """The union of all that a client may send, for a decoder."""
    return functools.reduce(operator.or_, (Hello, *REQUESTS))


def frames_type() -> Any:
    """The union of all that the daemon may send, for a decoder."""
    return functools.reduce(operator.or_, all_frames(Frame))


def all_frames(base: type[Message]) -> list[type[Message]]:
    """The messages that stand on `base` and are no base themselves, in the order in which they are defined."""
    found: list[type[Message]] = []
    for message in base.__subclasses__():
        found += all_frames(message) or [message]
    return found
