"""A publisher of files on loopback, with the ways in which a real one fails."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Publisher:
    """Serves `files` by their path ("/model.bin"), with ranges. Set what it does wrong."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: list[str] = field(default_factory=list)
    """What was asked for, in order; empty for all of a file."""
    cut_after: int = 0
    """After so many bytes the next answer breaks off."""
    holds_after: int = 0
    """After so many bytes every answer waits until `released`; 0: none does."""
    released: threading.Event = field(default_factory=threading.Event)
    knows_ranges: bool = True
    is_silent: bool = False
    """It takes a request, and answers none until `released`."""

    def url(self, path: str) -> str:
        return f"{self.address}{path}"

    @property
    def fetched(self) -> list[str]:
        """The ranges asked for, without the first byte alone: that is how one asks whether it has a file."""
        return [asked for asked in self.ranges if asked != "bytes=0-0"]


@contextlib.contextmanager
def publisher() -> Iterator[Publisher]:
    """One that serves until it is left."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.ranges.append(asked := self.headers.get("Range", ""))
            if told.is_silent:
                told.released.wait(20)
                return
            content = told.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start, end = _bounds(asked if told.knows_ranges else "", len(content))
            is_part = told.knows_ranges and bool(asked)
            self.send_response(206 if is_part else 200)
            self.send_header("Content-Length", str(end - start))
            if is_part:
                self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
            self.end_headers()
            self._send(content[start:end])

        def _send(self, content: bytes) -> None:
            self.close_connection = True
            cut, told.cut_after = told.cut_after, 0
            with contextlib.suppress(ConnectionError):  # Whoever asks whether there is a file does not read it.
                if not told.holds_after or len(content) == 1:
                    self.wfile.write(content[: cut or len(content)])
                    return
                self.wfile.write(content[: told.holds_after])
                self.wfile.flush()
                told.released.wait(20)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told = Publisher(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        told.released.set()
        http.shutdown()
        thread.join(5)
        http.server_close()


def _bounds(asked: str, size_bytes: int) -> tuple[int, int]:
    first, _, last = asked.removeprefix("bytes=").partition("-")
    return int(first or 0), int(last) + 1 if last else size_bytes
