"""`reveries import`: a past conversation from a file, or a whole mind."""

import asyncio
import time
from contextlib import aclosing
from pathlib import Path

import click
import msgspec

from reveries import protocol
from reveries.client.connection import Connection
from reveries.client.import_file import batches
from reveries.client.import_formats import read_past
from reveries.client.json_answers import BroughtIn
from reveries.client.progress import Moved
from reveries.client.render import Page, Part, line
from reveries.client.wording import plural
from reveries.config import find_home, load_settings
from reveries.errors import ConnectionLostError


@click.command("import", short_help="Remember a past conversation from a file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mind", "is_mind", is_flag=True, help="FILE is a whole mind (reveries export): for a home without one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(file: Path, is_mind: bool, as_json: bool) -> None:
    """Remember a past conversation. FILE is an export of ChatGPT or Claude (conversations.json, or the .zip), a
    transcript of lines "Name: words" (.txt, .md), or has one JSON object a line: {"time": "2025-03-04T14:02:00",
    "speaker": "Ada", "text": "Good morning"}. The whole file is checked before anything is stored; running it twice
    stores nothing twice."""
    if is_mind:
        _bring_in_mind(file, as_json=as_json)
        return
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, write_struct
    from reveries.client.sync_call import call

    turns = read_past_of_owner(file, time.time())
    with progress_bar("importing", as_json=as_json) as moved:
        done = call(lambda mind: bring_in(mind, file.name, turns, moved))
    if as_json:
        write_struct(done)
    else:
        show(brought_in_page(done))


def _bring_in_mind(file: Path, *, as_json: bool) -> None:
    from reveries.client.features.mind_export import moved_page, moved_with
    from reveries.client.render import show, show_json

    done = moved_with("mind-import", "--file", str(file.absolute()), as_json=as_json)
    if as_json:
        show_json(done)
    else:
        show([*moved_page("Imported", done)])


UNNAMED_OWNER = "You"
"""The owner's name where none is configured, as the daemon has it."""


def read_past_of_owner(file: Path, now: float) -> list[protocol.ImportedTurn]:
    """The turns of a file of any form that is known, the owner's under their name. Raises InputFileError,
    InputDataError."""
    owner = load_settings(find_home().config).owner.name or UNNAMED_OWNER
    return read_past(file, owner, now)


async def bring_in(mind: Connection, source: str, turns: list[protocol.ImportedTurn], moved: Moved) -> BroughtIn:
    """Send `turns` in order; `moved` is told how far it is. Raises ConnectionLostError, saying how much is stored."""
    stored = known = episodes = erased = sent = 0
    parts = batches(turns)
    for place, part in enumerate(parts):
        is_last = place == len(parts) - 1
        message = protocol.Import(mind.new_id(), source[:500], part, is_last)
        try:
            async with aclosing(mind.request(message)) as frames:
                async for frame in frames:
                    match frame:
                        case protocol.Progress():
                            moved(frame.what, *((frame.done, frame.total) if is_last else (sent, len(turns))))
                        case protocol.Imported():
                            stored, known = stored + frame.stored, known + frame.known_already
                            episodes += frame.episodes
                            erased += 0 if frame.erased is msgspec.UNSET else frame.erased
                        case _:
                            pass
        except asyncio.CancelledError:
            # Not to listen any more would not stop the mind.
            mind.cancel_soon(message.request_id)
            raise
        except ConnectionLostError as error:
            raise ConnectionLostError(
                f"The mind went away after {stored + known:,} of {len(turns):,} turns were stored.",
                advice="Wake it and import the file again: what it has is not stored twice.",
            ) from error
        sent += len(part)
        moved("importing", sent, len(turns))
    return BroughtIn(stored, known, episodes, erased)


def brought_in_page(done: BroughtIn) -> Page:
    """What is new of it."""
    known = f"{done.known_already:,} {'was' if done.known_already == 1 else 'were'} known already."
    page = [line(f"Stored {plural(done.stored, 'turn')}, {known}")]
    if done.erased:
        them, were = ("it", "was") if done.erased == 1 else ("them", "were")
        page.append(
            line(
                f"{plural(done.erased, 'turn')} {were} not taken in: you had {them} erased, or words that stand there."
            )
        )
    if done.episodes:
        slept = f"It slept on them lightly: {plural(done.episodes, 'episode')} can be recalled now."
        page.append(line(Part(slept, "dim")))
    return page
