"""Draws every screen of the terminal interface as text, with recorded answers of a real daemon (record_screens.py).

    python -m tests.client.draw_screens            # redraw all of them
    python -m tests.client.draw_screens --svg DIR  # also as pictures, for review

test_tui_screens.py compares tests/client/screens/NAME-COLUMNSxROWS.txt, so that the diff of a change shows its effect
on the screens.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from textual.pilot import Pilot

from reveries import protocol
from reveries.client.tui.app import ReveriesApp
from reveries.client.tui.link import LONGEST_PAUSE_SECONDS
from reveries.client.tui.side import MonologuePane
from reveries.config import Home
from tests.client.record_screens import CUE, RECORDED
from tests.client.screen_text import rows_of, text_of, until
from tests.fakes.clock import HandClock, settle
from tests.fakes.daemon import Script, awake

SIZES: Final = ((120, 40), (80, 24), (50, 20))
SCREENS_FOLDER: Final = RECORDED.parent
_MIDDLE: Final = SIZES[1:2]
_GREETING_SECONDS: Final = 15.0
_REPLY: Final = (
    "You told me three things:\n\n"
    "1. The old pear tree **survived the storm**; one branch broke.\n"
    "2. The wall is finished up to the tree, with an *arch for its root*.\n"
    "3. In September it gave `40 kg`.\n\n"
    "> I want to keep it whatever happens with the wall.\n\n"
    "Shall I keep the date of the next pruning?"
)
_DEGRADED: Final = "The disk is full: nothing new is stored. Free some space, then: reveries status"


def recorded() -> dict[str, protocol.Frame]:
    """Load the recorded answers, by the name of the request."""
    decoder = msgspec.json.Decoder(protocol.frames_type())
    answers = msgspec.json.decode(RECORDED.read_bytes(), type=dict[str, msgspec.Raw])
    return {name: decoder.decode(answer) for name, answer in answers.items()}


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen: the keys that open it, and words that it shows once it is drawn."""

    keys: tuple[str, ...] = ()
    words: str = "pruning"
    typed: str = ""
    is_empty: bool = False
    """The conversation has no turns yet."""
    is_degraded: bool = False
    goes_away: bool = False
    sizes: tuple[tuple[int, int], ...] = SIZES


SCREENS: Final = {
    "welcome": Screen(words="Say something.", is_empty=True),
    "talk": Screen(),
    "degraded": Screen(words="disk is", is_degraded=True),
    "away": Screen(words="reconnecting", goes_away=True),
    "side": Screen(("ctrl+t",), "", sizes=_MIDDLE),
    "menu": Screen(typed="/", words="/stop"),
    "help": Screen(("f1",), "you are here"),
    "past-words": Screen(("ctrl+r",), "your earlier messages", sizes=_MIDDLE),
    "marked": Screen(("alt+up", "alt+up"), "", sizes=_MIDDLE),
    "context": Screen(("f2",), "prompt context"),
    "recalled": Screen(("f3",), "recalled for your last"),
    "memory": Screen(("f4",), "Ada: "),
    "memory-found": Screen(("enter",), "Ada: ", typed="/memory the garden wall"),
    "graph": Screen(("f9",), "", sizes=_MIDDLE),
    "forget": Screen(("f4", "d"), "what would be affected"),
    "correct": Screen(("f4", "c"), "What is right instead", sizes=_MIDDLE),
    "private": Screen(("enter",), "off the record", typed="/private", sizes=SIZES),
    "why": Screen(("f4", "w"), ""),
    "sleeps": Screen(("f5",), "sleep passes"),
    "thoughts": Screen(("f6",), "seven point four"),
    "status": Screen(("f7",), "last thought"),
    "conversations": Screen(("f8",), "turns"),
    "usage": Screen(("enter",), "usage", typed="/usage"),
    "models": Screen(("enter",), "models", typed="/models", sizes=_MIDDLE),
    "wellbeing": Screen(("enter",), "wellbeing", typed="/wellbeing"),
    "self": Screen(("enter",), "self-model", typed="/self", sizes=_MIDDLE),
    "timeline": Screen(("enter",), "timeline", typed="/timeline", sizes=_MIDDLE),
}


async def _until_attached(app: ReveriesApp, pilot: Pilot[None], clock: HandClock, *, is_empty: bool) -> None:
    """Wait for the conversation. On a busy machine the first greeting may take too long, and the pause before the next
    try passes by the clock that only a test turns."""

    def is_there() -> bool:
        return app.is_attached_to_mind and bool(app.chat.query(".turn")) is not is_empty

    while not is_there():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GREETING_SECONDS):
                await until(pilot, is_there)
        if not is_there():
            await clock.advance(LONGEST_PAUSE_SECONDS)


async def draw(name: str, size: tuple[int, int]) -> tuple[str, str]:
    """Return the rows of the screen, and the picture as SVG. Raises TimeoutError if it is not drawn in time."""
    screen, answers = SCREENS[name], recorded()
    status = answers["AskStatus"]
    assert isinstance(status, protocol.Status)
    clock = HandClock(status.awake_since + 3 * 3600 + 20 * 60)
    with _utc(), tempfile.TemporaryDirectory(prefix="rv") as folder:
        home = Home(Path(folder) / "home")
        script = _script(screen, answers, clock.now())
        app = ReveriesApp(home, clock)
        async with asyncio.timeout(300), awake(home, script) as mind, _running(app, size) as pilot:
            await _until_attached(app, pilot, clock, is_empty=screen.is_empty)
            await until(pilot, lambda: "the wall was" in app.query_one(MonologuePane).text)
            await _settled(app, pilot)
            if screen.goes_away:
                await mind.stop()
                await until(pilot, lambda: not app.is_attached_to_mind)
            app.composer.write(screen.typed)
            await _settled(app, pilot)
            for key in screen.keys:
                await pilot.press(key)
                await _settled(app, pilot)
            await _there(app, pilot, screen.words)
            await _settled(app, pilot)
            svg = app.export_screenshot(title="reveries")
            rows = [row.rstrip() for row in rows_of(app)]
            if screen.goes_away:
                await mind.start()
        return "\n".join(rows) + "\n", svg


@contextlib.asynccontextmanager
async def _running(app: ReveriesApp, size: tuple[int, int]) -> AsyncIterator[Pilot[None]]:
    async with app.run_test(size=size) as pilot:
        yield pilot


async def _there(app: ReveriesApp, pilot: Pilot[None], words: str) -> None:
    try:
        await until(pilot, lambda: words in text_of(app))
    except asyncio.CancelledError:
        sys.stderr.write(f"{words!r} is not on the screen:\n{text_of(app)}\n")
        raise


async def _settled(app: ReveriesApp, pilot: Pilot[None]) -> None:
    """Wait until the screen does not change any more."""
    same, before = 0, ""
    while same < 3:
        await pilot.pause(0.05)
        await settle(50)  # On a busy machine the loop runs only a few steps in that time.
        now = text_of(app)
        same, before = (same + 1, before) if now == before else (0, now)


def _script(screen: Screen, answers: dict[str, protocol.Frame], now: float) -> Script:
    status, recalled, used = answers["AskStatus"], answers["Recalled"], answers["AskUsage"]
    assert isinstance(status, protocol.Status)
    assert isinstance(used, protocol.UsageReport)
    status = msgspec.structs.replace(status, limits=[one for one in used.limits if one.span == "day"])
    assert isinstance(recalled, protocol.Recalled)
    if screen.is_degraded:
        status = msgspec.structs.replace(status, health="not storing", problems=[_DEGRADED])
    past = answers["AskConversations"]
    assert isinstance(past, protocol.Conversations)
    found = answers["Search"]
    assert isinstance(found, protocol.Found)
    episode = answers["Inspect"]
    assert isinstance(episode, protocol.EpisodeDetail)
    told = answers["AskContext"]
    assert isinstance(told, protocol.ToldContext)
    answers = answers | {"AskContext": msgspec.structs.replace(told, recalled=recalled.items)}
    return Script(
        turns=[] if screen.is_empty else _talk(now),
        recalled=recalled.items,
        live=[
            protocol.ThoughtBegan(0, "th1", "the conversation ended", "She asked about the tree again. "),
            protocol.ThoughtToken(0, "The bottle said seven point four; the wall was", 0),
        ],
        thoughts=[_thought(now)],
        past=past.conversations,
        found=found,
        episode=episode,
        status=status,
        sleep={name: answers[name] for name in ("AskSleepLog", "InspectSleep")},
        looks={"Forget": _plan(episode)}
        | {
            name: answers[name]
            for name in (
                "AskWhy", "AskTimeline", "AskContext", "AskSelf", "AskWellbeing", "AskUsage", "AskModels", "AskNotes",
                "AskContradictions", "AskNeighbourhood",
            )
        },
    )  # fmt: skip


def _plan(episode: protocol.EpisodeDetail) -> protocol.Forgotten:
    """A sample plan of forgetting, as the daemon would send it."""
    kinds = {"episode": episode.episode_id, "turn": episode.sources[0].turn_id}
    items = [protocol.ForgottenItem(key, kind, episode.happened_at, episode.summary) for kind, key in kinds.items()]
    stores = [protocol.ForgottenStore("episodes", 1), protocol.ForgottenStore("turns", 2)]
    notes = ["It can be brought back: reveries forget --bring-back ID"]
    return protocol.Forgotten(0, True, False, "", 0.0, stores, items, len(items), notes)


def _talk(now: float) -> list[protocol.SaidTurn]:
    return [_turn("t1", CUE, now - 90, is_owner=True), _turn("t2", _REPLY, now - 60, is_owner=False)]


def _turn(name: str, text: str, said_at: float, *, is_owner: bool) -> protocol.SaidTurn:
    return protocol.SaidTurn(name, "Ada" if is_owner else "Reverie", is_owner, text, said_at, False)


def _thought(now: float) -> protocol.ThoughtEntry:
    return protocol.ThoughtEntry(
        "th1", now - 4000, now - 3950, "conversation_ended", "settled", "The bottle said seven point four.", 61, [],
        calls=1, prompt_tokens=900, completion_tokens=61,
    )  # fmt: skip


@contextlib.contextmanager
def _utc() -> Iterator[None]:
    """Set the local time zone to UTC within the context."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def file_of(name: str, size: tuple[int, int]) -> Path:
    """Return the file of a screen."""
    return SCREENS_FOLDER / f"{name}-{size[0]}x{size[1]}.txt"


def main() -> None:
    """Draw the chosen screens."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*SCREENS, []], help="which; without a name all")
    parser.add_argument("--svg", type=Path, help="a folder for pictures")
    chosen = parser.parse_args()
    for name in chosen.names or SCREENS:
        for size in SCREENS[name].sizes:
            file = file_of(name, size)
            rows, svg = asyncio.run(draw(name, size))
            file.write_text(rows, encoding="utf-8")
            if chosen.svg:
                (chosen.svg / f"{file.stem}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
