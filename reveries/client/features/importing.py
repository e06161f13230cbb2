"""`reveries import`: a past conversation from a file, or a whole mind."""

import asyncio
import time
from contextlib import aclosing
from pathlib import Path

import click
import msgspec

from reveries import protocol
from reveries.client.connection import Connection
from reveries.client.import_file import split_batches
from reveries.client.import_formats import read_turns
from reveries.client.json_answers import ImportResult
from reveries.client.progress import ProgressCallback
from reveries.client.render import Page, Part, line
from reveries.client.wording import plural
from reveries.config import find_home, load_settings
from reveries.errors import ConnectionLostError


@click.command("import", short_help="Import past conversations, or a whole mind, from a file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--mind", "is_mind", is_flag=True, help="FILE is a whole mind from reveries export. The home must not have one."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(file: Path, is_mind: bool, as_json: bool) -> None:
    """Import past conversations. FILE is an export of ChatGPT or Claude (conversations.json, or the .zip), a transcript
    of lines "Name: words" (.txt, .md), or has one JSON object per line: {"time": "2025-03-04T14:02:00",
    "speaker": "Ada", "text": "Good morning"}. The whole file is checked before anything is stored. Importing it again
    stores nothing twice."""
    if is_mind:
        _import_mind(file, as_json=as_json)
        return
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, write_struct
    from reveries.client.sync_call import call_mind

    turns = read_past_conversations(file, time.time())
    with progress_bar("importing", as_json=as_json) as on_progress:
        done = call_mind(lambda mind: send_turns(mind, file.name, turns, on_progress))
    if as_json:
        write_struct(done)
    else:
        show(imported_page(done))


def _import_mind(file: Path, *, as_json: bool) -> None:
    from reveries.client.features.mind_export import mind_transfer_page, run_mind_transfer
    from reveries.client.render import show, show_json

    done = run_mind_transfer("mind-import", "--file", str(file.absolute()), as_json=as_json)
    if as_json:
        show_json(done)
    else:
        show([*mind_transfer_page("Imported", done)])


UNNAMED_OWNER = "You"
"""The owner's name if none is configured; the daemon uses the same."""


def read_past_conversations(file: Path, now: float) -> list[protocol.ImportedTurn]:
    """Read the turns of a file in any known format; the owner's turns get the configured name. Raises InputFileError,
    InputDataError."""
    owner = load_settings(find_home().config).owner.name or UNNAMED_OWNER
    return read_turns(file, owner, now)


async def send_turns(
    mind: Connection, source: str, turns: list[protocol.ImportedTurn], on_progress: ProgressCallback
) -> ImportResult:
    """Send `turns` in order; `on_progress` receives the progress. Raises ConnectionLostError."""
    stored = known = episodes = erased = sent = 0
    parts = split_batches(turns)
    for place, part in enumerate(parts):
        is_last = place == len(parts) - 1
        message = protocol.Import(mind.new_id(), source[:500], part, is_last)
        try:
            async with aclosing(mind.request(message)) as frames:
                async for frame in frames:
                    match frame:
                        case protocol.Progress():
                            on_progress(frame.what, *((frame.done, frame.total) if is_last else (sent, len(turns))))
                        case protocol.Imported():
                            stored, known = stored + frame.stored, known + frame.known_already
                            episodes += frame.episodes
                            erased += 0 if frame.erased is msgspec.UNSET else frame.erased
                        case _:
                            pass
        except asyncio.CancelledError:
            # Closing the stream alone would not stop the daemon.
            mind.cancel_soon(message.request_id)
            raise
        except ConnectionLostError as error:
            raise ConnectionLostError(
                f"The connection was lost after {stored + known:,} of {len(turns):,} turns were stored.",
                advice="Wake the mind and import the file again. Nothing is stored twice.",
            ) from error
        sent += len(part)
        on_progress("importing", sent, len(turns))
    return ImportResult(stored, known, episodes, erased)


def imported_page(done: ImportResult) -> Page:
    """Render how many turns were new, known, or refused because they had been erased."""
    known = f"{done.known_already:,} {'was' if done.known_already == 1 else 'were'} already known."
    page = [line(f"Stored {plural(done.stored, 'turn')}, {known}")]
    if done.erased:
        them, were = ("it", "was") if done.erased == 1 else ("them", "were")
        page.append(
            line(f"{plural(done.erased, 'turn')} {were} not imported: you had erased {them}, or words in {them}.")
        )
    if done.episodes:
        episodes = f"Light sleep created {plural(done.episodes, 'episode')}: they can be recalled now."
        page.append(line(Part(episodes, "dim")))
    return page
