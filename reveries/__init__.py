"""Reveries: a mind that stays awake on its owner's machine.

`reveries.connect` is the mind from Python: see docs/howto/python.md.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveries.client.mind import connect as connect

__version__ = "0.1.0"
__all__ = ["__version__", "connect"]


def __getattr__(name: str) -> object:
    # Imported on first use: the daemon and the help of a command do not need the client.
    if name == "connect":
        from reveries.client.mind import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
