"""`reveries export`: a whole mind as one file."""

from pathlib import Path

import click

from reveries import protocol
from reveries.client.offline_worker import frames_of
from reveries.client.progress import progress_bar
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import plural, size
from reveries.errors import StorageError
from reveries.safe_text import one_line


@click.command("export", short_help="Write the whole mind into a file.")
@click.option("--mind", "file", type=click.Path(path_type=Path), required=True, help="The file to be made.")
@click.option("--with-vectors", is_flag=True, help="Also what the embedder made of it; else it is made anew.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(file: Path, with_vectors: bool, as_json: bool) -> None:
    """Write everything that the mind holds into a file of JSON lines with checksums, for `reveries import --mind` in
    another home, or for any program. Awake or asleep. Settings and keys are not in it. An older file is not written
    over."""
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.watched_call import ask_watched
    from reveries.errors import AsleepError

    words = ["--file", str(file.absolute()), *(["--with-vectors"] if with_vectors else [])]
    try:
        # Nobody may write to what is read: of a waking mind that is a copy.
        made = ask_watched(protocol.MakeBackup, protocol.Backups, "copying what is read", as_json=as_json)
        words += ["--name", made.backups[0].name]
    except AsleepError:
        pass
    done = moved_with("mind-export", *words, as_json=as_json)
    if as_json:
        show_json(done)
    else:
        show(moved_page("Exported", done))


def moved_with(*words: str, as_json: bool) -> protocol.MindMoved:
    """Start it, show how far it is, and give what it did. Raises the ReveriesError that it ends with."""
    with progress_bar("moving the mind", as_json=as_json) as moved:
        for frame in frames_of(*words):
            if isinstance(frame, protocol.Progress):
                moved(frame.what, frame.done, frame.total)
            elif isinstance(frame, protocol.MindMoved):
                return frame
    raise StorageError("Nobody said what became of it.", advice="See: reveries doctor")


def moved_page(what: str, done: protocol.MindMoved) -> Page:
    """What was moved."""
    page = [line(Part(f"{what}: {plural(done.rows, 'row')}, {size(done.bytes)}.", "strong"))]
    page += paragraph(one_line(done.file, 300), style="dim")
    if not done.with_vectors:
        page += paragraph(
            "Vectors are not in it: the mind that imports it makes them anew, and finds by words meanwhile."
        )
    return [*page, *paragraph(f"Checksum of the whole: {done.check}", style="dim")]
