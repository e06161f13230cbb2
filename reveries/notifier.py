"""Notifies subscribers of an event; the sender does not know them."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Notifier(Generic[P]):
    """One kind of event. Subscribers are called immediately and synchronously, in the order of subscription."""

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
