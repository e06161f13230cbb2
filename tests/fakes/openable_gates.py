"""Gates that a test can take out: production has none (reveries/gates.py).

`install` puts the question whether a gate holds into the hands of this module; tests/conftest.py and bench/poison.py do
that. Production asks it as `gates.is_enforced`, never by a name of its own.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Final

from reveries import gates
from reveries.gates import Gate, ToolGate

_OPENED: Final[ContextVar[frozenset[Gate | ToolGate]]] = ContextVar("opened_gates", default=frozenset())
_is_enforced_in_production = gates.is_enforced


def install() -> None:
    """Once in a process."""
    gates.is_enforced = _is_enforced


def _is_enforced(gate: Gate | ToolGate) -> bool:
    return _is_enforced_in_production(gate) and gate not in _OPENED.get()


@contextlib.contextmanager
def opened(*taken_out: Gate | ToolGate) -> Iterator[None]:
    """Take these gates out, for the tasks that are begun within."""
    token = _OPENED.set(_OPENED.get() | frozenset(taken_out))
    try:
        yield
    finally:
        _OPENED.reset(token)
