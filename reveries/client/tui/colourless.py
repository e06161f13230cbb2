"""NO_COLOR taken at its word: what is drawn keeps bold, dim and reverse, and no colour code reaches the terminal.

Textual's own filter for it turns colours into shades of grey, which are colours to a terminal.
"""

from functools import lru_cache
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter, Monochrome, NoColor

_STYLES_KEPT: Final = 4096


@lru_cache(_STYLES_KEPT)
def _without(style: Style) -> Style:
    return style.without_color


class Colourless(LineFilter):
    """Takes every colour out."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same text, the same weight, no colour."""
        return [Segment(text, None if style is None else _without(style), control) for text, style, control in segments]


def in_place_of_greys(filters: list[LineFilter]) -> list[LineFilter]:
    """`filters` of an application that is to have no colour."""
    return [*(one for one in filters if not isinstance(one, Monochrome | NoColor)), Colourless()]
