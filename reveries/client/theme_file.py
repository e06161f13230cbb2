"""The owner's own colours: themes/NAME.toml in the home, each a table of the colours that Textual's themes have."""

import re
import tomllib
from pathlib import Path
from typing import Final

from textual.theme import Theme

from reveries.errors import ConfigError

_COLOURS: Final = (
    "primary", "secondary", "accent", "success", "warning", "error", "foreground", "background", "surface", "panel"
)  # fmt: skip
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LARGEST_BYTES: Final = 20_000


def own_themes(folder: Path) -> list[Theme]:
    """The owner's themes, by name. Raises ConfigError naming the file that is wrong."""
    return [_theme(file) for file in sorted(folder.glob("*.toml"))] if folder.is_dir() else []


def _theme(file: Path) -> Theme:
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            raise _wrong(file, "it is too large")
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _wrong(file, str(error)) from error
    except RecursionError as error:
        raise _wrong(file, "it is nested too deeply") from error
    colours: dict[str, str] = {}
    for name, value in table.items():
        if name == "dark":
            continue
        if name not in _COLOURS:
            raise _wrong(file, f"there is no colour {name!r} in a theme (there are: dark, {', '.join(_COLOURS)})")
        if not isinstance(value, str) or not _COLOUR.fullmatch(value):
            raise _wrong(file, f'{name} is no colour like "#8fb3d9"')
        colours[name] = value
    if "primary" not in colours:
        raise _wrong(file, "primary is missing")
    primary = colours.pop("primary")
    return Theme(file.stem, primary, dark=table.get("dark", True) is not False, **colours)  # type: ignore[arg-type]


def _wrong(file: Path, what: str) -> ConfigError:
    return ConfigError(f"The colours in {file} are wrong: {what}.", advice="Mend the file, or take it away.")
