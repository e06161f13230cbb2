"""Colour themes: our own dark and light ones, and those of the owner."""

import os
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, Monochrome, NoColor
from textual.theme import Theme

from reveries.errors import ConfigError, ReveriesError

if TYPE_CHECKING:
    from textual.app import App

_STYLE_CACHE_SIZE: Final = 4096


@lru_cache(_STYLE_CACHE_SIZE)
def _plain_style(style: Style) -> Style:
    return style.without_color


class ColourRemover(LineFilter):
    """A filter that removes every colour."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without colours, other styles unchanged."""
        return [
            Segment(text, None if style is None else _plain_style(style), control) for text, style, control in segments
        ]


def replace_grey_filters(filters: list[LineFilter]) -> list[LineFilter]:
    """Replace Textual's NO_COLOR filters, which turn colours to greys, with one that removes them."""
    return [
        *(line_filter for line_filter in filters if not isinstance(line_filter, Monochrome | NoColor)),
        ColourRemover(),
    ]


_COLOURS: Final = (
    "primary", "secondary", "accent", "success", "warning", "error", "foreground", "background", "surface", "panel"
)  # fmt: skip
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LARGEST_BYTES: Final = 20_000


def load_themes(folder: Path) -> list[Theme]:
    """Load the owner's themes, sorted by name. Raises ConfigError naming the faulty file."""
    return [_load_theme(file) for file in sorted(folder.glob("*.toml"))] if folder.is_dir() else []


def _load_theme(file: Path) -> Theme:
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            raise _theme_error(file, "it is too large")
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _theme_error(file, str(error)) from error
    except RecursionError as error:
        raise _theme_error(file, "it is nested too deeply") from error
    colours: dict[str, str] = {}
    for name, value in table.items():
        if name == "dark":
            continue
        if name not in _COLOURS:
            raise _theme_error(file, f"a theme has no colour {name!r} (it has: dark, {', '.join(_COLOURS)})")
        if not isinstance(value, str) or not _COLOUR.fullmatch(value):
            raise _theme_error(file, f'{name} must be a colour like "#8fb3d9"')
        colours[name] = value
    if "primary" not in colours:
        raise _theme_error(file, "primary is missing")
    primary = colours.pop("primary")
    return Theme(file.stem, primary, dark=table.get("dark", True) is not False, **colours)  # type: ignore[arg-type]


def _theme_error(file: Path, what: str) -> ConfigError:
    return ConfigError(f"The colour theme {file} is invalid: {what}.", advice="Fix the file, or remove it.")


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

BUILT_IN_THEMES: Final = (DUSK, DAY)
_TERMINAL: Final = "ansi-dark"
_LIGHT_BACKGROUNDS: Final = frozenset({"7", "15"})


def theme_name(setting: str, colorfgbg: str) -> str:
    """Return the theme name for the setting `client.theme`; "auto" is decided by COLORFGBG."""
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
    """Return the theme after `current`: built-in ones first, then the others by name."""
    ours = [theme.name for theme in BUILT_IN_THEMES]
    order = [*ours, *sorted(name for name in available if name not in ours)]
    place = order.index(current) + 1 if current in order else 0
    return order[place % len(order)]


def apply_theme(app: "App[Any]", folder: Path, setting: str) -> str:
    """Set the theme before styles are first parsed, as a later change would parse them again. Return any problem."""
    problem = ""
    themes = list(BUILT_IN_THEMES)
    try:
        themes += load_themes(folder)
    except ReveriesError as error:
        problem = str(error)
    for theme in themes:
        app.register_theme(theme)
    wanted = theme_name(setting, os.environ.get("COLORFGBG", ""))
    if wanted not in app.available_themes:
        problem = problem or f"There is no colour theme {wanted}. To choose one: ctrl+p, or /theme."
        wanted = BUILT_IN_THEMES[0].name
    app.set_reactive(type(app).theme, wanted)
    app.stylesheet.set_variables(app.get_css_variables())
    app.set_class(app.current_theme.dark, "-dark-mode", update=False)
    app.set_class(not app.current_theme.dark, "-light-mode", update=False)
    return problem
