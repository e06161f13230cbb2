"""Removes Textual's environment switches that could leak the screen: to a log, a screenshot or a debugging port, or
that press keys.

Textual reads the environment when it is imported, so this has to run before.
"""

from collections.abc import MutableMapping

_ALLOWED = frozenset({
    "TEXTUAL_ALLOW_SIGNALS",
    "TEXTUAL_ANIMATIONS",
    "TEXTUAL_COLOR_SYSTEM",
    "TEXTUAL_DIM_FACTOR",
    "TEXTUAL_DISABLE_KITTY_KEY",
    "TEXTUAL_FPS",
    "TEXTUAL_SMOOTH_SCROLL",
})  # fmt: skip
"""Switches of appearance, animation and keyboard input."""
_DRIVER = "TEXTUAL_DRIVER"
"""The class that gets the screen and the keys; `reveries web` sets it to connect a browser window."""


def remove_textual_switches(environment: MutableMapping[str, str], *, is_in_browser: bool = False) -> None:
    """Remove every Textual switch from `environment` except those of appearance, animation and keyboard input."""
    allowed = _ALLOWED | {_DRIVER} if is_in_browser else _ALLOWED
    for name in [name for name in environment if name == "TEXTUAL" or name.startswith("TEXTUAL_")]:
        if name not in allowed:
            del environment[name]
