"""`reveries import`: a past conversation from a file, or a whole mind."""

import asyncio
import time
from functools import partial
from pathlib import Path

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer
from reveries.client.connection import Connection
from reveries.client.import_file import split_batches
from reveries.client.import_formats import read_turns
from reveries.client.progress import ProgressCallback
from reveries.client.render import Page, Part, line
from reveries.client.wording import plural
from reveries.config import find_home, load_settings
from reveries.errors import ConnectionLostError


class ImportResult(msgspec.Struct, frozen=True):
    """The number of turns that were new and already known, of episodes created by light sleep, and of turns refused
    because the owner had erased them or words in them."""

    stored: int
    known_already: int
    episodes: int
    erased: int


@click.command("import", short_help="Import past conversations, or a whole mind, from a file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--mind", "is_mind", is_flag=True, help="FILE is a whole mind from reveries export. The home must not have one."
)
@json_option(ImportResult, {"--mind": protocol.MindMoved}, takes_long=True)
def command(file: Path, is_mind: bool, as_json: bool) -> None:
    """Import past conversations. FILE is an export of ChatGPT or Claude (conversations.json, or the .zip), a transcript
    of lines "Name: words" (.txt, .md), or has one JSON object per line: {"time": "2025-03-04T14:02:00",
    "speaker": "Ada", "text": "Good morning"}. The whole file is checked before anything is stored. Importing it again
    stores nothing twice."""
    if is_mind:
        from reveries.client.features.mind_export import import_whole_mind

        import_whole_mind(file, as_json=as_json)
        return
    from reveries.client.progress import progress_bar
    from reveries.client.sync_call import call_mind

    turns = read_past_conversations(file, time.time())
    with progress_bar("importing", as_json=as_json) as on_progress:
        done = call_mind(lambda mind: send_turns(mind, file.name, turns, on_progress))
    print_answer(done, as_json)


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
        make = partial(protocol.Import, source=source[:500], turns=part, is_last=is_last)
        running = mind.start(make, protocol.Imported)
        so_far = partial(_report_whole, on_progress, sent, len(turns))
        try:
            done = await running.result(on_progress if is_last else so_far)
        except asyncio.CancelledError:
            # Closing the stream alone would not stop the daemon.
            running.stop()
            raise
        except ConnectionLostError as error:
            raise ConnectionLostError(
                f"The connection was lost after {stored + known:,} of {len(turns):,} turns were stored.",
                advice="Wake the mind and import the file again. Nothing is stored twice.",
            ) from error
        stored, known = stored + done.stored, known + done.known_already
        episodes += done.episodes
        erased += 0 if done.erased is msgspec.UNSET else done.erased
        sent += len(part)
        on_progress("importing", sent, len(turns))
    return ImportResult(stored, known, episodes, erased)


def _report_whole(on_progress: ProgressCallback, sent: int, turns: int, what: str, _: int, __: int) -> None:
    """Report how much of the whole file is sent, instead of the progress of a part."""
    on_progress(what, sent, turns)


@page_of(ImportResult, "imported")
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
