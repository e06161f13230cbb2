"""Tells subscribers of an event: who announces does not know who listens."""

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Notifier(Generic[P]):
    """One kind of event. Subscribers are called at once, in the order in which they subscribed; none of them waits."""

    def __init__(self) -> None:
        self._listeners: list[Callable[P, object]] = []

    def subscribe(self, listener: Callable[P, object]) -> None:
        self._listeners.append(listener)

    def notify(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in self._listeners:
            listener(*args, **kwargs)
