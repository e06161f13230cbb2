"""What Textual would do because the environment says so, and we do not let it: write what is shown into a log or a
picture, hand it to a program that listens on a port, press keys.

It reads the environment where it is imported: ask for this before.
"""

from collections.abc import MutableMapping

_KEPT = frozenset({
    "TEXTUAL_ALLOW_SIGNALS",
    "TEXTUAL_ANIMATIONS",
    "TEXTUAL_COLOR_SYSTEM",
    "TEXTUAL_DIM_FACTOR",
    "TEXTUAL_DISABLE_KITTY_KEY",
    "TEXTUAL_FPS",
    "TEXTUAL_SMOOTH_SCROLL",
})  # fmt: skip
"""How it looks, moves, and takes keys."""
_DRIVER = "TEXTUAL_DRIVER"
"""A class that is given the screen and the keys: how `reveries web` has it speak to a browser's window."""


def turn_off(environment: MutableMapping[str, str], *, is_in_browser: bool = False) -> None:
    """Take every switch of Textual's out of `environment` but those that say how it looks, moves and takes keys."""
    kept = _KEPT | {_DRIVER} if is_in_browser else _KEPT
    for name in [name for name in environment if name == "TEXTUAL" or name.startswith("TEXTUAL_")]:
        if name not in kept:
            del environment[name]
