"""A request that takes as long as it takes: its answer, with how far it is on stderr. Ctrl+C stops the work itself."""

from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from reveries import protocol
from reveries.client.progress import progress_bar
from reveries.client.sync_call import call, ctrl_c
from reveries.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveries.client.connection import Connection

_Answer = TypeVar("_Answer")


def ask_watched(
    make: "Callable[[int], protocol.Request]", answer: type[_Answer], what: str, *, as_json: bool
) -> _Answer:
    """The answer to what `make` makes of a new id. Who leaves stops the work, so there is no time after which it is
    given up: whatever was answered then would not be what happened."""

    async def asked(mind: "Connection") -> _Answer:
        request = make(mind.new_id())
        assert not isinstance(request, protocol.Hello)
        number = request.request_id
        with progress_bar(what, as_json=as_json) as moved, ctrl_c(lambda: mind.cancel_soon(number)):
            async with aclosing(mind.request(request)) as frames:
                async for frame in frames:
                    if isinstance(frame, protocol.Progress):
                        moved(frame.what, frame.done, frame.total)
                    elif isinstance(frame, answer):
                        return frame
        raise ProtocolError(f"The mind did not answer with {answer.__name__}.", advice="See: reveries status")

    return call(asked)
