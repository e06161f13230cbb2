"""`reveries export`: write a whole mind to one file."""

from pathlib import Path

import click

from reveries import protocol
from reveries.client.answers import json_option, print_answer
from reveries.client.file_option import PathToCreate
from reveries.client.offline_worker import run_for_frame
from reveries.client.progress import progress_bar
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import plural, size
from reveries.errors import StorageError
from reveries.safe_text import one_line


@click.command("export", short_help="Export the whole mind to a file.")
@click.option("--mind", "file", type=PathToCreate(path_type=Path), required=True, help="The file to create.")
@click.option(
    "--with-vectors", is_flag=True, help="Include the vectors; without them, the import embeds everything again."
)
@json_option(protocol.MindMoved, takes_long=True)
def command(file: Path, with_vectors: bool, as_json: bool) -> None:
    """Write everything that the mind holds to a file of JSON lines with checksums, for `reveries import --mind` in
    another home, or for any program. Works whether the mind is awake or asleep. Settings and keys are not included. An
    existing file is not overwritten."""
    from reveries.client.sync_call import ask_with_progress
    from reveries.errors import AsleepError

    words = ["--file", str(file.absolute()), *(["--with-vectors"] if with_vectors else [])]
    try:
        # The database must not change while it is read, so a running daemon makes a copy first.
        backups = ask_with_progress(protocol.MakeBackup, protocol.Backups, "copying the memory", as_json=as_json)
        words += ["--name", backups.backups[0].name]
    except AsleepError:
        pass
    done = _run_mind_transfer("mind-export", *words, as_json=as_json)
    print_answer(done, as_json, lambda: _mind_transfer_page("Exported", done))


def import_whole_mind(file: Path, *, as_json: bool) -> None:
    """Make the exported mind in `file` that of this home. Raises the ReveriesError that the import reports."""
    done = _run_mind_transfer("mind-import", "--file", str(file.absolute()), as_json=as_json)
    print_answer(done, as_json, lambda: _mind_transfer_page("Imported", done))


def _run_mind_transfer(*words: str, as_json: bool) -> protocol.MindMoved:
    """Run an export or import in an offline process, with a progress bar. Raises the ReveriesError that it reports."""
    no_result = StorageError("The export or import ended without a result.", advice="See: reveries doctor")
    with progress_bar("exporting or importing", as_json=as_json) as on_progress:
        return run_for_frame(protocol.MindMoved, *words, on_progress=on_progress, otherwise=no_result)


def _mind_transfer_page(what: str, done: protocol.MindMoved) -> Page:
    """Render how much was exported or imported."""
    page = [line(Part(f"{what}: {plural(done.rows, 'row')}, {size(done.bytes)}.", "strong"))]
    page += paragraph(one_line(done.file, 300), style="dim")
    if not done.with_vectors:
        page += paragraph(
            "Vectors are not included. After the import they are created again; until then, search uses words only."
        )
    return [*page, *paragraph(f"Checksum: {done.check}", style="dim")]
