"""Send a long request without a time limit, and show its progress on stderr. Ctrl+C stops the work itself."""

from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from reveries import protocol
from reveries.client.progress import progress_bar
from reveries.client.sync_call import call_mind, handle_ctrl_c
from reveries.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveries.client.connection import Connection

_Answer = TypeVar("_Answer")


def ask_with_progress(
    make: "Callable[[int], protocol.Request]", answer: type[_Answer], what: str, *, as_json: bool
) -> _Answer:
    """Send the request that `make` builds from a new id, and return its answer. There is no timeout, because the client
    could not report what happened after it."""

    async def run(mind: "Connection") -> _Answer:
        request = make(mind.new_id())
        assert not isinstance(request, protocol.Hello)
        number = request.request_id
        with progress_bar(what, as_json=as_json) as report, handle_ctrl_c(lambda: mind.cancel_soon(number)):
            async with aclosing(mind.request(request)) as frames:
                async for frame in frames:
                    if isinstance(frame, protocol.Progress):
                        report(frame.what, frame.done, frame.total)
                    elif isinstance(frame, answer):
                        return frame
        raise ProtocolError(f"The mind did not answer with {answer.__name__}.", advice="See: reveries status")

    return call_mind(run)
