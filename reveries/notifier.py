"""Tells subscribers of an event: who announces does not know who listens."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Notifier(Generic[P]):
    """One kind of event. Subscribers are called at once, in the order in which they subscribed; none of them waits."""

    def __init__(self) -> None:
        self._listeners: list[Callable[P, object]] = []

    def subscribe(self, listener: Callable[P, object]) -> None:
        self._listeners.append(listener)

    @contextlib.contextmanager
    def subscribed(self, listener: Callable[P, object]) -> Iterator[None]:
        """Subscribe for as long as the block lasts."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def notify(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in tuple(self._listeners):
            listener(*args, **kwargs)
