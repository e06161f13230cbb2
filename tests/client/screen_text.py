"""The screen of a running application as text, and waiting for what it shows."""

import asyncio
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


async def press_until_it_ends(app: App[None], *keys: str) -> None:
    """Press keys of which the last ends the application: `pilot.press` would wait for the answer of widgets that are
    gone by then, and give up after half a minute."""
    for key in keys:
        app.simulate_key(key)
    while not app._exit:  # noqa: ASYNC110  # The application has no event for it.
        await asyncio.sleep(0.01)
