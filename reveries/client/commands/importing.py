"""`reveries import`: a past conversation from a file, or a whole mind."""

import time
from pathlib import Path

import click


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
    from reveries.client.bringing_in import bring_in, brought_in_page, read_past_of_owner
    from reveries.client.calling import call
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, write_struct

    turns = read_past_of_owner(file, time.time())
    with progress_bar("importing", as_json=as_json) as moved:
        done = call(lambda mind: bring_in(mind, file.name, turns, moved))
    if as_json:
        write_struct(done)
    else:
        show(brought_in_page(done))


def _bring_in_mind(file: Path, *, as_json: bool) -> None:
    from reveries.client.moving import moved_page, moved_with
    from reveries.client.render import show, show_json

    done = moved_with("mind-import", "--file", str(file.absolute()), as_json=as_json)
    if as_json:
        show_json(done)
    else:
        show([*moved_page("Imported", done)])
