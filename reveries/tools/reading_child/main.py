"""The reading child: it answers requests about one file until its input ends.

python -I -S -c "..." FILE NAME MEDIA_TYPE
"""

import contextlib
import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from typing import BinaryIO, Final

from reveries.errors import DocumentFault
from reveries.tools.reading_child.document import OpenDocument, open_document
from reveries.tools.reading_child.refusal import RefusalError
from reveries.tools.reading_child.wire import (
    LENGTH,
    MOST_FRAME_BYTES,
    EndFrame,
    Frame,
    ImageFrame,
    ImageRequest,
    InspectRequest,
    LocateRequest,
    PageFrame,
    PlacesFrame,
    ReadRequest,
    RecogniseRequest,
    RefusalFrame,
    Request,
    SummaryFrame,
    decode_request,
    pack,
)  # fmt: skip

_MOST_MEMORY_BYTES: Final = 2_000_000_000
_MOST_CPU_SECONDS: Final = 7_200
_PR_SET_PDEATHSIG: Final = 1
_SIGKILL: Final = 9


def main() -> None:
    """Serve until the daemon closes the pipe."""
    path, name, media_type = sys.argv[1:4]
    incoming, outgoing = _take_pipes()
    _limit_resources()
    document: OpenDocument | None = None
    for request in _receive(incoming):
        try:
            document = document or open_document(path, name, media_type)
            for frame in _answer(document, request):
                _send(outgoing, frame)
        except RefusalError as error:
            _send(outgoing, RefusalFrame(error.fault, error.what, error.advice))
        except MemoryError:
            document = None
            what = "needs more memory than is given to reading a file"
            _send(outgoing, RefusalFrame(DocumentFault.TOO_LARGE, what, "Split it into parts."))
        except BrokenPipeError:
            break
        except Exception as error:  # noqa: BLE001  # A named boundary: whatever a foreign file does is told as one sentence.
            _send(outgoing, RefusalFrame(DocumentFault.DAMAGED, f"is damaged ({type(error).__name__})", _FETCH_AGAIN))
    os._exit(0)


_FETCH_AGAIN: Final = "Fetch it or export it again."


def _answer(document: OpenDocument, request: Request) -> Iterator[Frame]:
    match request:
        case InspectRequest():
            yield SummaryFrame(document.summary)
        case ReadRequest(first_page=first_page, unreadable=unreadable):
            for page in document.read_pages(first_page, frozenset(unreadable)):
                yield PageFrame(page)
            yield EndFrame()
        case RecogniseRequest(page=page):
            yield PageFrame(document.recognise(page))
        case ImageRequest(page=page, dpi=dpi):
            yield ImageFrame(document.draw_page(page, dpi))
        case LocateRequest(page=page, quote=quote):
            yield PlacesFrame(document.locate(page, quote))


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the daemon; libraries that print do so to nowhere."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    return incoming, outgoing


def _limit_resources() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    limits = {
        resource.RLIMIT_DATA: _MOST_MEMORY_BYTES,
        resource.RLIMIT_CPU: _MOST_CPU_SECONDS,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # A limit of the system is lower, or it has none of this kind.
            resource.setrlimit(kind, (most, most))


def _receive(incoming: BinaryIO) -> Iterator[Request]:
    while len(head := incoming.read(LENGTH.size)) == LENGTH.size:
        (length,) = LENGTH.unpack(head)
        if length > MOST_FRAME_BYTES:
            return
        yield decode_request(incoming.read(length))


def _send(outgoing: BinaryIO, frame: Frame) -> None:
    content = pack(frame)
    if len(content) > MOST_FRAME_BYTES:
        raise RefusalError(DocumentFault.TOO_LARGE, "has a page that is too large to be read", "Split it into parts.")
    outgoing.write(content)
    outgoing.flush()
