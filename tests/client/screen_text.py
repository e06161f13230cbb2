"""The screen of a running application as text."""

from collections.abc import Callable

from textual.app import App
from textual.pilot import Pilot


def rows_of(app: App[None]) -> list[str]:
    """Return the rows of the screen, as the terminal would get them."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def text_of(app: App[None]) -> str:
    """Return the rows of the screen joined by newlines."""
    return "\n".join(rows_of(app))


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    """Let the application run until `condition` holds. The test's own timeout bounds it."""
    while not condition():
        await pilot.pause(0.01)
