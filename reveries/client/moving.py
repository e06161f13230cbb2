"""What `reveries export` and `reveries import --mind` share: the process that does it, and what is said of it."""

from reveries import protocol
from reveries.client.daemon_side import frames_of
from reveries.client.progress import progress_bar
from reveries.client.render import Page, Part, line, paragraph
from reveries.client.wording import plural, size
from reveries.errors import StorageError
from reveries.plaintext import one_line


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
