"""Our own colours: a room at dusk, and the same room by day. Quiet, so that the words stand out."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual.theme import Theme

from reveries.client.theme_file import own_themes
from reveries.errors import ReveriesError

if TYPE_CHECKING:
    from textual.app import App

DUSK: Final = Theme(
    name="reveries-dusk",
    primary="#8fb3d9",
    secondary="#a79bd0",
    accent="#d8b98a",
    success="#8dbf9e",
    warning="#dba56c",
    error="#db8484",
    foreground="#d5d8e0",
    background="#14171f",
    surface="#181c26",
    panel="#1e2330",
    dark=True,
    variables={
        "border": "#2c3344",
        "border-blurred": "#232938",
        "scrollbar": "#2c3344",
        "scrollbar-background": "#14171f",
    },
)

DAY: Final = Theme(
    name="reveries-day",
    primary="#2f628f",
    secondary="#64559c",
    accent="#8a5f1c",
    success="#37704b",
    warning="#95591b",
    error="#a33c3c",
    foreground="#2a2d35",
    background="#f7f5f0",
    surface="#f0ede6",
    panel="#e8e4da",
    dark=False,
    variables={
        "border": "#cfc9ba",
        "border-blurred": "#ddd8cc",
        "scrollbar": "#cfc9ba",
        "scrollbar-background": "#f7f5f0",
    },
)

OURS: Final = (DUSK, DAY)
_TERMINAL: Final = "ansi-dark"
_LIGHT_BACKGROUNDS: Final = frozenset({"7", "15"})


def theme_name(setting: str, colorfgbg: str) -> str:
    """The theme that `client.theme` means; "auto" goes by what the terminal says of itself in COLORFGBG."""
    match setting:
        case "auto":
            return DAY.name if colorfgbg.rpartition(";")[2] in _LIGHT_BACKGROUNDS else DUSK.name
        case "terminal":
            return _TERMINAL
        case "dusk" | "day":
            return f"reveries-{setting}"
        case _:
            return setting


def next_theme(current: str, available: list[str]) -> str:
    """The one after `current`: ours first, then the others by name."""
    ours = [theme.name for theme in OURS]
    order = [*ours, *sorted(name for name in available if name not in ours)]
    place = order.index(current) + 1 if current in order else 0
    return order[place % len(order)]


def dress(app: "App[Any]", folder: Path, setting: str) -> str:
    """Put the colours on before the first style is read: later, all of them would be read again. What was wrong."""
    problem = ""
    themes = list(OURS)
    try:
        themes += own_themes(folder)
    except ReveriesError as error:
        problem = str(error)
    for theme in themes:
        app.register_theme(theme)
    wanted = theme_name(setting, os.environ.get("COLORFGBG", ""))
    if wanted not in app.available_themes:
        problem = problem or f"There are no colours called {wanted}. Those that there are: ctrl+p, or /theme."
        wanted = OURS[0].name
    app.set_reactive(type(app).theme, wanted)
    app.stylesheet.set_variables(app.get_css_variables())
    app.set_class(app.current_theme.dark, "-dark-mode", update=False)
    app.set_class(not app.current_theme.dark, "-light-mode", update=False)
    return problem
