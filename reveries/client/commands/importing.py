"""`reveries import`: a past conversation from a file of JSON lines."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol
    from reveries.client.connection import Connection


UNNAMED_OWNER = "You"
"""The owner's name where none is configured, as the daemon has it."""


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
        _bring_in(file, as_json=as_json)
        return
    from reveries.client.calling import call
    from reveries.client.json_answers import BroughtIn
    from reveries.client.past_formats import read_past
    from reveries.client.render import say, write_struct
    from reveries.client.wording import plural
    from reveries.config import find_home, load_settings

    owner = load_settings(find_home().config).owner.name or UNNAMED_OWNER
    turns = read_past(file, owner, time.time())
    stored, known, episodes = call(lambda mind: _send(mind, file.name, turns))
    if as_json:
        write_struct(BroughtIn(stored, known, episodes))
    else:
        say(f"Stored {plural(stored, 'turn')}, {known:,} {'was' if known == 1 else 'were'} known already.")
        if episodes:
            say(f"It slept on them lightly: {plural(episodes, 'episode')} can be recalled now.", "dim")


def _bring_in(file: Path, *, as_json: bool) -> None:
    from reveries.client.moving import moved_page, moved_with
    from reveries.client.render import show, show_json

    done = moved_with("mind-import", "--file", str(file.absolute()))
    if as_json:
        show_json(done)
    else:
        show([*moved_page("Imported", done)])


async def _send(mind: "Connection", source: str, turns: "list[protocol.ImportedTurn]") -> tuple[int, int, int]:
    """Send `turns` in order, one batch after the other is stored; turns stored, known before, and episodes made."""
    from reveries import protocol
    from reveries.client.conversation_file import batches
    from reveries.client.progress import progress_bar
    from reveries.errors import ConnectionLostError

    stored = known = episodes = sent = 0
    with progress_bar("importing") as moved:
        parts = batches(turns)
        for place, part in enumerate(parts):
            is_last = place == len(parts) - 1
            message = protocol.Import(mind.new_id(), source[:500], part, is_last)
            try:
                async for frame in mind.request(message):
                    match frame:
                        case protocol.Progress():
                            moved(frame.what, *((frame.done, frame.total) if is_last else (sent, len(turns))))
                        case protocol.Imported():
                            stored, known = stored + frame.stored, known + frame.known_already
                            episodes += frame.episodes
                        case _:
                            pass
            except ConnectionLostError as error:
                raise ConnectionLostError(
                    f"The mind went away after {stored + known:,} of {len(turns):,} turns were stored.",
                    advice="Wake it and import the file again: what it has is not stored twice.",
                ) from error
            sent += len(part)
            moved("importing", sent, len(turns))
    return stored, known, episodes
