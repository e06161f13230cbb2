"""`reveries consolidate`: deep sleep, now."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries import protocol
    from reveries.client.connection import Connection

_INTERRUPTED = 130


@click.command("consolidate", short_help="Sleep on what happened, now.")
@click.option(
    "--limit", type=click.IntRange(1), default=None, help="At most so many experiences, the most salient first."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(limit: int | None, as_json: bool) -> int:
    """Sleep on what happened, now: ask the model about each experience and let it become memory. Ctrl+C ends it after
    the experience in hand; what was done stays done."""
    from reveries.client.calling import call
    from reveries.client.memory_page import consolidated_page
    from reveries.client.render import say, show, show_json

    done = call(lambda mind: _consolidate(mind, limit))
    if as_json:
        show_json(done)
    else:
        for entry in done.log:
            say(f"  {entry}", "dim")
        show(consolidated_page(done))
    return _INTERRUPTED if done.was_interrupted else 0


async def _consolidate(mind: "Connection", limit: int | None) -> "protocol.Consolidated":
    from reveries import protocol
    from reveries.client.calling import ctrl_c
    from reveries.client.progress import progress_bar
    from reveries.errors import ProtocolError

    request_id = mind.new_id()
    with progress_bar("sleeping on it") as moved, ctrl_c(lambda: mind.cancel_soon(request_id)):
        async for frame in mind.request(protocol.Consolidate(request_id, limit)):
            match frame:
                case protocol.Progress():
                    moved(frame.what, frame.done, frame.total)
                case protocol.Consolidated():
                    return frame
                case _:
                    pass
    raise ProtocolError("The mind did not say what its sleep came to.", advice="See: reveries status")
