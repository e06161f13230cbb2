"""`reveries import`: a past conversation from a file of JSON lines."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol
    from reveries.client.connection import Connection


@click.command("import", short_help="Remember a past conversation from a file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(file: Path, as_json: bool) -> None:
    """Remember a past conversation. FILE has one JSON object a line: {"time": "2025-03-04T14:02:00", "speaker": "Ada",
    "text": "Good morning"}. The whole file is checked before anything is stored; running it twice stores nothing
    twice."""
    from reveries.client.calling import call
    from reveries.client.conversation_file import read_conversation
    from reveries.client.json_answers import BroughtIn
    from reveries.client.render import say, write_struct
    from reveries.client.wording import plural

    turns = read_conversation(file)
    stored, known, episodes = call(lambda mind: _send(mind, file.name, turns))
    if as_json:
        write_struct(BroughtIn(stored, known, episodes))
    else:
        say(f"Stored {plural(stored, 'turn')}, {known:,} {'was' if known == 1 else 'were'} known already.")
        if episodes:
            say(f"It slept on them lightly: {plural(episodes, 'episode')} can be recalled now.", "dim")


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
