"""A picture of the terminal interface, made from the running program.

    python docs/screenshot.py --out docs/images/chat.svg --size 120x40 "Good morning" "What was it about the garden?"
    python docs/screenshot.py --out docs/images/memory.svg --typed "/memory the garden wall" --keys enter

It opens the real interface, headless, on the mind that is awake in REVERIES_HOME, types each line, waits for each reply
to end, types what is not said and presses keys if there are any, and writes what stands on the screen.
Nothing is drawn that the program did not draw.
"""

import argparse
import asyncio
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.composer import Composer
from reveries.client.tui.themes import DAY, DUSK
from reveries.config import find_home

_ATTACH_SECONDS = 60.0
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long is waited: for a reply at most, and before the picture."""

    reply: float
    linger: float


async def take(
    lines: list[str], size: tuple[int, int], theme: str, typed: str, keys: list[str], seconds: Seconds
) -> str:
    """Hold the conversation and give the screen as SVG. Raises TimeoutError when the mind is asleep or too slow."""
    app = ReveriesApp(find_home())
    async with app.run_test(size=size) as pilot:
        app.theme = theme
        async with asyncio.timeout(_ATTACH_SECONDS):
            while not app.is_attached_to_mind:
                await pilot.pause(_LOOK_SECONDS)
        for line in lines:
            await _say(app, pilot, line, seconds.reply)
        app.composer.write(typed)
        for key in keys:
            await pilot.pause(_LOOK_SECONDS)
            await pilot.press(key)
        await pilot.pause(seconds.linger)
        return app.export_screenshot(title="reveries")


async def _say(app: ReveriesApp, pilot: Pilot[None], line: str, reply_seconds: float) -> None:
    app.query_one(Composer).insert(line)
    await pilot.press("enter")
    async with asyncio.timeout(reply_seconds):
        await pilot.pause(_LOOK_SECONDS)
        while app.is_answering:
            await pilot.pause(_LOOK_SECONDS)
    await pilot.pause(_LOOK_SECONDS)


def _size(text: str) -> tuple[int, int]:
    columns, _, rows = text.partition("x")
    return int(columns), int(rows)


def main() -> None:
    """Read the words of the command, take the picture, write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", nargs="*", help="what to say, one argument a turn")
    parser.add_argument("--out", type=Path, default=Path("docs/images/chat.svg"))
    parser.add_argument("--size", type=_size, default=(120, 40), help="columns x rows")
    parser.add_argument("--theme", choices=[DUSK.name, DAY.name], default=DUSK.name)
    parser.add_argument("--reply-seconds", type=float, default=180.0, help="how long a reply may take")
    parser.add_argument("--linger-seconds", type=float, default=1.0, help="wait before the picture, e.g. for a thought")
    parser.add_argument("--typed", default="", help="written into the draft and not sent")
    parser.add_argument("--keys", nargs="*", default=[], help="pressed after that, by Textual's names: f4 enter")
    chosen = parser.parse_args()
    seconds = Seconds(chosen.reply_seconds, chosen.linger_seconds)
    picture = asyncio.run(take(chosen.lines, chosen.size, chosen.theme, chosen.typed, chosen.keys, seconds))
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
