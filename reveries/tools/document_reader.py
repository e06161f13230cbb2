"""Reads the files of others in a sandboxed child: this process parses no byte of them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Final

import msgspec
import structlog

from reveries.errors import DocumentError, DocumentFault
from reveries.knowledge.reading.layout import (
    Box,
    CutPage,
    DocumentSummary,
    PageKind,
    TextSource,
)  # fmt: skip
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
    decode_frame,
    pack,
)  # fmt: skip
from reveries.tools.sandbox import Sandbox

log = structlog.get_logger("tools")

_PAGE_SECONDS: Final = 30.0
"""For one page, and for opening a file."""
_SKIPPED_PAGE_SECONDS: Final = 1.0
_RECOGNITION_SECONDS: Final = 120.0
_REST_BYTES: Final = 65_536
_END_SECONDS: Final = 10.0
_MOST_UNREADABLE: Final = 3
"""Pages that may end the child; after more the file is refused."""
_AGAIN: Final = "Fetch it or export it again; if that does not help, export it as a plain PDF."


class SandboxedDocumentReader:
    """A DocumentReader. `close` ends the child that is kept for drawing and recognising pages."""

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        page_seconds: float = _PAGE_SECONDS,
        recognition_seconds: float = _RECOGNITION_SECONDS,
    ) -> None:
        self._sandbox = sandbox
        self._page_seconds = page_seconds
        self._recognition_seconds = recognition_seconds
        self._kept: _Child | None = None
        self._lock = asyncio.Lock()

    async def inspect(self, path: Path, media_type: str = "") -> DocumentSummary:
        """Find the format and count the pages. Raises DocumentError."""
        async with _Child.start(self._sandbox, path, media_type) as child:
            frame = await child.ask(InspectRequest(), self._page_seconds)
        if not isinstance(frame, SummaryFrame):
            raise _crash(path)
        return frame.summary

    async def read(self, path: Path, media_type: str = "", *, first_page: int = 1) -> AsyncGenerator[CutPage]:
        """Cut the pages in order. A page that ends the child or takes too long comes without text, and reading goes on.

        Raises DocumentError; what was given before it is whole.
        """
        unreadable: list[int] = []
        next_page = first_page
        while True:
            try:
                async with contextlib.aclosing(self._read_on(path, media_type, next_page, unreadable)) as pages:
                    async for page in pages:
                        yield _without_text(page) if page.number in unreadable else page
                        next_page = page.number + 1
                return
            except DocumentError as error:
                if error.fault not in (DocumentFault.CRASHED, DocumentFault.TOO_SLOW):
                    raise
                # The child reads two pages ahead of what it gives out, so that any of three may have ended it.
                suspect = next((at for at in range(next_page, next_page + 3) if at not in unreadable), None)
                if suspect is None or len(unreadable) >= _MOST_UNREADABLE or next_page == first_page == 1:
                    raise
                unreadable.append(suspect)
                log.info("document page unreadable", page=suspect, fault=error.fault.value)

    async def recognise(self, path: Path, page: int, media_type: str = "") -> CutPage:
        """Read one page from its picture. Raises DocumentError."""
        frame = await self._ask_kept(path, media_type, RecogniseRequest(page), self._recognition_seconds)
        if not isinstance(frame, PageFrame):
            raise _crash(path)
        return frame.page

    async def page_image(self, path: Path, page: int, dpi: int = 100, media_type: str = "") -> bytes:
        """The picture of a page as PNG. Raises DocumentError."""
        frame = await self._ask_kept(path, media_type, ImageRequest(page, dpi), self._page_seconds)
        if not isinstance(frame, ImageFrame):
            raise _crash(path)
        return frame.png

    async def locate(self, path: Path, page: int, quote: str, media_type: str = "") -> tuple[Box, ...]:
        """Where a quote stands on a page. Raises DocumentError."""
        frame = await self._ask_kept(path, media_type, LocateRequest(page, quote), self._page_seconds)
        if not isinstance(frame, PlacesFrame):
            raise _crash(path)
        return frame.boxes

    async def close(self) -> None:
        async with self._lock:
            await self._drop_kept()

    async def _read_on(
        self, path: Path, media_type: str, first_page: int, unreadable: list[int]
    ) -> AsyncGenerator[CutPage]:
        async with _Child.start(self._sandbox, path, media_type) as child:
            await child.send(ReadRequest(first_page, tuple(unreadable)))
            # Pages before the first one are read again.
            seconds = self._page_seconds + (first_page - 1) * _SKIPPED_PAGE_SECONDS
            while not isinstance(frame := await child.receive(seconds), EndFrame):
                if not isinstance(frame, PageFrame):
                    raise _crash(path)
                yield frame.page
                seconds = self._page_seconds

    async def _ask_kept(self, path: Path, media_type: str, request: Request, seconds: float) -> Frame:
        async with self._lock:
            if self._kept is None or not self._kept.serves(path, media_type):
                await self._drop_kept()
                self._kept = await _Child.open(self._sandbox, path, media_type)
            try:
                return await self._kept.ask(request, seconds)
            except DocumentError as error:
                if error.fault in (DocumentFault.CRASHED, DocumentFault.TOO_SLOW):
                    await self._drop_kept()
                raise
            except BaseException:
                # Interrupted before the answer: the next request would read this one's.
                await self._drop_kept()
                raise

    async def _drop_kept(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.end()


class _Child:
    """A child process that serves one file."""

    def __init__(self, process: asyncio.subprocess.Process, path: Path, media_type: str) -> None:
        self._process = process
        self._path = path
        self._media_type = media_type
        self._version = _version_of(path)

    @classmethod
    async def open(cls, sandbox: Sandbox, path: Path, media_type: str) -> "_Child":
        """Start a child. Raises DocumentError if the file is not there or the sandbox does not start."""
        path = await asyncio.to_thread(_check_readable, path)
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        command = sandbox.reading_command(path, media_type)
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=none, env={})
        except OSError as error:
            raise DocumentError(
                f"The program that reads documents does not start: {error.strerror}.",
                advice="reveries doctor",
                fault=DocumentFault.CRASHED,
            ) from error
        return cls(process, path, media_type)

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, sandbox: Sandbox, path: Path, media_type: str) -> AsyncIterator["_Child"]:
        """A child that ends with the block."""
        child = await cls.open(sandbox, path, media_type)
        try:
            yield child
        finally:
            await child.end()

    def serves(self, path: Path, media_type: str) -> bool:
        """Whether it can be asked about this file as it is now."""
        same = path == self._path and media_type == self._media_type and self._version == _version_of(path)
        return same and self._process.returncode is None

    async def ask(self, request: Request, seconds: float) -> Frame:
        """Send a request and return its one answer. Raises DocumentError."""
        await self.send(request)
        return await self.receive(seconds)

    async def send(self, request: Request) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(pack(request))
            await self._process.stdin.drain()
        except (OSError, RuntimeError) as error:
            raise _crash(self._path) from error

    async def receive(self, seconds: float) -> Frame:
        """The next answer. Raises DocumentError if it is a refusal, is late, or the child ended."""
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                (length,) = LENGTH.unpack(await self._process.stdout.readexactly(LENGTH.size))
                if length > MOST_FRAME_BYTES:
                    raise _crash(self._path)
                frame: Frame = decode_frame(await self._process.stdout.readexactly(length))
        except TimeoutError:
            raise DocumentError(
                f"{self._path.name} takes too long to read: a page took more than {seconds:.0f} seconds.",
                advice=_AGAIN,
                fault=DocumentFault.TOO_SLOW,
            ) from None
        except (asyncio.IncompleteReadError, OSError, msgspec.DecodeError) as error:
            raise _crash(self._path) from error
        if isinstance(frame, RefusalFrame):
            raise DocumentError(f"{self._path.name} {frame.what}.", advice=frame.advice, fault=frame.fault)
        return frame

    async def end(self) -> None:
        """Kill the child and wait for its end. What it wrote last is read: a pipe that is full is never closed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.stdin.close()
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(_END_SECONDS):
                while await self._process.stdout.read(_REST_BYTES):
                    pass
                await self._process.wait()


def _version_of(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _check_readable(path: Path) -> Path:
    """The absolute path of a file that can be opened. Raises DocumentError."""
    try:
        with path.open("rb"):
            return path.absolute()
    except IsADirectoryError:
        what, advice = "is a folder", "Name the files in it, or the folder with a slash at its end."
    except FileNotFoundError:
        what, advice = "is not there", "Check its name."
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "its name cannot be used").lower()
        what, advice = f"cannot be opened: {reason}", "Check that you may read it."
    raise DocumentError(f"{path.name} {what}.", advice=advice, fault=DocumentFault.MISSING)


def _crash(path: Path) -> DocumentError:
    return DocumentError(
        f"The program that reads {path.name} ended: the file needs too much memory, or has a fault that ends it.",
        advice=_AGAIN,
        fault=DocumentFault.CRASHED,
    )


def _without_text(page: CutPage) -> CutPage:
    return msgspec.structs.replace(
        page, text_from=TextSource.NONE, kind=PageKind.EMPTY, reflection="This page could not be read."
    )
