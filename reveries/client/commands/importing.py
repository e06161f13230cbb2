"""`reveries import`: a past conversation from a file of JSON lines."""

from pathlib import Path

import click


@click.command("import", short_help="Remember a past conversation from a file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(file: Path, as_json: bool) -> None:
    """Remember a past conversation. FILE has one JSON object a line: {"time": "2025-03-04T14:02:00", "speaker": "Ada",
    "text": "Good morning"}. The whole file is checked before anything is stored; running it twice stores nothing
    twice."""
    from reveries.client.bringing_in import bring_in, brought_in_page
    from reveries.client.calling import call
    from reveries.client.conversation_file import read_conversation
    from reveries.client.progress import progress_bar
    from reveries.client.render import show, write_struct

    turns = read_conversation(file)
    with progress_bar("importing") as moved:
        done = call(lambda mind: bring_in(mind, file.name, turns, moved))
    if as_json:
        write_struct(done)
    else:
        show(brought_in_page(done))
